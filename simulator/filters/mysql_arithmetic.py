"""Arithmetic of MySQL values on Spark.

One law: exact numbers stay exact, any text or double makes a double, and a division by zero is NULL.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.mysql_comparisons import tuple_of_decimals
from simulator.filters.mysql_values import Value, as_integer, as_real, exact, integer, null, numeric, real

TWO_64 = str(2 ** 64)


def calculated(operator: str, left: Value, right: Value) -> Value:
    """`left operator right`; NULL if either is."""
    if "null" in (left.kind, right.kind):
        return null()
    return _BITS[operator](left, right) if operator in _BITS else _arithmetic(operator, numeric(left), numeric(right))


def _arithmetic(operator: str, left: Value, right: Value) -> Value:
    kinds = {left.kind, right.kind}
    if "real" in kinds:
        found = _OPERATORS[operator](as_real(left), as_real(right))
        return integer(found) if operator == "DIV" else real(found)
    if operator == "/":
        return _divided(left, right)
    if kinds == {"int"}:
        return integer(_WHOLE[operator](left.column, right.column))
    found = _OPERATORS[operator](*tuple_of_decimals(left, right))
    if operator == "DIV":
        return integer(found)
    return Value(found, "uint" if kinds <= {"int", "uint"} else "decimal")


def _divided(left: Value, right: Value) -> Value:
    """A quotient of exact numbers, four digits more behind its point than the dividend has."""
    dividend, divisor = tuple_of_decimals(left, right)
    return Value(dividend.cast("decimal(38,12)") / _not_zero(divisor), "decimal")


def _not_zero(column: Column) -> Column:
    return F.when(column != 0, column)


def _truncated(quotient: Column) -> Column:
    return F.when(quotient < 0, F.ceil(quotient)).otherwise(F.floor(quotient))


_OPERATORS: dict[str, Callable[[Column, Column], Column]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / _not_zero(right),
    "%": lambda left, right: left % _not_zero(right),
    "DIV": lambda left, right: _truncated(left / _not_zero(right)),
}

_WHOLE: dict[str, Callable[[Column, Column], Column]] = {
    "+": F.try_add,
    "-": F.try_subtract,
    "*": F.try_multiply,
    "%": lambda left, right: left % _not_zero(right),
    "DIV": lambda left, right: F.call_function("div", left, _not_zero(right)),
}


def negative(value: Value) -> Value:
    """`-value`"""
    if value.kind == "null":
        return value
    number = numeric(value)
    constant = None if value.constant is None or value.kind == "string" else _opposite(value.constant)
    kind = "decimal" if number.kind == "uint" else number.kind
    text = None if constant is None else F.lit(constant)
    return Value(-number.column, kind, constant=constant, text=text)


def _opposite(number: str) -> str:
    return number[1:] if number.startswith("-") else f"-{number}"


def bits(value: Value) -> Column:
    """The 64 bits of the value as a bigint."""
    number = numeric(value)
    if number.kind == "int":
        return number.column
    whole = F.round(number.column, 0).cast("decimal(20,0)")
    return F.when(whole >= exact(str(2 ** 63)), whole - exact(TWO_64)).otherwise(whole).cast("bigint")


def unsigned(found: Column) -> Value:
    """64 bits as an unsigned number."""
    whole = found.cast("decimal(20,0)")
    return Value(F.when(whole < 0, whole + exact(TWO_64)).otherwise(whole).cast("decimal(20,0)"), "uint")


def _shifted(function: str, value: Value, places: Value) -> Value:
    count = as_integer(places)
    found = F.call_function(function, bits(value), count.cast("int"))
    return unsigned(F.when(count.between(0, 63), found).when(count.isNotNull(), F.lit(0).cast("bigint")))


_BITS: dict[str, Callable[[Value, Value], Value]] = {
    "&": lambda left, right: unsigned(bits(left).bitwiseAND(bits(right))),
    "|": lambda left, right: unsigned(bits(left).bitwiseOR(bits(right))),
    "^": lambda left, right: unsigned(bits(left).bitwiseXOR(bits(right))),
    "<<": lambda left, right: _shifted("shiftleft", left, right),
    ">>": lambda left, right: _shifted("shiftrightunsigned", left, right),
}
