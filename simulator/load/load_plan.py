"""The plan of a load run: its tables, how their rows change, what their columns hold, the DDL statements; and the keys of
its file, but those of `[table.columns]`, which are in `generate`.

A plan that cannot be played is refused when its file is read. CREATE TABLE is executed as by TiDB, parents before the
tables that refer to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.errors import DdlError, SqlError, UserError, did_you_mean
from simulator.generate.model import Mix, Model
from simulator.generate.values.reading import parse_skew
from simulator.load import rates
from simulator.releases import Release
from simulator.settings import SETTINGS, Key, Settings, to_bool, to_count, to_duration_ms, to_text
from simulator.tidb.ddl.catalog import Catalog, build_catalog, object_key
from simulator.tidb.ddl.catalog import Key as TableKey
from simulator.tidb.ddl.execute import execute_in_catalog
from simulator.tidb.ddl.session import Session
from simulator.tidb.model.table import Table
from simulator.tidb.parser.ddl import parse_ddl, parse_ddl_script
from simulator.tidb.parser.script import split_script
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
    also: tuple[TableKey, ...] = ()
    """The tables that its columns refer to, besides its foreign keys."""

    @property
    def schema(self) -> str:
        return self.statement.schema or DATABASE

    @property
    def name(self) -> str:
        return f"{self.schema}.{self.statement.name}"

    @property
    def place(self) -> TableKey:
        return object_key(self.schema, self.statement.name)

    @cached_property
    def parents(self) -> tuple[TableKey, ...]:
        """The other tables that its rows refer to."""
        named = [part.references.table for part in self.statement.keys if part.references is not None]
        foreign = (object_key(name.schema or self.schema, name.name) for name in named)
        return tuple(place for place in dict.fromkeys((*foreign, *self.also)) if place != self.place)


def parse_definition(number: int, text: str, also: Iterable[TableKey] = ()) -> TableDefinition:
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
    first: dict[TableKey, TableDefinition] = {}
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
    ordered: dict[TableKey, TableDefinition] = {}
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


def referenced_tables(definitions: Sequence[TableDefinition]) -> Mapping[TableKey, TableDefinition]:
    """Return the tables that others refer to, each with the first of those."""
    return {place: each for each in reversed(definitions) for place in each.parents}


MOST_ROWS = 1_000_000_000
"""Rows of a table."""

MOST_OF_TRANSACTION = 100_000
MOST_WEIGHT = 1_000_000
MOST_SIZE = 16 << 20
INITIAL = ("inserted", "present")

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(B|KiB|MiB)")
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def to_name(value: object) -> str:
    """Parse a plan's name, which must be a valid file name."""
    if not _NAME.fullmatch(to_text(value)):
        raise UserError(f"expected letters, digits and _ . - (the checkpoint's directory is called so), got {value!r}")
    return to_text(value)


def to_row_range(value: object) -> tuple[int, int]:
    """Parse a number of rows, or {min, max}."""
    return _range(value, to_count(1, MOST_OF_TRANSACTION), "a whole number or {min = 1, max = 20}")


def _range(value: object, read: Callable[[object], int], expected: str) -> tuple[int, int]:
    if not isinstance(value, dict):
        return read(value), read(value)
    if value.keys() != {"min", "max"}:
        raise UserError(f"expected {expected}, got {value!r}")
    least, most = read(value["min"]), read(value["max"])
    if least > most:
        raise UserError(f"min is {value['min']}, which is above max, {value['max']}")
    return least, most


def to_present(value: object) -> bool:
    """Return whether rows exist before the stream."""
    if value not in INITIAL:
        raise UserError(
            "expected 'inserted' (the stream begins with the rows) or 'present' (they were there before), got "
            f"{value!r}"
        )
    return value == "present"


def to_mix(value: object) -> Mix:
    known = ("inserts", "updates", "deletes")
    if not isinstance(value, dict) or not value:
        raise UserError(f"expected {{inserts = 20, updates = 70, deletes = 10}}, got {value!r}")
    for name in value:
        if name not in known:
            raise UserError(f"unknown key {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}")
    count = to_count(0, MOST_WEIGHT)
    mix = Mix(*(count(value.get(name, 0)) for name in known))
    if not mix.inserts + mix.updates + mix.deletes:
        raise UserError("all are 0: at least one of inserts, updates, deletes is expected above 0")
    return mix


def to_update_columns(value: object) -> int | tuple[str, ...]:
    """Parse how many columns an UPDATE changes, or their names."""
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        return tuple(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 4096:
        return value
    raise UserError(f"expected how many columns an UPDATE touches, or a list of columns, got {value!r}")


def to_size(value: object) -> int:
    """Parse `2KiB`, in bytes."""
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    size = round(float(match[1]) * _UNITS[match[2]]) if match else value
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MOST_SIZE:
        raise UserError(
            f"expected a size up to {MOST_SIZE >> 20}MiB, such as '2KiB', or a number of bytes; got {value!r}"
        )
    return size


def to_interval(value: object) -> tuple[int, int]:
    """Parse `5m`, or {min, max}, in milliseconds."""
    return _range(value, to_duration_ms, "a duration such as '5m', or {min = '2m', max = '10m'}")


def to_statements(value: object) -> tuple[str, ...]:
    """Split a text into DDL statements."""
    try:
        texts = tuple(each.text for each in split_script(to_text(value)))
        for text in texts:
            parse_ddl(text)
    except (DdlError, SqlError) as error:
        raise UserError(str(error)) from None
    if not texts:
        raise UserError("expected a DDL statement, got none")
    return texts


def to_kinds(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise UserError(f"expected a list out of {', '.join(STATEMENT_KINDS)}; got {value!r}")
    for kind in value:
        if kind not in STATEMENT_KINDS:
            meant = did_you_mean(str(kind), STATEMENT_KINDS)
            raise UserError(f"unknown statement {kind!r}.{meant} Known: {', '.join(STATEMENT_KINDS)}")
    return tuple(value)


def to_rate(value: object) -> str:
    """Check a rate as `--rate` has it."""
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else to_text(value)
    rates.parse_rate(text)
    return text


_OF_CHANGEFEED = ("sink-uri", "config", "tz", "release", "architecture", "start-ts", "resolved-interval", "seed")

TOP: Mapping[str, Key] = {
    "name": Key("name", to_name),
    **{name: SETTINGS[name] for name in _OF_CHANGEFEED},
    "rate": Key("rate", to_rate),
    "duration": Key("duration_ms", to_duration_ms),
    "rows-per-second": Key("rows_per_second", to_count(1, rates.MOST_ROWS_PER_SECOND)),
    "rows-per-transaction": Key("rows_per_transaction", to_row_range),
    "tables-per-transaction": Key("tables_per_transaction", to_count(1, 1000)),
    "initial": Key("present", to_present),
}
"""Top-level keys."""

TABLE: Mapping[str, Key] = {
    "definition": Key("definition", to_text),
    "rows": Key("rows", to_count(0, MOST_ROWS)),
    "weight": Key("weight", to_count(0, MOST_WEIGHT)),
    "mix": Key("mix", to_mix),
    "skew": Key("skew", parse_skew),
    "update-columns": Key("update_columns", to_update_columns),
    "row-size": Key("row_size", to_size),
    "columns": Key("columns", dict),
}
"""Keys of `[[table]]`."""

DDL: Mapping[str, Key] = {
    "every": Key("every_ms", to_interval),
    "table": Key("table", to_text),
    "kinds": Key("kinds", to_kinds),
    "random": Key("random", to_bool),
    "at": Key("at_ms", to_duration_ms),
    "sql": Key("sql", to_statements),
}
"""Keys of `[[ddl]]`."""
