"""The DDL statements of a plan: when each commits, its kind, its table and its text.

A statement depends on the seed, its number and the current definitions. A table never grows without end, and only what
an earlier statement added is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import merge
from itertools import chain, count

from simulator.errors import UserError
from simulator.generate.values.generators import Reference, TableGenerators
from simulator.load.load_plan import (
    ADD_COLUMN,
    ADD_INDEX,
    DROP_COLUMN,
    DROP_INDEX,
    TRUNCATE,
    DdlSchedule,
    TimedStatement,
)
from simulator.tidb.ddl.catalog import Key, build_catalog, object_key
from simulator.tidb.ddl.foreign_keys import referring_keys
from simulator.tidb.errors import tidb_error
from simulator.tidb.model.table import Column, Index, LastIds, Table
from simulator.tidb.model.types import family
from simulator.tidb.restore import quote_name, quote_table

MOST_COLUMNS = 16
MOST_INDEXES = 8
"""The limits of what statements add to a table. At the limit, the oldest is dropped instead."""

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
"""Types of added columns, each with possible defaults."""

TIMED = -1
"""The `entry` of the plan's timed statements."""

LONGEST_WHOLE_INDEX = 64
"""The longest string, in characters, that an index holds as a whole."""

INDEX_PREFIX = 16
"""The characters of a longer string that an index holds."""


@dataclass(frozen=True)
class ScheduledDdl:
    """The time and the schedule of a statement."""

    ms: int
    """Simulated milliseconds since the start of the stream."""

    entry: int
    """The index in `LoadPlan.statements`; TIMED for a timed statement."""

    number: int
    """Its number in the schedule, from 0; in `LoadPlan.timed` if the schedule is TIMED."""


def schedule_ddl(
    schedules: Sequence[DdlSchedule], seed: int, first_ms: int, timed: Sequence[TimedStatement] = ()
) -> Iterator[ScheduledDdl]:
    """Yield the statements of all schedules in order, without end, from `first_ms` on, and among them the timed ones.

    Each has a millisecond of its own.
    """
    every = [_ddl_times(each, entry, seed, first_ms) for entry, each in enumerate(schedules)]
    last = 0
    for ms, entry, number in merge([(each.at_ms, TIMED, number) for number, each in enumerate(timed)], *every):
        last = max(ms, last + 1)
        yield ScheduledDdl(last, entry, number)


def _ddl_times(schedule: DdlSchedule, entry: int, seed: int, first_ms: int) -> Iterator[tuple[int, int, int]]:
    for number in count():
        yield first_ms + ddl_time_ms(schedule, seed, entry, number), entry, number


def ddl_time_ms(schedule: DdlSchedule, seed: int, entry: int, number: int) -> int:
    """Return the milliseconds before the n-th statement. Intervals stay within the minimum and the maximum."""
    least, most = schedule.every_ms
    return (number + 1) * (least + most) // 2 + _choose((most - least) // 2 + 1, seed, entry, number, "when")


def _choose(choices: int, seed: int, entry: int, number: int, what: str) -> int:
    digest = blake2b(f"{seed} {entry} {number} {what}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % choices


def check_truncate(
    schedules: Sequence[DdlSchedule], tables: Sequence[Table], values: Sequence[TableGenerators]
) -> None:
    """Raise UserError for TRUNCATE of tables that others refer to."""
    refused = truncate_refusals(tables, values)
    for each in (each for each in schedules if TRUNCATE in each.kinds):
        chosen = refused if each.table is None else refused[each.table : each.table + 1]
        if all(chosen):
            raise UserError(f"[[ddl]]: {TRUNCATE}: {chosen[0]}; leave it out of kinds, or name another table")


def truncate_refusals(tables: Sequence[Table], values: Sequence[TableGenerators]) -> tuple[str, ...]:
    """Return for each table why it may not be truncated: other tables refer to its rows. Empty if it may be."""
    known, refusals = build_catalog(tables), []
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
        refusals.append(
            foreign
            or next(
                (
                    f"rows of {child.schema}.{child.name} refer to those of {table.schema}.{table.name}"
                    for child, generators in zip(tables, values, strict=True)
                    if child is not table and place in _references(generators)
                ),
                "",
            )
        )
    return tuple(refusals)


def _references(generators: TableGenerators) -> set[Key]:
    columns = (column.values for column in generators.columns.values())
    return {object_key(values.schema, values.table) for values in columns if isinstance(values, Reference)}


@dataclass(frozen=True)
class ChosenDdl:
    table: int
    """The index in `Model.tables`."""

    kind: str
    """What it does in the end."""

    text: str


@dataclass(frozen=True)
class OwnIds:
    """The ids of what timed statements added to a table."""

    columns: frozenset[int] = frozenset()
    indexes: frozenset[int] = frozenset()

    def after(self, before: Table, table: Table) -> OwnIds:
        """Return the ids after a timed statement."""
        return OwnIds(
            self.columns | {each.id for each in table.columns} - {each.id for each in before.columns},
            self.indexes | {each.id for each in table.indexes} - {each.id for each in before.indexes},
        )


@dataclass(frozen=True)
class DdlChooser:
    """Chooses the statements of a plan."""

    wanted: Sequence[DdlSchedule]
    seed: int
    firsts: Sequence[LastIds]
    """The highest ids of each table before the first statement."""

    truncate_refusals: Sequence[str]
    """For each table why it is not truncated; empty if it may be."""

    own: Sequence[OwnIds] = ()
    """Parallel to the tables; empty if there are no timed statements."""

    def choose(self, turn: ScheduledDdl, tables: Sequence[Table], empty: bool) -> ChosenDdl:
        """Choose a statement. `tables` are the current definitions; `empty` says that there were no changes yet, so
        that TRUNCATE has no effect.
        """
        schedule = self.wanted[turn.entry]
        place = (
            self._choose(len(schedule.kinds), turn, "kind") if schedule.random else turn.number % len(schedule.kinds)
        )
        kind = schedule.kinds[place]
        if kind == TRUNCATE and empty:
            kind = ADD_INDEX
        places = range(len(tables)) if schedule.table is None else (schedule.table,)
        fits: dict[str, Callable[[int], object]] = {
            DROP_COLUMN: lambda number: self._added_columns(number, tables[number]),
            DROP_INDEX: lambda number: self._added_indexes(number, tables[number]),
            ADD_INDEX: lambda number: self._index_parts(number, tables[number]),
            TRUNCATE: lambda number: not self.truncate_refusals[number],
        }
        fitting = [number for number in places if kind not in fits or fits[kind](number)]
        if not fitting:
            kind, fitting = ADD_INDEX if kind == DROP_INDEX else ADD_COLUMN, list(places)
        number = fitting[self._choose(len(fitting), turn, "table")]
        return self._statement(kind, number, tables[number], turn)

    def _statement(self, kind: str, number: int, table: Table, turn: ScheduledDdl) -> ChosenDdl:
        columns, indexes = self._added_columns(number, table), self._added_indexes(number, table)
        parts = self._index_parts(number, table)
        if kind == ADD_INDEX and not parts:
            kind = ADD_COLUMN
        if kind == ADD_COLUMN and len(columns) >= MOST_COLUMNS:
            kind, columns = DROP_COLUMN, columns[:1]
        if kind == ADD_INDEX and len(indexes) >= MOST_INDEXES:
            kind, indexes = DROP_INDEX, indexes[:1]
        if kind == TRUNCATE:
            return ChosenDdl(number, kind, f"TRUNCATE TABLE {quote_table(table.schema, table.name)}")
        if kind == DROP_COLUMN:
            spec = f"DROP COLUMN {quote_name(columns[self._choose(len(columns), turn, 'which')].name)}"
        elif kind == DROP_INDEX:
            spec = f"DROP INDEX {quote_name(indexes[self._choose(len(indexes), turn, 'which')].name)}"
        elif kind == ADD_INDEX:
            name = _unused_name(f"added_index_{table.last_ids.index + 1}", [index.name for index in table.indexes])
            spec = f"ADD INDEX {quote_name(name)} ({parts[self._choose(len(parts), turn, 'which')]})"
        else:
            spec = f"ADD COLUMN {self._column(table, turn)}"
        return ChosenDdl(number, kind, f"ALTER TABLE {quote_table(table.schema, table.name)} {spec}")

    def _added_columns(self, number: int, table: Table) -> list[Column]:
        """Return the columns that statements at intervals added, the oldest first."""
        own = self.own[number].columns if self.own else ()
        return [column for column in table.columns if column.id > self.firsts[number].column and column.id not in own]

    def _added_indexes(self, number: int, table: Table) -> list[Index]:
        own = self.own[number].indexes if self.own else ()
        return [index for index in table.indexes if index.id > self.firsts[number].index and index.id not in own]

    def _index_parts(self, number: int, table: Table) -> list[str]:
        """Return the possible parts of a new index: original columns that are not generated, long texts with a prefix."""
        parts = []
        for column in (column for column in table.columns if column.id <= self.firsts[number].column):
            kind, length = family(column.type), column.type.length
            if kind not in ("json", "vector") and not column.generated:
                long = kind == "text" or kind == "string" and not 0 <= length <= LONGEST_WHOLE_INDEX
                parts.append(quote_name(column.name) + (f"({INDEX_PREFIX})" if long else ""))
        return parts

    def _column(self, table: Table, turn: ScheduledDdl) -> str:
        name = _unused_name(f"added_{table.last_ids.column + 1}", [column.name for column in table.columns])
        type, defaults = TYPES[self._choose(len(TYPES), turn, "type")]
        null = "NULL" if self._choose(2, turn, "null") else "NOT NULL"
        return f"{quote_name(name)} {type} {null} DEFAULT {defaults[self._choose(len(defaults), turn, 'default')]}"

    def _choose(self, choices: int, turn: ScheduledDdl, what: str) -> int:
        return _choose(choices, self.seed, turn.entry, turn.number, what)


def _unused_name(name: str, names: Sequence[str]) -> str:
    lower = {other.lower() for other in names}
    return next(free for free in chain([name], (f"{name}_{number}" for number in count(2))) if free not in lower)
