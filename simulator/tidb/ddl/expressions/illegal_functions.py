"""Functions and expressions that generated columns and functional keys may not use (TiDB: pkg/ddl/generated_column.go,
checkIllegalFn4Generated; pkg/expression/function_traits.go)."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.errors import tidb_error, unsupported_error
from simulator.tidb.expressions.registry import argument_counts
from simulator.tidb.expressions.trees import strip_parentheses, walk
from simulator.tidb.parser.expressions.operators import parse_node
from simulator.tidb.parser.splitting import parse_tokens
from simulator.tidb.parser.tokens import tokenize

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
    if any(isinstance(node, syntax.Cast) and node.type.endswith(" ARRAY") for node in walk(tree)):
        raise tidb_error("expression:1235", ARRAYS)


def check_key_functions(key: str, expression: str) -> None:
    tree = parse_or_none(expression)
    if tree is None:
        return
    problem = first_problem(tree, arrays=True)
    if problem:
        raise_problem(problem, "ddl:3758", "ddl:3800", key.lower())
    if any(map(is_unsafe, walk(tree))):
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
    for node in walk(tree):
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
