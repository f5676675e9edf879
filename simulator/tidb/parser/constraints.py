"""Reads what columns and keys share: checks and references.

One law: nothing here knows which column or key it belongs to.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.parts import read_part
from simulator.tidb.parser.values import read_enclosed, read_one_of
from simulator.tidb.syntax.definitions import Check, References, TableName

REFERENCE_ACTIONS = ("RESTRICT", "CASCADE", "SET NULL", "NO ACTION", "SET DEFAULT")


def read_check(parser: TiDBParser, name: str = "") -> Check:
    """What follows CHECK: `(expression) [[NOT] ENFORCED]`; a NOT NULL behind it is left alone."""
    condition = read_enclosed(parser)
    enforced = parser.accept("ENFORCED") or not parser.accept("NOT ENFORCED")
    return Check(condition, enforced, name)


def read_references(parser: TiDBParser) -> References:
    """What follows REFERENCES: `t (a, b) MATCH FULL ON DELETE CASCADE ON UPDATE SET NULL`; the two ONs in any order."""
    table = TableName(*parser.qualified_free_name("a table"))
    parts = parser.comma_separated(read_part) if parser.word() == "(" else ()
    match = read_one_of(parser, ("FULL", "PARTIAL", "SIMPLE")) if parser.accept("MATCH") else ""
    actions = {"DELETE": "", "UPDATE": ""}
    while parser.word() == "ON" and not all(actions.values()):
        parser.take()
        event = read_one_of(parser, [event for event, action in actions.items() if not action])
        actions[event] = read_one_of(parser, REFERENCE_ACTIONS)
    return References(table, parts, match, actions["DELETE"], actions["UPDATE"])
