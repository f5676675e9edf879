"""Reads ALTER TABLE: the table, and its specs as commas separate them; those on partitions are in `alter_partitions`.

One law: a spec of LAST_SPECS stands alone or behind the others, without a comma (TiDB: pkg/parser/parser.y,
AlterTableSpecSingleOpt); COLUMN may be left out wherever the next word is no other kind of thing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from simulator.tidb import syntax
from simulator.tidb.parser import alter_partitions
from simulator.tidb.parser.clauses import (
    LOCK_AND_ALGORITHM,
    charset_name,
    collation_name,
    column_name,
    location_labels,
    read_lock_or_algorithm,
    read_one_of,
    restrict_or_cascade,
)
from simulator.tidb.parser.columns import read_column
from simulator.tidb.parser.create_table import elements
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.defaults import read_default
from simulator.tidb.parser.keys import begins_key, read_key
from simulator.tidb.parser.options import begins_option, read_option
from simulator.tidb.parser.splitting import not_ddl
from simulator.tidb.restore.names import column, quoted, string

Reader = Callable[[Cursor], syntax.Spec]


# -- columns and keys ---------------------------------------------------------------------------------------------


def add(cursor: Cursor) -> syntax.Spec:
    """ADD: partitions, statistics, a key or constraint, a column or several in parentheses."""
    cursor.take()
    if cursor.accept("PARTITION"):
        return alter_partitions.add_partitions(cursor)
    if cursor.accept("STATS_EXTENDED"):
        return add_statistics(cursor)
    if begins_key(cursor):
        return syntax.AddKey(read_key(cursor))
    cursor.accept("COLUMN")
    if_not_exists = cursor.accept("IF NOT EXISTS")
    if cursor.word() == "(":
        columns, keys = elements(cursor)
        return syntax.AddColumns(columns, None, keys, parenthesised=True, if_not_exists=if_not_exists)
    return syntax.AddColumns((read_column(cursor),), place(cursor), if_not_exists=if_not_exists)


def place(cursor: Cursor) -> syntax.ColumnPosition | None:
    """FIRST, or AFTER a column."""
    if cursor.accept("FIRST"):
        return syntax.ColumnPosition()
    if cursor.accept("AFTER"):
        qualifier, column = column_name(cursor)
        return syntax.ColumnPosition(column, qualifier)
    return None


def drop(cursor: Cursor) -> syntax.Spec:
    """DROP: a key, a constraint, partitions, statistics or a column."""
    cursor.take()
    if cursor.accept("PRIMARY"):
        cursor.expect("KEY")
        return syntax.DropKey("primary")
    if cursor.accept("FOREIGN"):
        cursor.expect("KEY")
        return drop_key(cursor, "foreign")
    if cursor.accept("KEY") or cursor.accept("INDEX"):
        return drop_key(cursor, "index")
    if cursor.accept("CHECK") or cursor.accept("CONSTRAINT"):
        return syntax.DropKey("check", cursor.name("the name of a constraint"))
    if cursor.accept("PARTITION"):
        if_exists = cursor.accept("IF EXISTS")
        return syntax.PartitionAction("DROP", alter_partitions.partition_names(cursor), if_exists)
    if cursor.accept("STATS_EXTENDED"):
        return drop_statistics(cursor)
    return drop_column(cursor)


def drop_key(cursor: Cursor, kind: str) -> syntax.DropKey:
    if_exists = cursor.accept("IF EXISTS")
    return syntax.DropKey(kind, cursor.name("the name of a key"), if_exists)


def drop_column(cursor: Cursor) -> syntax.DropColumn:
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF EXISTS")
    qualifier, name = column_name(cursor)
    restrict_or_cascade(cursor)
    return syntax.DropColumn(name, if_exists, qualifier)


def modify(cursor: Cursor) -> syntax.ModifyColumn:
    cursor.take()
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF EXISTS")
    return syntax.ModifyColumn(read_column(cursor), place(cursor), if_exists)


def change(cursor: Cursor) -> syntax.ChangeColumn:
    cursor.take()
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF EXISTS")
    qualifier, old = column_name(cursor)
    return syntax.ChangeColumn(old, read_column(cursor), place(cursor), if_exists, qualifier)


def alter(cursor: Cursor) -> syntax.Spec:
    """ALTER: a column's default, a check's enforcement, an index's visibility."""
    cursor.take()
    if cursor.accept("INDEX"):
        return visibility(cursor)
    if cursor.accept("CHECK") or cursor.accept("CONSTRAINT"):
        name = cursor.name("the name of a constraint")
        enforced = not cursor.accept("NOT")
        cursor.expect("ENFORCED")
        return syntax.AlterCheck(name, enforced)
    cursor.accept("COLUMN")
    qualifier, name = column_name(cursor)
    if cursor.accept("DROP"):
        cursor.expect("DEFAULT")
        return syntax.AlterDefault(name, None, qualifier)
    cursor.expect("SET")
    cursor.expect("DEFAULT")
    return syntax.AlterDefault(name, read_default(cursor), qualifier)


def visibility(cursor: Cursor) -> syntax.IndexVisibility:
    name = cursor.name("the name of an index")
    if cursor.word() not in ("VISIBLE", "INVISIBLE"):
        cursor.unexpected("VISIBLE or INVISIBLE", ("VISIBLE", "INVISIBLE"))
    return syntax.IndexVisibility(name, cursor.take() == "VISIBLE")


def rename(cursor: Cursor) -> syntax.Spec:
    """RENAME: a column, an index or the table."""
    cursor.take()
    if cursor.accept("COLUMN"):
        return syntax.RenameColumn(*old_and_new(cursor, "the name of a column"))
    if cursor.accept("INDEX") or cursor.accept("KEY"):
        return syntax.RenameIndex(*old_and_new(cursor, "the name of an index"))
    cursor.accept("TO") or cursor.accept("AS") or cursor.accept("=")
    return syntax.RenameTo(cursor.qualified_name())


def old_and_new(cursor: Cursor, what: str) -> tuple[str, str]:
    """`old TO new`"""
    old = cursor.name(what)
    cursor.expect("TO")
    return old, cursor.name(what)


# -- everything else but partitions -------------------------------------------------------------------------------


SECOND_WORDS = MappingProxyType(
    {
        "FORCE": (),
        "ENABLE": ("KEYS",),
        "DISABLE": ("KEYS",),
        "WITH": ("VALIDATION",),
        "WITHOUT": ("VALIDATION",),
        "READ": ("ONLY", "WRITE"),
        "SECONDARY_LOAD": (),
        "SECONDARY_UNLOAD": (),
    }
)
STATISTICS = ("CARDINALITY", "DEPENDENCY", "CORRELATION")


def words(cursor: Cursor) -> syntax.Clause:
    """A spec of one or two words."""
    first = cursor.take()
    second = SECOND_WORDS[first]
    if not second:
        return syntax.Clause(first)
    if cursor.word() not in second:
        cursor.unexpected(" or ".join(second), second)
    return syntax.Clause(f"{first} {cursor.take()}")


def setting(cursor: Cursor) -> syntax.Clause:
    """ALGORITHM or LOCK."""
    name = cursor.take()
    return syntax.Clause(name, read_lock_or_algorithm(cursor, name))


def cache(cursor: Cursor) -> syntax.Cache:
    return syntax.Cache(cursor.take() == "CACHE")


def tiflash_replica(cursor: Cursor) -> syntax.TiflashReplica:
    """SET [HYPO] TIFLASH REPLICA n [LOCATION LABELS …]"""
    cursor.take()
    hypothetical = cursor.accept("HYPO")
    cursor.expect("TIFLASH REPLICA")
    return syntax.TiflashReplica(cursor.integer("the number of replicas"), location_labels(cursor), hypothetical)


def convert(cursor: Cursor) -> syntax.ConvertCharset:
    """CONVERT TO CHARACTER SET x [COLLATE y]"""
    cursor.take()
    cursor.expect("TO")
    if not cursor.accept("CHARSET") and not cursor.accept("CHAR SET"):
        cursor.expect("CHARACTER SET")
    charset = "" if cursor.accept("DEFAULT") else charset_name(cursor)
    return syntax.ConvertCharset(charset, collation_name(cursor) if cursor.accept("COLLATE") else "")


def order_by(cursor: Cursor) -> syntax.OrderBy:
    cursor.take()
    return syntax.OrderBy(cursor.listed(order_item))


def order_item(cursor: Cursor) -> syntax.KeyPart:
    at = cursor.next_token().start
    qualifier, name = column_name(cursor)
    part = syntax.KeyPart(name, at=at, restored=column(name, qualifier) if qualifier else "")
    if cursor.accept("DESC"):
        return replace(part, descending=True)
    cursor.accept("ASC")
    return part


def attributes(cursor: Cursor) -> syntax.Attributes:
    cursor.take()
    return syntax.Attributes(alter_partitions.attributes_value(cursor))


def stats_options(cursor: Cursor) -> syntax.Clause:
    cursor.take()
    cursor.accept("=")
    if cursor.accept("DEFAULT"):
        return syntax.Clause("STATS_OPTIONS", "DEFAULT")
    return syntax.Clause("STATS_OPTIONS", string(cursor.string("options between quotes, or DEFAULT")))


def add_statistics(cursor: Cursor) -> syntax.Clause:
    """What follows ADD STATS_EXTENDED: `name kind (column, …)`"""
    exists = "IF NOT EXISTS " if cursor.accept("IF NOT EXISTS") else ""
    statistics = cursor.name("the name of statistics")
    kind = read_one_of(cursor, STATISTICS)
    columns = cursor.comma_separated(column_name)
    listed = ", ".join(column(name, qualifier) for qualifier, name in columns)
    return syntax.Clause("ADD STATS_EXTENDED", f"{exists}{quoted(statistics)} {kind}({listed})")


def drop_statistics(cursor: Cursor) -> syntax.Clause:
    """What follows DROP STATS_EXTENDED."""
    exists = "IF EXISTS " if cursor.accept("IF EXISTS") else ""
    return syntax.Clause("DROP STATS_EXTENDED", exists + quoted(cursor.name("the name of statistics")))


# -- the statement ------------------------------------------------------------------------------------------------


def alter_table(cursor: Cursor, ignore: bool = False) -> syntax.AlterTable:
    """What follows ALTER [IGNORE] TABLE; raises DdlError for ANALYZE and COMPACT, which change no schema."""
    table = cursor.qualified_name()
    if cursor.word() in ("ANALYZE", "COMPACT"):
        raise not_ddl(f"ALTER TABLE … {cursor.word()}")
    specs: list[syntax.Spec] = []
    while not cursor.at_end() and cursor.word() not in LAST_SPECS:
        if specs and not cursor.accept(","):
            cursor.unexpected(f"',', the end of the statement, or one of {', '.join(LAST_SPECS)}")
        specs.append(read_spec(cursor))
    if not cursor.at_end():
        specs.append(LAST_SPECS[cursor.word()](cursor))
    return syntax.AlterTable(table, tuple(specs), ignore)


def read_spec(cursor: Cursor) -> syntax.Spec:
    """One spec, its first word telling which; table options in a row are one."""
    if cursor.word() in SPECS and not forced(cursor):
        return SPECS[cursor.word()](cursor)
    if begins_option(cursor):
        return options(cursor)
    cursor.unexpected(f"one of {', '.join((*SPECS, *LAST_SPECS))}, or a table option", (*SPECS, *LAST_SPECS))


def options(cursor: Cursor) -> syntax.SetOptions:
    found = [read_option(cursor)]
    while forced(cursor) or cursor.word() not in SPECS and begins_option(cursor):
        found.append(read_option(cursor))
    return syntax.SetOptions(tuple(found))


def forced(cursor: Cursor) -> bool:
    """Whether FORCE comes as part of a table option, not as a spec."""
    return cursor.word() == "FORCE" and cursor.word_after() in ("AUTO_INCREMENT", "AUTO_RANDOM_BASE")


SPECS: Mapping[str, Reader] = MappingProxyType(
    {
        "ADD": add,
        "DROP": drop,
        "MODIFY": modify,
        "CHANGE": change,
        "ALTER": alter,
        "RENAME": rename,
        "COALESCE": alter_partitions.coalesce,
        "EXCHANGE": alter_partitions.exchange,
        **dict.fromkeys(("FIRST", "LAST"), alter_partitions.interval_end),
        **dict.fromkeys(("TRUNCATE", "CHECK", "OPTIMIZE", "REPAIR", "REBUILD"), alter_partitions.action),
        **dict.fromkeys(("IMPORT", "DISCARD"), alter_partitions.tablespace),
        "SET": tiflash_replica,
        "CONVERT": convert,
        "ORDER BY": order_by,
        "ATTRIBUTES": attributes,
        "STATS_OPTIONS": stats_options,
        **dict.fromkeys(LOCK_AND_ALGORITHM, setting),
        **dict.fromkeys(("CACHE", "NOCACHE"), cache),
        **dict.fromkeys(SECOND_WORDS, words),
    }
)
"""By first word."""

LAST_SPECS: Mapping[str, Reader] = MappingProxyType(
    {
        "PARTITION BY": alter_partitions.partition_by,
        "PARTITION": alter_partitions.partition_options,
        "REMOVE": alter_partitions.remove,
        "REORGANIZE": alter_partitions.reorganize,
        **dict.fromkeys(("SPLIT", "MERGE"), alter_partitions.interval_change),
    }
)
"""By first word."""
