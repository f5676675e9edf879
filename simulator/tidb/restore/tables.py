"""Restore CREATE TABLE as TiCDC sends it: without placement, and with TTL turned off, unless an old release keeps them.

Features that only TiDB has are in comments (TiDB: pkg/parser/ast/ddl.go, CreateTableStmt.Restore, TableOption.Restore
and PartitionOptions.Restore; tiflow v8.5.3: cdc/owner/ddl_sink.go, addSpecialComment). An option is kept by replacing it
with one whose name and value are its restored text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.restore import (
    feature_comment,
    if_not_exists,
    join_words,
    quote_name,
    quote_string,
    restore_column,
    restore_key,
    restore_table_name,
)

OFF = syntax.TableOption("TTL_ENABLE", "OFF", quoted=True)


def sent_options(options: Iterable[syntax.TableOption]) -> tuple[syntax.TableOption, ...]:
    """Return the options that TiCDC sends: without TTL_ENABLE, but with TTL_ENABLE = 'OFF' after every TTL."""
    others = (option for option in options if option.name != "TTL_ENABLE")
    return tuple(sent for option in others for sent in ((option, OFF) if option.name == "TTL" else (option,)))


def is_placement(options: Iterable[syntax.TableOption]) -> bool:
    return all(option.name == "PLACEMENT POLICY" for option in options)


def restore_options(options: Iterable[syntax.TableOption]) -> str:
    """Restore options with a blank before each. The blank remains if TiCDC drops the option."""
    return "".join(f" {restore_option(option)}" for option in options)


def restore_option(option: syntax.TableOption) -> str:
    """Restore an option of a table or a partition. Placement is empty."""
    return WRITERS.get(option.name, restore_plain)(option)


def restore_plain(option: syntax.TableOption) -> str:
    return f"{option.name} = {option.value}"


def restore_quoted(option: syntax.TableOption) -> str:
    return f"{option.name} = {quote_string(option.value)}"


def restore_unsupported(kind: str) -> Callable[[syntax.TableOption], str]:
    return lambda option: f"{option.name} = DEFAULT /* TableOption{kind} is not supported */ "


def restore_in_feature(
    name: str, write: Callable[[syntax.TableOption], str] = restore_plain
) -> Callable[[syntax.TableOption], str]:
    return lambda option: feature_comment(write(option), name)


def restore_with_force(write: Callable[[syntax.TableOption], str]) -> Callable[[syntax.TableOption], str]:
    return lambda option: (feature_comment("FORCE", "force_inc") + " " if option.force else "") + write(option)


QUOTED_OPTIONS = (
    "COMMENT COMPRESSION CONNECTION PASSWORD ENCRYPTION STATS_COL_CHOICE STATS_COL_LIST ENGINE_ATTRIBUTE"
    " SECONDARY_ENGINE_ATTRIBUTE"
).split()
WRITERS: Mapping[str, Callable[[syntax.TableOption], str]] = {
    **dict.fromkeys(("DATA DIRECTORY", "INDEX DIRECTORY", *QUOTED_OPTIONS), restore_quoted),
    "ENGINE": lambda option: f"ENGINE = {option.value or repr('')}",
    "CHARSET": lambda option: f"DEFAULT CHARACTER SET = {option.value.upper()}",
    "COLLATE": lambda option: f"DEFAULT COLLATE = {option.value.upper()}",
    "AUTO_INCREMENT": restore_with_force(restore_plain),
    "AUTO_RANDOM_BASE": restore_with_force(restore_in_feature("auto_rand_base")),
    "AUTO_ID_CACHE": restore_in_feature("auto_id_cache"),
    "SHARD_ROW_ID_BITS": restore_in_feature(""),
    "PRE_SPLIT_REGIONS": restore_in_feature(""),
    "STATS_PERSISTENT": restore_unsupported("StatsPersistent"),
    "PACK_KEYS": restore_unsupported("PackKeys"),
    "INSERT_METHOD": lambda option: f"INSERT_METHOD = {option.value.upper()}",
    "STORAGE": lambda option: f"STORAGE {option.value}",
    "SECONDARY_ENGINE": lambda option: restore_plain(option) if option.default else restore_quoted(option),
    "TABLESPACE": lambda option: f"TABLESPACE = {quote_name(option.value)}",
    "TTL": restore_in_feature("ttl"),
    "TTL_ENABLE": restore_in_feature("ttl", restore_quoted),
    "TTL_JOB_INTERVAL": restore_in_feature("ttl", restore_quoted),
    "AFFINITY": restore_in_feature("affinity", restore_quoted),
    "PLACEMENT POLICY": lambda _: "",
}


def restore_partitioning(partitioning: syntax.PartitionClause) -> str:
    definitions = partitioning.definitions
    return "".join(
        (
            "PARTITION BY ",
            restore_method(partitioning.method),
            restore_interval(partitioning.interval) if partitioning.interval else "",
            "" if definitions else restore_partition_count(partitioning.method),
            restore_subpartitioning(partitioning),
            f" ({','.join(map(restore_definition, definitions))})" if definitions else "",
            restore_index_updates(partitioning),
        )
    )


def restore_method(method: syntax.PartitionMethod) -> str:
    linear = "LINEAR " if method.linear else ""
    algorithm = f" ALGORITHM = {method.algorithm}" if method.algorithm else ""
    if method.kind == "system_time":
        every = f" INTERVAL {method.restored} {method.unit}" if method.unit else ""
        return f"SYSTEM_TIME{every}" + (f" LIMIT {method.limit}" if method.limit else "")
    columns = " COLUMNS" if method.columns and method.kind in ("range", "list") else ""
    return f"{linear}{method.kind.upper()}{algorithm}{columns} ({method.restored})"


def restore_partition_count(method: syntax.PartitionMethod) -> str:
    count = method.count or (1 if method.kind in ("hash", "key") else 0)
    return f" PARTITIONS {count}" if count else ""


def restore_subpartitioning(partitioning: syntax.PartitionClause) -> str:
    """Restore SUBPARTITION BY, with the number of subpartitions, also if they are defined."""
    method = partitioning.subpartition
    if not method:
        return ""
    written = len(partitioning.definitions[0].subpartitions) if partitioning.definitions else 0
    count = written or method.count
    return f" SUBPARTITION BY {restore_method(method)}" + (f" SUBPARTITIONS {count}" if count else "")


def restore_interval(interval: syntax.PartitionInterval) -> str:
    every = f"{interval.every.restored} {interval.unit}".rstrip()
    bounds = (("FIRST", interval.first), ("LAST", interval.last))
    ends = "".join(f" {word} PARTITION LESS THAN ({bound.restored})" for word, bound in bounds if bound)
    null = " NULL PARTITION" if interval.null_partition else ""
    return f" INTERVAL ({every}){ends}{null}" + (" MAXVALUE PARTITION" if interval.maxvalue_partition else "")


def restore_index_updates(partitioning: syntax.PartitionClause) -> str:
    updates = ",".join(f"{quote_name(name)} {options.scope}" for name, options in partitioning.update_indexes)
    return f" UPDATE INDEXES ({updates})" if updates else ""


def restore_definition(definition: syntax.PartitionDefinition, word: str = "PARTITION") -> str:
    options = restore_options(definition.options)
    parts = ",".join(restore_definition(part, "SUBPARTITION") for part in definition.subpartitions)
    text = f"{word} {quote_name(definition.name)}{restore_values(definition)}{options}"
    return f"{text} ({parts})" if parts else text


def restore_values(definition: syntax.PartitionDefinition) -> str:
    if definition.kind in ("less than", "in"):
        return f" VALUES {definition.kind.upper()} {definition.restored}"
    return f" {definition.kind.upper()}" if definition.kind else ""


TEMPORARY = {"": "", "local": "TEMPORARY", "global": "GLOBAL TEMPORARY"}


def restore_table(statement: syntax.CreateTable) -> str:
    name = restore_table_name(syntax.TableName(statement.schema, statement.name))
    elements = ",".join((*map(restore_column, statement.columns), *map(restore_key, statement.keys)))
    return "".join(
        (
            join_words("CREATE", TEMPORARY[statement.temporary], "TABLE", if_not_exists(statement.if_not_exists), name),
            f" LIKE {restore_table_name(statement.like)}" if statement.like else "",
            f" ({elements})" if elements else "",
            restore_options(sent_options(statement.options)),
            f" {restore_partitioning(statement.partitioning)}" if statement.partitioning else "",
            f" {join_words(statement.on_duplicate, 'AS', statement.query.restored)}" if statement.query else "",
            restore_commit(statement),
        )
    )


def restore_commit(statement: syntax.CreateTable) -> str:
    if statement.on_commit_delete is None:
        return ""
    return f" ON COMMIT {'DELETE' if statement.on_commit_delete else 'PRESERVE'} ROWS"


# -- what later releases drop -----------------------------------------------------------------------------------------


def keep_dropped_options(statement: syntax.Statement, placement: bool, time_to_live: bool) -> syntax.Statement:
    """Return the statement with verbatim options of placement and TTL, which are never dropped."""

    def kept(part: object) -> object:
        match part:
            case syntax.TableOption(name="PLACEMENT POLICY") if placement:
                return verbatim_option(feature_comment(restore_placement_policy(part), "placement"))
            case syntax.TableOption(name="TTL" | "TTL_ENABLE") if time_to_live:
                return verbatim_option(restore_option(part))
            case syntax.Attributes(value) if placement:
                return syntax.Clause(restore_attributes(value))
            case syntax.PartitionOptions():
                return syntax.Clause(restore_partition_options(part)) if placement else part
        return None

    if isinstance(statement, syntax.CreateSequence | syntax.PlacementPolicy):
        return statement
    with_kept: syntax.Statement = syntax.replace_parts(statement, kept)
    return with_kept


def verbatim_option(text: str) -> syntax.TableOption:
    """Return an option that is restored as the text, which must contain ` = `."""
    name, _, value = text.partition(" = ")
    return syntax.TableOption(name, value)


def restore_placement_policy(option: syntax.TableOption) -> str:
    return f"PLACEMENT POLICY = {quote_name(option.value or 'DEFAULT')}"


def restore_attributes(value: str | None) -> str:
    return f"ATTRIBUTES={'DEFAULT' if value is None else quote_string(value)}"


def restore_partition_options(spec: syntax.PartitionOptions) -> str:
    """Restore options in one comment of the feature, and attributes without a comment."""
    head = f"PARTITION {quote_name(spec.partition)}"
    for option in spec.options:
        if option.name == "ATTRIBUTES":
            return f"{head} {restore_attributes(None if option.default else option.value)}"
    writers = {"PLACEMENT POLICY": restore_placement_policy}
    options = " ".join(writers.get(option.name, restore_option)(option) for option in spec.options)
    return feature_comment(f"{head} {options}", "placement")


def without_default_parentheses(statement: syntax.Statement) -> syntax.Statement:
    """Return the statement without parentheses around functions as defaults of the columns that it defines."""

    def bare(part: object) -> object:
        match part:
            case syntax.AlterDefault():
                return part
            case syntax.ColumnDefault(kind="expression", restored=restored) if restored.startswith("("):
                return replace(part, restored=restored[1:-1])
        return None

    changed: syntax.Statement = syntax.replace_parts(statement, bare)
    return changed
