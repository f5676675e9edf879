"""The hidden columns of functional indexes, which TiDB adds to a table, with the types that it infers for expressions.

Sources: tidb v8.0.0 pkg/ddl/index.go BuildHiddenColumnInfo; pkg/expression/builtin.go newBaseBuiltinFuncWithTp and
adjustNullFlagForReturnType, builtin_arithmetic.go, builtin_string.go, builtin_cast.go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from simulator.tidb import syntax
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import CHARSETS, ColumnType, family

CONNECTION = ("utf8mb4", "utf8mb4_bin")
INT_WIDTH, REAL_WIDTH, DECIMAL_WIDTH, DECIMAL_SCALE = 20, 23, 65, 30
ARRAY_LENGTHS = {"SIGNED": 22, "UNSIGNED": 22, "DOUBLE": 22, "DATE": 10, "DATETIME": 19, "TIME": 10}
KEEPS_LENGTH = ("LOWER", "LCASE", "UPPER", "UCASE")


@dataclass(frozen=True)
class VarString(ColumnType):
    """VAR_STRING, the type of strings that functions return; no other column has it. Its name here is `varchar`."""


class _Result(NamedTuple):
    type: ColumnType
    not_null: bool


@lru_cache(maxsize=1024)
def hidden_columns(table: Table) -> tuple[Column, ...] | None:
    """Return the hidden columns; None if the type of one of them is not known."""
    from simulator.tidb.ddl.expressions import parse_or_none  # imports sqlglot, which few tables need

    columns = {column.name.lower(): column for column in table.columns}
    found = []
    for part in (part for index in table.indexes for part in index.columns if part.expression):
        tree = parse_or_none(part.expression)
        result = None if tree is None else _result(tree, columns)
        if result is None:
            return None
        found.append(
            Column(part.name, result.type, result.not_null, generated="virtual", generated_expression=part.expression)
        )
    return tuple(found)


def _result(node: syntax.Node, columns: dict[str, Column]) -> _Result | None:
    match node:
        case syntax.Parenthesised():
            return _result(node.inner, columns)
        case syntax.ColumnName():
            column = columns.get(node.parts[-1].lower())
            return None if column is None else _Result(column.type, column.not_null)
        case syntax.Literal("integer"):
            return _Result(ColumnType("bigint", len(node.text), 0), True)
        case syntax.Literal("decimal"):
            whole, _, digits = node.text.partition(".")
            return _Result(ColumnType("decimal", len(whole) + len(digits), len(digits)), True)
        case syntax.Binary("+" | "-" | "*"):
            return _arithmetic(node.operator, _result(node.left, columns), _result(node.right, columns))
        case syntax.Call() if node.name in KEEPS_LENGTH and len(node.arguments) == 1:
            return _as_string(_result(node.arguments[0], columns))
        case syntax.Cast():
            return _cast(node.type, _result(node.operand, columns))
    return None


def _arithmetic(operator: str, left: _Result | None, right: _Result | None) -> _Result | None:
    if left is None or right is None:
        return None
    kinds = {family(left.type), family(right.type)}
    not_null = left.not_null and right.not_null
    if kinds == {"integer"}:
        unsigned = left.type.unsigned or right.type.unsigned
        return _Result(ColumnType("bigint", INT_WIDTH, 0, unsigned), not_null)
    if not kinds <= {"integer", "decimal", "float"}:
        return None
    is_real = "float" in kinds
    scales = [0 if family(each.type) == "integer" else each.type.decimal for each in (left, right)]
    if min(scales) < 0:
        return None  # TiDB knows no length of it
    whole = [max(each.type.length, 0) - scale for each, scale in zip((left, right), scales, strict=True)]
    scale = sum(scales) if operator == "*" else max(scales)
    scale = scale if is_real else min(scale, DECIMAL_SCALE)
    length = sum(whole) + scale if operator == "*" else max(whole) + scale + 1
    if is_real:
        return _Result(ColumnType("double", min(length, REAL_WIDTH), scale), not_null)
    return _Result(ColumnType("decimal", min(length, DECIMAL_WIDTH), scale), not_null)


def _as_string(argument: _Result | None) -> _Result | None:
    """Return the type of a function whose result is as long as its argument, which is cast to a string."""
    if argument is None:
        return None
    type, kind = argument.type, family(argument.type)
    if kind in ("string", "text"):
        return _Result(_string(type.length, type.charset, type.collation), argument.not_null)
    length = {"integer": INT_WIDTH, "decimal": type.length + 3}.get(kind)
    return None if length is None else _Result(_string(length, *CONNECTION), argument.not_null)


def _cast(target: str, operand: _Result | None) -> _Result | None:
    if target.endswith(" ARRAY"):
        return _array(target.removesuffix(" ARRAY"))
    found = re.fullmatch(r"(CHAR|BINARY|SIGNED|UNSIGNED|DECIMAL)(?:\((\d+)(?:,\s*(\d+))?\))?", target)
    if operand is None or found is None:
        return None
    name, length, scale = found[1], int(found[2] or -1), int(found[3] or 0)
    if name in ("SIGNED", "UNSIGNED"):
        return _Result(ColumnType("bigint", INT_WIDTH, 0, name == "UNSIGNED"), operand.not_null)
    if name == "DECIMAL":
        return _Result(ColumnType("decimal", length if length > 0 else 10, scale), operand.not_null)
    if length < 0:
        return None
    charset = CONNECTION if name == "CHAR" else ("binary", CHARSETS["binary"][0])
    return _Result(_string(length, *charset), operand.not_null)


def _array(element: str) -> _Result | None:
    """Return the type of a JSON array, which keeps length, charset and sign of its elements (tidb v8.0.0
    pkg/parser/types/field_type.go GetType, pkg/parser/mysql/util.go defaultLengthAndDecimalForCast)."""
    name, _, length = element.rstrip(")").partition("(")
    charset = CONNECTION if name == "CHAR" else ("binary", CHARSETS["binary"][0])
    size = int(length) if name == "CHAR" else ARRAY_LENGTHS.get(name)
    if size is None or name != "CHAR" and length:
        return None
    return _Result(ColumnType("json", size, 0, name == "UNSIGNED", charset=charset[0], collation=charset[1]), False)


def _string(length: int, charset: str, collation: str) -> ColumnType:
    return VarString("varchar", length, charset=charset, collation=collation)
