"""Passes over what TiDB reads and TiCDC never shows: checks, references, values of options.

One law: nothing here is kept, but what could not be SQL is a SchemaError.
"""

from __future__ import annotations

from simulator.schema.cursor import TiDBParser

REFERENCE_ACTIONS = ("RESTRICT", "CASCADE", "SET NULL", "NO ACTION", "SET DEFAULT")


def skip_check(parser: TiDBParser) -> None:
    """`(expression) [[NOT] ENFORCED]`"""
    parser.skip_parenthesised()
    if not parser.accept("ENFORCED"):
        parser.accept("NOT ENFORCED")


def skip_references(parser: TiDBParser) -> None:
    """What follows REFERENCES: `t (a, b) MATCH FULL ON DELETE CASCADE ON UPDATE SET NULL`"""
    parser.qualified_name("a table")
    if parser.word() == "(":
        parser.skip_parenthesised()
    if parser.accept("MATCH"):
        parser.name("FULL, PARTIAL or SIMPLE")
    while parser.accept("ON DELETE") or parser.accept("ON UPDATE"):
        if not any(parser.accept(action) for action in REFERENCE_ACTIONS):
            parser.unexpected(", ".join(REFERENCE_ACTIONS))


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
