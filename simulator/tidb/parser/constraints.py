"""Reads what columns and keys share: checks and references.

One law: nothing here knows which column or key it belongs to.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.parts import read_part
from simulator.tidb.parser.values import read_enclosed, read_one_of
from simulator.tidb.syntax.definitions import Check, References, TableName

REFERENCE_ACTIONS = ("RESTRICT", "CASCADE", "SET NULL", "NO ACTION", "SET DEFAULT")


def read_check(cursor: Cursor, name: str = "") -> Check:
    """What follows CHECK: `(expression) [[NOT] ENFORCED]`; a NOT NULL behind it is left alone."""
    condition = read_enclosed(cursor)
    enforced = cursor.accept("ENFORCED") or not cursor.accept("NOT ENFORCED")
    return Check(condition, enforced, name)


def read_references(cursor: Cursor) -> References:
    """What follows REFERENCES: `t (a, b) MATCH FULL ON DELETE CASCADE ON UPDATE SET NULL`; the two ONs in any order."""
    table = TableName(*cursor.qualified_name("a table"))
    parts = cursor.comma_separated(read_part) if cursor.word() == "(" else ()
    match = read_one_of(cursor, ("FULL", "PARTIAL", "SIMPLE")) if cursor.accept("MATCH") else ""
    actions = {"DELETE": "", "UPDATE": ""}
    while cursor.word() == "ON" and not all(actions.values()):
        cursor.take()
        event = read_one_of(cursor, [event for event, action in actions.items() if not action])
        actions[event] = read_one_of(cursor, REFERENCE_ACTIONS)
    return References(table, parts, match, actions["DELETE"], actions["UPDATE"])
