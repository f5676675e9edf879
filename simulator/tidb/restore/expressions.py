"""Restore expressions, names and strings, as TiDB's Restore does under the flags of TiCDC's DDL sink.

Keywords are in upper case, names in back-quotes, strings in single quotes with their charset, without spaces around
symbols (pkg/parser/ast/{expressions,functions}.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
