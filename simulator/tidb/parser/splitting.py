"""Texts of SQL: taken apart into statements, and one statement read whole by its reader.

One law: what a statement says is for its reader; nothing of it is read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from sqlglot.tokens import Token, TokenType

from simulator.errors import DdlError, SchemaError, UserError
from simulator.files import read_text
from simulator.tidb.parser.cursor import Cursor, Grammar
from simulator.tidb.parser.expressions.operators import parse_bit_node, parse_node, parse_simple_node
from simulator.tidb.parser.queries.query import parse_subquery
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.expressions import Node

T = TypeVar("T")

GRAMMAR = Grammar(parse_node, parse_bit_node, parse_simple_node, parse_subquery)

_OPENING = re.compile(r"/\*(?:!\d*|[Tt]!(?:\[[^\]]*\])?)\s*\Z")
_CLOSING = re.compile(r"\s*\*/")


def not_ddl_error(what: str) -> DdlError:
    """For words that TiDB takes and that change no schema."""
    return DdlError(f"{what} is not DDL: no schema changes, and TiCDC sends no DDL event")


def split_tokens(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement, without the semicolons."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def statement_text(sql: str, tokens: list[Token]) -> str:
    """The text of a statement, without its semicolon; a versioned comment that begins or ends it is whole."""
    opening = _OPENING.search(sql, max(0, tokens[0].start - 99), tokens[0].start)
    closing = _CLOSING.match(sql, tokens[-1].end + 1)
    return sql[opening.start() if opening else tokens[0].start : closing.end() if closing else tokens[-1].end + 1]


def begins_with(sql: str, tokens: list[Token], statement: Callable[[Cursor], bool]) -> bool:
    """Whether the tokens begin as the reader says; the rest of them is not read."""
    return statement(Cursor(sql, tokens, GRAMMAR))


def parse_tokens(
    sql: str,
    tokens: list[Token],
    statement: Callable[[Cursor], T],
    charset: str = "utf8mb4",
    sql_mode: frozenset[str] = frozenset(),
    parameters: Sequence[Node] | None = None,
) -> T:
    """What the reader makes of one statement, which it must read to its end; raises SchemaError.

    `charset` is that of the client that sent the text, `sql_mode` that of its session; `parameters` are what each `?`
    of a prepared statement stands for.
    """
    cursor = Cursor(sql, tokens, GRAMMAR, charset, sql_mode, parameters)
    result = statement(cursor)
    if not cursor.at_end():
        cursor.unexpected("the end of the statement")
    return result


def split_sql_file(path: Path, database: str) -> Iterator[tuple[str, str]]:
    """Database and text of each statement; raises UserError for a file that cannot be read or taken apart."""
    try:
        yield from split_sql(read_text(path), database)
    except SchemaError as error:
        raise UserError(f"{path}: {error}") from None


def split_sql(text: str, database: str) -> Iterator[tuple[str, str]]:
    """Database and text of each statement; raises SchemaError for what cannot be taken apart."""
    for tokens in split_tokens(tokenize(text)):
        if begins_with(text, tokens, _is_use):
            database = parse_tokens(text, tokens, _parse_use)
        else:
            yield database, statement_text(text, tokens)


def _is_use(cursor: Cursor) -> bool:
    return cursor.accept("USE")


def _parse_use(cursor: Cursor) -> str:
    cursor.expect("USE")
    return cursor.name("the name of a database")
