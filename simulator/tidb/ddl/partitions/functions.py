"""The expression that says which partition a row is in: its functions, its columns and its type (TiDB:
pkg/ddl/partition.go, checkPartitionFuncValid, checkPartitionFuncType; pkg/expression/function_traits.go)."""

from __future__ import annotations

from simulator.tidb.ddl.alteration import column_named
from simulator.tidb.ddl.expressions.illegal_functions import tree_of, within
from simulator.tidb.ddl.tidb_errors import tidb
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family
from simulator.tidb.syntax.expressions import Binary, Call, ColumnName, Literal, Node, Parenthesised, Unary, Word

OF_DATES = frozenset(
    (
        "TO_DAYS",
        "TO_SECONDS",
        "DAYOFMONTH",
        "MONTH",
        "DAYOFYEAR",
        "QUARTER",
        "YEARWEEK",
        "YEAR",
        "WEEKDAY",
        "DAYOFWEEK",
        "DAY",
    )
)
OF_TIMES = frozenset(("HOUR", "MINUTE", "SECOND", "TIME_TO_SEC", "MICROSECOND"))
OF_NUMBERS = frozenset(("ABS", "CEILING", "FLOOR", "MOD"))
ALLOWED = OF_DATES | OF_TIMES | OF_NUMBERS | {"UNIX_TIMESTAMP", "FROM_DAYS", "EXTRACT", "DATEDIFF"}
OPERATORS = ("+", "-", "*", "DIV", "%")
DATE_UNITS = ("YEAR", "YEAR_MONTH", "QUARTER", "MONTH", "DAY")
DAY_UNITS = ("DAY_MICROSECOND", "DAY_HOUR", "DAY_MINUTE", "DAY_SECOND")
DATES, TIMES = ("date", "datetime"), ("time", "datetime")


def check_partition_function(expression: str, table: Table) -> None:
    """Raises DdlError for an expression that may not spread rows."""
    tree = tree_of(expression)
    columns = 0
    for node in within(tree) if tree is not None else ():
        if isinstance(node, Call):
            check_arguments(node, table)
        check_allowed(node, table)
        if isinstance(node, ColumnName):
            existing(node, table)
            columns += 1
    if not columns:
        raise tidb("ddl:1486")


def existing(node: ColumnName, table: Table) -> Column:
    column = column_named(table, node.parts[-1])
    if column is None:
        raise tidb("ddl:1054", node.parts[-1].lower(), "partition function")
    return column


def types_of(nodes: tuple[Node, ...], table: Table) -> list[str]:
    """The types of those that are columns."""
    return [existing(node, table).type.name for node in nodes if isinstance(node, ColumnName)]


def check_arguments(call: Call, table: Table) -> None:
    """A function of time takes a column of its kind; numbers take no TIMESTAMP."""
    types = types_of(call.arguments, table)
    if call.name in OF_DATES:
        right = any(type in DATES for type in types)
    elif call.name in OF_TIMES:
        right = any(type in TIMES for type in types)
    elif call.name == "UNIX_TIMESTAMP":
        right = "timestamp" in types
    elif call.name == "FROM_DAYS":
        right = any(type in (*DATES, "time") for type in types)
    elif call.name == "EXTRACT":
        unit = call.arguments[0]
        right = fits_unit(unit.text.upper() if isinstance(unit, Word) else "", types)
    elif call.name == "DATEDIFF":
        right = all(type in DATES for type in types)
    else:
        right = call.name not in OF_NUMBERS or "timestamp" not in types
    if not right:
        raise tidb("ddl:1486")


def fits_unit(unit: str, types: list[str]) -> bool:
    if unit in DATE_UNITS:
        return any(type in DATES for type in types)
    if unit in DAY_UNITS:
        return "datetime" in types
    return unit != "WEEK" and any(type in TIMES for type in types)


def check_allowed(node: Node, table: Table) -> None:
    """TiDB: checkPartitionExprAllowed."""
    if isinstance(node, Call) and node.name in ALLOWED:
        return
    if isinstance(node, Binary) and node.operator in OPERATORS:
        operands: tuple[Node, ...] = (node.left, node.right)
    elif isinstance(node, Unary) and node.operator in ("+", "-"):
        operands = (node.operand,)
    elif isinstance(node, (ColumnName, Parenthesised, Literal, Word)):
        return
    else:
        raise tidb("ddl:1564")
    if "timestamp" in types_of(operands, table):
        raise tidb("ddl:1486")


def check_function_type(expression: str, table: Table) -> None:
    """It gives whole numbers."""
    tree = tree_of(expression)
    kind = kind_of(tree, table) if tree is not None else INT
    if kind in (INT, UNSIGNED):
        return
    if isinstance(tree, ColumnName):
        raise tidb("ddl:1659", tree.parts[-1].lower())
    raise tidb("ddl:1491", "PARTITION")


def is_unsigned(expression: str, table: Table) -> bool:
    """Whether the expression gives numbers without a sign (TiDB: isPartExprUnsigned)."""
    tree = tree_of(expression)
    return tree is not None and kind_of(tree, table) == UNSIGNED


INT, UNSIGNED, DECIMAL, REAL, OTHER = "int", "unsigned", "decimal", "real", "other"
ORDER = (INT, UNSIGNED, DECIMAL, REAL)
"""Of two operands the later kind is the result's."""


def kind_of(node: Node, table: Table) -> str:
    """The kind of what an allowed expression gives (TiDB: pkg/expression/builtin_arithmetic.go, builtin_math.go)."""
    if isinstance(node, Parenthesised):
        return kind_of(node.inner, table)
    if isinstance(node, ColumnName):
        return column_kind(existing(node, table))
    if isinstance(node, Unary):
        kind = kind_of(node.operand, table)
        if kind == OTHER and node.operator == "-":
            return REAL
        return INT if kind == UNSIGNED and node.operator == "-" else kind
    if isinstance(node, Binary):
        kinds = number_kind(node.left, table), number_kind(node.right, table)
        if node.operator == "DIV":
            return UNSIGNED if UNSIGNED in kinds else INT
        return (
            kinds[0]
            if node.operator == "%" and REAL not in kinds and DECIMAL not in kinds
            else max(kinds, key=ORDER.index)
        )
    if isinstance(node, Call):
        return call_kind(node, table)
    return LITERALS.get(node.kind, REAL) if isinstance(node, Literal) else INT


LITERALS = {"integer": INT, "decimal": DECIMAL, "float": REAL, "string": REAL, "boolean": INT, "null": INT}


def column_kind(column: Column) -> str:
    type, kind = column.type, family(column.type)
    if kind in ("integer", "year", "bit"):
        return UNSIGNED if type.unsigned or kind != "integer" else INT
    return {"decimal": DECIMAL, "float": REAL}.get(kind, OTHER)


def number_kind(node: Node, table: Table) -> str:
    """The kind of an operand as a number: times are whole where they have no digits of a second."""
    kind = kind_of(node, table)
    while isinstance(node, Parenthesised):
        node = node.inner
    if kind != OTHER:
        return kind
    if isinstance(node, ColumnName):
        type = existing(node, table).type
        if family(type) in ("date", "datetime", "time"):
            return DECIMAL if type.decimal > 0 else INT
    return INT if isinstance(node, Call) else REAL


def call_kind(call: Call, table: Table) -> str:
    if call.name == "FROM_DAYS":
        return OTHER
    if call.name == "UNIX_TIMESTAMP":
        columns = [existing(node, table) for node in call.arguments if isinstance(node, ColumnName)]
        return DECIMAL if any(column.type.decimal > 0 for column in columns) else INT
    if call.name not in OF_NUMBERS:
        return INT
    kind = number_kind(call.arguments[0], table)
    return INT if call.name in ("CEILING", "FLOOR") and kind == DECIMAL else kind
