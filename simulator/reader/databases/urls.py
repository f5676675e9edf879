"""URLs of databases, their engines, and their errors in one line.

A database is read only, and values come as the database's own text, or as bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.errors import UserError, mask_secrets, printable, uri_without_secrets

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


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
