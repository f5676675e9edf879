"""CREATE TABLE as TiDB writes it back and TiCDC sends it: columns and keys, options, partitions.

One law: what only TiDB reads stands in a comment of its feature; placement is left out, and time to live is turned off
(TiDB: pkg/parser/ast/ddl.go, CreateTableStmt.Restore, TableOption.Restore and PartitionOptions.Restore; tiflow v8.5.3:
cdc/owner/ddl_sink.go, addSpecialComment).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType

from simulator.tidb.restore.definitions import restored_column, restored_key
from simulator.tidb.restore.names import feature, quoted, string, table, words
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.tables import (
    CreateTable,
    PartitionClause,
    PartitionDefinition,
    PartitionInterval,
    PartitionMethod,
    TableOption,
)

OFF = TableOption("TTL_ENABLE", "OFF", quoted=True)


def sent_options(options: Iterable[TableOption]) -> tuple[TableOption, ...]:
    """The options that TiCDC sends: TTL_ENABLE is dropped, and 'OFF' behind every TTL."""
    kept = (option for option in options if option.name != "TTL_ENABLE")
    return tuple(sent for option in kept for sent in ((option, OFF) if option.name == "TTL" else (option,)))


def restored_options(options: Iterable[TableOption]) -> str:
    """Each option behind a blank, which stays where TiCDC drops the option."""
    return "".join(f" {restored_option(option)}" for option in options)


def restored_option(option: TableOption) -> str:
    """One option, of a table or of a partition; empty for placement."""
    return WRITERS.get(option.name, plain)(option)


def plain(option: TableOption) -> str:
    return f"{option.name} = {option.value}"


def text(option: TableOption) -> str:
    return f"{option.name} = {string(option.value)}"


def word(option: TableOption) -> str:
    return f"{option.name} = {option.value.upper()}"


def ignored(kind: str) -> Callable[[TableOption], str]:
    """An option that TiDB reads and never keeps, as it says in a comment between blanks."""
    return lambda option: f"{option.name} = DEFAULT /* TableOption{kind} is not supported */ "


def in_feature(name: str, write: Callable[[TableOption], str] = plain) -> Callable[[TableOption], str]:
    """An option in a comment that only a TiDB with the feature reads."""
    return lambda option: feature(write(option), name)


def forced(write: Callable[[TableOption], str]) -> Callable[[TableOption], str]:
    """An option that FORCE may stand before."""
    return lambda option: (feature("FORCE", "force_inc") + " " if option.force else "") + write(option)


WRITERS: MappingProxyType[str, Callable[[TableOption], str]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "COMMENT",
                "COMPRESSION",
                "CONNECTION",
                "PASSWORD",
                "DATA DIRECTORY",
                "INDEX DIRECTORY",
                "ENCRYPTION",
                "STATS_COL_CHOICE",
                "STATS_COL_LIST",
                "ENGINE_ATTRIBUTE",
                "SECONDARY_ENGINE_ATTRIBUTE",
            ),
            text,
        ),
        "ENGINE": lambda option: f"ENGINE = {option.value or repr('')}",
        "CHARSET": lambda option: f"DEFAULT CHARACTER SET = {option.value.upper()}",
        "COLLATE": lambda option: f"DEFAULT COLLATE = {option.value.upper()}",
        "AUTO_INCREMENT": forced(plain),
        "AUTO_RANDOM_BASE": forced(in_feature("auto_rand_base")),
        "AUTO_ID_CACHE": in_feature("auto_id_cache"),
        "SHARD_ROW_ID_BITS": in_feature(""),
        "PRE_SPLIT_REGIONS": in_feature(""),
        "STATS_PERSISTENT": ignored("StatsPersistent"),
        "PACK_KEYS": ignored("PackKeys"),
        "INSERT_METHOD": word,
        "STORAGE": lambda option: f"STORAGE {option.value}",
        "SECONDARY_ENGINE": lambda option: plain(option) if option.default else text(option),
        "TABLESPACE": lambda option: f"TABLESPACE = {quoted(option.value)}",
        "TTL": in_feature("ttl"),
        "TTL_ENABLE": in_feature("ttl", text),
        "TTL_JOB_INTERVAL": in_feature("ttl", text),
        "AFFINITY": in_feature("affinity", text),
        "PLACEMENT POLICY": lambda _: "",
    }
)


def restored_partitioning(partitioning: PartitionClause) -> str:
    """PARTITION BY with all that follows it."""
    definitions = partitioning.definitions
    return "".join(
        (
            "PARTITION BY ",
            restored_method(partitioning.method),
            restored_interval(partitioning.interval) if partitioning.interval else "",
            "" if definitions else partition_count(partitioning.method),
            restored_subpartitioning(partitioning) if partitioning.subpartition else "",
            f" ({','.join(map(restored_definition, definitions))})" if definitions else "",
            restored_updates(partitioning),
        )
    )


def restored_method(method: PartitionMethod) -> str:
    linear = "LINEAR " if method.linear else ""
    algorithm = f" ALGORITHM = {method.algorithm}" if method.algorithm else ""
    if method.kind == "system_time":
        every = f" INTERVAL {method.restored} {method.unit}" if method.unit else ""
        return f"SYSTEM_TIME{every}" + (f" LIMIT {method.limit}" if method.limit else "")
    columns = " COLUMNS" if method.columns and method.kind in ("range", "list") else ""
    return f"{linear}{method.kind.upper()}{algorithm}{columns} ({method.restored})"


def partition_count(method: PartitionMethod) -> str:
    count = method.count or (1 if method.kind in ("hash", "key") else 0)
    return f" PARTITIONS {count}" if count else ""


def restored_subpartitioning(partitioning: PartitionClause) -> str:
    """SUBPARTITION BY; how many there are is also said where they are written out."""
    method = partitioning.subpartition
    if not method:
        return ""
    written = len(partitioning.definitions[0].subpartitions) if partitioning.definitions else 0
    count = written or method.count
    return f" SUBPARTITION BY {restored_method(method)}" + (f" SUBPARTITIONS {count}" if count else "")


def restored_interval(interval: PartitionInterval) -> str:
    every = f"{interval.every.restored} {interval.unit}".rstrip()
    bounds = (("FIRST", interval.first), ("LAST", interval.last))
    ends = "".join(f" {word} PARTITION LESS THAN ({bound.restored})" for word, bound in bounds if bound)
    null = " NULL PARTITION" if interval.null_partition else ""
    return f" INTERVAL ({every}){ends}{null}" + (" MAXVALUE PARTITION" if interval.maxvalue_partition else "")


def restored_updates(partitioning: PartitionClause) -> str:
    updates = ",".join(f"{quoted(name)} {options.scope}" for name, options in partitioning.update_indexes)
    return f" UPDATE INDEXES ({updates})" if updates else ""


def restored_definition(definition: PartitionDefinition, word: str = "PARTITION") -> str:
    """One partition with its values, options and subpartitions."""
    options = restored_options(definition.options)
    parts = ",".join(restored_definition(part, "SUBPARTITION") for part in definition.subpartitions)
    return f"{word} {quoted(definition.name)}{restored_values(definition)}{options}" + (f" ({parts})" if parts else "")


def restored_values(definition: PartitionDefinition) -> str:
    if definition.kind in ("less than", "in"):
        return f" VALUES {definition.kind.upper()} {definition.restored}"
    return f" {definition.kind.upper()}" if definition.kind else ""


TEMPORARY = MappingProxyType({"": "", "local": "TEMPORARY", "global": "GLOBAL TEMPORARY"})


def restored_table(syntax: CreateTable) -> str:
    """The whole statement."""
    name = table(TableName(syntax.schema, syntax.name))
    elements = ",".join((*map(restored_column, syntax.columns), *map(restored_key, syntax.keys)))
    return "".join(
        (
            words(
                "CREATE", TEMPORARY[syntax.temporary], "TABLE", "IF NOT EXISTS" if syntax.if_not_exists else "", name
            ),
            f" LIKE {table(syntax.like)}" if syntax.like else "",
            f" ({elements})" if elements else "",
            restored_options(sent_options(syntax.options)),
            f" {restored_partitioning(syntax.partitioning)}" if syntax.partitioning else "",
            restored_query(syntax),
            restored_commit(syntax),
        )
    )


def restored_query(syntax: CreateTable) -> str:
    if not syntax.query:
        return ""
    return f" {syntax.on_duplicate}".rstrip() + f" AS {syntax.query.restored}"


def restored_commit(syntax: CreateTable) -> str:
    if syntax.on_commit_delete is None:
        return ""
    return f" ON COMMIT {'DELETE' if syntax.on_commit_delete else 'PRESERVE'} ROWS"
