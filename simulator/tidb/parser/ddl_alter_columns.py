"""Reads the specs on columns and keys: ADD, DROP, MODIFY, CHANGE, ALTER, RENAME.

One law: COLUMN may be left out wherever the next word is no other kind of thing.
"""

from __future__ import annotations

from simulator.tidb.parser.columns import read_column
from simulator.tidb.parser.cursor import TiDBParser
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
    Place,
    RenameColumn,
    RenameIndex,
    RenameTo,
    Spec,
)
from simulator.tidb.syntax.alter_partitions import PartitionAction


def add(parser: TiDBParser) -> Spec:
    """ADD: partitions, statistics, a key or constraint, a column or several in parentheses."""
    parser.take()
    if parser.accept("PARTITION"):
        return add_partitions(parser)
    if parser.accept("STATS_EXTENDED"):
        return add_statistics(parser)
    if begins_key(parser):
        return AddKey(read_key(parser))
    parser.accept("COLUMN")
    if_not_exists = parser.accept("IF NOT EXISTS")
    if parser.word() == "(":
        columns, keys = elements(parser)
        return AddColumns(columns, None, keys, parenthesised=True, if_not_exists=if_not_exists)
    return AddColumns((read_column(parser),), place(parser), if_not_exists=if_not_exists)


def place(parser: TiDBParser) -> Place | None:
    """FIRST, or AFTER a column."""
    if parser.accept("FIRST"):
        return Place()
    if parser.accept("AFTER"):
        qualifier, column = column_name(parser)
        return Place(column, qualifier)
    return None


def drop(parser: TiDBParser) -> Spec:
    """DROP: a key, a constraint, partitions, statistics or a column."""
    parser.take()
    if parser.accept("PRIMARY"):
        parser.expect("KEY")
        return DropKey("primary")
    if parser.accept("FOREIGN"):
        parser.expect("KEY")
        return drop_key(parser, "foreign")
    if parser.accept("KEY") or parser.accept("INDEX"):
        return drop_key(parser, "index")
    if parser.accept("CHECK") or parser.accept("CONSTRAINT"):
        return DropKey("check", parser.free_name("the name of a constraint"))
    if parser.accept("PARTITION"):
        if_exists = parser.accept("IF EXISTS")
        return PartitionAction("DROP", partition_names(parser), if_exists)
    if parser.accept("STATS_EXTENDED"):
        return drop_statistics(parser)
    return drop_column(parser)


def drop_key(parser: TiDBParser, kind: str) -> DropKey:
    if_exists = parser.accept("IF EXISTS")
    return DropKey(kind, parser.free_name("the name of a key"), if_exists)


def drop_column(parser: TiDBParser) -> DropColumn:
    parser.accept("COLUMN")
    if_exists = parser.accept("IF EXISTS")
    at = parser.next_token().start if not parser.at_end() else 0
    qualifier, name = column_name(parser)
    restrict_or_cascade(parser)
    return DropColumn(name, if_exists, at, qualifier)


def modify(parser: TiDBParser) -> ModifyColumn:
    parser.take()
    parser.accept("COLUMN")
    if_exists = parser.accept("IF EXISTS")
    return ModifyColumn(read_column(parser), place(parser), if_exists)


def change(parser: TiDBParser) -> ChangeColumn:
    parser.take()
    parser.accept("COLUMN")
    if_exists = parser.accept("IF EXISTS")
    qualifier, old = column_name(parser)
    return ChangeColumn(old, read_column(parser), place(parser), if_exists, qualifier)


def alter(parser: TiDBParser) -> Spec:
    """ALTER: a column's default, a check's enforcement, an index's visibility."""
    parser.take()
    if parser.accept("INDEX"):
        return visibility(parser)
    if parser.accept("CHECK") or parser.accept("CONSTRAINT"):
        name = parser.free_name("the name of a constraint")
        enforced = not parser.accept("NOT")
        parser.expect("ENFORCED")
        return AlterCheck(name, enforced)
    parser.accept("COLUMN")
    qualifier, name = column_name(parser)
    if parser.accept("DROP"):
        parser.expect("DEFAULT")
        return AlterDefault(name, None, qualifier)
    parser.expect("SET")
    parser.expect("DEFAULT")
    return AlterDefault(name, read_default(parser), qualifier)


def visibility(parser: TiDBParser) -> IndexVisibility:
    name = parser.free_name("the name of an index")
    if parser.word() not in ("VISIBLE", "INVISIBLE"):
        parser.unexpected("VISIBLE or INVISIBLE", ("VISIBLE", "INVISIBLE"))
    return IndexVisibility(name, parser.take() == "VISIBLE")


def rename(parser: TiDBParser) -> Spec:
    """RENAME: a column, an index or the table."""
    parser.take()
    if parser.accept("COLUMN"):
        return RenameColumn(*old_and_new(parser, "the name of a column"))
    if parser.accept("INDEX") or parser.accept("KEY"):
        return RenameIndex(*old_and_new(parser, "the name of an index"))
    parser.accept("TO") or parser.accept("AS") or parser.accept("=")
    return RenameTo(table_name(parser))


def old_and_new(parser: TiDBParser, what: str) -> tuple[str, str]:
    """`old TO new`"""
    old = parser.free_name(what)
    parser.expect("TO")
    return old, parser.free_name(what)
