"""Evaluation of constant expressions: bounds and members of partitions, and defaults.

Results are those of TiDB's EvalSimpleAst (TiDB: pkg/expression/expression.go).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from functools import lru_cache

from simulator.errors import SchemaError, SqlError
from simulator.tidb import syntax
from simulator.tidb.errors import error_with_text, tidb_error
from simulator.tidb.expressions.context import Context
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.tables import table_expression
from simulator.tidb.expressions.trees import parse_expression, strip_parentheses, walk
from simulator.tidb.model.table import Table

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
    for node in walk(tree):
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
    "int": "int",
    "uint": "uint",
    "string": "string",
    "decimal": "decimal",
    "real": "real",
    "date": "moment",
    "datetime": "moment",
    "time": "moment",
    "null": "null",
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
