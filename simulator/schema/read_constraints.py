"""Reads what columns and keys share: checks and references.

One law: nothing here knows which column or key it belongs to.
"""

from __future__ import annotations

from simulator.schema.cursor import TiDBParser
from simulator.schema.read_values import read_enclosed, read_one_of
from simulator.schema.read_parts import read_part
from simulator.schema.syntax import Check, References, TableName

REFERENCE_ACTIONS = ("RESTRICT", "CASCADE", "SET NULL", "NO ACTION", "SET DEFAULT")


def read_check(parser: TiDBParser, name: str = "") -> Check:
    """What follows CHECK: `(expression) [[NOT] ENFORCED]`; a NOT NULL behind it is left alone."""
    condition = read_enclosed(parser)
    enforced = parser.accept("ENFORCED") or not parser.accept("NOT ENFORCED")
    return Check(condition, enforced, name)


def read_references(parser: TiDBParser) -> References:
    """What follows REFERENCES: `t (a, b) MATCH FULL ON DELETE CASCADE ON UPDATE SET NULL`; the two ONs in any order."""
    table = TableName(*parser.qualified_name("a table"))
    parts = parser.comma_separated(read_part) if parser.word() == "(" else ()
    match = read_one_of(parser, ("FULL", "PARTIAL", "SIMPLE")) if parser.accept("MATCH") else ""
    on_delete = read_action(parser, "DELETE")
    on_update = read_action(parser, "UPDATE")
    return References(table, parts, match, on_delete or read_action(parser, "DELETE"), on_update)


def read_action(parser: TiDBParser, event: str) -> str:
    """What follows `ON DELETE` or `ON UPDATE`; empty where that does not come."""
    return read_one_of(parser, REFERENCE_ACTIONS) if parser.accept(f"ON {event}") else ""
