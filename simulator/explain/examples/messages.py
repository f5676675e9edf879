"""Rows that show to which topic and partition releases send them, as which messages and in which order, by the field of
Release."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.explain.examples.played import OPEN, Example, Row, insert, update

SEVERAL = "protocol=open-protocol&partition-num=16"
DISPATCH = "[sink]\ndispatchers = [{matcher = ['*.*'], %s}]"
OLD_DISPATCH = DISPATCH % "dispatcher = '%s'"
BY = DISPATCH % "partition = '%s'"
BY_COLUMNS = DISPATCH % "partition = 'columns', columns = ['%s']"
TO = DISPATCH % "topic = '%s'"
LEAVING = "column-selectors = [{matcher = ['*.*'], columns = ['*', '!%s']}]"
SELECT = "[sink]\n" + LEAVING
TWO_COLUMNS = "CREATE TABLE t (id INT PRIMARY KEY, a INT)"
UNIQUE = "CREATE TABLE t (id INT PRIMARY KEY, a INT UNIQUE)"
VIRTUAL = "CREATE TABLE t (id INT PRIMARY KEY, v INT AS (id) VIRTUAL, a INT, b INT)"
NO_OLD = "enable-old-value = false"
RAW = "[sink.kafka-config]\noutput-raw-change-event = true"
NO_DELETES = "[[filter.event-filters]]\nmatcher = ['*.*']\nignore-event = ['delete']"
FOLDED = "CREATE TABLE t (a VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY)"


def together(*parts: tuple[Row, ...]) -> tuple[Row, ...]:
    """The changes as one transaction."""
    return tuple(row for part in parts for row in part)


MOVED = update(dict(id=1, a=1), dict(id=1, a=2))
BESIDE = together(MOVED, insert(id=2, a=3))

PLACES: Mapping[str, tuple[Example, ...]] = {
    "dispatchers": (
        Example((insert(id=1),), uri=SEVERAL, config=OLD_DISPATCH % "index-value"),
        Example((insert(id=1),), uri=SEVERAL, config=BY_COLUMNS % "id"),
    ),
    "default_dispatcher": (Example((insert(id=1),), uri=SEVERAL), Example((insert(id=1),), uri=SEVERAL, config=NO_OLD)),
    "rowid_is_row_id": (Example((insert(id=1),), uri=SEVERAL, config=OLD_DISPATCH % "rowid"),),
    "dispatch_needs_index": (Example((), uri=SEVERAL, config=BY % "index-value", warns=True),),
    "dispatch_ignores_case": (Example((insert(id=1),), uri=SEVERAL, config=BY_COLUMNS % "ID"),),
    "dispatch_lowers_names": (
        Example((insert(ID=1),), "CREATE TABLE t (ID INT PRIMARY KEY)", SEVERAL, BY_COLUMNS % "ID"),
    ),
    "dispatch_skips_virtual": (Example((insert(id=1, a=2, b=3),), VIRTUAL, SEVERAL, BY_COLUMNS % "a"),),
    "dispatch_refuses_virtual": (Example((insert(id=1, a=2, b=3),), VIRTUAL, SEVERAL, BY_COLUMNS % "v"),),
    "dispatch_nulls": (
        Example((insert(id=1),), TWO_COLUMNS, SEVERAL, BY_COLUMNS % "a"),
        Example(
            (insert(id=1),),
            "CREATE TABLE t (id INT NOT NULL, v INT AS (id) VIRTUAL NOT NULL, UNIQUE KEY x (v), UNIQUE KEY y (id, v))",
            SEVERAL,
            BY % "index-value",
        ),
    ),
    "dispatch_time_fraction": (
        Example(
            (insert(id=1, a="01:02:03.456"),),
            "CREATE TABLE t (id INT PRIMARY KEY, a TIME(3))",
            SEVERAL,
            BY_COLUMNS % "a",
        ),
    ),
    "topic_rules": (
        Example((insert(id=1),), config=TO % "of_{schema}"),
        Example((insert(id=1),), config=TO % "plain"),
        Example((insert(id=1),), config=TO % "{schema}_{table}_"),
    ),
    "column_selectors": (
        Example((insert(id=1, a=1),), TWO_COLUMNS, OPEN, SELECT % "a"),
        Example(
            (insert(id=1, a=1),),
            "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL UNIQUE)",
            SEVERAL,
            BY % "index-value" + "\n" + LEAVING % "id",
        ),
    ),
    "selectors_checked": (
        Example((insert(id=1, a=1),), TWO_COLUMNS, SEVERAL, BY_COLUMNS % "a" + "\n" + LEAVING % "a"),
    ),
    "selectors_want_key": (Example((insert(a=1),), "CREATE TABLE t (a INT NOT NULL UNIQUE)", OPEN, SELECT % "a"),),
}

SPLITS: Mapping[str, tuple[Example, ...]] = {
    "update_split": (Example((MOVED,), UNIQUE), Example((BESIDE,), UNIQUE)),
    "split_by_text": (
        Example(
            (update(dict(id=1, a=None), dict(id=1, a="null")),),
            "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9) UNIQUE)",
        ),
    ),
    "split_interleaved": (
        Example((together(MOVED, update(dict(id=2, a=4), dict(id=2, a=5)), insert(id=3, a=6)),), UNIQUE),
        Example((together(insert(id=0, a=6), MOVED),), UNIQUE),
    ),
    "raw_change_events": (Example((MOVED,), UNIQUE, config=RAW),),
    "filters_halves": (Example((MOVED,), UNIQUE, config=NO_DELETES),),
    "handle_split": (
        Example((together(update(dict(a="a"), dict(a="A")), update(dict(a="b"), dict(a="B"))),), FOLDED, config=NO_OLD),
    ),
    "updates_before_inserts": (
        Example((together(insert(id=1, a=1), update(dict(id=2, a=2), dict(id=2, a=3))),), TWO_COLUMNS),
    ),
}

SHARED: Mapping[str, tuple[Example, ...]] = {
    "group_by_partition_key": (
        Example(
            (together(insert(id=1), insert(table="u", id=1)),),
            "CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE u (id INT PRIMARY KEY)",
        ),
    ),
    "flush_rows": (Example((insert(times=2049, id=1),), uri=f"{OPEN}&max-batch-size=1000"),),
}
