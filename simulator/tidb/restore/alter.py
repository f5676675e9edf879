"""Restore ALTER TABLE.

A spec that has only placement or attributes is left out, with its comma (TiDB: pkg/parser/ast/ddl.go,
AlterTableSpec.IsAllPlacementRule).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from simulator.tidb import syntax
from simulator.tidb.restore.definitions import restore_column, restore_key
from simulator.tidb.restore.names import (
    feature_comment,
    join_words,
    quote_name,
    quote_string,
    restore_column_name,
    restore_table_name,
)
from simulator.tidb.restore.tables import restore_definition, restore_option, restore_partitioning, sent_options

# -- columns and keys ---------------------------------------------------------------------------------------------


KEYS = MappingProxyType({"index": "INDEX", "foreign": "FOREIGN KEY", "check": "CHECK"})


def restore_add_columns(spec: syntax.AddColumns) -> str:
    exists = "IF NOT EXISTS" if spec.if_not_exists else ""
    if not spec.parenthesised:
        return join_words("ADD COLUMN", exists, restore_column(spec.columns[0]), restore_position(spec.place))
    elements = (*map(restore_column, spec.columns), *map(restore_key, spec.keys))
    return join_words("ADD COLUMN", exists, f"({', '.join(elements)})")


def restore_position(where: syntax.ColumnPosition | None) -> str:
    if where is None:
        return ""
    return f"AFTER {restore_column_name(where.after, where.qualifier)}" if where.after else "FIRST"


def restore_add_key(spec: syntax.AddKey) -> str:
    return f"ADD {restore_key(spec.key)}"


def restore_drop_column(spec: syntax.DropColumn) -> str:
    return join_words("DROP COLUMN", if_exists(spec.if_exists), restore_column_name(spec.name, spec.qualifier))


def if_exists(wanted: bool) -> str:
    return "IF EXISTS" if wanted else ""


def restore_drop_key(spec: syntax.DropKey) -> str:
    if spec.kind == "primary":
        return "DROP PRIMARY KEY"
    return join_words("DROP", KEYS[spec.kind], if_exists(spec.if_exists), quote_name(spec.name))


def restore_modify_column(spec: syntax.ModifyColumn) -> str:
    return join_words(
        "MODIFY COLUMN", if_exists(spec.if_exists), restore_column(spec.column), restore_position(spec.place)
    )


def restore_change_column(spec: syntax.ChangeColumn) -> str:
    old = restore_column_name(spec.old, spec.qualifier)
    return join_words(
        "CHANGE COLUMN", if_exists(spec.if_exists), old, restore_column(spec.column), restore_position(spec.place)
    )


def restore_rename_column(spec: syntax.RenameColumn) -> str:
    return f"RENAME COLUMN {quote_name(spec.old)} TO {quote_name(spec.new)}"


def restore_alter_default(spec: syntax.AlterDefault) -> str:
    name = restore_column_name(spec.column, spec.qualifier)
    if spec.default is None:
        return f"ALTER COLUMN {name} DROP DEFAULT"
    return f"ALTER COLUMN {name} SET DEFAULT {restore_default(spec.default)}"


def restore_default(default: syntax.ColumnDefault) -> str:
    """Restore a literal as it is, and an expression or a signed number in parentheses."""
    literal = default.kind != "expression" and default.restored[:1] not in ("-", "+")
    return default.restored if literal else f"({default.restored})"


def restore_rename_index(spec: syntax.RenameIndex) -> str:
    return f"RENAME INDEX {quote_name(spec.old)} TO {quote_name(spec.new)}"


def restore_index_visibility(spec: syntax.IndexVisibility) -> str:
    return f"ALTER INDEX {quote_name(spec.name)} {'VISIBLE' if spec.visible else 'INVISIBLE'}"


def restore_alter_check(spec: syntax.AlterCheck) -> str:
    return f"ALTER CHECK {quote_name(spec.name)} {'ENFORCED' if spec.enforced else 'NOT ENFORCED'}"


def restore_rename_to(spec: syntax.RenameTo) -> str:
    return f"RENAME AS {restore_table_name(spec.table)}"


# -- partitions ---------------------------------------------------------------------------------------------------


TABLESPACES = ("IMPORT", "DISCARD")


def restore_no_write_to_binlog(wanted: bool) -> str:
    return "NO_WRITE_TO_BINLOG" if wanted else ""


def restore_names_or_all(names: tuple[str, ...]) -> str:
    return ",".join(map(quote_name, names)) or "ALL"


def restore_definitions(definitions: tuple[syntax.PartitionDefinition, ...]) -> str:
    return f"({', '.join(map(restore_definition, definitions))})" if definitions else ""


def restore_add_partitions(spec: syntax.AddPartitions) -> str:
    exists = "IF NOT EXISTS" if spec.if_not_exists else ""
    count = f"PARTITIONS {spec.count}" if spec.count else ""
    definitions = restore_definitions(spec.definitions)
    return join_words("ADD PARTITION", exists, restore_no_write_to_binlog(spec.no_write_to_binlog), definitions, count)


def restore_interval_partition_spec(spec: syntax.IntervalPartitionSpec) -> str:
    """Restore a spec of INTERVAL partitioning. TiDB does not write the IF EXISTS of FIRST."""
    return join_words(
        f"{spec.verb} PARTITION LESS THAN ({spec.bound.restored})", restore_no_write_to_binlog(spec.no_write_to_binlog)
    )


def restore_partition_action(spec: syntax.PartitionAction) -> str:
    exists = "IF EXISTS" if spec.if_exists else ""
    tablespace = "TABLESPACE" if spec.verb in TABLESPACES else ""
    silent = restore_no_write_to_binlog(spec.no_write_to_binlog)
    return join_words(spec.verb, "PARTITION", exists, silent, restore_names_or_all(spec.names), tablespace)


def restore_coalesce_partition(spec: syntax.CoalescePartition) -> str:
    return join_words("COALESCE PARTITION", restore_no_write_to_binlog(spec.no_write_to_binlog), str(spec.count))


def restore_reorganize_partition(spec: syntax.ReorganizePartition) -> str:
    head = join_words("REORGANIZE PARTITION", restore_no_write_to_binlog(spec.no_write_to_binlog))
    return (
        join_words(head, restore_names_or_all(spec.names), "INTO", restore_definitions(spec.definitions))
        if spec.names
        else head
    )


def restore_exchange_partition(spec: syntax.ExchangePartition) -> str:
    validation = "" if spec.validation else "WITHOUT VALIDATION"
    return join_words(
        "EXCHANGE PARTITION", quote_name(spec.partition), "WITH TABLE", restore_table_name(spec.table), validation
    )


def restore_partition_by(spec: syntax.PartitionBy) -> str:
    return restore_partitioning(spec.partitioning)


def is_placement(spec: syntax.PartitionOptions) -> bool:
    return all(option.name == "PLACEMENT POLICY" for option in spec.options)


def is_attributes(spec: syntax.PartitionOptions) -> bool:
    return any(option.name == "ATTRIBUTES" for option in spec.options)


def restore_partition_options(spec: syntax.PartitionOptions) -> str:
    options = " ".join(restore_option(option) for option in spec.options)
    return feature_comment(f"PARTITION {quote_name(spec.partition)} {options}", "placement")


# -- everything else ----------------------------------------------------------------------------------------------


def sent_spec(spec: syntax.Spec) -> syntax.Spec | None:
    """Return the spec as TiCDC sends it, or None if TiCDC does not send it."""
    if isinstance(spec, syntax.Attributes):
        return None
    if isinstance(spec, syntax.PartitionOptions):
        return None if is_placement(spec) or is_attributes(spec) else spec
    if not isinstance(spec, syntax.SetOptions):
        return spec
    if all(option.name == "PLACEMENT POLICY" for option in spec.options):
        return None
    options = sent_options(spec.options)
    return replace(spec, options=options) if options else None


def restore_set_options(spec: syntax.SetOptions) -> str:
    """Restore table options. Options that begin with CHARSET have other forms (TiDB: AlterTableSpec.Restore)."""
    first, *others = spec.options
    if first.name == "CHARSET":
        if len(others) == 1 and others[0].name == "COLLATE":
            return f"CHARACTER SET {restore_charset(first)} COLLATE {others[0].value.upper()}"
        if first.default:
            return "CHARACTER SET DEFAULT"
    return " ".join(map(restore_option, spec.options))


def restore_charset(option: syntax.TableOption) -> str:
    return "DEFAULT" if option.default else option.value.upper()


def restore_convert_charset(spec: syntax.ConvertCharset) -> str:
    collate = f"COLLATE {spec.collation.upper()}" if spec.collation else ""
    return join_words("CONVERT TO CHARACTER SET", spec.charset.upper() or "DEFAULT", collate)


def restore_remove_ttl(spec: syntax.RemoveTtl) -> str:
    return feature_comment("REMOVE TTL", "ttl")


def restore_tiflash_replica(spec: syntax.TiflashReplica) -> str:
    labels = f"LOCATION LABELS {', '.join(map(quote_string, spec.labels))}" if spec.labels else ""
    return join_words("SET TIFLASH REPLICA", str(spec.count), labels)


def restore_order_by(spec: syntax.OrderBy) -> str:
    return "ORDER BY " + ",".join(map(restore_order_item, spec.parts))


def restore_order_item(part: syntax.KeyPart) -> str:
    return join_words(part.restored or restore_column_name(part.column), "DESC" if part.descending else "")


def restore_clause(spec: syntax.Clause) -> str:
    if spec.words == "FORCE":
        return "FORCE /* AlterTableForce is not supported */ "
    if spec.words in ("ALGORITHM", "LOCK"):
        return f"{spec.words} = {spec.value}"
    return f"STATS_OPTIONS={spec.value}" if spec.words == "STATS_OPTIONS" else join_words(spec.words, spec.value)


WITHOUT_COMMA = ("IMPORT TABLESPACE", "DISCARD TABLESPACE")


# -- the statement ------------------------------------------------------------------------------------------------


def restore_alter_table(statement: syntax.AlterTable) -> str:
    """Restore the statement. The result is empty without specs, or with only the placement of partitions."""
    if all(isinstance(spec, syntax.PartitionOptions) and is_placement(spec) for spec in statement.specs):
        return ""
    text = f"ALTER TABLE {restore_table_name(statement.table)}"
    specs = [spec for spec in map(sent_spec, statement.specs) if spec is not None]
    for index, spec in enumerate(specs):
        text += (", " if index and not has_no_comma(spec) else " ") + SPECS[type(spec)](spec)
    return text


def has_no_comma(spec: syntax.Spec) -> bool:
    """Whether TiDB writes no comma before the spec."""
    return isinstance(spec, (syntax.PartitionBy, syntax.RemovePartitioning)) or (
        isinstance(spec, syntax.Clause) and spec.words in WITHOUT_COMMA
    )


SPECS: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {
        syntax.AddColumns: restore_add_columns,
        syntax.AddKey: restore_add_key,
        syntax.DropColumn: restore_drop_column,
        syntax.DropKey: restore_drop_key,
        syntax.ModifyColumn: restore_modify_column,
        syntax.ChangeColumn: restore_change_column,
        syntax.RenameColumn: restore_rename_column,
        syntax.AlterDefault: restore_alter_default,
        syntax.RenameIndex: restore_rename_index,
        syntax.IndexVisibility: restore_index_visibility,
        syntax.AlterCheck: restore_alter_check,
        syntax.RenameTo: restore_rename_to,
        syntax.AddPartitions: restore_add_partitions,
        syntax.IntervalPartitionSpec: restore_interval_partition_spec,
        syntax.PartitionAction: restore_partition_action,
        syntax.CoalescePartition: restore_coalesce_partition,
        syntax.ReorganizePartition: restore_reorganize_partition,
        syntax.ExchangePartition: restore_exchange_partition,
        syntax.PartitionBy: restore_partition_by,
        syntax.PartitionOptions: restore_partition_options,
        syntax.RemovePartitioning: lambda spec: "REMOVE PARTITIONING",
        syntax.SetOptions: restore_set_options,
        syntax.ConvertCharset: restore_convert_charset,
        syntax.Cache: lambda spec: "CACHE" if spec.on else "NOCACHE",
        syntax.RemoveTtl: restore_remove_ttl,
        syntax.TiflashReplica: restore_tiflash_replica,
        syntax.OrderBy: restore_order_by,
        syntax.Clause: restore_clause,
    }
)
