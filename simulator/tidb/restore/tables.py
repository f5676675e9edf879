"""Restore CREATE TABLE as TiCDC sends it: without placement, and with TTL turned off.

Features that only TiDB has are in comments (TiDB: pkg/parser/ast/ddl.go, CreateTableStmt.Restore, TableOption.Restore
and PartitionOptions.Restore; tiflow v8.5.3: cdc/owner/ddl_sink.go, addSpecialComment).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from simulator.tidb import syntax
from simulator.tidb.restore.expressions import (
    feature_comment,
    if_not_exists,
    join_words,
    quote_literal,
    quote_name,
    quote_string,
    restore_column_name,
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
            restore_subpartitioning(partitioning) if partitioning.subpartition else "",
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


# -- columns and keys -----------------------------------------------------------------------------------------------------


CHARACTERS = ("char", "varchar")
TEXTS = ("tinytext", "text", "mediumtext", "longtext")
WIDEST_FLOAT = 24
WIDEST_DOUBLE = 53
"""The largest precisions p for which FLOAT(p) is a FLOAT or a DOUBLE (TiDB: pkg/parser/mysql/const.go)."""


def restore_type(type: syntax.FieldType) -> str:
    """Restore the type with its arguments and attributes. TiDB does not write the charset of ENUM and SET."""
    name, length = type_name_and_length(type)
    flags = (" UNSIGNED" if type.unsigned else "") + (" ZEROFILL" if type.zerofill else "")
    binary = " BINARY" if type.binary_collation and type.charset != "binary" else ""
    has_charset = type.name in CHARACTERS + TEXTS and type.charset not in ("", "binary")
    charset = f" CHARACTER SET {type.charset.upper()}" if has_charset else ""
    return f"{name}{type_arguments(type, length)}{flags}{binary}{charset}"


def type_name_and_length(type: syntax.FieldType) -> tuple[str, int]:
    if type.name == "float" and type.decimal < 0 and type.length <= WIDEST_DOUBLE:
        return "DOUBLE" if type.length > WIDEST_FLOAT else "FLOAT", -1
    length = 1 if type.name == "bit" and type.length < 0 else type.length
    if type.charset == "binary" and type.name in CHARACTERS:
        return type.name.replace("char", "binary").upper(), length
    if type.charset == "binary" and type.name in TEXTS:
        return type.name.replace("text", "blob").upper(), length
    return type.name.upper(), length


def type_arguments(type: syntax.FieldType, length: int) -> str:
    if type.name in ("enum", "set"):
        return f"({','.join(map(quote_string, type.elements))})"
    if type.name in ("time", "datetime", "timestamp"):
        return f"({type.decimal})" if type.decimal >= 0 else ""
    scale = f",{type.decimal}" if type.decimal >= 0 else ""
    return f"({length}{scale})" if length >= 0 else ""


def restore_check(check: syntax.CheckDefinition) -> str:
    name = f"CONSTRAINT {quote_name(check.name)} " if check.name else ""
    return f"{name}CHECK({check.condition.restored}) {'ENFORCED' if check.enforced else 'NOT ENFORCED'}"


def restore_references(references: syntax.References) -> str:
    parts = f"({', '.join(map(restore_part, references.parts))})" if references.parts else ""
    actions = (("MATCH", references.match), ("ON DELETE", references.on_delete), ("ON UPDATE", references.on_update))
    tail = "".join(f" {words} {action}" for words, action in actions if action)
    return f"REFERENCES {restore_table_name(references.table)}{parts}{tail}"


def restore_part(part: syntax.KeyPart) -> str:
    """Restore a column, its prefix, or an expression in parentheses."""
    if part.column:
        text = restore_column_name(part.column, part.qualifier) + (f"({part.length})" if part.length > 0 else "")
    else:
        text = f"({part.restored})"
    return f"{text} DESC" if part.descending else text


def restore_column(definition: syntax.ColumnDefinition) -> str:
    options = (f" {OPTIONS[option.kind](option)}" for option in definition.options)
    return f"{restore_column_name(definition.name, definition.qualifier)} {restore_type(definition.type)}{''.join(options)}"


def restore_clustering(clustered: bool) -> str:
    return feature_comment("CLUSTERED" if clustered else "NONCLUSTERED", "clustered_index")


def restore_primary_option(option: syntax.ColumnOption) -> str:
    clustered = "" if option.clustered is None else f" {restore_clustering(option.clustered)}"
    return f"PRIMARY KEY{clustered}{restore_scope(option)}"


def restore_scope(option: syntax.ColumnOption) -> str:
    """Restore GLOBAL. TiDB does not write LOCAL, the default."""
    return " GLOBAL" if option.scope == "GLOBAL" else ""


def restore_generated(option: syntax.ColumnOption) -> str:
    expression = option.expression.restored if option.expression else ""
    return f"GENERATED ALWAYS AS({expression}) {'STORED' if option.stored else 'VIRTUAL'}"


def restore_auto_random(option: syntax.ColumnOption) -> str:
    bits = f"({', '.join(map(str, option.numbers))})" if option.numbers else ""
    return feature_comment(f"AUTO_RANDOM{bits}", "auto_rand")


OPTIONS: Mapping[str, Callable[[syntax.ColumnOption], str]] = {
    "not null": lambda _: "NOT NULL",
    "null": lambda _: "NULL",
    "default": lambda option: f"DEFAULT {option.default.restored}" if option.default else "",
    "on update": lambda option: f"ON UPDATE {option.expression.restored}" if option.expression else "",
    "auto_increment": lambda _: "AUTO_INCREMENT",
    "auto_random": restore_auto_random,
    "primary": restore_primary_option,
    "unique": lambda option: f"UNIQUE KEY{restore_scope(option)}",
    "comment": lambda option: f"COMMENT {quote_literal(option.text)}",
    "collate": lambda option: f"COLLATE {option.text}",
    "generated": restore_generated,
    "check": lambda option: restore_check(option.check) if option.check else "",
    "references": lambda option: restore_references(option.references) if option.references else "",
    "column_format": lambda option: f"COLUMN_FORMAT {option.text}",
    "storage": lambda option: f"STORAGE {option.text}",
    "engine_attribute": lambda option: f"ENGINE_ATTRIBUTE = {quote_string(option.text)}",
    "secondary_engine_attribute": lambda option: f"SECONDARY_ENGINE_ATTRIBUTE = {quote_string(option.text)}",
}


WORDS = {
    "primary": "PRIMARY KEY",
    "unique": "UNIQUE",
    "key": "INDEX",
    "fulltext": "FULLTEXT",
    "vector": "VECTOR INDEX",
    "columnar": "COLUMNAR INDEX",
}


def restore_key(key: syntax.KeyDefinition) -> str:
    if key.check:
        return restore_check(key.check)
    parts = f"({', '.join(map(restore_part, key.parts))})"
    exists = "IF NOT EXISTS" if key.if_not_exists else ""
    if key.references:
        name = f"{quote_name(key.name)} " if key.name else ""
        return f"CONSTRAINT {name}FOREIGN KEY {exists and exists + ' '}{parts} {restore_references(key.references)}"
    name = f" {quote_name(key.name)}" if key.name else ""
    options = " ".join(restore_key_options(key.options))
    return f"{WORDS[key.kind]}{exists and ' ' + exists}{name}{parts}{options and ' ' + options}"


def restore_key_options(options: syntax.KeyOptions) -> Iterator[str]:
    if options.clustered is not None:
        yield restore_clustering(options.clustered)
    if options.key_block_size:
        yield f"KEY_BLOCK_SIZE={options.key_block_size}"
    if options.using:
        yield f"USING {options.using}"
    if options.parser:
        yield f"WITH PARSER {quote_name(options.parser)}"
    if options.comment:
        yield f"COMMENT {quote_string(options.comment)}"
    if options.on_demand:
        yield "ADD_COLUMNAR_REPLICA_ON_DEMAND"
    if options.scope == "GLOBAL":
        yield feature_comment("GLOBAL", "global_index")
    if options.visible is not None:
        yield "VISIBLE" if options.visible else "INVISIBLE"
    if options.pre_split:
        yield feature_comment(f"PRE_SPLIT_REGIONS = {options.pre_split}", "pre_split")
    if options.secondary_engine_attribute:
        yield f"SECONDARY_ENGINE_ATTRIBUTE = {quote_string(options.secondary_engine_attribute)}"
    if options.condition:
        yield f"WHERE {options.condition.restored}"
