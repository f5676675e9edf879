"""Reads ALTER TABLE: the table, and its specs as commas separate them.

One law: a spec of LAST_SPECS stands alone or behind the others, without a comma (TiDB: pkg/parser/parser.y,
AlterTableSpecSingleOpt).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from simulator.errors import DdlError
from simulator.tidb.parser import (
    ddl_alter_columns as columns,
    ddl_alter_partitions as partitions,
    ddl_alter_settings as settings,
)
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_names import table_name
from simulator.tidb.parser.options import begins_option, read_option
from simulator.tidb.syntax.alter import SetOptions, Spec
from simulator.tidb.syntax.statements import AlterTable

Reader = Callable[[Cursor], Spec]


def alter_table(cursor: Cursor, ignore: bool = False) -> AlterTable:
    """What follows ALTER [IGNORE] TABLE; raises DdlError for ANALYZE and COMPACT, which change no schema."""
    table = table_name(cursor)
    if cursor.word() in ("ANALYZE", "COMPACT"):
        raise DdlError(f"ALTER TABLE … {cursor.word()} is not DDL: no schema changes, and TiCDC sends no DDL event")
    specs: list[Spec] = []
    while not cursor.at_end() and cursor.word() not in LAST_SPECS:
        if specs and not cursor.accept(","):
            cursor.unexpected(f"',', the end of the statement, or one of {', '.join(LAST_SPECS)}")
        specs.append(read_spec(cursor))
    if not cursor.at_end():
        specs.append(LAST_SPECS[cursor.word()](cursor))
    return AlterTable(table, tuple(specs), ignore)


def read_spec(cursor: Cursor) -> Spec:
    """One spec, its first word telling which; table options in a row are one."""
    if cursor.word() in SPECS and not forced(cursor):
        return SPECS[cursor.word()](cursor)
    if begins_option(cursor):
        return options(cursor)
    cursor.unexpected(f"one of {', '.join((*SPECS, *LAST_SPECS))}, or a table option", (*SPECS, *LAST_SPECS))


def options(cursor: Cursor) -> SetOptions:
    found = [read_option(cursor)]
    while forced(cursor) or cursor.word() not in SPECS and begins_option(cursor):
        found.append(read_option(cursor))
    return SetOptions(tuple(found))


def forced(cursor: Cursor) -> bool:
    """Whether FORCE comes as part of a table option, not as a spec."""
    return cursor.word() == "FORCE" and cursor.word_after() in ("AUTO_INCREMENT", "AUTO_RANDOM_BASE")


SPECS: Mapping[str, Reader] = MappingProxyType({
    "ADD": columns.add,
    "DROP": columns.drop,
    "MODIFY": columns.modify,
    "CHANGE": columns.change,
    "ALTER": columns.alter,
    "RENAME": columns.rename,
    "COALESCE": partitions.coalesce,
    "EXCHANGE": partitions.exchange,
    "FIRST": partitions.interval_end,
    "LAST": partitions.interval_end,
    "TRUNCATE": partitions.action,
    "CHECK": partitions.action,
    "OPTIMIZE": partitions.action,
    "REPAIR": partitions.action,
    "REBUILD": partitions.action,
    "IMPORT": partitions.tablespace,
    "DISCARD": partitions.tablespace,
    "SET": settings.tiflash_replica,
    "CONVERT": settings.convert,
    "ORDER BY": settings.order_by,
    "ATTRIBUTES": settings.attributes,
    "STATS_OPTIONS": settings.stats_options,
    "ALGORITHM": settings.setting,
    "LOCK": settings.setting,
    "CACHE": settings.cache,
    "NOCACHE": settings.cache,
    "FORCE": settings.words,
    "ENABLE": settings.words,
    "DISABLE": settings.words,
    "WITH": settings.words,
    "WITHOUT": settings.words,
    "READ": settings.words,
    "SECONDARY_LOAD": settings.words,
    "SECONDARY_UNLOAD": settings.words,
})
"""By first word."""

LAST_SPECS: Mapping[str, Reader] = MappingProxyType({
    "PARTITION BY": partitions.partition_by,
    "PARTITION": partitions.partition_options,
    "REMOVE": partitions.remove,
    "REORGANIZE": partitions.reorganize,
    "SPLIT": partitions.interval_change,
    "MERGE": partitions.interval_change,
})
"""By first word."""
