"""Split texts into statements, and run a parser over all tokens of a statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from sqlglot.tokens import Token, TokenType

from simulator.errors import DdlError, SchemaError, UserError
from simulator.files import read_text
from simulator.nesting import TOO_DEEP, allow_deep_nesting
from simulator.tidb.parser.cursor import Cursor, Grammar, position
from simulator.tidb.parser.expressions.operators import parse_bit_node, parse_node, parse_simple_node
from simulator.tidb.parser.queries.query import parse_subquery
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.expressions import Node

T = TypeVar("T")

GRAMMAR = Grammar(parse_node, parse_bit_node, parse_simple_node, parse_subquery)

MOST_PARENTHESES = 1_000
"""Around each other: each takes more than eight of the calls that may nest."""

_OPENING = re.compile(r"/\*(?:!\d*|[Tt]!(?:\[[^\]]*\])?)\s*\Z")
_CLOSING = re.compile(r"\s*\*/")


def not_ddl_error(what: str) -> DdlError:
    """Return the error for a statement that changes no schema."""
    return DdlError(f"{what} is not DDL: no schema changes, and TiCDC sends no DDL event")


def only_statement(text: str, tokens: list[Token]) -> list[Token]:
    """Return the tokens of the only statement, none for an empty text; raises SchemaError at a second statement."""
    statements = split_tokens(tokens)
    if len(statements) > 1:
        second = position(text, statements[1][0].start)
        raise SchemaError(f"{second}: a second statement begins here; one is accepted")
    return statements[0] if statements else []


def split_tokens(tokens: list[Token]) -> list[list[Token]]:
    """Return the tokens of each statement, without the semicolons."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def statement_text(sql: str, tokens: list[Token]) -> str:
    """Return the text of a statement without its semicolon, with versioned comments at its ends complete."""
    opening = _OPENING.search(sql, max(0, tokens[0].start - 99), tokens[0].start)
    closing = _CLOSING.match(sql, tokens[-1].end + 1)
    return sql[opening.start() if opening else tokens[0].start : closing.end() if closing else tokens[-1].end + 1]


def begins_with(sql: str, tokens: list[Token], parser: Callable[[Cursor], bool]) -> bool:
    """Whether the parser accepts the first of the tokens."""
    return parser(Cursor(sql, tokens, GRAMMAR))


def parse_tokens(
    sql: str,
    tokens: list[Token],
    parser: Callable[[Cursor], T],
    charset: str = "utf8mb4",
    sql_mode: frozenset[str] = frozenset(),
    parameters: Sequence[Node] | None = None,
) -> T:
    """Run the parser over a statement, which it must parse to the end; raises SchemaError.

    `charset` is the client's, `sql_mode` the session's. `parameters` are the values of the `?` of a prepared statement.
    """
    allow_deep_nesting()
    if sql.count("(") > MOST_PARENTHESES and _depth(tokens) > MOST_PARENTHESES:
        raise SchemaError(TOO_DEEP)
    cursor = Cursor(sql, tokens, GRAMMAR, charset, sql_mode, parameters)
    result = parser(cursor)
    if not cursor.at_end():
        cursor.unexpected("the end of the statement")
    return result


def _depth(tokens: Sequence[Token]) -> int:
    """Return how deep parentheses nest."""
    steps = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}
    return max(accumulate(steps.get(token.token_type, 0) for token in tokens), default=0)


def split_sql_file(path: Path, database: str) -> Iterator[tuple[str, str]]:
    """Yield the current database and the text of each statement of a file; raises UserError for an unreadable file."""
    try:
        yield from split_sql(read_text(path), database)
    except SchemaError as error:
        raise UserError(f"{path}: {error}") from None


def split_sql(text: str, database: str) -> Iterator[tuple[str, str]]:
    """Yield the current database, as USE changes it, and the text of each other statement; raises SchemaError."""
    for tokens in split_tokens(tokenize(text)):
        if Cursor(text, tokens, GRAMMAR).accept("USE"):
            database = parse_tokens(text, tokens, _parse_use)
        else:
            yield database, statement_text(text, tokens)


def _parse_use(cursor: Cursor) -> str:
    cursor.expect("USE")
    return cursor.name("the name of a database")
