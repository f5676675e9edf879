"""The difference 17 of the stories' README: MariaDB takes a NULL that is written over NULL for a change, TiDB does not.

MariaDB compares the bytes of records (MariaDB/server sql/sql_update.cc, compare_record). Those under a NULL are the
column's default where InnoDB read the row (storage/innobase/row/row0sel.cc, row_sel_store_mysql_field: default_rec),
and zero where an UPDATE sets NULL. So a row may count as changed though no value is, and its ON UPDATE
CURRENT_TIMESTAMP fires. It compares whole records where no column is a VARCHAR, VARBINARY, TEXT or BLOB
(sql/table.cc, can_cmp_whole_record). TiDB compares values (tidb v8.5 pkg/executor/write.go, updateRecord).

What is excused follows from a table's definition and the two images of a row; cells that no such update
touched are compared as they stand.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace

from simulator.tidb.model.table import Table
from simulator.tidb.model.types import family
from support.story import Cells, Log, RowKey, Schema, Transaction, says_something

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


__all__ = ["is_null_over_null", "without_null_over_null"]
