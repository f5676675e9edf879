"""Reads the specs on columns and keys: ADD, DROP, MODIFY, CHANGE, ALTER, RENAME.

One law: COLUMN may be left out wherever the next word is no other kind of thing.
"""

from __future__ import annotations

from simulator.tidb.parser.columns import read_column
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_alter_defaults import read_default
from simulator.tidb.parser.ddl_alter_partitions import add_partitions, partition_names
from simulator.tidb.parser.ddl_alter_settings import add_statistics, drop_statistics
from simulator.tidb.parser.ddl_names import column_name, restrict_or_cascade, table_name
from simulator.tidb.parser.keys import begins_key, read_key
from simulator.tidb.parser.tables import elements
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
    PartitionAction,
    Place,
    RenameColumn,
    RenameIndex,
    RenameTo,
    Spec,
)


def add(cursor: Cursor) -> Spec:
    """ADD: partitions, statistics, a key or constraint, a column or several in parentheses."""
    cursor.take()
    if cursor.accept("PARTITION"):
        return add_partitions(cursor)
    if cursor.accept("STATS_EXTENDED"):
        return add_statistics(cursor)
    if begins_key(cursor):
        return AddKey(read_key(cursor))
    cursor.accept("COLUMN")
    if_not_exists = cursor.accept("IF NOT EXISTS")
    if cursor.word() == "(":
        columns, keys = elements(cursor)
        return AddColumns(columns, None, keys, parenthesised=True, if_not_exists=if_not_exists)
    return AddColumns((read_column(cursor),), place(cursor), if_not_exists=if_not_exists)


def place(cursor: Cursor) -> Place | None:
    """FIRST, or AFTER a column."""
    if cursor.accept("FIRST"):
        return Place()
    if cursor.accept("AFTER"):
        qualifier, column = column_name(cursor)
        return Place(column, qualifier)
    return None


def drop(cursor: Cursor) -> Spec:
    """DROP: a key, a constraint, partitions, statistics or a column."""
    cursor.take()
    if cursor.accept("PRIMARY"):
        cursor.expect("KEY")
        return DropKey("primary")
    if cursor.accept("FOREIGN"):
        cursor.expect("KEY")
        return drop_key(cursor, "foreign")
    if cursor.accept("KEY") or cursor.accept("INDEX"):
        return drop_key(cursor, "index")
    if cursor.accept("CHECK") or cursor.accept("CONSTRAINT"):
        return DropKey("check", cursor.name("the name of a constraint"))
    if cursor.accept("PARTITION"):
        if_exists = cursor.accept("IF EXISTS")
        return PartitionAction("DROP", partition_names(cursor), if_exists)
    if cursor.accept("STATS_EXTENDED"):
        return drop_statistics(cursor)
    return drop_column(cursor)


def drop_key(cursor: Cursor, kind: str) -> DropKey:
    if_exists = cursor.accept("IF EXISTS")
    return DropKey(kind, cursor.name("the name of a key"), if_exists)


def drop_column(cursor: Cursor) -> DropColumn:
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF EXISTS")
    at = cursor.next_token().start if not cursor.at_end() else 0
    qualifier, name = column_name(cursor)
    restrict_or_cascade(cursor)
    return DropColumn(name, if_exists, at, qualifier)


def modify(cursor: Cursor) -> ModifyColumn:
    cursor.take()
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF EXISTS")
    return ModifyColumn(read_column(cursor), place(cursor), if_exists)


def change(cursor: Cursor) -> ChangeColumn:
    cursor.take()
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF EXISTS")
    qualifier, old = column_name(cursor)
    return ChangeColumn(old, read_column(cursor), place(cursor), if_exists, qualifier)


def alter(cursor: Cursor) -> Spec:
    """ALTER: a column's default, a check's enforcement, an index's visibility."""
    cursor.take()
    if cursor.accept("INDEX"):
        return visibility(cursor)
    if cursor.accept("CHECK") or cursor.accept("CONSTRAINT"):
        name = cursor.name("the name of a constraint")
        enforced = not cursor.accept("NOT")
        cursor.expect("ENFORCED")
        return AlterCheck(name, enforced)
    cursor.accept("COLUMN")
    qualifier, name = column_name(cursor)
    if cursor.accept("DROP"):
        cursor.expect("DEFAULT")
        return AlterDefault(name, None, qualifier)
    cursor.expect("SET")
    cursor.expect("DEFAULT")
    return AlterDefault(name, read_default(cursor), qualifier)


def visibility(cursor: Cursor) -> IndexVisibility:
    name = cursor.name("the name of an index")
    if cursor.word() not in ("VISIBLE", "INVISIBLE"):
        cursor.unexpected("VISIBLE or INVISIBLE", ("VISIBLE", "INVISIBLE"))
    return IndexVisibility(name, cursor.take() == "VISIBLE")


def rename(cursor: Cursor) -> Spec:
    """RENAME: a column, an index or the table."""
    cursor.take()
    if cursor.accept("COLUMN"):
        return RenameColumn(*old_and_new(cursor, "the name of a column"))
    if cursor.accept("INDEX") or cursor.accept("KEY"):
        return RenameIndex(*old_and_new(cursor, "the name of an index"))
    cursor.accept("TO") or cursor.accept("AS") or cursor.accept("=")
    return RenameTo(table_name(cursor))


def old_and_new(cursor: Cursor, what: str) -> tuple[str, str]:
    """`old TO new`"""
    old = cursor.name(what)
    cursor.expect("TO")
    return old, cursor.name(what)
