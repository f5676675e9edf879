"""Reads literals and words where TiDB takes nothing else: defaults, amounts of time, values of options.

One law: what is read here is never the beginning of a longer expression.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import TokenType

from simulator.tidb.parser.atoms import read_atom
from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.expressions import expression_of, read_bits, read_parenthesised
from simulator.tidb.restore.expressions import restored
from simulator.tidb.syntax.definitions import DefaultSyntax, Expression
from simulator.tidb.syntax.expressions import Literal

LARGEST = 2 ** 64 - 1
NUMBERS = ("integer", "decimal", "float")


def begins_literal(parser: TiDBParser) -> bool:
    if parser.kind() in ("string", "number", "hex", "bit", "introducer"):
        return True
    return parser.word() in ("NULL", "TRUE", "FALSE", ".")


def read_literal(parser: TiDBParser) -> DefaultSyntax:
    """A literal without a sign; raises SchemaError."""
    if not begins_literal(parser):
        parser.unexpected("a string, a number, TRUE, FALSE or NULL")
    node = read_atom(parser)
    assert isinstance(node, Literal)
    kind = "number" if node.kind in NUMBERS else node.kind
    return DefaultSyntax(kind, node.text.upper() if kind in ("null", "boolean") else node.text, restored(node))


def read_signed(parser: TiDBParser) -> DefaultSyntax:
    """A literal, or a number with its sign; raises SchemaError."""
    if parser.word() not in ("+", "-"):
        return read_literal(parser)
    sign, at = parser.take(), parser.next_token()
    number = read_literal(parser)
    if number.kind != "number":
        parser.fail("a sign stands before a number only", at)
    return DefaultSyntax("number", sign.strip("+") + number.text, sign + number.restored)


def read_number(parser: TiDBParser) -> str:
    """A number without a sign, as TiDB writes it back; raises SchemaError."""
    if parser.kind() != "number" and parser.word() != ".":
        parser.unexpected("a number")
    return read_literal(parser).restored


def read_plain_string(parser: TiDBParser, what: str = "a string in quotes") -> str:
    """A string without an introducer, as options and comments take it; raises SchemaError."""
    if parser.kind() != "string" or parser.next_token().token_type is TokenType.NATIONAL_STRING:
        parser.unexpected(what)
    return parser.literal()


def read_count(parser: TiDBParser, what: str = "a whole number") -> int:
    """A whole number of 64 bits at most; raises SchemaError."""
    token = parser.next_token()
    number = parser.integer(what)
    if number > LARGEST or len(token.text.lstrip("0")) > len(str(LARGEST)):
        parser.fail(f"{token.text[:40]} is too large; accepted: up to {LARGEST}", token)
    return number


def read_one_of(parser: TiDBParser, words: Sequence[str]) -> str:
    """One of the words, or phrases, as they are listed; raises SchemaError."""
    found = next((word for word in words if parser.accept(word)), "")
    if not found:
        parser.unexpected(", ".join(words), words)
    return found


def read_enclosed(parser: TiDBParser) -> Expression:
    """`( expression )`; raises SchemaError at the parenthesis where it is never closed."""
    if parser.word() == "(" and parser.closing_ahead(0) < 0:
        parser.fail("this '(' has no ')'")
    return read_parenthesised(parser)


def read_bit_expression(parser: TiDBParser) -> Expression:
    """An expression without comparisons and logic, as partitions take it; raises SchemaError."""
    return expression_of(parser, read_bits)


def read_enclosed_bits(parser: TiDBParser) -> Expression:
    """`( expression )`, as `read_bit_expression` has it; raises SchemaError."""
    parser.expect("(")
    expression = read_bit_expression(parser)
    parser.expect(")")
    return expression
