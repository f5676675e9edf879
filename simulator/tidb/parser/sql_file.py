"""A text of SQL statements, each with the database that USE made the current one.

One law: nothing but USE is read here; what the statements say is for others.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simulator.errors import SchemaError, UserError
from simulator.files import read_text
from simulator.tidb.parser import dialect
from simulator.tidb.parser.cursor import TiDBParser


def sql_statements(path: Path, database: str) -> Iterator[tuple[str, str]]:
    """Database and text of each statement; raises UserError for a file that cannot be read or taken apart."""
    try:
        yield from split(read_text(path), database)
    except SchemaError as error:
        raise UserError(f"{path}: {error}") from None


def split(text: str, database: str) -> Iterator[tuple[str, str]]:
    """Database and text of each statement; raises SchemaError for what cannot be taken apart."""
    for tokens in dialect.statements(dialect.tokenize(text)):
        if dialect.begins(text, tokens, _is_use):
            database = dialect.read(text, tokens, _used)
        else:
            yield database, dialect.text_of(text, tokens)


def _is_use(parser: TiDBParser) -> bool:
    return parser.accept("USE")


def _used(parser: TiDBParser) -> str:
    parser.expect("USE")
    return parser.name("the name of a database")
