"""Parse ALTER TABLE. The specs about partitions are in `partitions`.

A spec of LAST_SPECS stands alone or after the others, without a comma (TiDB: pkg/parser/parser.y,
AlterTableSpecSingleOpt).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simulator.tidb import syntax
from simulator.tidb.parser import expressions, partitions
from simulator.tidb.parser.columns import parse_column, parse_default
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.databases_and_tables import parse_table_elements
from simulator.tidb.parser.expressions import parse_column_name
from simulator.tidb.parser.keys_and_options import begins_key, begins_option, parse_direction, parse_key, parse_option
from simulator.tidb.parser.partitions import parse_partitioning
from simulator.tidb.parser.script import not_ddl_error
from simulator.tidb.restore import quote_name, quote_string, restore_column_name

SpecParser = Callable[[Cursor, str], syntax.Spec]
"""Parses what follows the first word of a spec, which is the second argument."""


# -- columns and keys ---------------------------------------------------------------------------------------------


def parse_add(cursor: Cursor, _: str) -> syntax.Spec:
    """Parse the rest of ADD: partitions, statistics, a key or constraint, a column, or several in parentheses."""
    if cursor.accept("PARTITION"):
        return partitions.parse_add_partitions(cursor)
    if cursor.accept("STATS_EXTENDED"):
        return parse_add_statistics(cursor)
    if begins_key(cursor):
        return syntax.AddKey(parse_key(cursor))
    cursor.accept("COLUMN")
    if_not_exists = cursor.accept("IF NOT EXISTS")
    if cursor.word() == "(":
        columns, keys = parse_table_elements(cursor)
        return syntax.AddColumns(columns, None, keys, parenthesised=True, if_not_exists=if_not_exists)
    return syntax.AddColumns((parse_column(cursor),), parse_column_position(cursor), if_not_exists=if_not_exists)


def parse_column_position(cursor: Cursor) -> syntax.ColumnPosition | None:
    """Parse `FIRST` or `AFTER column`, if it comes next."""
    if cursor.accept("FIRST"):
        return syntax.ColumnPosition()
    if cursor.accept("AFTER"):
        qualifier, column = parse_column_name(cursor)
        return syntax.ColumnPosition(column, qualifier)
    return None


def parse_drop(cursor: Cursor, _: str) -> syntax.Spec:
    """Parse the rest of DROP: a key, a constraint, partitions, statistics or a column."""
    if cursor.accept("PRIMARY"):
        cursor.expect("KEY")
        return syntax.DropKey("primary")
    is_foreign = cursor.accept("FOREIGN")
    if is_foreign:
        cursor.expect("KEY")
    if is_foreign or cursor.accept("KEY") or cursor.accept("INDEX"):
        if_exists = cursor.accept("IF EXISTS")
        return syntax.DropKey("foreign" if is_foreign else "index", cursor.name("the name of a key"), if_exists)
    if cursor.accept("CHECK") or cursor.accept("CONSTRAINT"):
        return syntax.DropKey("check", cursor.name("the name of a constraint"))
    if cursor.accept("PARTITION"):
        if_exists = cursor.accept("IF EXISTS")
        return syntax.PartitionAction("DROP", partitions.parse_partition_names(cursor), if_exists)
    if cursor.accept("STATS_EXTENDED"):
        exists = "IF EXISTS " if cursor.accept("IF EXISTS") else ""
        return syntax.Clause("DROP STATS_EXTENDED", exists + quote_name(cursor.name("the name of statistics")))
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF EXISTS")
    qualifier, name = parse_column_name(cursor)
    expressions.parse_restrict_or_cascade(cursor)
    return syntax.DropColumn(name, if_exists, qualifier)


def parse_modify_column(cursor: Cursor, _: str) -> syntax.ModifyColumn:
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF EXISTS")
    return syntax.ModifyColumn(parse_column(cursor), parse_column_position(cursor), if_exists)


def parse_change_column(cursor: Cursor, _: str) -> syntax.ChangeColumn:
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF EXISTS")
    qualifier, old = parse_column_name(cursor)
    return syntax.ChangeColumn(old, parse_column(cursor), parse_column_position(cursor), if_exists, qualifier)


def parse_alter(cursor: Cursor, _: str) -> syntax.Spec:
    """Parse the rest of ALTER: a column's default, a check's enforcement, an index's visibility."""
    if cursor.accept("INDEX"):
        name = cursor.name("the name of an index")
        return syntax.IndexVisibility(name, cursor.one_of("VISIBLE", "INVISIBLE") == "VISIBLE")
    if cursor.accept("CHECK") or cursor.accept("CONSTRAINT"):
        name = cursor.name("the name of a constraint")
        enforced = not cursor.accept("NOT")
        cursor.expect("ENFORCED")
        return syntax.AlterCheck(name, enforced)
    cursor.accept("COLUMN")
    qualifier, name = parse_column_name(cursor)
    if cursor.accept("DROP"):
        cursor.expect("DEFAULT")
        return syntax.AlterDefault(name, None, qualifier)
    cursor.sequence("SET", "DEFAULT")
    return syntax.AlterDefault(name, parse_default(cursor), qualifier)


def parse_rename(cursor: Cursor, _: str) -> syntax.Spec:
    """Parse the rest of RENAME: a column, an index or the table."""
    if cursor.accept("COLUMN"):
        return syntax.RenameColumn(*parse_old_and_new_name(cursor, "the name of a column"))
    if cursor.accept("INDEX") or cursor.accept("KEY"):
        return syntax.RenameIndex(*parse_old_and_new_name(cursor, "the name of an index"))
    cursor.accept("TO") or cursor.accept("AS") or cursor.accept("=")
    return syntax.RenameTo(cursor.qualified_name())


def parse_old_and_new_name(cursor: Cursor, what: str) -> tuple[str, str]:
    """Parse `old TO new`."""
    old = cursor.name(what)
    cursor.expect("TO")
    return old, cursor.name(what)


# -- everything else but partitions -------------------------------------------------------------------------------


SECOND_WORDS = {
    "FORCE": (),
    **dict.fromkeys(("ENABLE", "DISABLE"), ("KEYS",)),
    **dict.fromkeys(("WITH", "WITHOUT"), ("VALIDATION",)),
    "READ": ("ONLY", "WRITE"),
    **dict.fromkeys(("SECONDARY_LOAD", "SECONDARY_UNLOAD"), ()),
}


def parse_plain_clause(cursor: Cursor, word: str) -> syntax.Clause:
    """Parse the rest of a spec of one or two words."""
    return syntax.Clause(f"{word} {cursor.one_of(*SECOND_WORDS[word])}" if SECOND_WORDS[word] else word)


def parse_tiflash_replica(cursor: Cursor, _: str) -> syntax.TiflashReplica:
    """Parse the rest of `SET [HYPO] TIFLASH REPLICA n [LOCATION LABELS …]`."""
    hypothetical = cursor.accept("HYPO")
    cursor.expect("TIFLASH REPLICA")
    count = cursor.integer("the number of replicas")
    return syntax.TiflashReplica(count, expressions.parse_location_labels(cursor), hypothetical)


def parse_convert_charset(cursor: Cursor, _: str) -> syntax.ConvertCharset:
    """Parse the rest of `CONVERT TO CHARACTER SET x [COLLATE y]`."""
    cursor.expect("TO")
    if not expressions.accept_charset(cursor):
        cursor.expect("CHARACTER SET")
    charset = "" if cursor.accept("DEFAULT") else expressions.parse_charset_name(cursor)
    return syntax.ConvertCharset(charset, expressions.parse_collation_name(cursor) if cursor.accept("COLLATE") else "")


def parse_order_item(cursor: Cursor) -> syntax.KeyPart:
    at = cursor.next_token().start
    qualifier, name = parse_column_name(cursor)
    restored = restore_column_name(name, qualifier) if qualifier else ""
    return parse_direction(cursor, syntax.KeyPart(name, at=at, restored=restored))


def parse_stats_options(cursor: Cursor, _: str) -> syntax.Clause:
    cursor.accept("=")
    if cursor.accept("DEFAULT"):
        return syntax.Clause("STATS_OPTIONS", "DEFAULT")
    return syntax.Clause("STATS_OPTIONS", quote_string(cursor.string("options between quotes, or DEFAULT")))


def parse_add_statistics(cursor: Cursor) -> syntax.Clause:
    """Parse the rest of ADD STATS_EXTENDED: `name kind (column, …)`."""
    exists = "IF NOT EXISTS " if cursor.accept("IF NOT EXISTS") else ""
    statistics = cursor.name("the name of statistics")
    kind = cursor.one_of("CARDINALITY", "DEPENDENCY", "CORRELATION")
    columns = cursor.parenthesised_list(parse_column_name)
    listed = ", ".join(restore_column_name(name, qualifier) for qualifier, name in columns)
    return syntax.Clause("ADD STATS_EXTENDED", f"{exists}{quote_name(statistics)} {kind}({listed})")


# -- the statement ------------------------------------------------------------------------------------------------


def parse_alter_table(cursor: Cursor, ignore: bool = False) -> syntax.AlterTable:
    """Parse the rest of ALTER [IGNORE] TABLE; raises DdlError for ANALYZE and COMPACT, which change no schema."""
    table = cursor.qualified_name()
    if cursor.word() in ("ANALYZE", "COMPACT"):
        raise not_ddl_error(f"ALTER TABLE … {cursor.word()}")
    specs: list[syntax.Spec] = []
    while not cursor.at_end() and cursor.word() not in LAST_SPECS:
        if specs and not cursor.accept(","):
            cursor.unexpected(f"',', the end of the statement, or one of {', '.join(LAST_SPECS)}")
        specs.append(parse_spec(cursor))
    if not cursor.at_end():
        specs.append(LAST_SPECS[word := cursor.take()](cursor, word))
    return syntax.AlterTable(table, tuple(specs), ignore)


def parse_spec(cursor: Cursor) -> syntax.Spec:
    """Parse one spec, which its first word identifies. Consecutive table options are one spec."""
    if cursor.word() in SPECS and not is_forced_option(cursor):
        return SPECS[word := cursor.take()](cursor, word)
    if begins_option(cursor):
        return parse_set_options(cursor)
    cursor.unexpected(f"one of {', '.join((*SPECS, *LAST_SPECS))}, or a table option", (*SPECS, *LAST_SPECS))


def parse_set_options(cursor: Cursor) -> syntax.SetOptions:
    def goes_on(cursor: Cursor) -> bool:
        return is_forced_option(cursor) or cursor.word() not in SPECS and begins_option(cursor)

    return syntax.SetOptions((parse_option(cursor), *cursor.list_while(goes_on, parse_option)))


def is_forced_option(cursor: Cursor) -> bool:
    """Whether FORCE comes next as part of a table option, not as a spec."""
    return cursor.word() == "FORCE" and cursor.word_after() in ("AUTO_INCREMENT", "AUTO_RANDOM_BASE")


SPECS: Mapping[str, SpecParser] = {
    "ADD": parse_add,
    "DROP": parse_drop,
    "MODIFY": parse_modify_column,
    "CHANGE": parse_change_column,
    "ALTER": parse_alter,
    "RENAME": parse_rename,
    "COALESCE": partitions.parse_coalesce_partition,
    "EXCHANGE": partitions.parse_exchange_partition,
    **dict.fromkeys(("FIRST", "LAST"), partitions.parse_interval_end),
    **dict.fromkeys(partitions.VERBS, partitions.parse_partition_action),
    **dict.fromkeys(("IMPORT", "DISCARD"), partitions.parse_tablespace),
    "SET": parse_tiflash_replica,
    "CONVERT": parse_convert_charset,
    "ORDER BY": lambda cursor, _: syntax.OrderBy(cursor.comma_list(parse_order_item)),
    "ATTRIBUTES": lambda cursor, _: syntax.Attributes(partitions.parse_attributes_value(cursor)),
    "STATS_OPTIONS": parse_stats_options,
    **dict.fromkeys(
        expressions.LOCK_AND_ALGORITHM,
        lambda cursor, name: syntax.Clause(name, expressions.parse_lock_or_algorithm(cursor, name)),
    ),
    **dict.fromkeys(("CACHE", "NOCACHE"), lambda _, word: syntax.Cache(word == "CACHE")),
    **dict.fromkeys(SECOND_WORDS, parse_plain_clause),
}

LAST_SPECS: Mapping[str, SpecParser] = {
    "PARTITION BY": lambda cursor, _: syntax.PartitionBy(parse_partitioning(cursor)),
    "PARTITION": partitions.parse_partition_options_spec,
    "REMOVE": partitions.parse_remove,
    "REORGANIZE": partitions.parse_reorganize_partition,
    **dict.fromkeys(("SPLIT", "MERGE"), partitions.parse_interval_change),
}
