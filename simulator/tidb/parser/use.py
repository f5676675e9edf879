"""A text of SQL statements, each with the database that USE made the current one.

One law: nothing but USE is read here; what the statements say is for others.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simulator.errors import SchemaError, UserError
from simulator.files import read_text
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.texts import begins, read, statements, text_of
from simulator.tidb.parser.tokens import tokenize


def sql_statements(path: Path, database: str) -> Iterator[tuple[str, str]]:
    """Database and text of each statement; raises UserError for a file that cannot be read or taken apart."""
    try:
        yield from split(read_text(path), database)
    except SchemaError as error:
        raise UserError(f"{path}: {error}") from None


def split(text: str, database: str) -> Iterator[tuple[str, str]]:
    """Database and text of each statement; raises SchemaError for what cannot be taken apart."""
    for tokens in statements(tokenize(text)):
        if begins(text, tokens, _is_use):
            database = read(text, tokens, _used)
        else:
            yield database, text_of(text, tokens)


def _is_use(cursor: Cursor) -> bool:
    return cursor.accept("USE")


def _used(cursor: Cursor) -> str:
    cursor.expect("USE")
    return cursor.name("the name of a database")
