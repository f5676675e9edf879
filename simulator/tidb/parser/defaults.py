"""Reads what follows DEFAULT and ON UPDATE of a column.

One law: TiDB takes literals, the current time, the next value of a sequence and calls of functions, each in parentheses
or without, and no other expression (TiDB v8.5: pkg/parser/parser.y, DefaultValueExpr).
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.expressions import read_expression
from simulator.tidb.parser.values import begins_literal, read_count, read_signed
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.definitions import DefaultSyntax, Expression

NOW = ("CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "NOW")
TODAY = ("CURRENT_DATE", "CURDATE")
CALL_ONLY = ("NOW", "CURDATE")


def read_literal_default(parser: TiDBParser) -> DefaultSyntax:
    """What follows DEFAULT; raises SchemaError."""
    if parser.word() != "(":
        return read_signed(parser) if begins_signed(parser) else read_call(parser)
    parser.expect("(")
    default = read_parenthesised_default(parser)
    parser.expect(")")
    return default


def read_parenthesised_default(parser: TiDBParser) -> DefaultSyntax:
    """`(uuid())`, `((uuid()))`, `(1)` or the name of a column, which TiDB reads and then refuses."""
    if begins_signed(parser):
        return read_signed(parser)
    if parser.word() == "(":
        parser.expect("(")
        call = read_call(parser) if parser.word() != "(" else read_parenthesised_default(parser)
        parser.expect(")")
        return call
    if parser.word_after() == ")" and parser.word() not in NOW + TODAY:
        name = parser.free_name("a function, a literal or a column")
        return DefaultSyntax("expression", name, quoted(name))
    return read_call(parser)


def begins_signed(parser: TiDBParser) -> bool:
    return parser.word() in ("+", "-") or begins_literal(parser)


def read_call(parser: TiDBParser) -> DefaultSyntax:
    """A function with its arguments; all but the current time stand in parentheses when TiDB writes them back."""
    start = parser.next_token()
    if parser.word() in NOW + TODAY:
        now = read_now(parser)
        shown = now.restored if now.restored.startswith("CURRENT_TIMESTAMP") else f"({now.restored})"
        return DefaultSyntax("expression", now.text, shown)
    restored = read_sequence(parser) or read_function(parser)
    return DefaultSyntax("expression", parser.text_since(start), f"({restored})")


def read_now(parser: TiDBParser) -> Expression:
    """CURRENT_TIMESTAMP and its synonyms, with or without the digits of a second; CURRENT_DATE."""
    start, word = parser.next_token(), parser.word()
    if word not in NOW + TODAY:
        parser.unexpected("CURRENT_TIMESTAMP, or one of its synonyms", NOW)
    parser.take()
    digits = ""
    if word in CALL_ONLY or parser.word() == "(":
        parser.expect("(")
        digits = "" if parser.word() == ")" or word in TODAY else str(read_count(parser, "the digits of a second"))
        parser.expect(")")
    name = "CURRENT_DATE" if word in TODAY else "CURRENT_TIMESTAMP"
    return Expression(parser.text_since(start), f"{name}({digits})")


def read_sequence(parser: TiDBParser) -> str:
    """`NEXT VALUE FOR s` or `NEXTVAL(s)` as TiDB writes it back; empty where neither comes."""
    called = parser.word() == "NEXTVAL" and parser.word_after() == "("
    if not called and not parser.accept("NEXT VALUE FOR"):
        return ""
    if called:
        parser.accept("NEXTVAL")
        parser.expect("(")
    schema, name = parser.qualified_free_name("a sequence")
    if called:
        parser.expect(")")
    return f"NEXTVAL({quoted(schema) + '.' if schema else ''}{quoted(name)})"


def read_function(parser: TiDBParser) -> str:
    """`name(argument, …)` as TiDB writes it back."""
    name = parser.take() if parser.word() == "REPLACE" else parser.free_name("a literal or a function").upper()
    if parser.word() == "(" and parser.word_after() == ")":
        parser.accept("( )")
        return f"{name}()"
    arguments = parser.comma_separated(lambda cursor: read_expression(cursor).restored)
    return f"{name}({', '.join(arguments)})"
