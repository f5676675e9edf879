"""Split a script into statements, as a MySQL client does before it sends them one by one.

Only quotes and comments decide where a statement ends. A versioned comment is part of its statement. A comment line
`-- fails 1062` before a statement names the error that it must raise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from sqlglot.tokens import Token, TokenType

from simulator.errors import DdlError, SchemaError, SqlError, UserError
from simulator.files import read_text
from simulator.limits import TOO_DEEP, allow_deep_nesting
from simulator.tidb.errors import sql_error
from simulator.tidb.parser.cursor import Cursor, Grammar, position
from simulator.tidb.parser.expressions import parse_bit_node, parse_node, parse_simple_node
from simulator.tidb.parser.query import parse_subquery
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.statements import ScriptStatement

ESCAPED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|`[^`]*+`"""
PLAIN = r"""'[^']*+'|"[^"]*+"|`[^`]*+`"""


def _boundary_pattern(quoted: str) -> re.Pattern[str]:
    """Return the pattern of the next comment, quoted text or end, with the empty statements after it. Adjacent quoted texts are one with a doubled quote."""
    return re.compile(
        rf"""
    (?P<quoted> {quoted})
  | (?P<versioned> /\*[Tt]?!(?:{quoted}|[^'"`*]|\*(?!/))*+\*/)
  | (?P<hint> /\*\+.*?\*/)
  | (?P<comment> --(?=\s|\Z)[^\n]*+ | \#[^\n]*+ | /\*(?![Tt]?!).*?\*/)
  | (?P<end> ;[\s;]*+)
  | (?P<open> ['"`] | /\*)
""",
        re.VERBOSE | re.DOTALL,
    )


BOUNDARIES = {True: _boundary_pattern(ESCAPED), False: _boundary_pattern(PLAIN)}
"""By whether a backslash is an escape character."""

NO_ESCAPES = "NO_BACKSLASH_ESCAPES"
SETS_MODE = re.compile(r"SET\b.*\bsql_mode\b", re.IGNORECASE | re.DOTALL)

BLANK = re.compile(r"\s*")
FAILS = re.compile(r"--\s+fails\s+(\d{3,5})\b.*", re.IGNORECASE | re.DOTALL)
FAILS_WITHOUT_NUMBER = re.compile(r"--\s+fails(\s*|\s*[^\s\w].*|\s+\d.*|\s+\w+\s*)", re.IGNORECASE | re.DOTALL)
DELIMITER = re.compile(r"DELIMITER(?=\s)", re.IGNORECASE)
COMMENT_ALONE = re.compile(r"/\*[Tt]?!(?:(?!\*/).)*\*/\s*", re.DOTALL)


def split_script(text: str, sql_mode: frozenset[str] = frozenset()) -> tuple[ScriptStatement, ...]:
    """Return the statements of a script; `sql_mode` is the session's before it.

    A SET sql_mode in the script decides whether backslashes are escape characters after it.

    Raises SqlError 1064 with line and column for an unclosed quote or comment, for DELIMITER, for `-- fails` without a
    number, and for a NUL character.
    """
    return tuple(_split_statements(text, NO_ESCAPES not in sql_mode))


def _split_statements(text: str, escapes: bool) -> Iterator[ScriptStatement]:
    if "\0" in text:
        raise _syntax_error(text, text.index("\0"), "a NUL character: this is no text of SQL")
    offset, line, counted_to = 0, 1, 0
    begin = -1
    error: int | None = None
    while offset <= len(text):
        match = BOUNDARIES[escapes].search(text, offset)
        start = match.start() if match else len(text)
        kind = match.lastgroup if match else "end"
        if begin < 0:
            begin = _statement_start(text, offset, start, kind)
        if kind == "open":
            raise _syntax_error(text, start, _unclosed_message(text, start))
        if kind == "comment" and begin < 0 and match:
            error = _expected_error(text, start, match[0]) or error
        if kind == "end":
            if begin >= 0:
                line += text.count("\n", counted_to, begin)
                counted_to = begin
                statement = text[begin:start].rstrip()
                if not _is_comment(statement):
                    yield ScriptStatement(statement, line, error)
                    escapes = NO_ESCAPES not in statement.upper() if SETS_MODE.match(statement) else escapes
                    error = None
            begin = -1
        offset = match.end() if match else len(text) + 1
    if error is not None:
        raise _syntax_error(text, len(text), f"no statement follows that `-- fails {error}` could be about")


def _statement_start(text: str, offset: int, start: int, kind: str | None) -> int:
    """Return the offset of a statement that begins at `offset`, before or with the token at `start`, or -1."""
    blank = BLANK.match(text, offset, start)
    first = blank.end() if blank else offset
    if first == start and kind in ("end", "comment"):
        return -1
    if DELIMITER.match(text, first):
        raise _syntax_error(
            text, first, "DELIMITER is not simulated, as no stored routines are. Accepted: statements that end with ';'"
        )
    return first


def _expected_error(text: str, start: int, comment: str) -> int | None:
    """Return the error number of a `-- fails` comment on its own line; raises SqlError if it has no number."""
    match, is_bare = FAILS.fullmatch(comment), FAILS_WITHOUT_NUMBER.fullmatch(comment)
    if match is None and is_bare is None or text[text.rfind("\n", 0, start) + 1 : start].strip():
        return None
    if match is None:
        raise _syntax_error(
            text, start, "`-- fails` names no error: expected is `-- fails 1062`, a number of 3 to 5 digits"
        )
    return int(match[1])


def _is_comment(statement: str) -> bool:
    """Whether the text has only versioned comments that TiDB does not execute."""
    if not COMMENT_ALONE.match(statement):
        return False
    try:
        return not tokenize(statement)
    except SchemaError:
        return False


def _unclosed_message(text: str, start: int) -> str:
    if text[start] == "/":
        return "this comment has no '*/'"
    return f"what {text[start]} opens here is not closed"


def _syntax_error(text: str, offset: int, what: str) -> SqlError:
    return sql_error(1064, f"You have an error in your SQL syntax: {position(text, offset)}: {what}")


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
