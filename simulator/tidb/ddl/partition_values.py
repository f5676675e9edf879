"""Checks of partitions: the partitioning expression, and the types, order and duplicates of bounds and members.

Sources: TiDB pkg/ddl/partition.go (checkPartitionFuncValid, checkPartitionFuncType, checkPartitionValuesIsInt,
checkRangePartitionValue, checkListPartitionValue), pkg/ddl/ddl_api.go (checkAndGetColumnsTypeAndValuesMatch,
checkRangeColumnsPartitionValue), pkg/expression/function_traits.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa

from simulator.errors import SchemaError
from simulator.tidb import collations, syntax
from simulator.tidb.ddl.catalog import existing_column
from simulator.tidb.ddl.column_definitions import is_valid_literal
from simulator.tidb.ddl.defaults import value_text
from simulator.tidb.ddl.expressions import NO_TABLE, ConstantValue, evaluate_constant
from simulator.tidb.errors import tidb_error
from simulator.tidb.expressions.trees import parse_expression, strip_parentheses
from simulator.tidb.model.table import Column, Partition, Partitioning, Table
from simulator.tidb.model.types import family

MAXVALUE, DEFAULT = "MAXVALUE", ("DEFAULT",)
COLUMN_CONSTANT_KINDS = {
    "integer": ("int", "uint", "null", "unknown"),
    **dict.fromkeys(("date", "datetime", "time"), ("string", "null", "unknown")),
}
"""Kinds of constants by type of the column of RANGE COLUMNS or LIST COLUMNS."""

WRAP = 1 << 64


def check_types(partition: Partition, partitioning: Partitioning, table: Table) -> None:
    for values in partition.values:
        for place, text in enumerate(values if values != DEFAULT else ()):
            if text == MAXVALUE:
                continue
            if partitioning.columns:
                check_column_value(evaluate_constant(text), column_of(partitioning, place, table))
            else:
                check_number(evaluate_constant(text), partition.name, is_unsigned(partitioning.expression, table))
    check_functions(partition)


def check_functions(partition: Partition) -> None:
    for text in {text for values in partition.values for text in values}:
        for node in syntax.walk(parse_expression(text)) if text not in (MAXVALUE, *DEFAULT) else ():
            check_allowed(node, NO_TABLE)


def check_number(value: ConstantValue, partition: str, unsigned: bool) -> None:
    if value.kind == "int" and unsigned and int(value.text) < 0:
        raise tidb_error("ddl:1563")
    if value.kind not in ("int", "uint", "null", "unknown"):
        raise tidb_error("ddl:1697", partition)


def check_column_value(value: ConstantValue, column: Column) -> None:
    kind = family(column.type)
    if value.kind not in COLUMN_CONSTANT_KINDS.get(kind, (value.kind,)):
        raise tidb_error("ddl:1654")
    if column.type.name == "char" and value.kind not in ("string", "bytes", "null", "unknown"):
        raise tidb_error("ddl:1654")
    if value.kind not in ("null", "unknown") and stored_text(value, column) is None:
        raise tidb_error("ddl:1654")


def stored_text(value: ConstantValue, column: Column) -> str | None:
    """Return the constant as TiDB text of the column; None if it is no value of the column."""
    default = syntax.ColumnDefault("string" if value.kind in ("string", "bytes") else "number", value.text)
    try:
        text = value_text(default, column.type)
    except SchemaError:
        return None
    return text if text is not None and is_valid_literal(text, column.type) else None


def column_of(partitioning: Partitioning, place: int, table: Table) -> Column:
    return existing_column(table, partitioning.columns[place], tidb_error("ddl:1488"))


def check_bounds(partitioning: Partitioning, table: Table, as_tuples: bool) -> Partitioning:
    """Return RANGE partitioning with evaluated bounds. Raises DdlError for bounds that do not increase."""
    if partitioning.columns:
        for lower, upper in pairwise(partitioning.partitions):
            if not is_above(upper.values[0], lower.values[0], partitioning, table, as_tuples):
                raise tidb_error("ddl:1493")
        return partitioning
    partitions = partitioning.partitions
    last = partitions[-1:] if partitions and partitions[-1].values[0][0] == MAXVALUE else ()
    unsigned = is_unsigned(partitioning.expression, table)
    written, before = [], None
    for partition in partitions[: len(partitions) - len(last)]:
        text = partition.values[0][0]
        if text == MAXVALUE:
            raise tidb_error("ddl:1481")
        number = integer_bound(text, unsigned)
        if before is not None and number is not None and number <= before:
            raise tidb_error("ddl:1493")
        before = number if number is not None else before
        written.append(replace(partition, values=((text if number is None else str(number),),)))
    return replace(partitioning, partitions=(*written, *last))


def integer_bound(text: str, unsigned: bool) -> int | None:
    """Return a bound as the number that TiDB compares; None if it cannot be computed here."""
    value = evaluate_constant(text)
    if value.kind == "null":
        raise tidb_error("ddl:1659", text)
    if value.kind == "unknown":
        return None
    number = int(value.text)
    if unsigned:
        return number % WRAP
    return (number + WRAP // 2) % WRAP - WRAP // 2


def is_above(
    upper: Sequence[str], lower: Sequence[str], partitioning: Partitioning, table: Table, as_tuples: bool
) -> bool:
    """Return whether a bound of RANGE COLUMNS is above the one before it (TiDB: checkTwoRangeColumns).

    Unless `as_tuples`, the first greater column decides, even if columns before it are less.
    """
    for place, (high, low) in enumerate(zip(upper, lower)):
        if high == MAXVALUE and low != MAXVALUE:
            return True
        if low == MAXVALUE:
            return False
        column = column_of(partitioning, place, table)
        left, right = (sort_key(evaluate_constant(text), column) for text in (high, low))
        if left is None or right is None:
            return left is right is None and high != low
        if left > right:
            return True
        if as_tuples and left < right:
            return False
    return False


def sort_key(value: ConstantValue, column: Column) -> bytes | None:
    """Return the sort key of a value; None for NULL and for a value that cannot be computed here."""
    text = None if value.kind in ("null", "unknown") else stored_text(value, column)
    if text is None:
        return None
    if family(column.type) == "integer":
        return (int(text) + WRAP).to_bytes(10, "big")
    if family(column.type) != "string":
        return text.encode()
    return bytes(collations.sort_keys(column.type.collation, pa.array([text], pa.string()))[0].as_py())


def check_lists(partitioning: Partitioning, table: Table) -> None:
    """Raise DdlError for duplicate members or DEFAULT."""
    unsigned = not partitioning.columns and is_unsigned(partitioning.expression, table)
    seen: set[object] = set()
    for partition in partitioning.partitions:
        for values in partition.values:
            keys = (member_key(text, place, partitioning, table, unsigned) for place, text in enumerate(values))
            member = values if values == DEFAULT else tuple(keys)
            if member in seen:
                raise tidb_error("ddl:1495")
            seen.add(member)


def member_key(text: str, place: int, partitioning: Partitioning, table: Table, unsigned: bool) -> object:
    value = evaluate_constant(text)
    if value.kind == "null":
        return None
    if value.kind == "unknown":
        return text
    if partitioning.columns:
        return sort_key(value, column_of(partitioning, place, table))
    return integer_bound(text, unsigned)


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
    columns = 0
    for node in syntax.walk(parse_expression(expression)):
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
    tree = parse_expression(expression)
    if kind_of(tree, table) in (INT, UNSIGNED):
        return
    if isinstance(tree, syntax.ColumnName):
        raise tidb_error("ddl:1659", tree.parts[-1].lower())
    raise tidb_error("ddl:1491", "PARTITION")


def is_unsigned(expression: str, table: Table) -> bool:
    """Return whether the expression is unsigned (TiDB: isPartExprUnsigned)."""
    return kind_of(parse_expression(expression), table) == UNSIGNED


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
