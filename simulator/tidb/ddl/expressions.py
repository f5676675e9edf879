"""Expressions in definitions: constants are evaluated, forbidden functions and columns refused, types inferred.

Constants are bounds and members of partitions, and defaults; results are those of TiDB's EvalSimpleAst
(pkg/expression/expression.go). What generated columns and functional keys may not use is listed in
pkg/ddl/generated_column.go, checkIllegalFn4Generated, and pkg/expression/function_traits.go. Hidden columns:
v8.0.0 pkg/ddl/index.go BuildHiddenColumnInfo; pkg/expression/builtin.go newBaseBuiltinFuncWithTp and
adjustNullFlagForReturnType, builtin_arithmetic.go, builtin_string.go, builtin_cast.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from functools import lru_cache
from typing import NamedTuple

from simulator.errors import DdlError, SchemaError, SqlError
from simulator.tidb import syntax
from simulator.tidb.errors import error_with_text, tidb_error, unsupported_error
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.expression import Context
from simulator.tidb.expressions.over_columns import table_expression
from simulator.tidb.expressions.trees import argument_counts, parse_expression, strip_parentheses
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType, family

NO_TABLE = Table("", "", ())
TIME_FUNCTIONS = frozenset(
    "NOW CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP SYSDATE UTC_TIMESTAMP CURDATE CURRENT_DATE UTC_DATE CURTIME"
    " CURRENT_TIME UTC_TIME".split()
)

UNPLANNED_NODES = {"a subquery": "SubqueryExpr", "a variable": "VariableExpr"}
RANDOM_FUNCTIONS = {"RAND": "real", "UUID": "string"}


@dataclass(frozen=True)
class ConstantValue:
    kind: str
    """`null`, `int`, `uint`, `string`, `bytes` (a hexadecimal or binary literal), `decimal`, `real`, `moment`, or
    `unknown` for a value that cannot be computed here."""

    text: str = ""


NULL = ConstantValue("null")


@lru_cache(4096)
def evaluate_constant(expression: str) -> ConstantValue:
    """Return the value of an expression. Raises DdlError 1054 for a column in it."""
    tree = strip_parentheses(parse_expression(expression))
    for node in syntax.walk(tree):
        if isinstance(node, syntax.ContextExpression) and node.kind in UNPLANNED_NODES:
            raise error_with_text(
                "ddl:1105",
                f"node '*ast.{UNPLANNED_NODES[node.kind]}' is not allowed when building an expression without planner",
            )
    for name in syntax.names_in(tree):
        raise tidb_error("ddl:1054", name.parts[-1], "expression")
    return literal_constant(tree) or computed_constant(expression, tree)


def constant_in_zone(expression: str, zone: tzinfo) -> str:
    """Return an expression, or the number that it is if it is UNIX_TIMESTAMP of a moment, which depends on the session's
    time zone."""
    if "UNIX_TIMESTAMP" not in expression.upper():
        return expression
    name = str(zone).removeprefix("UTC") or "UTC"
    value = computed_constant(expression, strip_parentheses(parse_expression(expression)), name)
    return value.text if value.kind == "int" else expression


def literal_constant(tree: syntax.Node) -> ConstantValue | None:
    """Return the value of a literal; None for another expression."""
    sign = ""
    if isinstance(tree, syntax.Unary) and tree.operator == "-":
        sign, tree = "-", strip_parentheses(tree.operand)
    if not isinstance(tree, syntax.Literal):
        return None
    if tree.kind == "integer":
        number = int(sign + tree.text)
        return ConstantValue("int" if -1 << 63 <= number < 1 << 63 else "uint", str(number))
    if sign:
        return None
    if tree.kind == "boolean":
        return ConstantValue("int", "1" if tree.text.upper() == "TRUE" else "0")
    if tree.kind == "null":
        return NULL
    kind = {"string": "string", "hex": "bytes", "bit": "bytes", "decimal": "decimal", "float": "real"}.get(tree.kind)
    return ConstantValue(kind or "moment", tree.text)


CONSTANT_KINDS = {
    "bool": "int",
    **{kind: kind for kind in ("int", "uint", "string", "decimal", "real", "null")},
    **dict.fromkeys(("date", "datetime", "time"), "moment"),
}


def computed_constant(expression: str, tree: syntax.Node, zone: str = "UTC") -> ConstantValue:
    if isinstance(tree, syntax.Call) and tree.name in TIME_FUNCTIONS:
        return ConstantValue("moment")
    if isinstance(tree, syntax.Call) and tree.name in RANDOM_FUNCTIONS:
        return ConstantValue(RANDOM_FUNCTIONS[tree.name])
    try:
        value = table_expression(NO_TABLE, expression)
        result = as_text(value)((), Context(zone=zone))
    except (SchemaError, SqlError):
        return ConstantValue("unknown")
    if result is None:
        return NULL
    if isinstance(tree, syntax.Call) and tree.name == "UNIX_TIMESTAMP" and not str(result).partition(".")[2].strip("0"):
        return ConstantValue("int", str(result).partition(".")[0])
    return ConstantValue(CONSTANT_KINDS.get(value.kind, "unknown"), str(result))


ILLEGAL = frozenset(
    "CONNECTION_ID LOAD_FILE LAST_INSERT_ID RAND UUID UUID_SHORT CURDATE CURRENT_DATE CURTIME CURRENT_TIME"
    " CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP NOW UNIX_TIMESTAMP UTC_DATE UTC_TIME UTC_TIMESTAMP BENCHMARK"
    " CURRENT_USER DATABASE FOUND_ROWS GET_LOCK IS_FREE_LOCK IS_USED_LOCK MASTER_POS_WAIT NAME_CONST RELEASE_LOCK"
    " ROW_COUNT SCHEMA SESSION_USER SLEEP SYSDATE SYSTEM_USER USER ENCRYPT VERSION JSON_MERGE"
    " RELEASE_ALL_LOCKS".split()
)

SAFE_IN_KEYS = frozenset(
    "LOWER UPPER MD5 REVERSE VITESS_HASH TIDB_SHARD JSON_TYPE JSON_EXTRACT JSON_UNQUOTE JSON_ARRAY JSON_OBJECT"
    " JSON_SET JSON_INSERT JSON_REPLACE JSON_REMOVE JSON_CONTAINS JSON_CONTAINS_PATH JSON_VALID JSON_ARRAY_APPEND"
    " JSON_ARRAY_INSERT JSON_MERGE_PATCH JSON_MERGE_PRESERVE JSON_PRETTY JSON_QUOTE JSON_SEARCH JSON_STORAGE_SIZE"
    " JSON_DEPTH JSON_KEYS JSON_LENGTH".split()
)
"""Other functions need allow-expression-index (TiDB: GAFunction4ExpressionIndex)."""

ARRAYS = (
    "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in general"
    " expressions"
)
FORBIDDEN = ("a subquery", "the rows of a subquery", "EXISTS", "NOT EXISTS", "a variable")


def check_generated_functions(column: str, expression: str) -> None:
    tree = parse_expression(expression)
    if problem := first_problem(tree, arrays=False):
        raise problem_error(problem, "ddl:3102", "ddl:3764", column.lower())
    if any(isinstance(node, syntax.Cast) and node.type.endswith(" ARRAY") for node in syntax.walk(tree)):
        raise tidb_error("expression:1235", ARRAYS)


def check_key_functions(key: str, expression: str) -> None:
    tree = parse_expression(expression)
    if problem := first_problem(tree, arrays=True):
        raise problem_error(problem, "ddl:3758", "ddl:3800", key.lower())
    if any(map(is_unsafe, syntax.walk(tree))):
        raise unsupported_error(
            "creating expression index containing unsafe functions without allow-expression-index in config"
        )


def is_unsafe(node: syntax.Node) -> bool:
    if isinstance(node, syntax.ContextExpression):
        return node.kind == "a sequence"
    return isinstance(node, syntax.Call) and node.name not in SAFE_IN_KEYS


def problem_error(problem: tuple[str, str], function: str, row: str, name: str) -> DdlError:
    """Return the error of a problem: of a function and of a row with these codes."""
    kind, what = problem
    codes = {"function": function, "aggregate": "ddl:1111", "row": row, "window": "ddl:3593"}
    if kind in codes:
        return tidb_error(codes[kind], name)
    return tidb_error("expression:1582" if kind == "count" else "expression:1235", what)


ORDER = ("function", "aggregate", "row", "window", "count", "array")


def first_problem(tree: syntax.Node, arrays: bool) -> tuple[str, str] | None:
    """Return the first problem in TiDB's order of kinds, and its subject.

    With `arrays`, the whole expression may be a CAST to an array.
    """
    return min(problems(tree, arrays), key=lambda problem: ORDER.index(problem[0]), default=None)


def problems(tree: syntax.Node, arrays: bool) -> Iterator[tuple[str, str]]:
    outermost = strip_parentheses(tree)
    for node in syntax.walk(tree):
        match node:
            case syntax.Call():
                yield from call_problems(node)
            case syntax.ContextExpression(kind=kind) if kind in FORBIDDEN:
                yield "function", kind
            case syntax.ContextExpression(kind="an aggregate function" as kind):
                yield "aggregate", kind
            case syntax.ContextExpression(kind="a window function" as kind):
                yield "window", kind
            case syntax.InsertedValue():
                yield "function", "VALUES"
            case syntax.RowExpression():
                yield "row", ""
            case syntax.Cast(type=type) if type.endswith(" ARRAY") and node is not outermost and arrays:
                yield "array", ARRAYS


def call_problems(call: syntax.Call) -> Iterator[tuple[str, str]]:
    if call.name == "GROUPING":
        yield "aggregate", call.name
        return
    counts = argument_counts(call.name)
    if counts is None or call.name in ILLEGAL:
        yield "function", call.name
    elif not counts[0] <= len(call.arguments) <= counts[1]:
        yield "count", call.name.lower()


# -- hidden columns of functional indexes ------------------------------------------------------------------------------


CONNECTION, BYTES = ("utf8mb4", "utf8mb4_bin"), ("binary", "binary")
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
    """Return the hidden columns that TiDB adds to a table; None if the type of one of them is not known."""
    columns = {column.name.lower(): column for column in table.columns}
    found = []
    for part in (part for index in table.indexes for part in index.columns if part.expression):
        result = _result(parse_expression(part.expression), columns)
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
    charset = CONNECTION if name == "CHAR" else BYTES
    return _Result(_string(length, *charset), operand.not_null)


def _array(element: str) -> _Result | None:
    """Return the type of a JSON array, which keeps length, charset and sign of its elements (tidb v8.0.0
    pkg/parser/types/field_type.go GetType, pkg/parser/mysql/util.go defaultLengthAndDecimalForCast)."""
    name, _, length = element.rstrip(")").partition("(")
    charset = CONNECTION if name == "CHAR" else BYTES
    size = int(length) if name == "CHAR" else ARRAY_LENGTHS.get(name)
    if size is None or name != "CHAR" and length:
        return None
    return _Result(ColumnType("json", size, 0, name == "UNSIGNED", charset=charset[0], collation=charset[1]), False)


def _string(length: int, charset: str, collation: str) -> ColumnType:
    return VarString("varchar", length, charset=charset, collation=collation)
