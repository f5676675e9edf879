"""Expressions in definitions: constants are evaluated, and forbidden functions and columns are refused.

Constants are bounds and members of partitions, and defaults; results are those of TiDB's EvalSimpleAst
(pkg/expression/expression.go). What generated columns and functional keys may not use is listed in
pkg/ddl/generated_column.go, checkIllegalFn4Generated, and pkg/expression/function_traits.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from functools import lru_cache

from simulator.errors import SchemaError, SqlError
from simulator.tidb import syntax
from simulator.tidb.errors import error_with_text, tidb_error, unsupported_error
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.expression import Context
from simulator.tidb.expressions.over_columns import table_expression
from simulator.tidb.expressions.trees import argument_counts, parse_expression, strip_parentheses
from simulator.tidb.model.table import Table
from simulator.tidb.parser.expressions import parse_node
from simulator.tidb.parser.script import parse_tokens
from simulator.tidb.parser.tokens import tokenize

NO_TABLE = Table("", "", ())
TIME_FUNCTIONS = tuple(
    (
        "NOW CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP SYSDATE UTC_TIMESTAMP CURDATE CURRENT_DATE UTC_DATE CURTIME "
        "CURRENT_TIME UTC_TIME"
    ).split()
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
    if (
        isinstance(tree, syntax.Unary)
        and tree.operator == "-"
        and isinstance(strip_parentheses(tree.operand), syntax.Literal)
    ):
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
    tree = parse_or_none(expression)
    if tree is None:
        return
    problem = first_problem(tree, arrays=False)
    if problem:
        raise_problem(problem, "ddl:3102", "ddl:3764", column.lower())
    if any(isinstance(node, syntax.Cast) and node.type.endswith(" ARRAY") for node in syntax.walk(tree)):
        raise tidb_error("expression:1235", ARRAYS)


def check_key_functions(key: str, expression: str) -> None:
    tree = parse_or_none(expression)
    if tree is None:
        return
    problem = first_problem(tree, arrays=True)
    if problem:
        raise_problem(problem, "ddl:3758", "ddl:3800", key.lower())
    if any(map(is_unsafe, syntax.walk(tree))):
        raise unsupported_error(
            "creating expression index containing unsafe functions without allow-expression-index in config"
        )


def is_unsafe(node: syntax.Node) -> bool:
    if isinstance(node, syntax.ContextExpression):
        return node.kind == "a sequence"
    return isinstance(node, syntax.Call) and node.name not in SAFE_IN_KEYS


def parse_or_none(expression: str) -> syntax.Node | None:
    """Return the tree of an expression, or None for invalid text."""
    try:
        return parse_tokens(expression, tokenize(expression), parse_node)
    except (SchemaError, RecursionError):
        return None


def raise_problem(problem: tuple[str, str], functions: str, rows: str, name: str) -> None:
    kind, what = problem
    codes = {"function": functions, "aggregate": "ddl:1111", "row": rows, "window": "ddl:3593"}
    if kind in codes:
        raise tidb_error(codes[kind], name)
    raise tidb_error("expression:1582" if kind == "count" else "expression:1235", what)


ORDER = ("function", "aggregate", "row", "window", "count", "array")


def first_problem(tree: syntax.Node, arrays: bool) -> tuple[str, str] | None:
    """Return the first problem in TiDB's order of kinds, and its subject.

    With `arrays`, the whole expression may be a CAST to an array.
    """
    result = list(problems(tree, arrays))
    return min(result, key=lambda problem: ORDER.index(problem[0]), default=None)


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
