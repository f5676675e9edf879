"""Restore ALTER TABLE.

A spec that has only placement or attributes is left out, with its comma (TiDB: pkg/parser/ast/ddl.go,
AlterTableSpec.IsAllPlacementRule).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.restore.definitions import restore_column, restore_key
from simulator.tidb.restore.names import (
    feature_comment,
    if_exists,
    if_not_exists,
    join_words,
    quote_name,
    quote_string,
    restore_column_name,
    restore_table_name,
)
from simulator.tidb.restore.tables import (
    is_placement,
    restore_definition,
    restore_option,
    restore_partitioning,
    sent_options,
)

KEYS = {"index": "INDEX", "foreign": "FOREIGN KEY", "check": "CHECK"}
TABLESPACE_CLAUSES = ("IMPORT TABLESPACE", "DISCARD TABLESPACE")


def restore_alter_table(statement: syntax.AlterTable) -> str:
    """Restore the statement. The result is empty without specs, or with only the placement of partitions."""
    if all(isinstance(spec, syntax.PartitionOptions) and is_placement(spec.options) for spec in statement.specs):
        return ""
    text = f"ALTER TABLE {restore_table_name(statement.table)}"
    specs = [spec for spec in map(sent_spec, statement.specs) if spec is not None]
    for index, spec in enumerate(specs):
        text += (", " if index and not has_no_comma(spec) else " ") + restore_spec(spec)
    return text


def sent_spec(spec: syntax.Spec) -> syntax.Spec | None:
    """Return the spec as TiCDC sends it, or None if TiCDC does not send it."""
    match spec:
        case syntax.Attributes():
            return None
        case syntax.PartitionOptions(_, options):
            dropped = is_placement(options) or any(option.name == "ATTRIBUTES" for option in options)
            return None if dropped else spec
        case syntax.SetOptions(options):
            sent = () if is_placement(options) else sent_options(options)
            return replace(spec, options=sent) if sent else None
    return spec


def has_no_comma(spec: syntax.Spec) -> bool:
    """Whether TiDB writes no comma before the spec."""
    return isinstance(spec, (syntax.PartitionBy, syntax.RemovePartitioning)) or (
        isinstance(spec, syntax.Clause) and spec.words in TABLESPACE_CLAUSES
    )


def restore_spec(spec: syntax.Spec) -> str:
    match spec:
        case syntax.AddColumns(columns, place, keys):
            elements = (*map(restore_column, columns), *map(restore_key, keys))
            text = f"({', '.join(elements)})" if spec.parenthesised else elements[0]
            position = "" if spec.parenthesised else restore_position(place)
            return join_words("ADD COLUMN", if_not_exists(spec.if_not_exists), text, position)
        case syntax.DropColumn(name):
            return join_words("DROP COLUMN", if_exists(spec.if_exists), restore_column_name(name, spec.qualifier))
        case syntax.ModifyColumn(column, place):
            position = restore_position(place)
            return join_words("MODIFY COLUMN", if_exists(spec.if_exists), restore_column(column), position)
        case syntax.ChangeColumn(old, column, place):
            change = join_words(restore_column_name(old, spec.qualifier), restore_column(column))
            return join_words("CHANGE COLUMN", if_exists(spec.if_exists), change, restore_position(place))
        case syntax.RenameColumn(old, new):
            return f"RENAME COLUMN {quote_name(old)} TO {quote_name(new)}"
        case syntax.AlterDefault(name, default):
            change = f"SET DEFAULT {restore_default(default)}" if default else "DROP DEFAULT"
            return f"ALTER COLUMN {restore_column_name(name, spec.qualifier)} {change}"
        case syntax.AddKey(key):
            return f"ADD {restore_key(key)}"
        case syntax.DropKey("primary"):
            return "DROP PRIMARY KEY"
        case syntax.DropKey(kind, name):
            return join_words("DROP", KEYS[kind], if_exists(spec.if_exists), quote_name(name))
        case syntax.RenameIndex(old, new):
            return f"RENAME INDEX {quote_name(old)} TO {quote_name(new)}"
        case syntax.IndexVisibility(name, visible):
            return f"ALTER INDEX {quote_name(name)} {'VISIBLE' if visible else 'INVISIBLE'}"
        case syntax.AlterCheck(name, enforced):
            return f"ALTER CHECK {quote_name(name)} {'ENFORCED' if enforced else 'NOT ENFORCED'}"
        case syntax.RenameTo(table):
            return f"RENAME AS {restore_table_name(table)}"
        case syntax.SetOptions(options):
            return restore_set_options(options)
        case syntax.ConvertCharset(charset, collation):
            collate = f"COLLATE {collation.upper()}" if collation else ""
            return join_words("CONVERT TO CHARACTER SET", charset.upper() or "DEFAULT", collate)
        case syntax.Cache(on):
            return "CACHE" if on else "NOCACHE"
        case syntax.RemoveTtl():
            return feature_comment("REMOVE TTL", "ttl")
        case syntax.TiflashReplica(count, labels):
            location = f"LOCATION LABELS {', '.join(map(quote_string, labels))}" if labels else ""
            return join_words("SET TIFLASH REPLICA", str(count), location)
        case syntax.OrderBy(parts):
            return "ORDER BY " + ",".join(map(restore_order_item, parts))
        case syntax.Clause("FORCE"):
            return "FORCE /* AlterTableForce is not supported */ "
        case syntax.Clause("ALGORITHM" | "LOCK" as name, value):
            return f"{name} = {value}"
        case syntax.Clause("STATS_OPTIONS", value):
            return f"STATS_OPTIONS={value}"
        case syntax.Clause(words, value):
            return join_words(words, value)
    return restore_partition_spec(spec)


def restore_partition_spec(spec: syntax.Spec) -> str:
    match spec:
        case syntax.AddPartitions(definitions, count):
            head = join_words("ADD PARTITION", if_not_exists(spec.if_not_exists), binlog(spec.no_write_to_binlog))
            return join_words(head, restore_definitions(definitions), f"PARTITIONS {count}" if count else "")
        case syntax.IntervalPartitionSpec(verb, bound):  # TiDB does not write the IF EXISTS of FIRST.
            return join_words(f"{verb} PARTITION LESS THAN ({bound.restored})", binlog(spec.no_write_to_binlog))
        case syntax.PartitionAction(verb, names):
            head = join_words(verb, "PARTITION", if_exists(spec.if_exists), binlog(spec.no_write_to_binlog))
            return join_words(head, restore_names_or_all(names), "TABLESPACE" if verb in ("IMPORT", "DISCARD") else "")
        case syntax.CoalescePartition(count):
            return join_words("COALESCE PARTITION", binlog(spec.no_write_to_binlog), str(count))
        case syntax.ReorganizePartition(names, definitions):
            into = join_words(restore_names_or_all(names), "INTO", restore_definitions(definitions)) if names else ""
            return join_words("REORGANIZE PARTITION", binlog(spec.no_write_to_binlog), into)
        case syntax.ExchangePartition(name, table, validation):
            head = f"EXCHANGE PARTITION {quote_name(name)} WITH TABLE {restore_table_name(table)}"
            return head if validation else f"{head} WITHOUT VALIDATION"
        case syntax.PartitionBy(partitioning):
            return restore_partitioning(partitioning)
        case syntax.RemovePartitioning():
            return "REMOVE PARTITIONING"
        case syntax.PartitionOptions(name, options):
            settings = " ".join(map(restore_option, options))
            return feature_comment(f"PARTITION {quote_name(name)} {settings}", "placement")
    raise TypeError(f"{type(spec).__name__} is no spec of ALTER TABLE that TiCDC sends")


def restore_position(where: syntax.ColumnPosition | None) -> str:
    if where is None:
        return ""
    return f"AFTER {restore_column_name(where.after, where.qualifier)}" if where.after else "FIRST"


def restore_default(default: syntax.ColumnDefault) -> str:
    """Restore a literal as it is, and an expression or a signed number in parentheses."""
    literal = default.kind != "expression" and default.restored[:1] not in ("-", "+")
    return default.restored if literal else f"({default.restored})"


def binlog(not_written: bool) -> str:
    return "NO_WRITE_TO_BINLOG" if not_written else ""


def restore_names_or_all(names: tuple[str, ...]) -> str:
    return ",".join(map(quote_name, names)) or "ALL"


def restore_definitions(definitions: tuple[syntax.PartitionDefinition, ...]) -> str:
    return f"({', '.join(map(restore_definition, definitions))})" if definitions else ""


def restore_set_options(options: tuple[syntax.TableOption, ...]) -> str:
    """Restore table options. Options that begin with CHARSET have other forms (TiDB: AlterTableSpec.Restore)."""
    first, *others = options
    if first.name == "CHARSET" and [option.name for option in others] == ["COLLATE"]:
        charset = "DEFAULT" if first.default else first.value.upper()
        return f"CHARACTER SET {charset} COLLATE {others[0].value.upper()}"
    if first.name == "CHARSET" and first.default:
        return "CHARACTER SET DEFAULT"
    return " ".join(map(restore_option, options))


def restore_order_item(part: syntax.KeyPart) -> str:
    return join_words(part.restored or restore_column_name(part.column), "DESC" if part.descending else "")
