"""Writes ALTER TABLE.

One law: a spec of placement alone is left out, its comma too; so are attributes (TiDB: pkg/parser/ast/ddl.go,
AlterTableSpec.IsAllPlacementRule).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from simulator.tidb import syntax
from simulator.tidb.restore.definitions import restored_column, restored_key
from simulator.tidb.restore.names import column, feature, quoted, string, table, words
from simulator.tidb.restore.tables import restored_definition, restored_option, restored_partitioning, sent_options

# -- columns and keys ---------------------------------------------------------------------------------------------


KEYS = MappingProxyType({"index": "INDEX", "foreign": "FOREIGN KEY", "check": "CHECK"})


def add_columns(spec: syntax.AddColumns) -> str:
    exists = "IF NOT EXISTS" if spec.if_not_exists else ""
    if not spec.parenthesised:
        return words("ADD COLUMN", exists, restored_column(spec.columns[0]), place(spec.place))
    elements = (*map(restored_column, spec.columns), *map(restored_key, spec.keys))
    return words("ADD COLUMN", exists, f"({', '.join(elements)})")


def place(where: syntax.ColumnPosition | None) -> str:
    if where is None:
        return ""
    return f"AFTER {column(where.after, where.qualifier)}" if where.after else "FIRST"


def add_key(spec: syntax.AddKey) -> str:
    return f"ADD {restored_key(spec.key)}"


def drop_column(spec: syntax.DropColumn) -> str:
    return words("DROP COLUMN", if_exists(spec.if_exists), column(spec.name, spec.qualifier))


def if_exists(wanted: bool) -> str:
    return "IF EXISTS" if wanted else ""


def drop_key(spec: syntax.DropKey) -> str:
    if spec.kind == "primary":
        return "DROP PRIMARY KEY"
    return words("DROP", KEYS[spec.kind], if_exists(spec.if_exists), quoted(spec.name))


def modify_column(spec: syntax.ModifyColumn) -> str:
    return words("MODIFY COLUMN", if_exists(spec.if_exists), restored_column(spec.column), place(spec.place))


def change_column(spec: syntax.ChangeColumn) -> str:
    old = column(spec.old, spec.qualifier)
    return words("CHANGE COLUMN", if_exists(spec.if_exists), old, restored_column(spec.column), place(spec.place))


def rename_column(spec: syntax.RenameColumn) -> str:
    return f"RENAME COLUMN {quoted(spec.old)} TO {quoted(spec.new)}"


def alter_default(spec: syntax.AlterDefault) -> str:
    name = column(spec.column, spec.qualifier)
    if spec.default is None:
        return f"ALTER COLUMN {name} DROP DEFAULT"
    return f"ALTER COLUMN {name} SET DEFAULT {restored_default(spec.default)}"


def restored_default(default: syntax.ColumnDefault) -> str:
    """A literal as it is; an expression in parentheses, and a number with its sign is one."""
    literal = default.kind != "expression" and default.restored[:1] not in ("-", "+")
    return default.restored if literal else f"({default.restored})"


def rename_index(spec: syntax.RenameIndex) -> str:
    return f"RENAME INDEX {quoted(spec.old)} TO {quoted(spec.new)}"


def index_visibility(spec: syntax.IndexVisibility) -> str:
    return f"ALTER INDEX {quoted(spec.name)} {'VISIBLE' if spec.visible else 'INVISIBLE'}"


def alter_check(spec: syntax.AlterCheck) -> str:
    return f"ALTER CHECK {quoted(spec.name)} {'ENFORCED' if spec.enforced else 'NOT ENFORCED'}"


def rename_to(spec: syntax.RenameTo) -> str:
    return f"RENAME AS {table(spec.table)}"


# -- partitions ---------------------------------------------------------------------------------------------------


TABLESPACES = ("IMPORT", "DISCARD")


def no_write(wanted: bool) -> str:
    return "NO_WRITE_TO_BINLOG" if wanted else ""


def names_or_all(names: tuple[str, ...]) -> str:
    return ",".join(map(quoted, names)) or "ALL"


def restored_definitions(definitions: tuple[syntax.PartitionDefinition, ...]) -> str:
    return f"({', '.join(map(restored_definition, definitions))})" if definitions else ""


def add_partitions(spec: syntax.AddPartitions) -> str:
    exists = "IF NOT EXISTS" if spec.if_not_exists else ""
    count = f"PARTITIONS {spec.count}" if spec.count else ""
    definitions = restored_definitions(spec.definitions)
    return words("ADD PARTITION", exists, no_write(spec.no_write_to_binlog), definitions, count)


def last_partition(spec: syntax.IntervalPartitionSpec) -> str:
    """FIRST … IF EXISTS is forgotten, as TiDB forgets it."""
    return words(f"{spec.verb} PARTITION LESS THAN ({spec.bound.restored})", no_write(spec.no_write_to_binlog))


def partition_action(spec: syntax.PartitionAction) -> str:
    exists = "IF EXISTS" if spec.if_exists else ""
    tablespace = "TABLESPACE" if spec.verb in TABLESPACES else ""
    silent = no_write(spec.no_write_to_binlog)
    return words(spec.verb, "PARTITION", exists, silent, names_or_all(spec.names), tablespace)


def coalesce_partition(spec: syntax.CoalescePartition) -> str:
    return words("COALESCE PARTITION", no_write(spec.no_write_to_binlog), str(spec.count))


def reorganize_partition(spec: syntax.ReorganizePartition) -> str:
    head = words("REORGANIZE PARTITION", no_write(spec.no_write_to_binlog))
    return words(head, names_or_all(spec.names), "INTO", restored_definitions(spec.definitions)) if spec.names else head


def exchange_partition(spec: syntax.ExchangePartition) -> str:
    validation = "" if spec.validation else "WITHOUT VALIDATION"
    return words("EXCHANGE PARTITION", quoted(spec.partition), "WITH TABLE", table(spec.table), validation)


def partition_by(spec: syntax.PartitionBy) -> str:
    return restored_partitioning(spec.partitioning)


def is_placement(spec: syntax.PartitionOptions) -> bool:
    return all(option.name == "PLACEMENT POLICY" for option in spec.options)


def is_attributes(spec: syntax.PartitionOptions) -> bool:
    return any(option.name == "ATTRIBUTES" for option in spec.options)


def partition_options(spec: syntax.PartitionOptions) -> str:
    options = " ".join(restored_option(option) for option in spec.options)
    return feature(f"PARTITION {quoted(spec.partition)} {options}", "placement")


# -- everything else ----------------------------------------------------------------------------------------------


def sent(spec: syntax.Spec) -> syntax.Spec | None:
    """The spec as it is written; None where it is not."""
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


def set_options(spec: syntax.SetOptions) -> str:
    """Table options; those beginning with the charset have forms of their own (TiDB: AlterTableSpec.Restore)."""
    first, *others = spec.options
    if first.name == "CHARSET":
        if len(others) == 1 and others[0].name == "COLLATE":
            return f"CHARACTER SET {charset(first)} COLLATE {others[0].value.upper()}"
        if first.default:
            return "CHARACTER SET DEFAULT"
    return " ".join(map(restored_option, spec.options))


def charset(option: syntax.TableOption) -> str:
    return "DEFAULT" if option.default else option.value.upper()


def convert_charset(spec: syntax.ConvertCharset) -> str:
    collate = f"COLLATE {spec.collation.upper()}" if spec.collation else ""
    return words("CONVERT TO CHARACTER SET", spec.charset.upper() or "DEFAULT", collate)


def remove_ttl(spec: syntax.RemoveTtl) -> str:
    return feature("REMOVE TTL", "ttl")


def tiflash_replica(spec: syntax.TiflashReplica) -> str:
    labels = f"LOCATION LABELS {', '.join(map(string, spec.labels))}" if spec.labels else ""
    return words("SET TIFLASH REPLICA", str(spec.count), labels)


def order_by(spec: syntax.OrderBy) -> str:
    return "ORDER BY " + ",".join(map(order_item, spec.parts))


def order_item(part: syntax.KeyPart) -> str:
    return words(part.restored or column(part.column), "DESC" if part.descending else "")


def clause(spec: syntax.Clause) -> str:
    if spec.words == "FORCE":
        return "FORCE /* AlterTableForce is not supported */ "
    if spec.words in ("ALGORITHM", "LOCK"):
        return f"{spec.words} = {spec.value}"
    return f"STATS_OPTIONS={spec.value}" if spec.words == "STATS_OPTIONS" else words(spec.words, spec.value)


WITHOUT_COMMA = ("IMPORT TABLESPACE", "DISCARD TABLESPACE")


# -- the statement ------------------------------------------------------------------------------------------------


def alter_table(statement: syntax.AlterTable) -> str:
    """Nothing where the statement is about the placement of partitions alone, or about nothing."""
    if all(isinstance(spec, syntax.PartitionOptions) and is_placement(spec) for spec in statement.specs):
        return ""
    text = f"ALTER TABLE {table(statement.table)}"
    specs = [spec for spec in map(sent, statement.specs) if spec is not None]
    for index, spec in enumerate(specs):
        text += (", " if index and not stands_behind_blank(spec) else " ") + SPECS[type(spec)](spec)
    return text


def stands_behind_blank(spec: syntax.Spec) -> bool:
    """Whether no comma is written before the spec."""
    return isinstance(spec, (syntax.PartitionBy, syntax.RemovePartitioning)) or (
        isinstance(spec, syntax.Clause) and spec.words in WITHOUT_COMMA
    )


SPECS: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {
        syntax.AddColumns: add_columns,
        syntax.AddKey: add_key,
        syntax.DropColumn: drop_column,
        syntax.DropKey: drop_key,
        syntax.ModifyColumn: modify_column,
        syntax.ChangeColumn: change_column,
        syntax.RenameColumn: rename_column,
        syntax.AlterDefault: alter_default,
        syntax.RenameIndex: rename_index,
        syntax.IndexVisibility: index_visibility,
        syntax.AlterCheck: alter_check,
        syntax.RenameTo: rename_to,
        syntax.AddPartitions: add_partitions,
        syntax.IntervalPartitionSpec: last_partition,
        syntax.PartitionAction: partition_action,
        syntax.CoalescePartition: coalesce_partition,
        syntax.ReorganizePartition: reorganize_partition,
        syntax.ExchangePartition: exchange_partition,
        syntax.PartitionBy: partition_by,
        syntax.PartitionOptions: partition_options,
        syntax.RemovePartitioning: lambda spec: "REMOVE PARTITIONING",
        syntax.SetOptions: set_options,
        syntax.ConvertCharset: convert_charset,
        syntax.Cache: lambda spec: "CACHE" if spec.on else "NOCACHE",
        syntax.RemoveTtl: remove_ttl,
        syntax.TiflashReplica: tiflash_replica,
        syntax.OrderBy: order_by,
        syntax.Clause: clause,
    }
)
