"""Examples of topics, partitions, messages and their order in different releases, by the field of Release."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.explain.examples.playback import OPEN, ExampleRow, ReleaseExample, insert, update

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


def one_transaction(*parts: tuple[ExampleRow, ...]) -> tuple[ExampleRow, ...]:
    return tuple(row for part in parts for row in part)


MOVED = update(dict(id=1, a=1), dict(id=1, a=2))
BESIDE = one_transaction(MOVED, insert(id=2, a=3))

PLACES: Mapping[str, tuple[ReleaseExample, ...]] = {
    "dispatchers": (
        ReleaseExample((insert(id=1),), uri=SEVERAL, config=OLD_DISPATCH % "index-value"),
        ReleaseExample((insert(id=1),), uri=SEVERAL, config=BY_COLUMNS % "id"),
    ),
    "default_dispatcher": (
        ReleaseExample((insert(id=1),), uri=SEVERAL),
        ReleaseExample((insert(id=1),), uri=SEVERAL, config=NO_OLD),
    ),
    "rowid_is_row_id": (ReleaseExample((insert(id=1),), uri=SEVERAL, config=OLD_DISPATCH % "rowid"),),
    "dispatch_needs_index": (ReleaseExample((), uri=SEVERAL, config=BY % "index-value", warns=True),),
    "dispatch_ignores_case": (ReleaseExample((insert(id=1),), uri=SEVERAL, config=BY_COLUMNS % "ID"),),
    "dispatch_lowers_names": (
        ReleaseExample((insert(ID=1),), "CREATE TABLE t (ID INT PRIMARY KEY)", SEVERAL, BY_COLUMNS % "ID"),
    ),
    "dispatch_skips_virtual": (ReleaseExample((insert(id=1, a=2, b=3),), VIRTUAL, SEVERAL, BY_COLUMNS % "a"),),
    "dispatch_refuses_virtual": (ReleaseExample((insert(id=1, a=2, b=3),), VIRTUAL, SEVERAL, BY_COLUMNS % "v"),),
    "dispatch_nulls": (
        ReleaseExample((insert(id=1),), TWO_COLUMNS, SEVERAL, BY_COLUMNS % "a"),
        ReleaseExample(
            (insert(id=1),),
            "CREATE TABLE t (id INT NOT NULL, v INT AS (id) VIRTUAL NOT NULL, UNIQUE KEY x (v), UNIQUE KEY y (id, v))",
            SEVERAL,
            BY % "index-value",
        ),
    ),
    "dispatch_time_fraction": (
        ReleaseExample(
            (insert(id=1, a="01:02:03.456"),),
            "CREATE TABLE t (id INT PRIMARY KEY, a TIME(3))",
            SEVERAL,
            BY_COLUMNS % "a",
        ),
    ),
    "topic_rules": (
        ReleaseExample((insert(id=1),), config=TO % "of_{schema}"),
        ReleaseExample((insert(id=1),), config=TO % "plain"),
        ReleaseExample((insert(id=1),), config=TO % "{schema}_{table}_"),
    ),
    "column_selectors": (
        ReleaseExample((insert(id=1, a=1),), TWO_COLUMNS, OPEN, SELECT % "a"),
        ReleaseExample(
            (insert(id=1, a=1),),
            "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL UNIQUE)",
            SEVERAL,
            BY % "index-value" + "\n" + LEAVING % "id",
        ),
    ),
    "selectors_checked": (
        ReleaseExample((insert(id=1, a=1),), TWO_COLUMNS, SEVERAL, BY_COLUMNS % "a" + "\n" + LEAVING % "a"),
    ),
    "selectors_want_key": (
        ReleaseExample((insert(a=1),), "CREATE TABLE t (a INT NOT NULL UNIQUE)", OPEN, SELECT % "a"),
    ),
}

SPLITS: Mapping[str, tuple[ReleaseExample, ...]] = {
    "update_split": (ReleaseExample((MOVED,), UNIQUE), ReleaseExample((BESIDE,), UNIQUE)),
    "split_by_text": (
        ReleaseExample(
            (update(dict(id=1, a=None), dict(id=1, a="null")),),
            "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9) UNIQUE)",
        ),
    ),
    "split_interleaved": (
        ReleaseExample((one_transaction(MOVED, update(dict(id=2, a=4), dict(id=2, a=5)), insert(id=3, a=6)),), UNIQUE),
        ReleaseExample((one_transaction(insert(id=0, a=6), MOVED),), UNIQUE),
    ),
    "raw_change_events": (ReleaseExample((MOVED,), UNIQUE, config=RAW),),
    "filters_halves": (ReleaseExample((MOVED,), UNIQUE, config=NO_DELETES),),
    "handle_split": (
        ReleaseExample(
            (one_transaction(update(dict(a="a"), dict(a="A")), update(dict(a="b"), dict(a="B"))),),
            FOLDED,
            config=NO_OLD,
        ),
    ),
    "updates_before_inserts": (
        ReleaseExample((one_transaction(insert(id=1, a=1), update(dict(id=2, a=2), dict(id=2, a=3))),), TWO_COLUMNS),
    ),
}

SHARED: Mapping[str, tuple[ReleaseExample, ...]] = {
    "group_by_partition_key": (
        ReleaseExample(
            (one_transaction(insert(id=1), insert(table="u", id=1)),),
            "CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE u (id INT PRIMARY KEY)",
        ),
    ),
    "flush_rows": (ReleaseExample((insert(times=2049, id=1),), uri=f"{OPEN}&max-batch-size=1000"),),
}
