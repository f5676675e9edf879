"""The tables of a stream over its time: who has which name, in which definition, and when its rows went.

One law: a table keeps its number as long as its rows are its own, through every RENAME and ALTER; CREATE and TRUNCATE
TABLE make another, as TiDB gives another table id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator import tso
from simulator.columns.change_frame import DDL, Ints
from simulator.errors import DdlError
from simulator.releases import V8_5
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl import actions
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, Key, build_catalog, object_key, with_database
from simulator.tidb.ddl.execute import execute
from simulator.tidb.ddl.session import ExecutionResult, Job, Session
from simulator.tidb.model.table import Name, Table
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.syntax.alter import ExchangePartition, PartitionAction
from simulator.tidb.syntax.ddl import AlterTable, FlashbackDatabase, FlashbackTable, RecoverTable
from simulator.tidb.syntax.ddl import Statement as Syntax

DEFAULT_DATABASE = "test"
"""The database that every new TiDB has."""

ALREADY_APPLIED = ("schema:1007", "schema:1008", "schema:1050", "schema:1051")
"""Databases and tables that were known before the stream made them, or were never known."""

NO_TABLE = -1
"""In place of a table's number where a name has none."""


@dataclass(frozen=True)
class StreamStatement:
    """A statement as a stream has it."""

    ts: int
    schema: str
    query: str


@dataclass(frozen=True)
class TableVersion:
    since: int
    """Commit-ts of the statement; rows above it have this definition."""

    table: Table


@dataclass(frozen=True)
class PartitionDrop:
    """A statement that drops or empties partitions."""

    ts: int
    definition: int
    """Place of the definition before it."""

    names: frozenset[str]
    """In lower case; empty for all."""


@dataclass(frozen=True)
class TableHistory:
    """A table for as long as its rows are its own."""

    definitions: tuple[TableVersion, ...]
    known: bool
    """Whether all rows that it begins with are known."""

    lenient: bool = False
    """Whether it is defined by how it ends, and what it was before is not told."""

    gone: int | None = None
    """Commit-ts of the statement with which its rows went."""

    cuts: tuple[PartitionDrop, ...] = ()
    odd: str = ""
    """Why its rows cannot be replayed; empty where they can."""

    @property
    def table(self) -> Table:
        """In its last definition."""
        return self.definitions[-1].table

    @cached_property
    def keyed(self) -> bool:
        return bool(handle_key(self.table))

    def definition_at(self, ts: Ints) -> Ints:
        """The place of the definition at each commit-ts."""
        since = np.array([definition.since for definition in self.definitions], np.int64)
        found: Ints = np.maximum(np.searchsorted(since, ts, "left") - 1, 0)
        return found

    def __str__(self) -> str:
        return f"{self.table.schema}.{self.table.name}"


@dataclass(frozen=True)
class TableTimeline:
    tables: tuple[TableHistory, ...]
    names: Mapping[Key, tuple[tuple[int, int], ...]]
    """From which commit-ts on a name, in lower case, is that of which table."""

    notes: tuple[str, ...] = ()
    """What is odd with the statements."""

    touches: Mapping[Key, Ints] = field(default_factory=dict)
    """Commit-ts of the statements about a table, ascending; without a table of those about all of a database."""

    def touched(self, place: Key) -> Ints:
        """When statements were about a table, ascending."""
        found = [self.touches[each] for each in (place, (place[0], "")) if each in self.touches]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def numbers(self, name: Name, ts: Ints, exact: npt.NDArray[np.bool_]) -> Ints:
        """The tables that had the name before each commit-ts; NOWHERE where none had."""
        spans = self.names.get(object_key(*name), ())
        if not spans:
            return np.full(len(ts), NO_TABLE, np.int64)
        since, number = (np.array(values, np.int64) for values in zip(*spans))
        number = np.append(number, NO_TABLE)  # for what lies before the first
        found: Ints = number[np.searchsorted(since, ts, "left") - 1]
        # Milliseconds alone do not say whether a row is older than the statement: it is where the table is.
        late = ~exact & (found == NO_TABLE)
        return np.where(late, number[np.searchsorted(since, ts, "right") - 1], found)

    def last(self) -> dict[Key, int]:
        """The tables at the end, by name in lower case."""
        return {name: spans[-1][1] for name, spans in self.names.items() if spans[-1][1] != NO_TABLE}


def stream_statements(batches: Iterable[pa.RecordBatch]) -> list[StreamStatement]:
    """The statements among decoded events (DECODED), each once, in the order of their commit-ts."""
    found: dict[StreamStatement, None] = {}
    for batch in batches:
        for place in np.flatnonzero(batch.column("kind").to_numpy() == DDL):
            row = {name: batch.column(name)[place].as_py() for name in ("commit_ts", "schema", "text")}
            found[StreamStatement(row["commit_ts"], row["schema"] or "", row["text"])] = None
    return sorted(found, key=lambda sent: sent.ts)


def table_timeline(
    sent: Iterable[StreamStatement],
    before: Iterable[Table] = (),
    known: Collection[Name] | None = None,
    after: Iterable[Table] | None = None,
) -> TableTimeline:
    """The tables of a stream with these statements.

    `before` are those that are there when it begins, `known` those of them whose rows are then known (all, if None);
    where they are not told, `after` says which there are in the end, and so which there must have been.
    """
    statements = list(sent)
    given = list(before)
    lenient = not given and after is not None
    if lenient:
        given = _beginning(statements, list(after or ()))
    all_known = known is None and not lenient
    sure = {object_key(t.schema, t.name) for t in given} if all_known else {object_key(*name) for name in known or ()}
    made = _Made(given, sure, lenient)
    for statement in statements:
        made.take(statement)
    for table in after or ():
        made.expect(table)
    names = {name: tuple(spans) for name, spans in made.names.items()}
    return TableTimeline(tuple(made.tables), names, tuple(made.notes), _touches(statements))


class _Made:
    """The timeline while statements are taken, one after another."""

    def __init__(self, tables: Sequence[Table], known: Collection[Key], lenient: bool) -> None:
        found = build_catalog(tables)
        self.catalog = (
            found if found.database(DEFAULT_DATABASE) else with_database(found, DatabaseInfo(DEFAULT_DATABASE))
        )
        self.tables: list[TableHistory] = []
        self.names: dict[Key, list[tuple[int, int]]] = {}
        self.notes: list[str] = []
        self.dropped: dict[Key, int] = {}
        for place, table in self.catalog.tables.items():
            self._named(place, -1, self._new(-1, table, place in known, lenient))

    def take(self, sent: StreamStatement) -> None:
        try:
            statement = parse_ddl(sent.query)
            if statement is None:
                return
            if sent.schema and not self.catalog.database(sent.schema):
                self.catalog = with_database(self.catalog, DatabaseInfo(sent.schema))
            session = Session(sent.schema, self.catalog, V8_5, tso.sql_time(sent.ts))
            executed = execute(statement, sent.query, session)
        except DdlError as error:
            if error.code not in ALREADY_APPLIED:
                self._unfit(sent, error)
            return
        self._done(sent.ts, statement, executed)

    def expect(self, table: Table) -> None:
        """A table that is there in the end, and that nothing said of."""
        place = object_key(table.schema, table.name)
        if self._number(place) == NO_TABLE:
            since = max((ts for ts, _ in self.names.get(place, ())), default=-1)
            self._named(place, since, self._new(since, table, True, True))

    def _unfit(self, sent: StreamStatement, error: DdlError) -> None:
        """A statement that does not fit what is known; tables known by their end alone are so all the time."""
        if not any(history.lenient for history in self.tables):
            self.notes.append(f"{sent.query}: {error}")

    def _done(self, ts: int, statement: Syntax, executed: ExecutionResult) -> None:
        before, after = self.catalog, executed.catalog
        assert after is not None
        for pair in (pair for job in executed.jobs for pair in job.renames):
            old, new = (object_key(*name) for name in pair)
            if (number := self._number(old)) != NO_TABLE:
                self._named(old, ts, NO_TABLE)
                self._named(new, ts, number)
        for place in dict.fromkeys(_touched(executed.jobs, before, after)):
            now, number = after.tables.get(place), self._number(place)
            if now is None:
                if number != NO_TABLE:
                    self._go(number, ts, place)
            elif number == NO_TABLE:
                self._came(place, ts, now, isinstance(statement, (RecoverTable, FlashbackTable, FlashbackDatabase)))
            elif any(job.code == actions.TRUNCATE_TABLE for job in executed.jobs):
                self._go(number, ts, place)
                self._named(place, ts, self._new(ts, now, True, False))
            else:
                self._altered(number, ts, now, statement)
        for number, why in self._exchanged(statement, executed.jobs):
            self.tables[number] = replace(self.tables[number], odd=why)
        self.catalog = after

    def _number(self, place: Key) -> int:
        spans = self.names.get(place)
        return spans[-1][1] if spans else NO_TABLE

    def _named(self, place: Key, ts: int, number: int) -> None:
        self.names.setdefault(place, []).append((ts, number))

    def _new(self, ts: int, table: Table, known: bool, lenient: bool) -> int:
        self.tables.append(TableHistory((TableVersion(ts, table),), known, lenient))
        return len(self.tables) - 1

    def _go(self, number: int, ts: int, place: Key) -> None:
        self.tables[number] = replace(self.tables[number], gone=ts)
        self.dropped[place] = number
        self._named(place, ts, NO_TABLE)

    def _came(self, place: Key, ts: int, table: Table, again: bool) -> None:
        """A table that is new, or was dropped and is there again with its rows."""
        if not again:
            self._named(place, ts, self._new(ts, table, True, False))
            return
        number = self.dropped.get(place, NO_TABLE)
        if number == NO_TABLE:
            number = self._new(ts, table, False, False)
        self.tables[number] = replace(self.tables[number], gone=None)
        self._named(place, ts, number)

    def _altered(self, number: int, ts: int, table: Table, statement: Syntax) -> None:
        history = self.tables[number]
        last = len(history.definitions) - 1
        cuts = tuple(
            PartitionDrop(ts, last, frozenset(name.lower() for name in spec.names))
            for spec in (statement.specs if isinstance(statement, AlterTable) else ())
            if isinstance(spec, PartitionAction) and spec.verb in ("DROP", "TRUNCATE")
        )
        another = () if history.table is table else (TableVersion(ts, table),)
        if cuts or another:
            self.tables[number] = replace(
                history, definitions=(*history.definitions, *another), cuts=(*history.cuts, *cuts)
            )

    def _exchanged(self, statement: Syntax, jobs: Sequence[Job]) -> list[tuple[int, str]]:
        """Tables between which rows moved."""
        specs = statement.specs if isinstance(statement, AlterTable) else ()
        if not any(isinstance(spec, ExchangePartition) for spec in specs):
            return []
        names = [(job.schema, job.table) for job in jobs] + [job.exchanged_table for job in jobs if job.exchanged_table]
        numbers = (self._number(object_key(*name)) for name in names)
        why = "EXCHANGE PARTITION moved rows of it that no message has"
        return [(number, why) for number in numbers if number != NO_TABLE]


def _touched(jobs: Sequence[Job], before: Catalog, after: Catalog) -> Iterable[Key]:
    """The names of tables that a statement may have changed."""
    for job in jobs:
        if job.schema and not job.table:
            schema = job.schema.lower()
            yield from (place for held in (before, after) for place in held.tables if place[0] == schema)
        yield object_key(job.schema, job.table)
        for old, new in job.renames:
            yield object_key(*old)
            yield object_key(*new)


def _beginning(sent: Sequence[StreamStatement], after: Sequence[Table]) -> list[Table]:
    """Of the tables that are there in the end, those that no statement created, under the names they had then."""
    there = {object_key(table.schema, table.name): table for table in after}
    made = _Made((), (), False)
    for statement in sent:
        made.take(statement)
    created = {place for place, spans in made.names.items() if any(number != NO_TABLE for _, number in spans)}
    names: dict[Key, Name] = {place: (table.schema, table.name) for place, table in there.items()}
    for statement in reversed(sent):
        for old, new in _renames(statement):
            if object_key(*new) in names:
                names[object_key(*old)] = old
                there[object_key(*old)] = there[object_key(*new)]
                del names[object_key(*new)]
    return [
        replace(there[place], schema=name[0], name=name[1]) for place, name in names.items() if place not in created
    ]


def _renames(sent: StreamStatement) -> list[tuple[Name, Name]]:
    jobs = reversed(_jobs(sent))
    return [((old.schema, old.name), (new.schema, new.name)) for job in jobs for old, new in job.renames]


def _jobs(sent: StreamStatement) -> Sequence[Job]:
    """What a statement does, as far as that follows from its text."""
    try:
        statement = parse_ddl(sent.query)
        return execute(statement, sent.query, Session(sent.schema, None, V8_5)).jobs if statement else ()
    except DdlError:
        return ()


def _touches(statements: Iterable[StreamStatement]) -> dict[Key, Ints]:
    found: dict[Key, set[int]] = {}
    for sent in statements:
        for job in _jobs(sent):
            names = [(job.schema, job.table), *([job.exchanged_table] if job.exchanged_table else [])]
            names += [(name.schema, name.name) for pair in job.renames for name in pair]
            for name in names:
                found.setdefault(object_key(*name), set()).add(sent.ts)
    return {place: np.array(sorted(times), np.int64) for place, times in found.items()}
