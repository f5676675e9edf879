"""Reads what columns and keys share: checks, references, values of options.

One law: nothing here knows which column or key it belongs to.
"""

from __future__ import annotations

from simulator.schema.cursor import TiDBParser
from simulator.schema.read_parts import read_part
from simulator.schema.syntax import Check, Expression, References, TableName

REFERENCE_ACTIONS = ("RESTRICT", "CASCADE", "SET NULL", "NO ACTION", "SET DEFAULT")


def read_check(parser: TiDBParser, name: str = "") -> Check:
    """What follows CHECK: `(expression) [[NOT] ENFORCED]`."""
    text = parser.skip_parenthesised()
    enforced = parser.accept("ENFORCED") or not parser.accept("NOT ENFORCED")
    return Check(Expression(text, text), enforced, name)


def read_references(parser: TiDBParser) -> References:
    """What follows REFERENCES: `t (a, b) MATCH FULL ON DELETE CASCADE ON UPDATE SET NULL`"""
    table = TableName(*parser.qualified_name("a table"))
    parts = parser.comma_separated(read_part) if parser.word() == "(" else ()
    match = parser.name("FULL, PARTIAL or SIMPLE").upper() if parser.accept("MATCH") else ""
    actions = {"DELETE": "", "UPDATE": ""}
    while parser.accept("ON"):
        event = parser.take()
        actions[event] = next((action for action in REFERENCE_ACTIONS if parser.accept(action)), "")
        if not actions[event]:
            parser.unexpected(", ".join(REFERENCE_ACTIONS))
    return References(table, parts, match, actions["DELETE"], actions["UPDATE"])


def skip_value(parser: TiDBParser) -> None:
    """`[=] value`, the value a word, a literal or something in parentheses."""
    parser.accept("=")
    if parser.word() == "(":
        parser.skip_parenthesised()
    elif parser.kind() in ("string", "number") or parser.is_name():
        parser.literal()
    else:
        parser.unexpected("a value")


def skip_condition(parser: TiDBParser) -> None:
    """The condition of a partial index."""
    while parser.word() not in (",", ")") and not parser.at_end():
        if parser.word() == "(":
            parser.skip_parenthesised()
        else:
            parser.literal()
