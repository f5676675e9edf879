"""Every story of a directory (`--stories DIR`, by default tests/stories), one test each: its row changes, transaction by
transaction, are those that a real server logged.

One thing is excused, the difference 17 of the stories' README: MariaDB takes a NULL that is written over NULL for a
change, TiDB does not. MariaDB compares the bytes of records (MariaDB/server sql/sql_update.cc, compare_record). Those
under a NULL are the column's default where InnoDB read the row (storage/innobase/row/row0sel.cc,
row_sel_store_mysql_field: default_rec), and zero where an UPDATE sets NULL. So a row may count as changed though no value
is, and its ON UPDATE CURRENT_TIMESTAMP fires. It compares whole records where no column is a VARCHAR, VARBINARY, TEXT or
BLOB (sql/table.cc, can_cmp_whole_record). TiDB compares values (tidb v8.5 pkg/executor/write.go, updateRecord).

What is excused follows from a table's definition and the two images of a row; cells that no such update touched are
compared as they stand.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.story import Cells, Log, RowKey, Schema, Transaction, differences, expected, happened, says_something
from support.vectors.files import STORIES, parametrize

from simulator.tidb.model.table import Table
from simulator.tidb.model.types import family

FAST = "2047"
"""Stories that are not marked slow: short ones."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, "story", STORIES, "*.sql", FAST, ".sql")


def test_a_story_changes_the_rows_that_a_server_changed(story: Path) -> None:
    """Order of transactions and DDL, net change of every key, every value, numbers of refusals, rows in the end."""
    assert [] == differences(*without_null_over_null(expected(story), happened(story)))


# -- NULL over NULL ----------------------------------------------------------------------------------------------------

Renewed = dict[RowKey, set[str]]
"""The ON UPDATE columns that only the server wrote, by row, until either side writes them again."""

VARIABLE = ("varchar", "varbinary")


def without_null_over_null(wanted: Log, got: Log) -> tuple[Log, Log]:
    """Both logs without the updates that the server alone made of NULL over NULL, and with the server's cells in what
    they renewed."""
    ours = {event.statement: event for event in got.events if isinstance(event, Transaction)}
    made: dict[int, Transaction] = {}
    renewed: Renewed = {}
    tables: dict[str, Table | None] = {}
    definitions = iter([*got.definitions, (sys.maxsize, "", None)])
    upcoming = next(definitions)
    events = []
    for event in wanted.events:
        if isinstance(event, Schema) and event.columns is None:
            renewed = {place: names for place, names in renewed.items() if place[0] != event.table}
        if isinstance(event, Transaction):
            while upcoming[0] < event.statement:
                tables[upcoming[1]] = upcoming[2]
                upcoming = next(definitions)
            mine = ours.get(event.statement, Transaction(event.statement))
            event = _without_excused(event, mine, tables, renewed)
            made[event.statement] = _with_renewed(event, mine, renewed)
        events.append(event)
    return (
        replace(wanted, events=[event for event in events if says_something(event)]),
        replace(
            got,
            final=_final(wanted, got, renewed),
            events=[
                made.get(event.statement, event) if isinstance(event, Transaction) else event for event in got.events
            ],
        ),
    )


def _without_excused(
    theirs: Transaction, mine: Transaction, tables: Mapping[str, Table | None], renewed: Renewed
) -> Transaction:
    """The server's transaction without what is excused, which is noted in `renewed`."""
    excused = set()
    for place in theirs.before.keys() & theirs.after.keys():
        table = tables.get(place[0])
        if table is None or place in mine.before or place in mine.after:
            continue
        if is_null_over_null(table, theirs.before[place], theirs.after[place]):
            excused.add(place)
            renewed.setdefault(place, set()).update(_differing(theirs.before[place], theirs.after[place]))
    return Transaction(
        theirs.statement,
        *(
            {place: row for place, row in side.items() if place not in excused}
            for side in (theirs.before, theirs.after)
        ),
    )


def is_null_over_null(table: Table, before: Cells, after: Cells) -> bool:
    """Whether MariaDB alone may have made this update: nothing differs but ON UPDATE columns, and a NULL that stays one
    lies over a default."""
    if any(column.type.name in VARIABLE or family(column.type) in ("text", "json") for column in table.columns):
        return False
    automatic = {column.name for column in table.columns if column.on_update}
    differing = _differing(before, after)
    null = (
        column.default is not None and not column.default_expression and before.get(column.name, "") is None
        for column in table.columns
    )
    return bool(differing) and differing <= automatic and before.keys() == after.keys() and any(null)


def _differing(before: Cells, after: Cells) -> set[str]:
    return {name for name in after if before.get(name) != after[name]}


def _with_renewed(theirs: Transaction, mine: Transaction, renewed: Renewed) -> Transaction:
    """Our transaction with the server's cells in what only the server wrote; a row that is written whole, or a cell
    that has become the same, is no longer renewed."""
    made = Transaction(mine.statement, dict(mine.before), dict(mine.after))
    for place in (mine.before.keys() | mine.after.keys()) & renewed.keys():
        old, new = mine.before.get(place), mine.after.get(place)
        their_old, their_new = theirs.before.get(place), theirs.after.get(place)
        names = renewed[place]
        if old is not None and their_old is not None:
            made.before[place] = _with(old, their_old, names)
        if old is None or new is None:
            del renewed[place]
            continue
        if their_old is None or their_new is None:
            continue
        for name in sorted(names):
            if new.get(name) == their_new.get(name):
                names.discard(name)
        kept = {name for name in names if new.get(name) == old.get(name) and their_new.get(name) == their_old.get(name)}
        made.after[place] = _with(new, their_new, kept)
    return made


def _with(row: Cells, theirs: Cells, names: set[str]) -> Cells:
    return {name: theirs.get(name) if name in names else cell for name, cell in row.items()}


def _final(wanted: Log, got: Log, renewed: Renewed) -> dict[str, dict[tuple[str | None, ...], Cells]]:
    """Our rows in the end with the server's cells in what is still renewed."""
    return {
        table: {
            key: _with(row, wanted.final.get(table, {}).get(key, row), renewed.get((table, key), set()))
            for key, row in rows.items()
        }
        for table, rows in got.final.items()
    }


# -- what is excused, and what is not: made-up stories -------------------------------------------------------------------

THEN, LATER, LAST = "2023-11-14 22:13:20", "2023-11-14 22:30:00", "2023-11-14 22:40:00"
STORY = """
CREATE DATABASE story;
CREATE TABLE story.t (id INT PRIMARY KEY, a INT {default}, {other} at DATETIME ON UPDATE CURRENT_TIMESTAMP);
SET TIMESTAMP = 1700000000;
INSERT INTO story.t (id, a, at) VALUES (1, NULL, '2023-11-14 22:13:20'), (2, 5, '2023-11-14 22:13:20');
SET TIMESTAMP = 1700001000;
UPDATE story.t SET a = a + 0;
{behind}
"""
VARCHAR = "b VARCHAR(5),"


def row(place: int, a: str | None, at: str, **others: str | None) -> dict[str, str | None]:
    return {"id": str(place), "a": a, **others, "at": at}


def update(statement: int, before: object, after: object) -> dict[str, object]:
    return {"txn": statement, "stmt": statement, "table": "story.t", "before": before, "after": after}


def found(
    directory: Path,
    changes: list[dict[str, object]],
    final: list[object],
    default: str = "DEFAULT 7",
    other: str = "",
    behind: str = "",
) -> list[str]:
    """What differs between the story and a log with those changes behind its INSERT."""
    story = directory / "made-up.sql"
    story.write_text(STORY.format(default=default, other=other, behind=behind), encoding="utf-8")
    names = ["id", "a", *(["b"] if other else []), "at"]
    extra: dict[str, Any] = {"b": None} if other else {}
    log = [
        {"ddl": "CREATE DATABASE story", "stmt": 0},
        {"ddl": story.read_text("utf-8").split(";")[1].strip(), "stmt": 1},
        {"schema": "story.t", "columns": [[name, ""] for name in names], "key": ["id"]},
        *(update(3, None, row(place, a, THEN, **extra)) for place, a in ((1, None), (2, "5"))),
        *changes,
        {"final": "story.t", "rows": final},
    ]
    with gzip.open(story.with_suffix(".jsonl.gz"), "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(entry) + "\n" for entry in log)
    return differences(*without_null_over_null(expected(story), happened(story)))


RENEWED = update(5, row(1, None, THEN), row(1, None, LATER))


def test_an_update_of_null_over_null_and_what_it_leaves_are_excused(tmp_path: Path) -> None:
    assert [] == found(tmp_path, [RENEWED], [row(1, None, LATER), row(2, "5", THEN)])


def test_a_row_may_differ_until_its_moment_is_written_again(tmp_path: Path) -> None:
    behind = "SET TIMESTAMP = 1700001600; UPDATE story.t SET a = 1 WHERE id = 1;"
    again = update(7, row(1, None, LATER), row(1, "1", LAST))
    assert [] == found(tmp_path, [RENEWED, again], [row(1, "1", LAST), row(2, "5", THEN)], behind=behind)
    wrong = update(7, row(1, None, LATER), row(1, "1", LATER))
    assert found(tmp_path, [RENEWED, wrong], [row(1, "1", LAST), row(2, "5", THEN)], behind=behind)
    assert found(tmp_path, [RENEWED, again], [row(1, "1", LATER), row(2, "5", THEN)], behind=behind)


def test_the_other_cells_of_an_excused_row_are_compared(tmp_path: Path) -> None:
    assert found(tmp_path, [RENEWED], [row(1, "0", LATER), row(2, "5", THEN)])


@pytest.mark.parametrize(
    ("changes", "final", "how"),
    [
        pytest.param(
            [update(5, row(2, "5", THEN), row(2, "5", LATER))],
            [row(1, None, THEN), row(2, "5", LATER)],
            {},
            id="a row without NULL",
        ),
        pytest.param(
            [update(5, row(1, None, THEN), row(1, "1", LATER))],
            [row(1, "1", LATER), row(2, "5", THEN)],
            {},
            id="a row whose other cells change",
        ),
        pytest.param([RENEWED], [row(1, None, LATER), row(2, "5", THEN)], {"default": ""}, id="no default"),
        pytest.param([RENEWED], [row(1, None, LATER), row(2, "5", LATER)], {}, id="a row that was not updated"),
        pytest.param([], [row(1, None, LATER), row(2, "5", THEN)], {}, id="rows in the end without an update"),
        pytest.param(
            [update(5, row(1, None, THEN, b=None), row(1, None, LATER, b=None))],
            [row(1, None, LATER, b=None), row(2, "5", THEN, b=None)],
            {"other": VARCHAR},
            id="a table with VARCHAR",
        ),
    ],
)
def test_nothing_else_is_excused(
    tmp_path: Path, changes: list[dict[str, object]], final: list[object], how: dict[str, str]
) -> None:
    assert found(tmp_path, changes, final, **how)
