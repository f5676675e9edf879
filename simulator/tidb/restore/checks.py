"""Checks, references and parts of keys as TiDB writes them back.

One law: ON DELETE comes before ON UPDATE, and whether a check is enforced is always said.
"""

from __future__ import annotations

from simulator.tidb.restore.names import column, table
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.definitions import Check, KeyPart, References


def restored_check(check: Check) -> str:
    """A check of a column or of a table."""
    name = f"CONSTRAINT {quoted(check.name)} " if check.name else ""
    return f"{name}CHECK({check.condition.restored}) {'ENFORCED' if check.enforced else 'NOT ENFORCED'}"


def restored_references(references: References) -> str:
    """What a foreign key refers to."""
    parts = f"({', '.join(map(restored_part, references.parts))})" if references.parts else ""
    actions = (("MATCH", references.match), ("ON DELETE", references.on_delete), ("ON UPDATE", references.on_update))
    tail = "".join(f" {words} {action}" for words, action in actions if action)
    return f"REFERENCES {table(references.table)}{parts}{tail}"


def restored_part(part: KeyPart) -> str:
    """A column, a prefix of one, or an expression in parentheses."""
    if part.column:
        text = column(part.column, part.qualifier) + (f"({part.length})" if part.length > 0 else "")
    else:
        text = f"({part.restored})"
    return f"{text} DESC" if part.descending else text
