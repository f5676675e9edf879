"""Parse a text into a statement of any kind: DDL, DML, queries and session statements.

Some statements are parsed once for many values, into a template: a tree with places for parameters, or for literals of
the text. It is for values of the same kinds. It is made by two parses with different values, and only if the values of
the first one, replaced in its tree by those of the second, give the tree of the second: what the parser derives of a
value, such as the name of a column, is then no part of the tree. For literals, the tree must be that of the text, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache, partial
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple, replace
from sqlglot.tokens import Token, TokenType

from simulator.errors import DdlError, SchemaError, SimulatorError, SqlError
from simulator.limits import TOO_DEEP
from simulator.tidb import syntax
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.parser import alter_table as alter
from simulator.tidb.parser import ddl, dml, session
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.ddl import Phrase, fail_at_first_words, first_words, next_words
from simulator.tidb.parser.script import only_statement, parse_tokens, split_tokens
from simulator.tidb.parser.tokens import tokenize, without_literals
from simulator.tidb.syntax.definitions import Statement
from simulator.tidb.syntax.expressions import Literal, Node, Unary
from simulator.tidb.syntax.statements import SqlStatement

Parse: TypeAlias = "Callable[[Sequence[Node]], SqlStatement | None]"
Fill: TypeAlias = "Callable[[Sequence[Node]], Any]"

OTHERS = {
    "integer": ("7", "8"),
    "decimal": ("7.5", "8.5"),
    "float": ("7e0", "8e0"),
    "string": ("x", "y"),
    "hex": ("78", "79"),
}
"""Two values of a kind."""

MOST = 256


class Seen(Enum):
    """What is known of a statement without a template."""

    ONCE = "once"
    PARSED = "always parsed"


class Templates:
    """The newest templates. A statement has one from its second execution on."""

    def __init__(self) -> None:
        self._fills: dict[object, Fill | Seen] = {}

    def statement(
        self, text: object, written: Callable[[], SqlStatement | None], parse: Parse, values: Sequence[Node]
    ) -> SqlStatement | None:
        """Return the tree of a statement with values, as `written` does, which parses it as it is; `parse` takes values for
        its parameters. Raises what `written` raises."""
        key = text, kinds_of(values)
        fill = self._fills.get(key)
        if fill is not None and not isinstance(fill, Seen):
            filled: SqlStatement | None = fill(values)
            return filled
        statement = written()
        if fill is None:
            if len(self._fills) >= MOST:
                self._fills.clear()
            self._fills[key] = Seen.ONCE
        elif fill is Seen.ONCE:
            made = None if isinstance(statement, Statement) else template_of(parse, values)
            self._fills[key] = made if made is not None and made(values) == statement else Seen.PARSED
        return statement


def kinds_of(values: Sequence[Node]) -> tuple[object, ...]:
    """Return what values must have in common to share a template."""
    return tuple(
        (value.kind, value.charset)
        if isinstance(value, Literal)
        else (value.operator, value.operand.kind)
        if isinstance(value, Unary) and isinstance(value.operand, Literal)
        else value
        for value in values
    )


def template_of(parse: Parse, values: Sequence[Node]) -> Fill | None:
    """Return what makes a tree of values of the same kinds; None if they must be parsed."""
    if len({id(value) for value in values}) < len(values):
        return None
    places = {id(value): place for place, value in enumerate(values)}
    found: list[int] = []
    try:
        statement = parse(values)
        if not values:
            return lambda values: statement
        fill = _filler(statement, places, found)
        if fill is None or sorted(found) != list(range(len(values))):
            return None
        others = [_other(value) for value in values]
        return fill if fill(others) == parse(others) else None
    except SimulatorError:
        return None


def _other(value: Node) -> Node:
    if isinstance(value, Unary):
        return replace(value, operand=_other(value.operand))
    if not isinstance(value, Literal) or value.kind not in OTHERS:
        return value
    one, other = OTHERS[value.kind]
    return replace(value, text=other if value.text == one else one)


def _filler(node: Any, places: dict[int, int], found: list[int]) -> Fill | None:
    """Return what replaces the values in a part of a tree, and append their places; None for a part without any."""
    place = places.get(id(node))
    if place is not None:
        found.append(place)
        return lambda values: values[place]
    if isinstance(node, tuple):
        fillers = [_filler(each, places, found) for each in node]
        if not any(fillers):
            return None
        parts = [*zip(node, fillers, strict=True)]
        make = getattr(node, "_make", tuple)
        return lambda values: make([part if fill is None else fill(values) for part, fill in parts])
    if not isinstance(node, Struct):
        return None
    named = zip(node.__struct_fields__, astuple(node), strict=True)
    filled = [(name, fill) for name, part in named if (fill := _filler(part, places, found)) is not None]
    return (lambda values: replace(node, **{name: fill(values) for name, fill in filled})) if filled else None


SqlParser = Callable[[Cursor], syntax.SqlStatement]


def parse_alter_table(cursor: Cursor, ignore: bool = False) -> syntax.AlterTable:
    """Parse the rest of ALTER [IGNORE] TABLE. ANALYZE and COMPACT change no schema and no row."""
    word = cursor.word_ahead(3 if cursor.word_ahead(1) == "." else 1)
    if word not in ("ANALYZE", "COMPACT"):
        return alter.parse_alter_table(cursor, ignore)
    table = cursor.qualified_name()
    cursor.take()
    names = cursor.comma_list(lambda each: each.name("a partition")) if cursor.accept("PARTITION") else ()
    session.parse_ignored(cursor, word)
    return syntax.AlterTable(table, (syntax.Clause(word, ",".join(names)),), ignore)


AFTER_PHRASE: Mapping[str, SqlParser] = {
    "ALTER TABLE": parse_alter_table,
    "ALTER IGNORE TABLE": partial(parse_alter_table, ignore=True),
    "INSERT": dml.parse_insert,
    "REPLACE": dml.parse_replace,
    "UPDATE": dml.parse_update,
    "DELETE": dml.parse_delete,
    "RECOVER VALUES": dml.parse_recover_values,
    "LOAD DATA": dml.parse_load_data,
    **session.PARSERS,
}
"""Parsers that begin after the words."""

FROM_PHRASE: Mapping[str, SqlParser] = {
    **dict.fromkeys(("SELECT", "TABLE", "VALUES", "("), dml.parse_select_statement),
    "WITH": dml.parse_with_statement,
}
"""Parsers that begin with the words themselves."""

PARSERS: Mapping[Phrase, tuple[bool, SqlParser]] = {
    **ddl.PARSERS,
    **{tuple(text.split()): (True, parser) for text, parser in AFTER_PHRASE.items()},
    **{tuple(text.split()): (False, parser) for text, parser in FROM_PHRASE.items()},
}
"""By phrase: whether the parser begins after it, and the parser."""

NEXT_WORDS = next_words(PARSERS)
SIMULATED_NEXT_WORDS = next_words(phrase for phrase in PARSERS if " ".join(phrase) not in session.NOT_EXECUTED)
AT_END = "the end of the statement is not expected here"


def parse_sql(
    text: str, sql_mode: frozenset[str] = frozenset(), parameters: Sequence[syntax.Node] | None = None
) -> syntax.SqlStatement | None:
    """Parse the only statement of the text; returns None for a text without one.

    READING_MODES of `sql_mode` change how the text is parsed. `parameters` are the values of the `?` of a prepared
    statement.

    Raises SqlError: 1064 with line and column for what TiDB cannot parse and for a second statement, 1235 for what is
    not simulated. Raises DdlError for DDL that is wrong in itself.
    """
    written = partial(_parse_text, text, sql_mode, parameters)
    if parameters is not None:
        return TEMPLATES.statement((text, sql_mode), written, partial(_parse_text, text, sql_mode), parameters)
    if len(text) >= LEAST:
        return written()
    shape, values = without_literals(text)
    return TEMPLATES.statement((shape, sql_mode, "literals"), written, partial(_parse_text, shape, sql_mode), values)


TEMPLATES = Templates()


def _parse_text(
    text: str, sql_mode: frozenset[str], parameters: Sequence[syntax.Node] | None
) -> syntax.SqlStatement | None:
    if parameters is None and len(text) >= LEAST and (listed := read_rows(text)) is not None:
        try:
            short = parse_sql(listed[0], sql_mode)
        except (SqlError, DdlError):
            short = None  # the whole text has the right place of the error
        if isinstance(short, syntax.Insert) and short.rows == (listed[1][0],):
            return replace(short, rows=tuple(listed[1]))
    with parse_errors():
        tokens = only_statement(text, (tokenize if parameters is None else _prepared_tokens)(text, sql_mode))
        if not tokens:
            return None
        try:
            return _parse_statement(text, tokens, sql_mode, parameters)
        except SchemaError as error:
            raise _unclosed_parenthesis(text, tokens, error) if AT_END in str(error) else error from None


@lru_cache(256)
def _prepared_tokens(text: str, sql_mode: frozenset[str]) -> list[Token]:
    """Return the tokens of a prepared statement, which is parsed with many parameters."""
    return tokenize(text, sql_mode)


def parse_prepared(text: str, sql_mode: frozenset[str] = frozenset()) -> tuple[syntax.SqlStatement, int]:
    """Parse the statement of PREPARE with 1 for each `?`, and return it and the number of `?`.

    Raises SqlError: as `parse_sql`, 1295 for what cannot be prepared, 8115 for several statements or none, 8116 for DDL
    with a `?` (tidb pkg/planner/core/plan_cache_utils.go, GeneratePlanCacheStmtWithAST).
    """
    with parse_errors():
        statements = split_tokens(tokenize(text, sql_mode))
    if len(statements) != 1:
        raise sql_error(8115)
    words = " ".join(first_words(statements[0]))
    if words.startswith(("LOAD DATA", "IMPORT INTO", "BATCH ")):
        raise NOT_PREPARED
    count = sum(token.token_type is TokenType.PLACEHOLDER for token in statements[0])
    statement = parse_sql(text, sql_mode, parameters=[syntax.Literal("integer", "1") for _ in range(count)])
    assert statement is not None, "it has tokens"
    if isinstance(statement, syntax.Prepare | syntax.Execute | syntax.Deallocate):
        raise NOT_PREPARED
    if count and isinstance(statement, syntax.Statement):
        raise sql_error(8116)
    return statement, count


NOT_PREPARED = sql_error(1295)


@contextmanager
def parse_errors() -> Iterator[None]:
    """Convert the errors of parsing functions to SqlError."""
    try:
        yield
    except SchemaError as error:
        if error.number != 1064:
            raise sql_error_with_text(error.number, error.said or str(error)) from None
        raise syntax_error(str(error)) from None
    except RecursionError:
        raise syntax_error(TOO_DEEP) from None


def syntax_error(why: str) -> SqlError:
    return sql_error(1064, f"You have an error in your SQL syntax: {why}")


def _parse_statement(
    text: str, tokens: list[Token], sql_mode: frozenset[str], parameters: Sequence[syntax.Node] | None
) -> syntax.SqlStatement:
    words = first_words(tokens)
    for length in range(len(words), 0, -1):
        if words[:length] in PARSERS:
            after_phrase, parser = PARSERS[words[:length]]
            remaining = tokens[length:] if after_phrase else tokens
            return parse_tokens(text, remaining, parser, sql_mode=sql_mode, parameters=parameters)
    fail_at_first_words(text, tokens, words, NEXT_WORDS, SIMULATED_NEXT_WORDS)


def _unclosed_parenthesis(text: str, tokens: Sequence[Token], error: SchemaError) -> SchemaError:
    """Return an error at the first unclosed parenthesis of a statement that ends too early, or else `error`."""
    parentheses: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            parentheses.append(token)
        elif token.token_type is TokenType.R_PAREN and parentheses:
            parentheses.pop()
    if parentheses:
        return SchemaError(f"{position(text, parentheses[0].start)}: this '(' has no ')'")
    return error


# -- long VALUES lists ----------------------------------------------------------------------------------------------------


LEAST = 1 << 14
"""Characters of a statement that may have a long list."""

_SPACE = r"[ \t\r\n]*"
_VALUE = r"(?:NULL|-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]+)?|'[^'\\]*')"
HEAD = re.compile(
    rf"{_SPACE}(?:INSERT|REPLACE)\b[^'\"#;/\-()]*(?:\([^'\"#;/\-()]*\){_SPACE})?VALUES?{_SPACE}(?=\()", re.I
)
ROW = re.compile(rf"\({_SPACE}{_VALUE}(?:{_SPACE},{_SPACE}{_VALUE})*{_SPACE}\)", re.I)
COMMA = re.compile(rf"{_SPACE},{_SPACE}")
VALUE = re.compile(_VALUE, re.I)


def read_rows(text: str) -> tuple[str, Sequence[tuple[Node, ...]]] | None:
    """Return a statement with the first of its rows only, and all rows; None if it has no list of several rows, or one
    with anything but plain literals."""
    head = HEAD.match(text)
    if head is None:
        return None
    rows, place, known = list[tuple[Node, ...]](), head.end(), dict[str, Node]()
    first = place
    while True:
        row = ROW.match(text, place)
        if row is None:
            return None
        rows.append(tuple([known.get(value) or _literal(value, known) for value in VALUE.findall(row[0])]))
        place = row.end()
        if len(rows) == 1:
            first = place
        comma = COMMA.match(text, place)
        if comma is None:
            return (text[:first] + text[place:], rows) if len(rows) > 1 else None
        place = comma.end()


def _literal(text: str, known: dict[str, Node]) -> Node:
    """Return a literal; short ones are shared."""
    node: Node
    if text[0] == "'":
        node = Literal("string", text[1:-1], "utf8mb4")
    elif text[0] == "-":
        node = Unary("-", _literal(text[1:], known))
    elif text[0] in "nN":
        node = Literal("null", "NULL")
    else:
        node = Literal("decimal" if "." in text else "integer", text)
    if len(text) < 8:
        known[text] = node
    return node
