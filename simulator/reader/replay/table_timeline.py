"""The tables of a stream over time: names, definitions, and when their rows disappear.

A table keeps its number through every RENAME and ALTER. CREATE and TRUNCATE TABLE start a new one, as TiDB assigns a
new table id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.change_frame import Ints
from simulator.errors import DdlError, shortened
from simulator.reader.replay.stream_statements import (
    StreamStatement,
    as_told,
    databases,
    named_tables,
    renames,
    statement_readings,
    statement_times,
    touched_names,
)
from simulator.ticdc.mounter import has_zone, to_local
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import (
    DatabaseInfo,
    Key,
    build_catalog,
    object_key,
    with_database,
    with_table,
    without_table,
)
from simulator.tidb.ddl.session import ExecutionResult, Job
from simulator.tidb.model.table import Column, Name, Table
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.syntax.alter import ExchangePartition, PartitionAction
from simulator.tidb.syntax.definitions import CreateTable
from simulator.tidb.syntax.definitions import Statement as DdlSyntax
from simulator.tidb.syntax.statements import AlterTable, FlashbackDatabase, FlashbackTable, RecoverTable

DEFAULT_DATABASE = "test"
"""The database that every new TiDB has."""

ALREADY_APPLIED = ("schema:1007", "schema:1008", "schema:1050", "schema:1051")
"""Error codes of statements that create a known database or table, or drop an unknown one."""

NO_TABLE = -1
"""Table number of a name without a table."""


@dataclass(frozen=True)
class ReplayedTable:
    since: int
    """Commit-ts of the statement; rows above it have this definition."""

    table: Table


@dataclass(frozen=True)
class PartitionDrop:
    """A statement that drops or truncates partitions."""

    ts: int
    definition: int
    """Index of the definition before it."""

    names: frozenset[str]
    """In lower case; empty for all partitions."""


@dataclass(frozen=True)
class TableHistory:
    """The definitions of a table, from its creation until it is dropped or truncated."""

    definitions: tuple[ReplayedTable, ...]
    known: bool
    """Whether all rows at the start of the stream are known."""

    lenient: bool = False
    """Whether only the final definition is known, and earlier ones are inferred."""

    altered: int = -1
    """Of a lenient history the commit-ts of the last statement that may have changed its definition."""

    gone: int | None = None
    """Commit-ts of the statement that removed all rows."""

    cuts: tuple[PartitionDrop, ...] = ()
    odd: str = ""
    """Why the rows cannot be replayed; empty if they can."""

    @property
    def table(self) -> Table:
        """The last definition."""
        return self.definitions[-1].table

    @cached_property
    def keyed(self) -> bool:
        return bool(handle_key(self.table))

    def definition_at(self, ts: Ints) -> Ints:
        """Return the index of the definition at each commit-ts."""
        since = np.array([definition.since for definition in self.definitions], np.int64)
        indexes: Ints = np.maximum(np.searchsorted(since, ts, "left") - 1, 0)
        return indexes

    def __str__(self) -> str:
        return f"{self.table.schema}.{self.table.name}"


@dataclass(frozen=True)
class TableTimeline:
    tables: tuple[TableHistory, ...]
    names: Mapping[Key, tuple[tuple[int, int], ...]]
    """Name in lower case → (commit-ts, table number): from when on the name refers to which table."""

    notes: tuple[str, ...] = ()
    """Statements that do not fit the tables."""

    touches: Mapping[Key, Ints] = field(default_factory=dict)
    """Commit-ts of the statements about a table, ascending; with an empty table name, of those about a whole
    database."""

    @property
    def definitions(self) -> list[Table]:
        """All definitions of all tables."""
        return [definition.table for history in self.tables for definition in history.definitions]

    def touched(self, table_key: Key) -> Ints:
        """Return when statements were about a table, ascending."""
        times = [self.touches[each] for each in (table_key, (table_key[0], "")) if each in self.touches]
        return np.unique(np.concatenate(times)) if times else np.zeros(0, np.int64)

    def numbers(self, name: Name, ts: Ints, exact: npt.NDArray[np.bool_]) -> Ints:
        """Return the table that had the name before each commit-ts; NO_TABLE if none had."""
        spans = self.names.get(object_key(*name), ())
        if not spans:
            return np.full(len(ts), NO_TABLE, np.int64)
        since, number = (np.array(values, np.int64) for values in zip(*spans))
        number = np.append(number, NO_TABLE)  # for what lies before the first
        tables: Ints = number[np.searchsorted(since, ts, "left") - 1]
        # Milliseconds alone do not say whether a row is older than the statement: it is where the table is.
        late = ~exact & (tables == NO_TABLE)
        return np.where(late, number[np.searchsorted(since, ts, "right") - 1], tables)

    def without_rows_of(self, names: Collection[Key], why: str) -> TableTimeline:
        """Return the timeline with tables whose rows cannot be replayed."""
        tables = tuple(
            replace(history, odd=history.odd or why)
            if object_key(history.table.schema, history.table.name) in names
            else history
            for history in self.tables
        )
        return replace(self, tables=tables)

    def with_unknown_rows(self) -> TableTimeline:
        """Return the timeline of a stream that begins in the middle: no table's rows are known there."""
        return replace(self, tables=tuple(replace(history, known=False) for history in self.tables))

    def in_zone(self, zone: str) -> TableTimeline:
        """Return the timeline of rows whose TIMESTAMPs are in a time zone: so are those of new columns of rows."""

        def moved(each: ReplayedTable) -> ReplayedTable:
            columns = tuple(_moved_column(column, zone) for column in each.table.columns)
            return replace(each, table=replace(each.table, columns=columns))

        histories = (replace(history, definitions=tuple(map(moved, history.definitions))) for history in self.tables)
        return replace(self, tables=tuple(histories)) if zone else self

    def last(self) -> dict[Key, int]:
        """Return the tables at the end, by name in lower case."""
        return {name: spans[-1][1] for name, spans in self.names.items() if spans[-1][1] != NO_TABLE}


def _moved_column(column: Column, zone: str) -> Column:
    if column.origin_default is None or not has_zone(column.type):
        return column
    (text,) = to_local(pa.array([column.origin_default]), zone).to_pylist()
    return replace(column, origin_default=text.decode())


def table_timeline(
    sent: Iterable[StreamStatement],
    before: Iterable[Table] | None = None,
    known: Collection[Name] | None = None,
    after: Iterable[Table] | None = None,
) -> TableTimeline:
    """Build the timeline of a stream with these statements.

    `before` has the tables at the start. `known` has the names of those whose rows are known then; None means all. If
    `before` is None, the tables at the start are inferred from `after`, the tables at the end.
    """
    statements = list(sent)
    tables = list(before or ())
    lenient = before is None and after is not None
    if lenient:
        tables = _initial_tables(statements, list(after or ()))
    all_known = known is None and not lenient
    known_keys = (
        {object_key(t.schema, t.name) for t in tables} if all_known else {object_key(*name) for name in known or ()}
    )
    builder = _TimelineBuilder(tables, known_keys, lenient)
    for statement in statements:
        builder.apply(statement)
    for table in after or ():
        builder.expect(table)
    names = {name: tuple(spans) for name, spans in builder.names.items()}
    return TableTimeline(tuple(builder.tables), names, tuple(builder.notes), statement_times(statements))


class _TimelineBuilder:
    def __init__(self, tables: Sequence[Table], known: Collection[Key], lenient: bool) -> None:
        catalog = build_catalog(tables)
        self.catalog = (
            catalog if catalog.database(DEFAULT_DATABASE) else with_database(catalog, DatabaseInfo(DEFAULT_DATABASE))
        )
        self.tables: list[TableHistory] = []
        self.names: dict[Key, list[tuple[int, int]]] = {}
        self.notes: list[str] = []
        self.dropped: dict[Key, int] = {}
        for table_key, table in self.catalog.tables.items():
            self._assign_name(table_key, -1, self._add_table(-1, table, table_key in known, lenient))

    def apply(self, sent: StreamStatement) -> None:
        try:
            statement = parse_ddl(sent.query, sent.sql_mode)
            if statement is None:
                return
            for name in databases(sent):
                if not self.catalog.database(name):
                    self.catalog = with_database(self.catalog, DatabaseInfo(name))
            self._forget_dropped(sent, statement)
            readings = statement_readings(sent, statement, self.catalog)
        except DdlError as error:
            if error.code not in ALREADY_APPLIED:
                self._misfit(sent, error)
            return
        if len(readings) > 1:
            self._set_apart(sent, readings)
        self._record(sent.ts, statement, as_told(sent, readings[0]))

    def _set_apart(self, sent: StreamStatement, readings: Iterable[ExecutionResult]) -> None:
        """Set the tables apart of which one was moved by a statement, and nothing tells which."""
        why = f"another table may be the one of {shortened(sent.query)}"
        for old in (old for reading in readings for job in reading.jobs for old, _ in job.renames):
            if (number := self._number(object_key(*old))) != NO_TABLE:
                self.tables[number] = replace(self.tables[number], odd=why)

    def _forget_dropped(self, sent: StreamStatement, statement: DdlSyntax) -> None:
        """Remove the table that a CREATE TABLE creates and an earlier one created: no message told that it was dropped,
        as with its database, of which files may not tell."""
        for name in named_tables(sent) if isinstance(statement, CreateTable) else ():
            number = self._number(table_key := object_key(*name))
            if number != NO_TABLE and 0 <= self.tables[number].definitions[0].since < sent.ts:
                self._remove(number, sent.ts, table_key)
                self.catalog = without_table(self.catalog, self.tables[number].table)

    def expect(self, table: Table) -> None:
        """Add a table that exists at the end and that no statement created."""
        table_key = object_key(table.schema, table.name)
        if self._number(table_key) == NO_TABLE:
            since = max((ts for ts, _ in self.names.get(table_key, ())), default=-1)
            self._assign_name(table_key, since, self._add_table(since, table, table_key not in self.names, True))

    def _misfit(self, sent: StreamStatement, error: DdlError) -> None:
        """Note a statement that does not fit the tables, unless a truth tells what it leads to. With inferred tables no
        note is made, since these may be wrong."""
        if sent.after is not None:
            table_key = object_key(sent.after.schema or sent.schema, sent.after.name)
            number = self._add_table(
                sent.ts, replace(sent.after, schema=sent.after.schema or sent.schema), False, False
            )
            self._assign_name(table_key, sent.ts, number)
            self.catalog = with_table(self.catalog, self.tables[number].table)
            return
        if any(history.lenient for history in self.tables):
            return
        self.notes.append(f"{shortened(sent.query)}: {error}")
        for table_key in {object_key(*pair) for pair in named_tables(sent)} & self.names.keys():
            if self._number(table_key) != NO_TABLE:
                self._assign_name(table_key, sent.ts, NO_TABLE)  # nobody knows how it is defined now

    def _record(self, ts: int, statement: DdlSyntax, executed: ExecutionResult) -> None:
        before, after = self.catalog, executed.catalog
        assert after is not None
        for pair in (pair for job in executed.jobs for pair in job.renames):
            old, new = (object_key(*name) for name in pair)
            if (number := self._number(old)) != NO_TABLE:
                self._assign_name(old, ts, NO_TABLE)
                self._assign_name(new, ts, number)
        for table_key in dict.fromkeys(touched_names(executed.jobs, before, after)):
            now, number = after.tables.get(table_key), self._number(table_key)
            if now is None:
                if number != NO_TABLE:
                    self._remove(number, ts, table_key)
            elif number == NO_TABLE:
                self._add_or_restore(
                    table_key, ts, now, isinstance(statement, (RecoverTable, FlashbackTable, FlashbackDatabase))
                )
            elif any(job.code == Action.TRUNCATE_TABLE for job in executed.jobs):
                self._remove(number, ts, table_key)
                self._assign_name(table_key, ts, self._add_table(ts, now, True, False))
            else:
                self._record_alter(number, ts, now, statement)
        for number, why in self._exchanged_tables(statement, executed.jobs):
            self.tables[number] = replace(self.tables[number], odd=why)
        self.catalog = after

    def _number(self, table_key: Key) -> int:
        spans = self.names.get(table_key)
        return spans[-1][1] if spans else NO_TABLE

    def _assign_name(self, table_key: Key, ts: int, number: int) -> None:
        self.names.setdefault(table_key, []).append((ts, number))

    def _add_table(self, ts: int, table: Table, known: bool, lenient: bool) -> int:
        self.tables.append(TableHistory((ReplayedTable(ts, table),), known, lenient))
        return len(self.tables) - 1

    def _remove(self, number: int, ts: int, table_key: Key) -> None:
        self.tables[number] = replace(self.tables[number], gone=ts)
        self.dropped[table_key] = number
        self._assign_name(table_key, ts, NO_TABLE)

    def _add_or_restore(self, table_key: Key, ts: int, table: Table, again: bool) -> None:
        """Record a table that is new, or that was dropped and is restored with its rows."""
        if not again:
            self._assign_name(table_key, ts, self._add_table(ts, table, True, False))
            return
        number = self.dropped.get(table_key, NO_TABLE)
        if number == NO_TABLE:
            number = self._add_table(ts, table, False, False)
        self.tables[number] = replace(self.tables[number], gone=None)
        self._assign_name(table_key, ts, number)

    def _record_alter(self, number: int, ts: int, table: Table, statement: DdlSyntax) -> None:
        history = self.tables[number]
        last = len(history.definitions) - 1
        cuts = tuple(
            PartitionDrop(ts, last, frozenset(name.lower() for name in spec.names))
            for spec in (statement.specs if isinstance(statement, AlterTable) else ())
            if isinstance(spec, PartitionAction) and spec.verb in ("DROP", "TRUNCATE")
        )
        if history.lenient:
            history = self.tables[number] = replace(history, altered=ts)
        another = () if history.table is table else (ReplayedTable(ts, table),)
        if cuts or another:
            self.tables[number] = replace(
                history, definitions=(*history.definitions, *another), cuts=(*history.cuts, *cuts)
            )

    def _exchanged_tables(self, statement: DdlSyntax, jobs: Sequence[Job]) -> list[tuple[int, str]]:
        """Return the tables between which EXCHANGE PARTITION moved rows."""
        specs = statement.specs if isinstance(statement, AlterTable) else ()
        if not any(isinstance(spec, ExchangePartition) for spec in specs):
            return []
        names = [(job.schema, job.table) for job in jobs] + [job.exchanged_table for job in jobs if job.exchanged_table]
        numbers = (self._number(object_key(*name)) for name in names)
        why = "EXCHANGE PARTITION moved rows of it that no message has"
        return [(number, why) for number in numbers if number != NO_TABLE]


def _initial_tables(sent: Sequence[StreamStatement], after: Sequence[Table]) -> list[Table]:
    """Return those final tables that no statement created, under the names they had at the start."""
    there = {object_key(table.schema, table.name): table for table in after}
    builder = _TimelineBuilder((), (), False)
    for statement in sent:
        builder.apply(statement)
    created = {
        table_key for table_key, spans in builder.names.items() if any(number != NO_TABLE for _, number in spans)
    }
    names: dict[Key, Name] = {table_key: (table.schema, table.name) for table_key, table in there.items()}
    for statement in reversed(sent):
        for old, new in renames(statement):
            if object_key(*new) in names and object_key(*old) != object_key(*new):  # else its old database is not told
                names[object_key(*old)] = old
                there[object_key(*old)] = there[object_key(*new)]
                del names[object_key(*new)]
    return [
        replace(there[table_key], schema=name[0], name=name[1])
        for table_key, name in names.items()
        if table_key not in created
    ]
