"""Restore columns and keys: types, options, checks, references.

The options of a column keep their order, those of a key get TiDB's (TiDB: pkg/parser/types/field_type.go, Restore;
pkg/parser/ast/ddl.go, ColumnOption.Restore, Constraint.Restore and IndexOption.Restore).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from simulator.tidb import syntax
from simulator.tidb.restore.names import (
    feature_comment,
    quote_literal,
    quote_name,
    quote_string,
    restore_column_name,
    restore_table_name,
)

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
