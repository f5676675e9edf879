"""The text of an expression as TiDB writes it back.

One law: TiDB's Restore (pkg/parser/ast/{expressions,functions}.go) under the flags of TiCDC's DDL sink: keywords in
capitals, names in back-quotes, strings in single quotes with their charset, no spaces around symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from simulator.tidb import syntax
from simulator.tidb.restore.names import literal, quoted, string

TEMPLATES = {
    "CONVERT": "{} USING {}",
    "ADDDATE": "{}, INTERVAL {} {}",
    "SUBDATE": "{}, INTERVAL {} {}",
    "DATE_ADD": "{}, INTERVAL {} {}",
    "DATE_SUB": "{}, INTERVAL {} {}",
    "EXTRACT": "{} FROM {}",
    "POSITION": "{} IN {}",
}
"""Functions whose arguments are written with words between them."""


def restored(node: syntax.Node) -> str:
    """The text of a node."""
    return _WRITERS[type(node)](node)


def listed(nodes: Iterable[syntax.Node], separator: str = ", ") -> str:
    return separator.join(map(restored, nodes))


def _literal(node: syntax.Literal) -> str:
    if node.kind == "string":
        return literal(node.text, node.charset)
    if node.kind in ("hex", "bit"):
        return f"{'x' if node.kind == 'hex' else 'b'}'{node.text}'"
    if node.kind in ("date", "time", "timestamp"):
        return f"{node.kind.upper()} {literal(node.text)}"
    return node.text.upper() if node.kind in ("boolean", "null") else node.text


def _unary(node: syntax.Unary) -> str:
    space = " " if node.operator.isalpha() else ""
    return f"{node.operator}{space}{restored(node.operand)}"


def _binary(node: syntax.Binary) -> str:
    """Long chains lean to the left, so the left side is walked, not recursed into."""
    parts: list[str] = []
    left: syntax.Node = node
    while isinstance(left, syntax.Binary):
        space = " " if left.operator.isalpha() else ""
        parts.append(f"{space}{left.operator}{space}{restored(left.right)}")
        left = left.left
    return restored(left) + "".join(reversed(parts))


def _call(node: syntax.Call) -> str:
    arguments = [restored(argument) for argument in node.arguments]
    if node.name == "JSON_MEMBEROF":
        return "{} MEMBER OF ({})".format(*arguments)
    schema = f"{quoted(node.schema)}." if node.schema else ""
    name = quoted(node.name) if node.schema else node.name
    return f"{schema}{name}({_arguments(node, arguments)})"


def _arguments(node: syntax.Call, arguments: list[str]) -> str:
    if node.name in TEMPLATES and not node.schema:
        return TEMPLATES[node.name].format(*arguments)
    if node.name == "TRIM" and len(arguments) > 1:
        return " ".join((*(text for text in reversed(arguments[1:]) if text != "NULL"), "FROM", arguments[0]))
    if node.name == "WEIGHT_STRING" and len(arguments) == 3:
        return "{} AS {}({})".format(*arguments)
    return ", ".join(arguments)


def _cast(node: syntax.Cast) -> str:
    if node.convert:
        return f"CONVERT({restored(node.operand)}, {node.type})"
    return f"CAST({restored(node.operand)} AS {node.type})"


def _case(node: syntax.Case) -> str:
    value = f" {restored(node.value)}" if node.value else ""
    branches = "".join(f" WHEN {restored(when)} THEN {restored(then)}" for when, then in node.branches)
    otherwise = f" ELSE {restored(node.otherwise)}" if node.otherwise else ""
    return f"CASE{value}{branches}{otherwise} END"


def _between(node: syntax.Between) -> str:
    return f"{restored(node.operand)}{_not(node)} BETWEEN {restored(node.low)} AND {restored(node.high)}"


def _in(node: syntax.In) -> str:
    first = node.candidates[0]
    alone = (
        len(node.candidates) == 1
        and isinstance(first, syntax.ContextExpression)
        and first.what == "the rows of a subquery"
    )
    candidates = restored(first) if alone else f"({listed(node.candidates, ',')})"
    return f"{restored(node.operand)}{_not(node)} IN {candidates}"


def _pattern(node: syntax.PatternMatch) -> str:
    escape = "" if node.escape == "\\" else f" ESCAPE {string(node.escape)}"
    return f"{restored(node.operand)}{_not(node)} {node.operator} {restored(node.pattern)}{escape}"


def _is(node: syntax.Is) -> str:
    return f"{restored(node.operand)} IS{_not(node)} {node.what}"


def _not(node: syntax.Between | syntax.In | syntax.PatternMatch | syntax.Is) -> str:
    return " NOT" if node.negated else ""


_WRITERS: dict[type[syntax.Node], Callable[[Any], str]] = {
    syntax.Literal: _literal,
    syntax.ColumnName: lambda node: ".".join(map(quoted, node.parts)),
    syntax.Word: lambda node: node.text,
    syntax.Unary: _unary,
    syntax.Binary: _binary,
    syntax.Call: _call,
    syntax.Cast: _cast,
    syntax.Case: _case,
    syntax.Between: _between,
    syntax.In: _in,
    syntax.PatternMatch: _pattern,
    syntax.Is: _is,
    syntax.Collate: lambda node: f"{restored(node.operand)} COLLATE {node.collation}",
    syntax.Parenthesised: lambda node: f"({restored(node.inner)})",
    syntax.RowExpression: lambda node: f"ROW({listed(node.items, ',')})",
    syntax.ContextExpression: lambda node: node.restored,
    syntax.DefaultValue: lambda node: f"DEFAULT({restored(node.column)})" if node.column else "DEFAULT",
    syntax.InsertedValue: lambda node: f"VALUES({restored(node.column)})",
}
