"""Restore expressions, names and strings, columns and keys, as TiDB's Restore does under the flags of TiCDC's DDL sink.

Keywords are in upper case, names in back-quotes, strings in single quotes with their charset, without spaces around
symbols (pkg/parser/ast/{expressions,functions,ddl}.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from simulator.tidb import syntax

TEMPLATES = {
    **dict.fromkeys(("ADDDATE", "SUBDATE", "DATE_ADD", "DATE_SUB"), "{}, INTERVAL {} {}"),
    "CONVERT": "{} USING {}",
    "EXTRACT": "{} FROM {}",
    "POSITION": "{} IN {}",
}
"""Functions with words between the arguments."""


def restore_node(node: syntax.Node) -> str:
    return _WRITERS[type(node)](node)


def restore_list(nodes: Iterable[syntax.Node], separator: str = ", ") -> str:
    return separator.join(map(restore_node, nodes))


def _restore_literal(node: syntax.Literal) -> str:
    if node.kind == "string":
        return quote_literal(node.text, node.charset)
    if node.kind in ("hex", "bit"):
        return f"{'x' if node.kind == 'hex' else 'b'}'{node.text}'"
    if node.kind in ("date", "time", "timestamp"):
        return f"{node.kind.upper()} {quote_literal(node.text)}"
    return node.text.upper() if node.kind in ("boolean", "null") else node.text


def _restore_unary(node: syntax.Unary) -> str:
    space = " " if node.operator.isalpha() else ""
    return f"{node.operator}{space}{restore_node(node.operand)}"


def _restore_binary(node: syntax.Binary) -> str:
    """Restore a binary operator. Long chains are left-associative, so a loop walks the left sides."""
    parts: list[str] = []
    left: syntax.Node = node
    while isinstance(left, syntax.Binary):
        space = " " if left.operator.isalpha() else ""
        parts.append(f"{space}{left.operator}{space}{restore_node(left.right)}")
        left = left.left
    return restore_node(left) + "".join(reversed(parts))


def _restore_call(node: syntax.Call) -> str:
    arguments = [restore_node(argument) for argument in node.arguments]
    if node.name == "JSON_MEMBEROF":
        return "{} MEMBER OF ({})".format(*arguments)
    schema = f"{quote_name(node.schema)}." if node.schema else ""
    name = quote_name(node.name) if node.schema else node.name
    return f"{schema}{name}({_restore_arguments(node, arguments)})"


def _restore_arguments(node: syntax.Call, arguments: list[str]) -> str:
    if node.name in TEMPLATES and not node.schema:
        return TEMPLATES[node.name].format(*arguments)
    if node.name == "TRIM" and len(arguments) > 1:
        return " ".join((*(text for text in reversed(arguments[1:]) if text != "NULL"), "FROM", arguments[0]))
    if node.name == "WEIGHT_STRING" and len(arguments) == 3:
        return "{} AS {}({})".format(*arguments)
    return ", ".join(arguments)


def _restore_cast(node: syntax.Cast) -> str:
    if node.convert:
        return f"CONVERT({restore_node(node.operand)}, {node.type})"
    return f"CAST({restore_node(node.operand)} AS {node.type})"


def _restore_case(node: syntax.Case) -> str:
    value = f" {restore_node(node.value)}" if node.value else ""
    branches = "".join(f" WHEN {restore_node(when)} THEN {restore_node(then)}" for when, then in node.branches)
    otherwise = f" ELSE {restore_node(node.otherwise)}" if node.otherwise else ""
    return f"CASE{value}{branches}{otherwise} END"


def _restore_between(node: syntax.Between) -> str:
    return f"{restore_node(node.operand)}{_restore_not(node)} BETWEEN {restore_node(node.low)} AND {restore_node(node.high)}"


def _restore_in(node: syntax.In) -> str:
    first = node.candidates[0]
    is_subquery = isinstance(first, syntax.ContextExpression) and first.kind == "the rows of a subquery"
    alone = is_subquery and len(node.candidates) == 1
    candidates = restore_node(first) if alone else f"({restore_list(node.candidates, ',')})"
    return f"{restore_node(node.operand)}{_restore_not(node)} IN {candidates}"


def _restore_pattern(node: syntax.PatternMatch) -> str:
    escape = "" if node.escape == "\\" else f" ESCAPE {quote_string(node.escape)}"
    return f"{restore_node(node.operand)}{_restore_not(node)} {node.operator} {restore_node(node.pattern)}{escape}"


def _restore_not(node: syntax.Between | syntax.In | syntax.PatternMatch | syntax.Is) -> str:
    return " NOT" if node.negated else ""


_WRITERS: dict[type[syntax.Node], Callable[[Any], str]] = {
    syntax.Literal: _restore_literal,
    syntax.ColumnName: lambda node: ".".join(map(quote_name, node.parts)),
    syntax.Word: lambda node: node.text,
    syntax.Unary: _restore_unary,
    syntax.Binary: _restore_binary,
    syntax.Call: _restore_call,
    syntax.Cast: _restore_cast,
    syntax.Case: _restore_case,
    syntax.Between: _restore_between,
    syntax.In: _restore_in,
    syntax.PatternMatch: _restore_pattern,
    syntax.Is: lambda node: f"{restore_node(node.operand)} IS{_restore_not(node)} {node.test}",
    syntax.Collate: lambda node: f"{restore_node(node.operand)} COLLATE {node.collation}",
    syntax.Parenthesised: lambda node: f"({restore_node(node.inner)})",
    syntax.RowExpression: lambda node: f"ROW({restore_list(node.items, ',')})",
    syntax.ContextExpression: lambda node: node.restored,
    syntax.DefaultValue: lambda node: f"DEFAULT({restore_node(node.column)})" if node.column else "DEFAULT",
    syntax.InsertedValue: lambda node: f"VALUES({restore_node(node.column)})",
}


def quote_name(name: str) -> str:
    """Return a name between back-quotes (TiDB: pkg/parser/format/format.go, RestoreNameBackQuotes)."""
    return "`" + name.replace("`", "``") + "`"


def quote_table(schema: str, name: str) -> str:
    """Return the name of a table with its database."""
    return f"{quote_name(schema)}.{quote_name(name)}"


def quote_string(text: str) -> str:
    """Return a string between single quotes with unescaped backslashes, as in values of options."""
    return "'" + text.replace("'", "''") + "'"


def quote_literal(text: str, charset: str = "") -> str:
    """Return a string literal of an expression, a column comment or a default: with escaped backslashes and introducer.

    TiDB: pkg/types/parser_driver/value_expr.go.
    """
    introducer = f"_{charset.upper()}" if charset else ""
    return introducer + quote_string(text.replace("\\", "\\\\"))


def restore_table_name(name: syntax.TableName) -> str:
    return quote_table(name.schema, name.name) if name.schema else quote_name(name.name)


def restore_table_names(names: Iterable[syntax.TableName]) -> str:
    return ", ".join(map(restore_table_name, names))


def restore_column_name(name: str, qualifier: str = "") -> str:
    """Return a quoted column name. `qualifier` is the part before the last dot."""
    return ".".join(map(quote_name, (*qualifier.split("."), name))) if qualifier else quote_name(name)


def feature_comment(text: str, name: str = "") -> str:
    """Return a comment that only a TiDB with the feature executes (TiDB: pkg/parser/format/format.go)."""
    return f"/*T![{name}] {text} */" if name else f"/*T! {text} */"


def join_words(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def if_exists(written: bool) -> str:
    return "IF EXISTS" if written else ""


def if_not_exists(written: bool) -> str:
    return "IF NOT EXISTS" if written else ""


# -- columns and keys --------------------------------------------------------------------------------------------------


CHARACTERS = ("char", "varchar")
TEXTS = ("tinytext", "text", "mediumtext", "longtext")
WIDEST_FLOAT, WIDEST_DOUBLE = 24, 53
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
