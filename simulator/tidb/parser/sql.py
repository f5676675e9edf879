"""Text → statement of any kind: DDL, rows, queries, the session.

One law: whatever the text, it gives a statement, None for an empty text, or the error that TiDB gives or that says
what is not simulated; of the phrases that a statement may begin with, the longest that fits decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType

from sqlglot.tokens import Token, TokenType

from simulator.errors import SchemaError, SqlError
from simulator.tidb import syntax
from simulator.tidb.parser import alter_table as alter
from simulator.tidb.parser import ddl, session
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.ddl import Phrase, fail_at_first_words, first_words, next_words
from simulator.tidb.parser.dml import parse_delete, parse_insert, parse_replace, parse_update
from simulator.tidb.parser.splitting import parse_tokens, split_tokens
from simulator.tidb.parser.tokens import tokenize

Reader = Callable[[Cursor], syntax.SqlStatement]


def parse_alter_table(cursor: Cursor, ignore: bool = False) -> syntax.AlterTable:
    """What follows ALTER [IGNORE] TABLE; ANALYZE and COMPACT change no schema and no row of the table."""
    word = cursor.word_ahead(3 if cursor.word_ahead(1) == "." else 1)
    if word not in ("ANALYZE", "COMPACT"):
        return alter.parse_alter_table(cursor, ignore)
    table = cursor.qualified_name()
    session.parse_ignored(cursor, word)
    return syntax.AlterTable(table, (syntax.Clause(word),), ignore)


ROWS: dict[str, Reader] = {
    "ALTER TABLE": parse_alter_table,
    "ALTER IGNORE TABLE": partial(parse_alter_table, ignore=True),
    "INSERT": parse_insert,
    "REPLACE": parse_replace,
    "UPDATE": parse_update,
    "DELETE": parse_delete,
}
"""Readers that begin behind the words."""

READERS: Mapping[Phrase, tuple[bool, Reader]] = MappingProxyType(
    {
        **ddl.READERS,
        **{tuple(text.split()): (True, reader) for text, reader in (*ROWS.items(), *session.BEHIND.items())},
        **{tuple(text.split()): (False, reader) for text, reader in session.WHOLE.items()},
    }
)
"""By phrase: whether the reader begins behind it, and the reader."""

WORDS_AFTER = next_words(READERS)
PLAYED_AFTER = next_words(phrase for phrase in READERS if " ".join(phrase) not in session.UNPLAYED)
AT_END = "the end of the statement is not expected here"


def parse_sql(
    text: str,
    sql_mode: frozenset[str] = frozenset(),
    charset: str = "",
    parameters: Sequence[syntax.Node] | None = None,
) -> syntax.SqlStatement | None:
    """The one statement in the text; None where the text has none. `charset` is the client's, utf8mb4 if empty.

    ANSI_QUOTES, PIPES_AS_CONCAT, IGNORE_SPACE, NO_BACKSLASH_ESCAPES, HIGH_NOT_PRECEDENCE and REAL_AS_FLOAT of
    `sql_mode` change how the text is read. `parameters` are what each `?` of a prepared statement stands for.

    Raises SqlError: 1064 with line and column for what TiDB cannot parse and for a second statement, 1235 for what is
    not simulated; DdlError for DDL that is wrong in itself.
    """
    with parse_errors():
        found = split_tokens(tokenize(text, sql_mode))
        if len(found) > 1:
            second = position(text, found[1][0].start)
            raise SchemaError(f"{second}: a second statement begins here; one is accepted")
        if not found:
            return None
        tokens = [_as_quoted_name(text, token) for token in found[0]] if "ANSI_QUOTES" in sql_mode else found[0]
        try:
            return _parse_statement(text, tokens, sql_mode, charset or "utf8mb4", parameters)
        except SchemaError as error:
            raise _unclosed_parenthesis(text, tokens, error) if AT_END in str(error) else error from None


def parse_prepared(text: str, sql_mode: frozenset[str] = frozenset()) -> tuple[syntax.SqlStatement, int]:
    """The statement of PREPARE with 1 for each `?`, and how many there are.

    Raises SqlError: as `parse_sql`, 1295 for what cannot be prepared, 8115 for several statements or none, 8116 for DDL
    with a `?` (tidb pkg/planner/core/plan_cache_utils.go, GeneratePlanCacheStmtWithAST).
    """
    with parse_errors():
        found = split_tokens(tokenize(text, sql_mode))
    if len(found) != 1:
        raise SqlError(8115, "HY000", "Can not prepare multiple statements")
    words = " ".join(first_words(found[0]))
    if words.startswith(("LOAD DATA", "IMPORT INTO", "BATCH ")):
        raise NOT_PREPARED
    count = sum(token.token_type is TokenType.PLACEHOLDER for token in found[0])
    statement = parse_sql(text, sql_mode, parameters=[syntax.Literal("integer", "1")] * count)
    assert statement is not None, "it has tokens"
    if isinstance(statement, syntax.Prepare | syntax.Execute | syntax.Deallocate):
        raise NOT_PREPARED
    if count and isinstance(statement, syntax.Statement):
        raise SqlError(8116, "HY000", "Can not prepare DDL statements with parameters")
    return statement, count


NOT_PREPARED = SqlError(1295, "HY000", "This command is not supported in the prepared statement protocol yet")

NUMBERED = MappingProxyType(
    {
        1115: "42000",
        1149: "42000",
        1253: "42000",
        **dict.fromkeys(
            (
                1221,
                1273,
                1479,
                1480,
                1484,
                1485,
                1492,
                1500,
                1504,
                1525,
                1653,
                1657,
                1658,
                1800,
                1801,
                1818,
                4113,
                4128,
            ),
            "HY000",
        ),
    }
)
"""SQLSTATE of what TiDB's parser refuses by a number of its own (tidb v8.5 pkg/parser/mysql/state.go)."""


@contextmanager
def parse_errors() -> Iterator[None]:
    """Turns what readers raise into SqlError."""
    try:
        yield
    except SchemaError as error:
        if error.number in NUMBERED:
            raise SqlError(error.number, NUMBERED[error.number], error.said or str(error)) from None
        raise syntax_error(str(error)) from None
    except RecursionError:
        raise syntax_error("the statement is nested too deeply") from None


def syntax_error(why: str) -> SqlError:
    return SqlError(1064, "42000", f"You have an error in your SQL syntax: {why}")


def _parse_statement(
    text: str, tokens: list[Token], sql_mode: frozenset[str], charset: str, parameters: Sequence[syntax.Node] | None
) -> syntax.SqlStatement:
    words = first_words(tokens)
    for length in range(len(words), 0, -1):
        if found := READERS.get(words[:length]):
            behind, reader = found
            return parse_tokens(text, tokens[length:] if behind else tokens, reader, charset, sql_mode, parameters)
    fail_at_first_words(text, tokens, words, WORDS_AFTER, PLAYED_AFTER)


def _as_quoted_name(text: str, token: Token) -> Token:
    """The token as ANSI_QUOTES has it: what stands between double quotes is a name."""
    if token.token_type is not TokenType.STRING or text[token.start] != '"':
        return token
    name = text[token.start + 1 : token.end].replace('""', '"')
    return Token(TokenType.IDENTIFIER, name, token.line, token.col, token.start, token.end)


def _unclosed_parenthesis(text: str, tokens: Sequence[Token], error: SchemaError) -> SchemaError:
    """The error of a statement that ends too early: that its first open parenthesis is never closed, if it has one."""
    open_ones: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            open_ones.append(token)
        elif token.token_type is TokenType.R_PAREN and open_ones:
            open_ones.pop()
    if open_ones:
        return SchemaError(f"{position(text, open_ones[0].start)}: this '(' has no ')'")
    return error
