"""Columns and keys as TiDB writes them back: types, options, checks, references.

One law: synonyms are gone and what the statement leaves out stays out; options of a column keep their order, those of
a key come in TiDB's (TiDB: pkg/parser/types/field_type.go, Restore; pkg/parser/ast/ddl.go, ColumnOption.Restore,
Constraint.Restore and IndexOption.Restore).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType

from simulator.tidb.restore.names import column, feature, literal, quoted, string, table
from simulator.tidb.syntax.definitions import (
    CheckDefinition,
    ColumnDefinition,
    ColumnOption,
    FieldType,
    KeyDefinition,
    KeyOptions,
    KeyPart,
    References,
)

CHARACTERS = ("char", "varchar")
TEXTS = ("tinytext", "text", "mediumtext", "longtext")
WIDEST_FLOAT = 24
WIDEST_DOUBLE = 53
"""Bits of precision that make FLOAT(p) a FLOAT or a DOUBLE (TiDB: pkg/parser/mysql/const.go)."""


def restored_type(type: FieldType) -> str:
    """The type with its arguments and attributes; charsets of ENUM and SET are lost, as TiDB loses them."""
    name, length = named(type)
    flags = (" UNSIGNED" if type.unsigned else "") + (" ZEROFILL" if type.zerofill else "")
    binary = " BINARY" if type.binary_collation and type.charset != "binary" else ""
    known = type.name in CHARACTERS + TEXTS and type.charset not in ("", "binary")
    charset = f" CHARACTER SET {type.charset.upper()}" if known else ""
    return f"{name}{arguments(type, length)}{flags}{binary}{charset}"


def named(type: FieldType) -> tuple[str, int]:
    """TiDB's word for the type, and its length."""
    if type.name == "float" and type.decimal < 0 and type.length <= WIDEST_DOUBLE:
        return "DOUBLE" if type.length > WIDEST_FLOAT else "FLOAT", -1
    length = 1 if type.name == "bit" and type.length < 0 else type.length
    if type.charset == "binary" and type.name in CHARACTERS:
        return type.name.replace("char", "binary").upper(), length
    if type.charset == "binary" and type.name in TEXTS:
        return type.name.replace("text", "blob").upper(), length
    return type.name.upper(), length


def arguments(type: FieldType, length: int) -> str:
    """What stands in parentheses."""
    if type.name in ("enum", "set"):
        return f"({','.join(map(string, type.elements))})"
    if type.name in ("time", "datetime", "timestamp"):
        return f"({type.decimal})" if type.decimal >= 0 else ""
    scale = f",{type.decimal}" if type.decimal >= 0 else ""
    return f"({length}{scale})" if length >= 0 else ""


def restored_check(check: CheckDefinition) -> str:
    """A check of a column or of a table."""
    name = f"CONSTRAINT {quoted(check.name)} " if check.name else ""
    return f"{name}CHECK({check.condition.restored}) {'ENFORCED' if check.enforced else 'NOT ENFORCED'}"


def restored_references(references: References) -> str:
    """What a foreign key refers to."""
    parts = f"({', '.join(map(restored_part, references.parts))})" if references.parts else ""
    actions = (("MATCH", references.match), ("ON DELETE", references.on_delete), ("ON UPDATE", references.on_update))
    tail = "".join(f" {words} {action}" for words, action in actions if action)
    return f"REFERENCES {table(references.table)}{parts}{tail}"


def restored_part(part: KeyPart) -> str:
    """A column, a prefix of one, or an expression in parentheses."""
    if part.column:
        text = column(part.column, part.qualifier) + (f"({part.length})" if part.length > 0 else "")
    else:
        text = f"({part.restored})"
    return f"{text} DESC" if part.descending else text


def restored_column(syntax: ColumnDefinition) -> str:
    """The column's name, type and options."""
    options = (f" {OPTIONS[option.kind](option)}" for option in syntax.options)
    return f"{column(syntax.name, syntax.qualifier)} {restored_type(syntax.type)}{''.join(options)}"


def restored_clustering(clustered: bool) -> str:
    """CLUSTERED or NONCLUSTERED, which only TiDB reads."""
    return feature("CLUSTERED" if clustered else "NONCLUSTERED", "clustered_index")


def primary(option: ColumnOption) -> str:
    clustered = "" if option.clustered is None else f" {restored_clustering(option.clustered)}"
    return f"PRIMARY KEY{clustered}{scope(option)}"


def scope(option: ColumnOption) -> str:
    """LOCAL is what TiDB does anyway, and never written."""
    return " GLOBAL" if option.scope == "GLOBAL" else ""


def default(option: ColumnOption) -> str:
    return f"DEFAULT {option.default.restored}" if option.default else ""


def on_update(option: ColumnOption) -> str:
    return f"ON UPDATE {option.expression.restored}" if option.expression else ""


def generated(option: ColumnOption) -> str:
    expression = option.expression.restored if option.expression else ""
    return f"GENERATED ALWAYS AS({expression}) {'STORED' if option.stored else 'VIRTUAL'}"


def auto_random(option: ColumnOption) -> str:
    bits = f"({', '.join(map(str, option.numbers))})" if option.numbers else ""
    return feature(f"AUTO_RANDOM{bits}", "auto_rand")


OPTIONS: MappingProxyType[str, Callable[[ColumnOption], str]] = MappingProxyType(
    {
        "not null": lambda _: "NOT NULL",
        "null": lambda _: "NULL",
        "default": default,
        "on update": on_update,
        "auto_increment": lambda _: "AUTO_INCREMENT",
        "auto_random": auto_random,
        "primary": primary,
        "unique": lambda option: f"UNIQUE KEY{scope(option)}",
        "comment": lambda option: f"COMMENT {literal(option.text)}",
        "collate": lambda option: f"COLLATE {option.text}",
        "generated": generated,
        "check": lambda option: restored_check(option.check) if option.check else "",
        "references": lambda option: restored_references(option.references) if option.references else "",
        "column_format": lambda option: f"COLUMN_FORMAT {option.text}",
        "storage": lambda option: f"STORAGE {option.text}",
        "engine_attribute": lambda option: f"ENGINE_ATTRIBUTE = {string(option.text)}",
        "secondary_engine_attribute": lambda option: f"SECONDARY_ENGINE_ATTRIBUTE = {string(option.text)}",
    }
)


WORDS = MappingProxyType(
    {
        "primary": "PRIMARY KEY",
        "unique": "UNIQUE",
        "key": "INDEX",
        "fulltext": "FULLTEXT",
        "vector": "VECTOR INDEX",
        "columnar": "COLUMNAR INDEX",
    }
)


def restored_key(key: KeyDefinition) -> str:
    """A key or constraint, as it stands beside the columns or behind ADD."""
    if key.check:
        return restored_check(key.check)
    parts = f"({', '.join(map(restored_part, key.parts))})"
    exists = "IF NOT EXISTS" if key.if_not_exists else ""
    if key.references:
        name = f"{quoted(key.name)} " if key.name else ""
        return f"CONSTRAINT {name}FOREIGN KEY {exists and exists + ' '}{parts} {restored_references(key.references)}"
    name = f" {quoted(key.name)}" if key.name else ""
    options = restored_key_options(key.options)
    return f"{WORDS[key.kind]}{exists and ' ' + exists}{name}{parts}{options and ' ' + options}"


def restored_key_options(options: KeyOptions) -> str:
    """The options, a blank between them; empty where there are none."""
    return " ".join(option_texts(options))


def option_texts(options: KeyOptions) -> Iterator[str]:
    if options.clustered is not None:
        yield restored_clustering(options.clustered)
    if options.key_block_size:
        yield f"KEY_BLOCK_SIZE={options.key_block_size}"
    if options.using:
        yield f"USING {options.using}"
    if options.parser:
        yield f"WITH PARSER {quoted(options.parser)}"
    if options.comment:
        yield f"COMMENT {string(options.comment)}"
    if options.on_demand:
        yield "ADD_COLUMNAR_REPLICA_ON_DEMAND"
    if options.scope == "GLOBAL":
        yield feature("GLOBAL", "global_index")
    yield from late_option_texts(options)


def late_option_texts(options: KeyOptions) -> Iterator[str]:
    if options.visible is not None:
        yield "VISIBLE" if options.visible else "INVISIBLE"
    if options.pre_split:
        yield feature(f"PRE_SPLIT_REGIONS = {options.pre_split}", "pre_split")
    if options.secondary_engine_attribute:
        yield f"SECONDARY_ENGINE_ATTRIBUTE = {string(options.secondary_engine_attribute)}"
    if options.condition:
        yield f"WHERE {options.condition.restored}"
