"""Writes the specs on columns and keys.

One law: COLUMN is written out, INDEX stands for KEY.
"""

from __future__ import annotations

from types import MappingProxyType

from simulator.tidb.restore.columns import restored_column
from simulator.tidb.restore.keys import restored_key
from simulator.tidb.restore.names import column, table, words
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.alter import (
    AddColumns,
    AddKey,
    AlterCheck,
    AlterDefault,
    ChangeColumn,
    DropColumn,
    DropKey,
    IndexVisibility,
    ModifyColumn,
    Place,
    RenameColumn,
    RenameIndex,
    RenameTo,
)
from simulator.tidb.syntax.definitions import DefaultSyntax

KEYS = MappingProxyType({"index": "INDEX", "foreign": "FOREIGN KEY", "check": "CHECK"})


def add_columns(spec: AddColumns) -> str:
    exists = "IF NOT EXISTS" if spec.if_not_exists else ""
    if not spec.parenthesised:
        return words("ADD COLUMN", exists, restored_column(spec.columns[0]), place(spec.place))
    elements = (*map(restored_column, spec.columns), *map(restored_key, spec.keys))
    return words("ADD COLUMN", exists, f"({', '.join(elements)})")


def place(where: Place | None) -> str:
    if where is None:
        return ""
    return f"AFTER {column(where.after, where.qualifier)}" if where.after else "FIRST"


def add_key(spec: AddKey) -> str:
    return f"ADD {restored_key(spec.key)}"


def drop_column(spec: DropColumn) -> str:
    return words("DROP COLUMN", if_exists(spec.if_exists), column(spec.name, spec.qualifier))


def if_exists(said: bool) -> str:
    return "IF EXISTS" if said else ""


def drop_key(spec: DropKey) -> str:
    if spec.kind == "primary":
        return "DROP PRIMARY KEY"
    return words("DROP", KEYS[spec.kind], if_exists(spec.if_exists), quoted(spec.name))


def modify_column(spec: ModifyColumn) -> str:
    return words("MODIFY COLUMN", if_exists(spec.if_exists), restored_column(spec.column), place(spec.place))


def change_column(spec: ChangeColumn) -> str:
    old = column(spec.old, spec.qualifier)
    return words("CHANGE COLUMN", if_exists(spec.if_exists), old, restored_column(spec.column), place(spec.place))


def rename_column(spec: RenameColumn) -> str:
    return f"RENAME COLUMN {quoted(spec.old)} TO {quoted(spec.new)}"


def alter_default(spec: AlterDefault) -> str:
    name = column(spec.column, spec.qualifier)
    if spec.default is None:
        return f"ALTER COLUMN {name} DROP DEFAULT"
    return f"ALTER COLUMN {name} SET DEFAULT {default(spec.default)}"


def default(given: DefaultSyntax) -> str:
    """A literal as it is; an expression in parentheses, and a number with its sign is one."""
    literal = given.kind != "expression" and given.restored[:1] not in ("-", "+")
    return given.restored if literal else f"({given.restored})"


def rename_index(spec: RenameIndex) -> str:
    return f"RENAME INDEX {quoted(spec.old)} TO {quoted(spec.new)}"


def index_visibility(spec: IndexVisibility) -> str:
    return f"ALTER INDEX {quoted(spec.name)} {'VISIBLE' if spec.visible else 'INVISIBLE'}"


def alter_check(spec: AlterCheck) -> str:
    return f"ALTER CHECK {quoted(spec.name)} {'ENFORCED' if spec.enforced else 'NOT ENFORCED'}"


def rename_to(spec: RenameTo) -> str:
    return f"RENAME AS {table(spec.table)}"
