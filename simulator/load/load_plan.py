"""The plan of a load run: its tables, how their rows change, what their columns hold, and the DDL statements.

A plan that cannot be played is refused when its file is read. CREATE TABLE is executed as by TiDB, parents before the
tables that refer to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.errors import DdlError, UserError
from simulator.generate.model import Model
from simulator.releases import Release
from simulator.settings import Settings
from simulator.tidb.ddl.catalog import Catalog, Key, build_catalog, object_key
from simulator.tidb.ddl.execute import execute_in_catalog
from simulator.tidb.ddl.session import Session
from simulator.tidb.model.table import Table
from simulator.tidb.parser.ddl.statements import parse_ddl_script
from simulator.tidb.syntax.definitions import CreateTable

if TYPE_CHECKING:
    from simulator.generate.values.generators import TableGenerators


STATEMENT_KINDS = ("add-column", "drop-column", "add-index", "drop-index", "truncate")
"""The kinds that `[[ddl]]` accepts."""

ADD_COLUMN, DROP_COLUMN, ADD_INDEX, DROP_INDEX, TRUNCATE = STATEMENT_KINDS

DEFAULT_ROWS_PER_SECOND = 10_000


@dataclass(frozen=True)
class DdlSchedule:
    """One `[[ddl]]`: statements at intervals."""

    every_ms: tuple[int, int]
    """The minimum and maximum of simulated milliseconds between two statements. If they differ, the seed chooses."""

    kinds: tuple[str, ...]
    """Out of STATEMENT_KINDS."""

    table: int | None = None
    """The index in `Model.tables`; None for any, chosen by the seed."""

    random: bool = False
    """Whether the seed chooses the kinds; otherwise they take turns."""


@dataclass(frozen=True)
class TimedStatement:
    """A statement of a `[[ddl]]` with a time."""

    at_ms: int
    """Simulated milliseconds since the start of the stream."""

    text: str
    where: str = ""
    """The prefix of messages about it."""


@dataclass(frozen=True)
class LoadPlan:
    name: str
    model: Model
    definitions: tuple[str, ...]
    """The CREATE TABLE of each of `model.tables`."""

    tables: tuple[TableGenerators, ...]
    """What the columns of each of `model.tables` hold."""

    catalog: Catalog
    """The catalog after all definitions."""

    statements: tuple[DdlSchedule, ...] = ()
    timed: tuple[TimedStatement, ...] = ()
    """In the order in which they are played."""

    rows_per_second: int = DEFAULT_ROWS_PER_SECOND
    """Rows a second of simulated time for the rate `max`."""

    rate: str = "max"
    """In the format of `rates.parse_rate`."""

    duration_ms: int | None = None
    """None for no end."""

    settings: Settings = Settings()
    """The settings of the options, else of the file."""

    text: str = ""
    """The text of the file."""

    file: Path | None = None
    """Where it was read."""

    @property
    def created(self) -> tuple[Table, ...]:
        """The table definitions, parallel to `model.tables`."""
        tables = (self.catalog.table(table.schema, table.name) for table in self.model.tables)
        return tuple(table for table in tables if table is not None)


DATABASE = "test"
"""The database of a table that names none."""

EXPECTED = "expected one CREATE TABLE"


@dataclass(frozen=True)
class TableDefinition:
    """The definition of one `[[table]]`."""

    number: int
    """Its number in the file, from 1."""

    text: str
    statement: CreateTable
    also: tuple[Key, ...] = ()
    """The tables that its columns refer to, besides its foreign keys."""

    @property
    def schema(self) -> str:
        return self.statement.schema or DATABASE

    @property
    def name(self) -> str:
        return f"{self.schema}.{self.statement.name}"

    @property
    def place(self) -> Key:
        return object_key(self.schema, self.statement.name)

    @cached_property
    def parents(self) -> tuple[Key, ...]:
        """The other tables that its rows refer to."""
        named = [part.references.table for part in self.statement.keys if part.references is not None]
        foreign = (object_key(name.schema or self.schema, name.name) for name in named)
        return tuple(place for place in dict.fromkeys((*foreign, *self.also)) if place != self.place)


def parse_definition(number: int, text: str, also: Iterable[Key] = ()) -> TableDefinition:
    """Parse a CREATE TABLE; raise DdlError if it is not SQL, UserError if it is another statement."""
    statements = parse_ddl_script(text)
    statement = statements[0] if len(statements) == 1 else None
    if not isinstance(statement, CreateTable):
        raise UserError(f"{EXPECTED}, got {' '.join(text.split())[:60]!r}")
    if statement.like is not None or statement.query is not None:
        raise UserError(f"{EXPECTED} with its columns: neither LIKE nor SELECT")
    if statement.temporary:
        raise UserError(f"{EXPECTED}: a changefeed sees nothing of a temporary table")
    return TableDefinition(number, text, statement, tuple(also))


def duplicate_definitions(definitions: Iterable[TableDefinition]) -> dict[int, str]:
    """Return a message for each definition whose table is already defined, by number."""
    first: dict[Key, TableDefinition] = {}
    mistakes = {}
    for each in definitions:
        if first.setdefault(each.place, each) is not each:
            mistakes[each.number] = f"{each.name} is defined by table {first[each.place].number} already"
    return mistakes


def sort_by_reference(definitions: Sequence[TableDefinition]) -> tuple[TableDefinition, ...]:
    """Sort parents first, otherwise in file order; raise UserError if tables refer to each other in a circle."""
    known = {each.place: each for each in definitions}
    parents = {each.place: [place for place in each.parents if place in known] for each in definitions}
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        circle = " → ".join(known[place].name for place in reversed(error.args[1]))
        raise UserError(f"tables refer to each other in a circle: {circle}; none of them can be filled first") from None
    ordered: dict[Key, TableDefinition] = {}
    while len(ordered) < len(definitions):
        place = next(
            place for place in parents if place not in ordered and all(each in ordered for each in parents[place])
        )
        ordered[place] = known[place]
    return tuple(ordered.values())


def create_tables(definitions: Sequence[TableDefinition], release: Release) -> tuple[Catalog, dict[int, str]]:
    """Execute the definitions in order; return the catalog, and TiDB's error for each that it refuses, by number."""
    now = build_catalog((), dict.fromkeys(each.schema for each in definitions))
    session = Session(DATABASE, now, release)
    refused = {}
    for each in definitions:
        try:
            now = execute_in_catalog(now, each.statement, each.text, session)[1]
        except DdlError as error:
            refused[each.number] = str(error)
    return now, refused


def referenced_tables(definitions: Sequence[TableDefinition]) -> Mapping[Key, TableDefinition]:
    """Return the tables that others refer to, each with the first of those."""
    return {place: each for each in reversed(definitions) for place in each.parents}
