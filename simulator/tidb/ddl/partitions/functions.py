"""Checks of partitioning expressions: functions, columns and type (TiDB: pkg/ddl/partition.go, checkPartitionFuncValid,
checkPartitionFuncType; pkg/expression/function_traits.go)."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.tidb import syntax
from simulator.tidb.ddl.expressions.illegal_functions import parse_or_none
from simulator.tidb.ddl.lookups import existing_column
from simulator.tidb.errors import tidb_error
from simulator.tidb.expressions.trees import strip_parentheses, walk
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family

DATE_FUNCTIONS = frozenset(
    "TO_DAYS TO_SECONDS DAYOFMONTH MONTH DAYOFYEAR QUARTER YEARWEEK YEAR WEEKDAY DAYOFWEEK DAY".split()
)
TIME_FUNCTIONS = frozenset(("HOUR", "MINUTE", "SECOND", "TIME_TO_SEC", "MICROSECOND"))
NUMBER_FUNCTIONS = frozenset(("ABS", "CEILING", "FLOOR", "MOD"))
ALLOWED = DATE_FUNCTIONS | TIME_FUNCTIONS | NUMBER_FUNCTIONS | {"UNIX_TIMESTAMP", "FROM_DAYS", "EXTRACT", "DATEDIFF"}
OPERATORS = ("+", "-", "*", "DIV", "%")
DATE_UNITS = ("YEAR", "YEAR_MONTH", "QUARTER", "MONTH", "DAY")
DAY_UNITS = ("DAY_MICROSECOND", "DAY_HOUR", "DAY_MINUTE", "DAY_SECOND")
DATES, TIMES = ("date", "datetime"), ("time", "datetime")
ARGUMENT_TYPES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(DATE_FUNCTIONS, DATES),
    **dict.fromkeys(TIME_FUNCTIONS, TIMES),
    "UNIX_TIMESTAMP": ("timestamp",),
    "FROM_DAYS": (*DATES, "time"),
}
"""Types of which one argument at least must be a column."""


def check_partition_function(expression: str, table: Table) -> None:
    tree = parse_or_none(expression)
    columns = 0
    for node in walk(tree) if tree is not None else ():
        if isinstance(node, syntax.Call):
            check_arguments(node, table)
        check_allowed(node, table)
        if isinstance(node, syntax.ColumnName):
            named_column(node, table)
            columns += 1
    if not columns:
        raise tidb_error("ddl:1486")


def named_column(node: syntax.ColumnName, table: Table) -> Column:
    name = node.parts[-1]
    return existing_column(table, name, tidb_error("ddl:1054", name.lower(), "partition function"))


def column_types(nodes: tuple[syntax.Node, ...], table: Table) -> list[str]:
    return [named_column(node, table).type.name for node in nodes if isinstance(node, syntax.ColumnName)]


def check_arguments(call: syntax.Call, table: Table) -> None:
    """Raise DdlError for a function of time whose argument is no such column, or a number from a TIMESTAMP."""
    types = set(column_types(call.arguments, table))
    if call.name in ARGUMENT_TYPES:
        right = not types.isdisjoint(ARGUMENT_TYPES[call.name])
    elif call.name == "EXTRACT":
        unit = call.arguments[0]
        right = fits_unit(unit.text.upper() if isinstance(unit, syntax.Word) else "", types)
    elif call.name == "DATEDIFF":
        right = types.issubset(DATES)
    else:
        right = call.name not in NUMBER_FUNCTIONS or "timestamp" not in types
    if not right:
        raise tidb_error("ddl:1486")


def fits_unit(unit: str, types: set[str]) -> bool:
    if unit in DAY_UNITS:
        return "datetime" in types
    return unit != "WEEK" and not types.isdisjoint(DATES if unit in DATE_UNITS else TIMES)


def check_allowed(node: syntax.Node, table: Table) -> None:
    """Raise DdlError for a node that is not allowed (TiDB: checkPartitionExprAllowed)."""
    operands: tuple[syntax.Node, ...] = ()
    match node:
        case syntax.Binary(operator, left, right) if operator in OPERATORS:
            operands = (left, right)
        case syntax.Unary("+" | "-", operand):
            operands = (operand,)
        case syntax.Call(name) if name in ALLOWED:
            pass
        case syntax.ColumnName() | syntax.Parenthesised() | syntax.Literal() | syntax.Word():
            pass
        case _:
            raise tidb_error("ddl:1564")
    if "timestamp" in column_types(operands, table):
        raise tidb_error("ddl:1486")


def check_function_type(expression: str, table: Table) -> None:
    tree = parse_or_none(expression)
    kind = kind_of(tree, table) if tree is not None else INT
    if kind in (INT, UNSIGNED):
        return
    if isinstance(tree, syntax.ColumnName):
        raise tidb_error("ddl:1659", tree.parts[-1].lower())
    raise tidb_error("ddl:1491", "PARTITION")


def is_unsigned(expression: str, table: Table) -> bool:
    """Return whether the expression is unsigned (TiDB: isPartExprUnsigned)."""
    tree = parse_or_none(expression)
    return tree is not None and kind_of(tree, table) == UNSIGNED


INT, UNSIGNED, DECIMAL, REAL, OTHER = "int", "unsigned", "decimal", "real", "other"
ORDER = (INT, UNSIGNED, DECIMAL, REAL)
"""The result of an operator has the later kind of its operands."""


def kind_of(node: syntax.Node, table: Table) -> str:
    """Return the kind of an expression's result (TiDB: pkg/expression/builtin_arithmetic.go, builtin_math.go)."""
    match node:
        case syntax.Parenthesised(inner):
            return kind_of(inner, table)
        case syntax.ColumnName():
            return column_kind(named_column(node, table))
        case syntax.Unary("-", operand):
            kind = kind_of(operand, table)
            return {OTHER: REAL, UNSIGNED: INT}.get(kind, kind)
        case syntax.Unary(_, operand):
            return kind_of(operand, table)
        case syntax.Binary(operator, left, right):
            kinds = number_kind(left, table), number_kind(right, table)
            if operator == "DIV":
                return UNSIGNED if UNSIGNED in kinds else INT
            whole = REAL not in kinds and DECIMAL not in kinds
            return kinds[0] if operator == "%" and whole else max(kinds, key=ORDER.index)
        case syntax.Call():
            return call_kind(node, table)
        case syntax.Literal(kind):
            return LITERALS.get(kind, REAL)
    return INT


LITERALS = {"integer": INT, "decimal": DECIMAL, "float": REAL, "string": REAL, "boolean": INT, "null": INT}


def column_kind(column: Column) -> str:
    type, kind = column.type, family(column.type)
    if kind in ("integer", "year", "bit"):
        return UNSIGNED if type.unsigned or kind != "integer" else INT
    return {"decimal": DECIMAL, "float": REAL}.get(kind, OTHER)


def number_kind(node: syntax.Node, table: Table) -> str:
    """Return the kind of an operand as a number; times without digits of a second are integers."""
    kind = kind_of(node, table)
    if kind != OTHER:
        return kind
    node = strip_parentheses(node)
    if isinstance(node, syntax.ColumnName):
        type = named_column(node, table).type
        if family(type) in ("date", "datetime", "time"):
            return DECIMAL if type.decimal > 0 else INT
    return INT if isinstance(node, syntax.Call) else REAL


def call_kind(call: syntax.Call, table: Table) -> str:
    if call.name == "FROM_DAYS":
        return OTHER
    if call.name == "UNIX_TIMESTAMP":
        columns = [named_column(node, table) for node in call.arguments if isinstance(node, syntax.ColumnName)]
        return DECIMAL if any(column.type.decimal > 0 for column in columns) else INT
    if call.name not in NUMBER_FUNCTIONS:
        return INT
    kind = number_kind(call.arguments[0], table)
    return INT if call.name in ("CEILING", "FLOOR") and kind == DECIMAL else kind
