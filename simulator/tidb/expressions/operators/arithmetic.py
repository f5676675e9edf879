"""Arithmetic of MySQL values.

Exact numbers stay exact where MySQL keeps them so, any text or double makes a double. A division by zero is NULL, and
so is what the type of the result does not hold; both are problems (`problems`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulator.tidb.expressions.operators.comparisons import as_decimals
from simulator.tidb.expressions.sql import wide_decimals
from simulator.tidb.expressions.sql.conversions import NAMES, TYPES, bits_as, decimal_text
from simulator.tidb.expressions.sql.graph import Sql, sql, text, when
from simulator.tidb.expressions.sql.problems import ALWAYS, DIVIDED, flawed
from simulator.tidb.expressions.sql.wide_decimals import MOST_BEHIND
from simulator.tidb.expressions.values.value import (
    DIGITS,
    Value,
    as_integer,
    as_real,
    decimal,
    in_range,
    named,
    null,
    numeric,
    whole,
    wide,
)

TWO_64 = f"{2**64}::HUGEINT"
WORD = 9
"""Digits of a word of TiDB's decimals (pkg/types/mydecimal.go)."""

MORE_DIGITS = 4
"""Digits of a quotient behind those of its dividend (div_precision_increment)."""


def calculated(operator: str, left: Value, right: Value, signed: bool = False) -> Value:
    """`left operator right`; NULL if either is. `signed`: whether the sql_mode has NO_UNSIGNED_SUBTRACTION."""
    if operator in _BITS:
        return null() if "null" in (left.kind, right.kind) else _BITS[operator](left, right)
    if "null" in (left.kind, right.kind):
        return null()
    if operator == "DIV":
        found = _whole_quotient(_exact(left), _exact(right), _named(operator, left, right))
    else:
        found = _arithmetic(operator, _number(left), _number(right), signed, _named(operator, left, right))
    return replace(found, named=f"{_CALLED[operator]}({named(left)}, {named(right)})")


def _named(operator: str, left: Value, right: Value) -> str:
    """The operation as an error shows it (tidb pkg/expression/builtin_arithmetic.go)."""
    return f"({named(left)} {operator} {named(right)})"


_CALLED = {"+": "plus", "-": "minus", "*": "mul", "/": "div", "%": "mod", "DIV": "intdiv"}


def _number(value: Value) -> Value:
    """The value as a number; a member of an ENUM or a SET as a double, for its type is one of text."""
    is_member = value.number is not None and value.is_column
    return Value(as_real(value), "real") if is_member else numeric(value)


def _exact(value: Value) -> Value:
    """The value as a whole number or a decimal."""
    if value.kind == "string" and value.number is None:
        return wide(decimal_text(value.sql), MOST_BEHIND)
    number = numeric(value)
    return wide(sql("printf('%.30f', {})", number.sql), MOST_BEHIND) if number.kind == "real" else number


def _arithmetic(operator: str, left: Value, right: Value, signed: bool, shown: str) -> Value:
    kinds = {left.kind, right.kind}
    if "real" in kinds:
        first, second = as_real(left), as_real(right)
        found = in_range(sql(_REAL[operator], first, second), shown)
        return found if operator in "+-*" else replace(found, sql=_divided_by(found.sql, first, second))
    if "wide" in kinds or operator == "/" and _is_long(left, right):
        return _of_wide(operator, left, right, shown)
    if operator == "/":
        return _quotient(left, right, shown)
    if "decimal" in kinds:
        return _of_decimals(operator, left, right, shown)
    return _of_whole(operator, left, right, signed, shown)


def _of_whole(operator: str, left: Value, right: Value, signed: bool, shown: str) -> Value:
    if operator == "%":
        kind = left.kind
    else:
        kind = "uint" if "uint" in (left.kind, right.kind) and not (operator == "-" and signed) else "int"
    numbers = [value.sql for value in (left, right)]
    if operator == "*" and kind == "uint":
        numbers = [whole(value, kind).sql for value in (left, right)]
    computed = sql(_WHOLE[operator], *numbers)
    found = sql(f"try_cast({{}} AS {TYPES[kind]})", computed)
    if operator in ("%", "DIV"):
        gone = sql("{} IS NULL AND {} IS NOT NULL", found, computed)
        return Value(_divided_by(lost(found, gone, NAMES[kind], shown), left.sql, right.sql), kind)
    gone = sql("{} IS NULL AND {} IS NOT NULL AND {} IS NOT NULL", found, left.sql, right.sql)
    return Value(lost(found, gone, NAMES[kind], shown), kind)


def lost(found: Sql, gone: Sql, type: str, shown: str) -> Sql:
    """A result with a problem where its type does not hold it."""
    told = shown.replace("{", "").replace("}", "")
    return flawed(found, gone, ALWAYS, f"1690 {type} value is out of range in '{told}'")


def _divided_by(found: Sql, dividend: Sql, divisor: Sql) -> Sql:
    """A quotient or a rest with a problem where it is divided by 0."""
    return flawed(found, sql("{} = 0 AND {} IS NOT NULL", divisor, dividend), DIVIDED, "1365 Division by 0")


def _whole_quotient(left: Value, right: Value, shown: str) -> Value:
    """`left DIV right` of exact numbers."""
    if {left.kind, right.kind} <= {"int", "uint"}:
        return _of_whole("DIV", left, right, False, f"({shown[1:-1].replace(' DIV ', ', ')})")
    kind = "uint" if "uint" in (left.kind, right.kind) else "int"
    numbers = [wide_decimals.as_wide(value.sql) for value in (left, right)]
    whole = wide_decimals.asked("DIV", *numbers)
    found = sql(f"try_cast({{}} AS {TYPES[kind]})", whole)
    gone = sql("{} IS NULL AND {} IS NOT NULL", found, whole)
    by_zero = sql("try_cast({} AS DOUBLE) = 0 AND {} IS NOT NULL", numbers[1], numbers[0])
    return Value(flawed(lost(found, gone, NAMES[kind], shown), by_zero, DIVIDED, "1365 Division by 0"), kind)


def _of_wide(operator: str, left: Value, right: Value, shown: str) -> Value:
    """Of decimals that may have more digits than DuckDB's."""
    scale = {"*": min(left.scale + right.scale, MOST_BEHIND), "/": _digits_behind(left, right)}.get(
        operator, max(left.scale, right.scale)
    )
    numbers = [wide_decimals.as_wide(value.sql) for value in (left, right)]
    found = wide_decimals.asked(f"/:{scale}" if operator == "/" else operator, *numbers)
    if operator in ("/", "%"):
        by_zero = sql("try_cast({} AS DOUBLE) = 0 AND {} IS NOT NULL", numbers[1], numbers[0])
        found = flawed(found, by_zero, DIVIDED, "1365 Division by 0")
    else:
        found = lost(found, sql("{} IS NULL AND {} IS NOT NULL AND {} IS NOT NULL", found, *numbers), "DECIMAL", shown)
    return replace(wide(found, scale), shown_scale=_digits_shown(operator, left, right, scale))


def _digits_shown(operator: str, left: Value, right: Value, scale: int) -> int | None:
    """How many digits behind the point a client sees (tidb pkg/types/mydecimal.go, resultFrac); None for all."""
    first, second = (value.scale if value.shown_scale is None else value.shown_scale for value in (left, right))
    if operator == "/":
        digits = min(first + MORE_DIGITS, MOST_BEHIND)
    else:
        digits = min(first + second, MOST_BEHIND) if operator == "*" else max(first, second)
    return None if digits == scale else digits


def _most_digits(value: Value) -> int:
    return {"bool": 1, "int": 19, "uint": 20}.get(value.kind, value.digits)


def _of_decimals(operator: str, left: Value, right: Value, shown: str) -> Value:
    """Where the result may have more digits than DuckDB's, it is computed as a wide one."""
    first, second = _most_digits(left), _most_digits(right)
    if not first or not second:
        found = _of_short_decimals(operator, left, right)
        return replace(found, shown_scale=_digits_shown(operator, left, right, found.scale))
    scale = max(left.scale, right.scale)
    most = first + second if operator == "*" else max(first - left.scale, second - right.scale) + scale + 1
    if operator in ("*", "+", "-") and (most > DIGITS or operator == "*" and left.scale + right.scale > MOST_BEHIND):
        return _of_wide(operator, left, right, shown)
    found = _of_short_decimals(operator, left, right)
    digits = _digits_shown(operator, left, right, found.scale)
    return replace(found, digits=min(most, DIGITS) if operator in ("*", "+", "-") else found.digits, shown_scale=digits)


def _of_short_decimals(operator: str, left: Value, right: Value) -> Value:
    if operator == "*":
        scales = left.scale, right.scale
        scales = scales if sum(scales) <= 30 else (min(left.scale, 15), min(right.scale, 15))
        found = sql("try({} * {})", decimal(left.sql, scales[0]).sql, decimal(right.sql, scales[1]).sql)
        return Value(found, "decimal", scale=sum(scales))
    scale = max(left.scale, right.scale)
    if operator in ("+", "-"):
        first, second, _ = as_decimals(left, right)
        return Value(sql(f"try({{}} {operator} {{}})", first, second), "decimal", scale=scale)
    rest = _scaled(sql(_WHOLE[operator], _unscaled(left, scale), _unscaled(right, scale)), scale)
    return replace(rest, sql=_divided_by(rest.sql, left.sql, right.sql))


def _quotient(left: Value, right: Value, shown: str) -> Value:
    """A quotient of exact numbers: whole words of digits behind its point, all of which are printed unless it is 0."""
    digits = _digits_behind(left, right)
    shift = digits + right.scale - left.scale
    dividend, divisor = _unscaled(left, left.scale), _unscaled(right, right.scale)
    numerator = sql(f"{{}} * {10 ** max(shift, 0)}::HUGEINT", dividend)
    denominator = sql(f"{{}} * {10 ** max(-shift, 0)}::HUGEINT", divisor)
    exactly = _scaled(sql("try({} // nullif({}, 0))", numerator, denominator), digits).sql
    about = decimal(sql("try({} / nullif({}, 0))", as_real(left), as_real(right)), digits).sql
    found = sql("coalesce({}, {})", exactly, about)
    zero = text(f"0.{'0' * min(left.scale + MORE_DIGITS, digits)}")
    found = _divided_by(found, left.sql, right.sql)
    printed = when(sql("{} = 0", dividend), when(sql("{} IS NOT NULL", found), zero), sql("{}::VARCHAR", found))
    return Value(found, "decimal", scale=digits, text=printed, shown_scale=_digits_shown("/", left, right, digits))


def _is_long(left: Value, right: Value) -> bool:
    """Whether a quotient may have more digits than DuckDB's decimals."""
    return _most_digits(left) - left.scale + right.scale + _digits_behind(left, right) > DIGITS


def _digits_behind(left: Value, right: Value) -> int:
    """The scale of a quotient."""
    before, after = (-(-value.scale // WORD) * WORD for value in (left, right))
    more = max(0, MORE_DIGITS - (before - left.scale) - (after - right.scale))
    return min(-(-(before + after + more) // WORD) * WORD, MOST_BEHIND)


def _unscaled(value: Value, scale: int) -> Sql:
    """An exact number without its point."""
    if not scale:
        return sql("{}::HUGEINT", value.sql)
    return sql("try_cast(replace({}::VARCHAR, '.', '') AS HUGEINT)", decimal(value.sql, scale).sql)


def _scaled(found: Sql, scale: int) -> Value:
    if not scale:
        return decimal(found, 0)
    smallest = f"'0.{'0' * (scale - 1)}1'::DECIMAL({scale + 1}, {scale})"
    return Value(sql(f"try(try_cast({{}} AS DECIMAL({DIGITS}, 0)) * {smallest})", found), "decimal", scale=scale)


_REAL = {"+": "{} + {}", "-": "{} - {}", "*": "{} * {}", "/": "{} / nullif({}, 0)", "%": "{} % nullif({}, 0)"}
_WHOLE = {
    "+": "{}::HUGEINT + {}::HUGEINT",
    "-": "{}::HUGEINT - {}::HUGEINT",
    "*": "try({}::HUGEINT * {}::HUGEINT)",
    "%": "{}::HUGEINT % nullif({}::HUGEINT, 0)",
    "DIV": "{}::HUGEINT // nullif({}::HUGEINT, 0)",
}


def negative(value: Value) -> Value:
    """`-value`"""
    if value.kind == "null":
        return value
    number = numeric(value)
    constant = None if value.constant is None or value.kind == "string" else _opposite(value.constant, number.kind)
    shown = None if constant is None or number.kind == "real" else text(constant)
    if number.kind == "real":
        shown = sql("'-' || {}", value.text) if constant and value.text and constant.startswith("-") else None
        return Value(sql("-{}", number.sql), "real", constant=constant, text=shown)
    if number.kind in ("int", "uint") and (constant is None or -(2**63) <= int(constant) < 2**63):
        opposite = sql("try_cast(-({}::HUGEINT) AS BIGINT)", number.sql)
        gone = sql("{} IS NULL AND {} IS NOT NULL", opposite, number.sql)
        found = opposite if constant is not None else lost(opposite, gone, "BIGINT", f"-{named(value)}")
        return Value(found, "int", constant=constant, text=shown, named=f"-{named(value)}")
    if number.kind == "wide":
        found = text(constant) if constant is not None else wide_decimals.asked("negative", number.sql)
        return replace(wide(found, number.scale, constant), shown_scale=number.shown_scale)
    return Value(
        sql("-{}", decimal(number.sql, number.scale).sql),
        "decimal",
        constant=constant,
        text=shown,
        scale=number.scale,
        digits=number.digits,
        shown_scale=number.shown_scale,
    )


def _opposite(number: str, kind: str) -> str:
    if kind != "real" and not number.strip("-0."):
        return number.lstrip("-")
    return number[1:] if number.startswith("-") else f"-{number}"


def bits(value: Value) -> Sql:
    """The 64 bits of the value as a UBIGINT."""
    kind = "uint" if numeric(value).kind == "uint" else "int"
    found = whole(value, kind).sql
    return found if kind == "uint" else bits_as(sql("{}::HUGEINT", found), "uint")


def unsigned(found: Sql) -> Value:
    """64 bits as an unsigned number."""
    return Value(sql(f"try_cast((({{}})::HUGEINT + {TWO_64}) % {TWO_64} AS UBIGINT)", found), "uint")


def _shifted(template: str, value: Value, places: Value) -> Value:
    count = as_integer(places)
    power = sql("pow(2, least(greatest({}, 0), 63))::HUGEINT", count)
    moved = sql(template, bits(value), power)
    found = sql(
        "CASE WHEN {} BETWEEN 0 AND 63 THEN {} WHEN {} IS NOT NULL AND {} IS NOT NULL THEN 0 END",
        count,
        moved,
        count,
        moved,
    )
    return Value(sql("try_cast({} AS UBIGINT)", found), "uint")


_BITS: dict[str, Callable[[Value, Value], Value]] = {
    "&": lambda left, right: Value(sql("{} & {}", bits(left), bits(right)), "uint"),
    "|": lambda left, right: Value(sql("{} | {}", bits(left), bits(right)), "uint"),
    "^": lambda left, right: Value(sql("xor({}, {})", bits(left), bits(right)), "uint"),
    "<<": lambda left, right: _shifted(f"({{}}::HUGEINT * {{}}) % {TWO_64}", left, right),
    ">>": lambda left, right: _shifted("{}::HUGEINT // {}", left, right),
}
