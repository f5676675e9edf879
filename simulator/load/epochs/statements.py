"""Statements at intervals: when each comes, of which kind it is, about which table, and what it says.

One law: the n-th statement of an entry is known from the seed, its number and the definitions it finds; with these
kinds a table never grows without end, and whatever is dropped was added by a statement before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import merge
from itertools import chain, count

from simulator.errors import UserError
from simulator.load.plan.load_plan import ADD_COLUMN, ADD_INDEX, DROP_COLUMN, DROP_INDEX, TRUNCATE, DdlSchedule
from simulator.sources.generate.values.generators import Reference, TableGenerators
from simulator.tidb.ddl.catalog import Key, build_catalog, object_key
from simulator.tidb.ddl.constraints.foreign_keys import referring_keys
from simulator.tidb.ddl.tidb_errors import tidb_error
from simulator.tidb.model.table import Column, Index, LastIds, Table
from simulator.tidb.model.types import family
from simulator.tidb.restore.names import quote_name

MOST_COLUMNS = 16
MOST_INDEXES = 8
"""Of a table's, added by statements: where it has so many, the oldest goes instead of another coming."""

TYPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("BIGINT", ("0", "-1", "9223372036854775807")),
    ("INT UNSIGNED", ("7", "4294967295")),
    ("TINYINT(1)", ("0", "1")),
    ("DECIMAL(12,3)", ("0", "1.25", "-99.5")),
    ("DOUBLE", ("0.5", "-2.25")),
    ("VARCHAR(40)", ("''", "'new'", "'it''s'", "'né'")),
    ("CHAR(8)", ("'-'", "'none'")),
    ("VARBINARY(8)", ("x'00ff'", "''")),
    ("DATE", ("'2024-02-29'", "'1999-12-31'")),
    ("DATETIME(3)", ("'2000-01-01 00:00:00.125'",)),
    ("TIMESTAMP", ("'2001-09-09 01:46:40'",)),
    ("TIME", ("'-01:30:00'", "'12:00:00'")),
    ("YEAR", ("2025",)),
    ("ENUM('new','paid','sent')", ("'new'", "'sent'")),
    ("SET('a','b','c')", ("''", "'a,c'")),
    ("BIT(8)", ("b'101'",)),
)
"""Of columns that come, each with defaults to choose from."""

LONGEST_WHOLE_INDEX = 64
"""Characters of a string up to which an index has the whole of it."""

INDEX_PREFIX = 16
"""Characters of a longer one that it has."""


@dataclass(frozen=True)
class ScheduledDdl:
    """When a statement comes, and of which entry."""

    ms: int
    """Simulated milliseconds since the stream's start."""

    entry: int
    """Place in `LoadPlan.statements`."""

    number: int
    """Of its entry's statements, from 0."""


def schedule_ddl(wanted: Sequence[DdlSchedule], seed: int, first_ms: int) -> Iterator[ScheduledDdl]:
    """All of them in order, without end, counted from `first_ms`; each has a millisecond of its own."""
    last = first_ms
    for ms, entry, number in merge(*(_ddl_times(each, entry, seed) for entry, each in enumerate(wanted))):
        last = max(first_ms + ms, last + 1)
        yield ScheduledDdl(last, entry, number)


def _ddl_times(wanted: DdlSchedule, entry: int, seed: int) -> Iterator[tuple[int, int, int]]:
    for number in count():
        yield ddl_time_ms(wanted, seed, entry, number), entry, number


def ddl_time_ms(wanted: DdlSchedule, seed: int, entry: int, number: int) -> int:
    """After how many milliseconds the n-th comes: from one to the next it is never less than the least interval, nor
    more than the most."""
    least, most = wanted.every_ms
    return (number + 1) * (least + most) // 2 + _choose((most - least) // 2 + 1, seed, entry, number, "when")


def _choose(choices: int, seed: int, entry: int, number: int, what: str) -> int:
    digest = blake2b(f"{seed} {entry} {number} {what}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % choices


def check_truncate(wanted: Sequence[DdlSchedule], tables: Sequence[Table], values: Sequence[TableGenerators]) -> None:
    """Raises UserError for TRUNCATE of what rows of other tables refer to."""
    refused = truncate_refusals(tables, values)
    for each in (each for each in wanted if TRUNCATE in each.kinds):
        chosen = refused if each.table is None else refused[each.table : each.table + 1]
        if all(chosen):
            raise UserError(f"[[ddl]]: {TRUNCATE}: {chosen[0]}; leave it out of kinds, or name another table")


def truncate_refusals(tables: Sequence[Table], values: Sequence[TableGenerators]) -> tuple[str, ...]:
    """Of each table why TRUNCATE may not empty it, as rows of another refer to its rows; empty where it may."""
    known, found = build_catalog(tables), []
    for table in tables:
        place = object_key(table.schema, table.name)
        foreign = next(
            (
                str(tidb_error("ddl:1701", child.schema, child.name, each.name))
                for child, each in referring_keys(known, *place)
                if object_key(child.schema, child.name) != place
            ),
            "",
        )
        found.append(
            foreign
            or next(
                (
                    f"rows of {child.schema}.{child.name} refer to those of {table.schema}.{table.name}"
                    for child, wanted in zip(tables, values, strict=True)
                    if child is not table and place in _references(wanted)
                ),
                "",
            )
        )
    return tuple(found)


def _references(wanted: TableGenerators) -> set[Key]:
    columns = (column.values for column in wanted.columns.values())
    return {object_key(values.schema, values.table) for values in columns if isinstance(values, Reference)}


@dataclass(frozen=True)
class ChosenDdl:
    """A statement."""

    table: int
    """Place in `Model.tables`."""

    kind: str
    """What it does in the end."""

    text: str


@dataclass(frozen=True)
class DdlChooser:
    """Chooses statements of a plan."""

    wanted: Sequence[DdlSchedule]
    seed: int
    firsts: Sequence[LastIds]
    """Of each table of the model: the highest ids it had before the first statement."""

    needed: Sequence[str]
    """Of each table why it is not truncated; empty where it may be."""

    def chosen(self, turn: ScheduledDdl, tables: Sequence[Table], empty: bool) -> ChosenDdl:
        """The statement of a turn, `tables` being those of the model as they are then; `empty` is whether no change
        came before, so that TRUNCATE has nothing to do."""
        wanted = self.wanted[turn.entry]
        place = self._drawn(len(wanted.kinds), turn, "kind") if wanted.random else turn.number % len(wanted.kinds)
        kind = wanted.kinds[place]
        if kind == TRUNCATE and empty:
            kind = ADD_INDEX
        places = range(len(tables)) if wanted.table is None else (wanted.table,)
        fits: dict[str, Callable[[int], object]] = {
            DROP_COLUMN: lambda number: self._columns(number, tables[number]),
            DROP_INDEX: lambda number: self._indexes(number, tables[number]),
            ADD_INDEX: lambda number: self._parts(number, tables[number]),
            TRUNCATE: lambda number: not self.needed[number],
        }
        fitting = [number for number in places if kind not in fits or fits[kind](number)]
        if not fitting:
            kind, fitting = ADD_INDEX if kind == DROP_INDEX else ADD_COLUMN, list(places)
        number = fitting[self._drawn(len(fitting), turn, "table")]
        return self._about(kind, number, tables[number], turn)

    def _about(self, kind: str, number: int, table: Table, turn: ScheduledDdl) -> ChosenDdl:
        columns, indexes = self._columns(number, table), self._indexes(number, table)
        parts = self._parts(number, table)
        if kind == ADD_INDEX and not parts:
            kind = ADD_COLUMN
        if kind == ADD_COLUMN and len(columns) >= MOST_COLUMNS:
            kind, columns = DROP_COLUMN, columns[:1]
        if kind == ADD_INDEX and len(indexes) >= MOST_INDEXES:
            kind, indexes = DROP_INDEX, indexes[:1]
        if kind == TRUNCATE:
            return ChosenDdl(number, kind, f"TRUNCATE TABLE {_quoted_name(table)}")
        if kind == DROP_COLUMN:
            spec = f"DROP COLUMN {quote_name(columns[self._drawn(len(columns), turn, 'which')].name)}"
        elif kind == DROP_INDEX:
            spec = f"DROP INDEX {quote_name(indexes[self._drawn(len(indexes), turn, 'which')].name)}"
        elif kind == ADD_INDEX:
            name = _unused_name(f"added_index_{table.last_ids.index + 1}", [index.name for index in table.indexes])
            spec = f"ADD INDEX {quote_name(name)} ({parts[self._drawn(len(parts), turn, 'which')]})"
        else:
            spec = f"ADD COLUMN {self._column(table, turn)}"
        return ChosenDdl(number, kind, f"ALTER TABLE {_quoted_name(table)} {spec}")

    def _columns(self, number: int, table: Table) -> list[Column]:
        """Those that a statement added, the oldest first."""
        return [column for column in table.columns if column.id > self.firsts[number].column]

    def _indexes(self, number: int, table: Table) -> list[Index]:
        return [index for index in table.indexes if index.id > self.firsts[number].index]

    def _parts(self, number: int, table: Table) -> list[str]:
        """Of indexes that may come: columns that were there from the start and are not generated, of long texts the
        beginning."""
        found = []
        for column in (column for column in table.columns if column.id <= self.firsts[number].column):
            kind, length = family(column.type), column.type.length
            if kind not in ("json", "vector") and not column.generated:
                long = kind == "text" or kind == "string" and not 0 <= length <= LONGEST_WHOLE_INDEX
                found.append(quote_name(column.name) + (f"({INDEX_PREFIX})" if long else ""))
        return found

    def _column(self, table: Table, turn: ScheduledDdl) -> str:
        name = _unused_name(f"added_{table.last_ids.column + 1}", [column.name for column in table.columns])
        type, defaults = TYPES[self._drawn(len(TYPES), turn, "type")]
        null = "NULL" if self._drawn(2, turn, "null") else "NOT NULL"
        return f"{quote_name(name)} {type} {null} DEFAULT {defaults[self._drawn(len(defaults), turn, 'default')]}"

    def _drawn(self, choices: int, turn: ScheduledDdl, what: str) -> int:
        return _choose(choices, self.seed, turn.entry, turn.number, what)


def _quoted_name(table: Table) -> str:
    return f"{quote_name(table.schema)}.{quote_name(table.name)}"


def _unused_name(name: str, taken: Sequence[str]) -> str:
    lower = {other.lower() for other in taken}
    return next(free for free in chain([name], (f"{name}_{number}" for number in count(2))) if free not in lower)
