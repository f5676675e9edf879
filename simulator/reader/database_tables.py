"""The expected tables in a consumer's SQLite, PostgreSQL or MySQL, read through SQLAlchemy: where each one is, which of its
columns are compared, and its rows.

A table is looked for in the schema of its name, and in the database or default schema of the URL. The database is read
only, and values come as its own text, or as bytes.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from simulator.columns import row_image
from simulator.errors import UserError, did_you_mean, mask_secrets, printable, uri_without_secrets
from simulator.reader.database_columns import EXPRESSIONS, cells, vague_values, why_not_compared
from simulator.reader.events import UNKNOWN_CELL
from simulator.reader.replay import ImagePairSource, Report
from simulator.reader.replay.states import Gaps, StateRows, column_gaps, state_table_numbers
from simulator.reader.replay.table_timeline import TableHistory, TableTimeline
from simulator.tidb.model.table import Table, visible_columns

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Inspector
    from sqlalchemy.engine.interfaces import ReflectedColumn

DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
"""By the scheme of a URL: SQLAlchemy's dialect and the driver."""

EXAMPLES = "sqlite:///file.db, postgresql://host/database, mysql://host/database"

TIMEOUT = 10
"""Seconds that a server may take to accept a connection, unless the URL says otherwise."""

ROWS, BYTES = 16_384, 16 << 20
"""Maximum rows of a batch, and about as many bytes."""

SAMPLE = 64
"""Rows of a batch that are measured."""

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9]*)(\+\w+)?:")


def is_database(location: str) -> bool:
    """Return whether a location is the URL of a database that is read here."""
    scheme = SCHEME.match(location)
    return scheme is not None and scheme[1].lower() in DRIVERS


@contextmanager
def connect(url: str) -> Iterator[Connection]:
    """Open a connection; raises UserError in the block, too, for whatever the database refuses."""
    with readable(url):
        engine = _engine(url)
        try:
            with engine.connect() as connection:
                _prepare(connection)
                yield connection
        finally:
            engine.dispose()


def _engine(url: str) -> Engine:
    shown = uri_without_secrets(url)
    try:
        from sqlalchemy import create_engine, make_url
        from sqlalchemy.exc import ArgumentError
    except ModuleNotFoundError as error:
        raise _missing(shown, error) from None
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise UserError(f"{shown} is no URL of a database: accepted are such as {EXAMPLES}") from None
    scheme, _, driver = parsed.drivername.lower().partition("+")
    if driver and f"{scheme}+{driver}" not in DRIVERS.values():
        raise UserError(f"{shown}: driver {driver!r} is not used: {scheme}:// is read through {DRIVERS[scheme]}")
    parsed = parsed.set(drivername=DRIVERS[scheme])
    if scheme == "sqlite":
        _check_file(shown, parsed.database)
    try:
        return create_engine(parsed, connect_args=_arguments(scheme, parsed.query))
    except ModuleNotFoundError as error:
        raise _missing(shown, error) from None


def _missing(shown: str, error: ModuleNotFoundError) -> UserError:
    return UserError(f"{shown} needs {error.name}, which is not installed: pip install 'ticdc-simulator[databases]'")


def _check_file(shown: str, path: str | None) -> None:
    """Raise UserError for a file that SQLite would create."""
    if not path or path == ":memory:":
        raise UserError(f"{shown} names no file: accepted are sqlite:///file.db and sqlite:////absolute/file.db")
    if not path.startswith("file:") and not Path(path).is_file():
        raise UserError(f"{shown}: no such file: {path}")


def _arguments(scheme: str, query: Any) -> dict[str, Any]:
    if scheme == "sqlite":
        return {}
    arguments: dict[str, Any] = {} if "connect_timeout" in query else {"connect_timeout": TIMEOUT}
    if DRIVERS[scheme].endswith("pymysql"):
        from pymysql.converters import encoders

        arguments["conv"] = encoders  # and none that would convert results
    return arguments


PREPARED = {
    "sqlite": ("PRAGMA query_only = ON",),
    "postgresql": (
        "SET TIME ZONE 'UTC'",
        "SET DateStyle = 'ISO'",
        "SET IntervalStyle = 'postgres'",
        "SET extra_float_digits = 1",
        "SET bytea_output = 'hex'",
    ),
    "mysql": ("SET time_zone = '+00:00'",),
    "mariadb": ("SET time_zone = '+00:00'",),
}


def _prepare(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.connection.dbapi_connection.text_factory = _text_or_bytes  # type: ignore[union-attr]
    for statement in PREPARED[connection.dialect.name]:
        connection.exec_driver_sql(statement)


def _text_or_bytes(value: bytes) -> str | bytes:
    """Return a TEXT of SQLite, or its bytes if they are no UTF-8, which SQLite does not check."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


@contextmanager
def readable(url: str) -> Iterator[None]:
    """Turn errors of the database and of its driver into UserError."""
    try:
        yield
    except UserError:
        raise
    except (TypeError, UnicodeError) as error:  # an unknown parameter of the URL, or one that no driver can send
        raise _unreadable(url, str(error)) from error
    except Exception as error:
        if not type(error).__module__.startswith(("sqlalchemy.", "psycopg", "pymysql", "sqlite3")):
            raise
        raise _unreadable(url, _said(error)) from error


def _unreadable(url: str, why: str) -> UserError:
    return UserError(f"{uri_without_secrets(url)} cannot be read: {mask_secrets(printable(why))}")


def _said(error: Exception) -> str:
    """Return the first line of what the database said."""
    original = getattr(error, "orig", None) or error
    text = str(original.args[-1] if original.args else original)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(original).__name__)


def batches(connection: Connection, query: str) -> Iterator[list[Any]]:
    """Yield the rows of a query in batches of bounded size, as the server sends them."""
    streaming = connection.execution_options(stream_results=True, max_row_buffer=1)
    result = streaming.exec_driver_sql(query)
    size = 64
    while rows := result.fetchmany(size):
        yield list(rows)
        sample = rows[:: max(1, len(rows) // SAMPLE)]
        mean = sum(map(_size, sample)) / len(sample)
        size = max(1, min(ROWS, size * 4, int(BYTES / max(mean, 1))))


def _size(row: Any) -> int:
    return sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)


@dataclass(frozen=True)
class DatabaseTables:
    sources: tuple[ImagePairSource, ...]
    """Rows of each table, as image pairs of the snapshot before a stream."""

    gaps: Gaps


def open_tables(url: str, timeline: TableTimeline) -> DatabaseTables:
    """Find the tables of the timeline; raises UserError if the database cannot be read."""
    numbers = state_table_numbers(timeline, False).values()
    tables = [timeline.tables[number].table for number in numbers]
    sources: list[ImagePairSource] = []
    gaps = Gaps()
    with connect(url) as connection, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about types that SQLAlchemy does not know
        found = _Search(connection, tables)
        for number in numbers:
            history = timeline.tables[number]
            place = found.place(history.table)
            if isinstance(place, Gaps):
                gaps += place
                continue
            try:
                with readable(url):
                    query, left = _query(connection, found.inspector, place, history.table)
            except UserError as error:
                connection.rollback()
                gaps += _unreadable_rows(history, error)
                continue
            gaps += left
            sources.append(partial(_read, url, query, StateRows(number, history, False, of_consumer=True)))
    return DatabaseTables(tuple(sources), gaps)


Place = tuple[str | None, str]
"""Schema and name of a table in the database."""


class _Search:
    """Looks tables up, each schema once."""

    def __init__(self, connection: Connection, tables: Sequence[Table]) -> None:
        from sqlalchemy import inspect

        self.inspector: Inspector = inspect(connection)
        self._names: dict[str | None, list[str]] = {}
        self._schemas = self.inspector.get_schema_names()
        self._default = self.inspector.default_schema_name
        self._named_in_url = connection.dialect.name in ("mysql", "mariadb")
        self._count = Counter(table.name.casefold() for table in tables)

    def place(self, table: Table) -> Place | Gaps:
        """Return where a table is, or what its absence leaves open."""
        title = f"{table.schema}.{table.name}"
        shared = self._count[table.name.casefold()] > 1
        schemas = self._candidates(table, shared)
        for schema in dict.fromkeys(schemas):
            names = _of_that_name(self._relations(schema), table.name)
            if len(names) > 1:
                why = f"{' and '.join(map(repr, names))} are there, and none has exactly that name"
                return Gaps(((f"rows of {title}", why),), frozenset((title,)))
            if names:
                return schema, names[0]
        there = self._relations(self._default) if self._default else []
        if shared and _of_that_name(there, table.name):
            why = (
                f"several expected tables have that name, and none of them is known to be the one in {self._default!r}"
            )
            return Gaps(((f"rows of {title}", why),), frozenset((title,)))
        looked = ", ".join(map(repr, dict.fromkeys(schemas))) or repr(table.schema)
        hint = did_you_mean(table.name, there)
        return Gaps(notes=(f"{title}: the database has no such table, looked for in {looked}.{hint}",))

    def _candidates(self, table: Table, shared: bool) -> list[str]:
        """Return the schemas that may have a table, in order; `shared` is whether another one has its name."""
        own = _of_that_name(self._schemas, table.schema)
        default = [] if self._default is None else [self._default]
        if self._named_in_url and default:  # beside it may be the tables that were replicated
            return default if not shared or default[0] in own else []
        return [*own, *([] if shared else default)]

    def _relations(self, schema: str | None) -> list[str]:
        """Return the names of tables and views."""
        if schema not in self._names:
            self._names[schema] = [*self.inspector.get_table_names(schema), *self.inspector.get_view_names(schema)]
        return self._names[schema]


def _of_that_name(names: Sequence[str], wanted: str) -> list[str]:
    """Return the name if it is there, else those that differ in the case of letters."""
    return [wanted] if wanted in names else [name for name in names if name.casefold() == wanted.casefold()]


def _query(connection: Connection, inspector: Inspector, place: Place, table: Table) -> tuple[TableQuery, Gaps]:
    dialect, quote = connection.dialect.name, connection.dialect.identifier_preparer.quote_identifier
    reflected = inspector.get_columns(place[1], place[0])
    known = {column.name: _column(reflected, column.name) for column in visible_columns(table)}
    there = {name: found for name, found in known.items() if found is not None}
    unusable = {
        column.name: why
        for column in visible_columns(table)
        if column.name in there and (why := why_not_compared(dialect, there[column.name]["type"], column))
    }
    quoted = ".".join(quote(name) for name in place if name is not None)
    columns = [column for column in visible_columns(table) if column.name in there and column.name not in unusable]
    named = [(column, quote(there[column.name]["name"])) for column in columns]
    if dialect == "sqlite":
        unusable |= vague_values(connection, quoted, named)
    expressions = [EXPRESSIONS[dialect](name, there[column.name]["type"]) for column, name in named]
    sql = f"SELECT {', '.join(expressions) or '1'} FROM {quoted}"
    own_names = {found["name"]: name for name, found in there.items()}
    names = [own_names.get(column["name"], column["name"]) for column in reflected]
    return TableQuery(sql, tuple(column.name for column in columns)), column_gaps(table, names, unusable)


def _column(reflected: Sequence[ReflectedColumn], name: str) -> ReflectedColumn | None:
    names = _of_that_name([column["name"] for column in reflected], name)
    return next((column for column in reflected if column["name"] in names), None)


@dataclass(frozen=True)
class TableQuery:
    sql: str
    columns: tuple[str, ...]
    """The columns that it reads, in its order."""


def _unreadable_rows(history: TableHistory, error: UserError) -> Gaps:
    return Gaps(((f"rows of {history}", str(error)),), frozenset((str(history),)))


def _read(url: str, query: TableQuery, rows: StateRows, report: Report) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table as image pairs; report the Gaps if they cannot be read."""
    with connect(url) as connection:
        try:
            with readable(url):
                yield from _image_pairs(connection, query, rows)
        except UserError as error:
            report(_unreadable_rows(rows.history, error))


def _image_pairs(connection: Connection, query: TableQuery, rows: StateRows) -> Iterator[pa.RecordBatch]:
    columns = visible_columns(rows.history.table)
    wanted = [column.name for column in columns]
    places = {name: place for place, name in enumerate(query.columns)}
    for batch in batches(connection, query.sql):
        values = list(zip(*batch, strict=True))
        unknown = pa.repeat(pa.scalar(UNKNOWN_CELL), len(batch))
        made = [
            cells(column, values[places[column.name]], connection.dialect.name) if column.name in places else unknown
            for column in columns
        ]
        yield from rows.image_pairs(row_image.pack(made), wanted)
