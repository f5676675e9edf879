"""Arithmetic and bit operators of MySQL.

Exact operands give exact results; text or a double gives a double. A division by zero and a result out of range are
NULL, with a problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulator.tidb.expressions.operators.comparisons import as_decimals
from simulator.tidb.expressions.sql import wide_decimals
from simulator.tidb.expressions.sql.conversions import (
    DUCKDB_INTEGER_TYPES,
    INTEGER_TYPE_NAMES,
    reinterpret_bits,
    text_to_decimal,
)
from simulator.tidb.expressions.sql.graph import Sql, sql, text, when
from simulator.tidb.expressions.sql.problems import ALWAYS, DIVIDED, problem_where
from simulator.tidb.expressions.sql.wide_decimals import MAX_SCALE
from simulator.tidb.expressions.values.value import (
    DUCKDB_DIGITS,
    Value,
    as_integer,
    as_number,
    as_real,
    checked_real,
    decimal,
    display_name,
    integer_value,
    null,
    wide,
)

TWO_64 = f"{2**64}::HUGEINT"
WORD = 9
"""Digits of a word of TiDB's decimals (pkg/types/mydecimal.go)."""

MORE_DIGITS = 4
"""Digits by which the scale of a quotient exceeds that of its dividend (div_precision_increment)."""


def calculate(operator: str, left: Value, right: Value, signed: bool = False) -> Value:
    """Return `left operator right`, NULL if either is. `signed` is whether the sql_mode has NO_UNSIGNED_SUBTRACTION."""
    if operator in _BIT_OPERATORS:
        return null() if "null" in (left.kind, right.kind) else _BIT_OPERATORS[operator](left, right)
    if "null" in (left.kind, right.kind):
        return null()
    if operator == "DIV":
        result = _integer_division(_exact(left), _exact(right), _operation_text(operator, left, right))
    else:
        result = _arithmetic(operator, _number(left), _number(right), signed, _operation_text(operator, left, right))
    return replace(result, display_name=f"{_FUNCTION_NAMES[operator]}({display_name(left)}, {display_name(right)})")


def _operation_text(operator: str, left: Value, right: Value) -> str:
    """Return the operation as an error shows it (tidb pkg/expression/builtin_arithmetic.go)."""
    return f"({display_name(left)} {operator} {display_name(right)})"


_FUNCTION_NAMES = {"+": "plus", "-": "minus", "*": "mul", "/": "div", "%": "mod", "DIV": "intdiv"}


def _number(value: Value) -> Value:
    """Return the value as a number; a column of type ENUM or SET is a double, since it is a type of text."""
    is_member = value.number is not None and value.is_column
    return Value(as_real(value), "real") if is_member else as_number(value)


def _exact(value: Value) -> Value:
    """Return the value as an integer or a decimal."""
    if value.kind == "string" and value.number is None:
        return wide(text_to_decimal(value.sql), MAX_SCALE)
    number = as_number(value)
    return wide(sql("printf('%.30f', {})", number.sql), MAX_SCALE) if number.kind == "real" else number


def _arithmetic(operator: str, left: Value, right: Value, signed: bool, shown: str) -> Value:
    kinds = {left.kind, right.kind}
    if "real" in kinds:
        first, second = as_real(left), as_real(right)
        result = checked_real(sql(_REAL_TEMPLATES[operator], first, second), shown)
        return result if operator in "+-*" else replace(result, sql=_check_division(result.sql, first, second))
    if "wide" in kinds or operator == "/" and _exceeds_duckdb(left, right):
        return _wide_arithmetic(operator, left, right, shown)
    if operator == "/":
        return _quotient(left, right, shown)
    if "decimal" in kinds:
        return _decimal_arithmetic(operator, left, right, shown)
    return _integer_arithmetic(operator, left, right, signed, shown)


def _integer_arithmetic(operator: str, left: Value, right: Value, signed: bool, shown: str) -> Value:
    if operator == "%":
        kind = left.kind
    else:
        kind = "uint" if "uint" in (left.kind, right.kind) and not (operator == "-" and signed) else "int"
    numbers = [value.sql for value in (left, right)]
    if operator == "*" and kind == "uint":
        numbers = [integer_value(value, kind).sql for value in (left, right)]
    computed = sql(_INTEGER_TEMPLATES[operator], *numbers)
    result = sql(f"try_cast({{}} AS {DUCKDB_INTEGER_TYPES[kind]})", computed)
    if operator in ("%", "DIV"):
        is_lost = sql("{} IS NULL AND {} IS NOT NULL", result, computed)
        return Value(
            _check_division(check_range(result, is_lost, INTEGER_TYPE_NAMES[kind], shown), left.sql, right.sql), kind
        )
    is_lost = sql("{} IS NULL AND {} IS NOT NULL AND {} IS NOT NULL", result, left.sql, right.sql)
    return Value(check_range(result, is_lost, INTEGER_TYPE_NAMES[kind], shown), kind)


def check_range(expression: Sql, is_lost: Sql, type: str, shown: str) -> Sql:
    """Return a result with a problem in rows where it is out of range."""
    message = shown.replace("{", "").replace("}", "")
    return problem_where(expression, is_lost, ALWAYS, f"1690 {type} value is out of range in '{message}'")


def _check_division(expression: Sql, dividend: Sql, divisor: Sql) -> Sql:
    """Return a quotient or remainder with a problem in rows where the divisor is 0."""
    return problem_where(expression, sql("{} = 0 AND {} IS NOT NULL", divisor, dividend), DIVIDED, "1365 Division by 0")


def _integer_division(left: Value, right: Value, shown: str) -> Value:
    """Return `left DIV right` of exact numbers."""
    if {left.kind, right.kind} <= {"int", "uint"}:
        return _integer_arithmetic("DIV", left, right, False, f"({shown[1:-1].replace(' DIV ', ', ')})")
    kind = "uint" if "uint" in (left.kind, right.kind) else "int"
    numbers = [wide_decimals.as_text(value.sql) for value in (left, right)]
    whole = wide_decimals.call("DIV", *numbers)
    result = sql(f"try_cast({{}} AS {DUCKDB_INTEGER_TYPES[kind]})", whole)
    is_lost = sql("{} IS NULL AND {} IS NOT NULL", result, whole)
    by_zero = sql("try_cast({} AS DOUBLE) = 0 AND {} IS NOT NULL", numbers[1], numbers[0])
    return Value(
        problem_where(
            check_range(result, is_lost, INTEGER_TYPE_NAMES[kind], shown), by_zero, DIVIDED, "1365 Division by 0"
        ),
        kind,
    )


def _wide_arithmetic(operator: str, left: Value, right: Value, shown: str) -> Value:
    """Calculate with decimals that may have more digits than DuckDB's."""
    scale = {"*": min(left.scale + right.scale, MAX_SCALE), "/": _quotient_scale(left, right)}.get(
        operator, max(left.scale, right.scale)
    )
    numbers = [wide_decimals.as_text(value.sql) for value in (left, right)]
    result = wide_decimals.call(f"/:{scale}" if operator == "/" else operator, *numbers)
    if operator in ("/", "%"):
        by_zero = sql("try_cast({} AS DOUBLE) = 0 AND {} IS NOT NULL", numbers[1], numbers[0])
        result = problem_where(result, by_zero, DIVIDED, "1365 Division by 0")
    else:
        result = check_range(
            result, sql("{} IS NULL AND {} IS NOT NULL AND {} IS NOT NULL", result, *numbers), "DECIMAL", shown
        )
    return replace(wide(result, scale), shown_scale=_shown_scale(operator, left, right, scale))


def _shown_scale(operator: str, left: Value, right: Value, scale: int) -> int | None:
    """Return the digits behind the point that clients are shown, or None for all (pkg/types/mydecimal.go, resultFrac)."""
    first, second = (value.scale if value.shown_scale is None else value.shown_scale for value in (left, right))
    if operator == "/":
        digits = min(first + MORE_DIGITS, MAX_SCALE)
    else:
        digits = min(first + second, MAX_SCALE) if operator == "*" else max(first, second)
    return None if digits == scale else digits


def _max_digits(value: Value) -> int:
    return {"bool": 1, "int": 19, "uint": 20}.get(value.kind, value.digits)


def _decimal_arithmetic(operator: str, left: Value, right: Value, shown: str) -> Value:
    """Calculate with decimals; as wide ones if the result may have more digits than DuckDB's."""
    first, second = _max_digits(left), _max_digits(right)
    if not first or not second:
        result = _short_decimal_arithmetic(operator, left, right)
        return replace(result, shown_scale=_shown_scale(operator, left, right, result.scale))
    scale = max(left.scale, right.scale)
    most = first + second if operator == "*" else max(first - left.scale, second - right.scale) + scale + 1
    if operator in ("*", "+", "-") and (
        most > DUCKDB_DIGITS or operator == "*" and left.scale + right.scale > MAX_SCALE
    ):
        return _wide_arithmetic(operator, left, right, shown)
    result = _short_decimal_arithmetic(operator, left, right)
    digits = _shown_scale(operator, left, right, result.scale)
    return replace(
        result, digits=min(most, DUCKDB_DIGITS) if operator in ("*", "+", "-") else result.digits, shown_scale=digits
    )


def _short_decimal_arithmetic(operator: str, left: Value, right: Value) -> Value:
    if operator == "*":
        scales = left.scale, right.scale
        scales = scales if sum(scales) <= 30 else (min(left.scale, 15), min(right.scale, 15))
        result = sql("try({} * {})", decimal(left.sql, scales[0]).sql, decimal(right.sql, scales[1]).sql)
        return Value(result, "decimal", scale=sum(scales))
    scale = max(left.scale, right.scale)
    if operator in ("+", "-"):
        first, second, _ = as_decimals(left, right)
        return Value(sql(f"try({{}} {operator} {{}})", first, second), "decimal", scale=scale)
    rest = _with_scale(sql(_INTEGER_TEMPLATES[operator], _unscaled(left, scale), _unscaled(right, scale)), scale)
    return replace(rest, sql=_check_division(rest.sql, left.sql, right.sql))


def _quotient(left: Value, right: Value, shown: str) -> Value:
    """Return a quotient of exact numbers, whose scale is a multiple of WORD. All digits are printed, except for 0."""
    digits = _quotient_scale(left, right)
    shift = digits + right.scale - left.scale
    dividend, divisor = _unscaled(left, left.scale), _unscaled(right, right.scale)
    numerator = sql(f"{{}} * {10 ** max(shift, 0)}::HUGEINT", dividend)
    denominator = sql(f"{{}} * {10 ** max(-shift, 0)}::HUGEINT", divisor)
    exactly = _with_scale(sql("try({} // nullif({}, 0))", numerator, denominator), digits).sql
    about = decimal(sql("try({} / nullif({}, 0))", as_real(left), as_real(right)), digits).sql
    result = sql("coalesce({}, {})", exactly, about)
    zero = text(f"0.{'0' * min(left.scale + MORE_DIGITS, digits)}")
    result = _check_division(result, left.sql, right.sql)
    printed = when(sql("{} = 0", dividend), when(sql("{} IS NOT NULL", result), zero), sql("{}::VARCHAR", result))
    return Value(result, "decimal", scale=digits, text=printed, shown_scale=_shown_scale("/", left, right, digits))


def _exceeds_duckdb(left: Value, right: Value) -> bool:
    """Return whether a quotient may have more digits than DuckDB's decimals."""
    return _max_digits(left) - left.scale + right.scale + _quotient_scale(left, right) > DUCKDB_DIGITS


def _quotient_scale(left: Value, right: Value) -> int:
    """Return the scale of a quotient."""
    before, after = (-(-value.scale // WORD) * WORD for value in (left, right))
    more = max(0, MORE_DIGITS - (before - left.scale) - (after - right.scale))
    return min(-(-(before + after + more) // WORD) * WORD, MAX_SCALE)


def _unscaled(value: Value, scale: int) -> Sql:
    """Return an exact number without its decimal point."""
    if not scale:
        return sql("{}::HUGEINT", value.sql)
    return sql("try_cast(replace({}::VARCHAR, '.', '') AS HUGEINT)", decimal(value.sql, scale).sql)


def _with_scale(expression: Sql, scale: int) -> Value:
    if not scale:
        return decimal(expression, 0)
    smallest = f"'0.{'0' * (scale - 1)}1'::DECIMAL({scale + 1}, {scale})"
    return Value(
        sql(f"try(try_cast({{}} AS DECIMAL({DUCKDB_DIGITS}, 0)) * {smallest})", expression), "decimal", scale=scale
    )


_REAL_TEMPLATES = {"+": "{} + {}", "-": "{} - {}", "*": "{} * {}", "/": "{} / nullif({}, 0)", "%": "{} % nullif({}, 0)"}
_INTEGER_TEMPLATES = {
    "+": "{}::HUGEINT + {}::HUGEINT",
    "-": "{}::HUGEINT - {}::HUGEINT",
    "*": "try({}::HUGEINT * {}::HUGEINT)",
    "%": "{}::HUGEINT % nullif({}::HUGEINT, 0)",
    "DIV": "{}::HUGEINT // nullif({}::HUGEINT, 0)",
}


def negate(value: Value) -> Value:
    """Return `-value`."""
    if value.kind == "null":
        return value
    number = as_number(value)
    constant = None if value.constant is None or value.kind == "string" else _opposite(value.constant, number.kind)
    shown = None if constant is None or number.kind == "real" else text(constant)
    if number.kind == "real":
        shown = sql("'-' || {}", value.text) if constant and value.text and constant.startswith("-") else None
        return Value(sql("-{}", number.sql), "real", constant=constant, text=shown)
    if number.kind in ("int", "uint") and (constant is None or -(2**63) <= int(constant) < 2**63):
        opposite = sql("try_cast(-({}::HUGEINT) AS BIGINT)", number.sql)
        is_lost = sql("{} IS NULL AND {} IS NOT NULL", opposite, number.sql)
        result = (
            opposite if constant is not None else check_range(opposite, is_lost, "BIGINT", f"-{display_name(value)}")
        )
        return Value(result, "int", constant=constant, text=shown, display_name=f"-{display_name(value)}")
    if number.kind == "wide":
        result = text(constant) if constant is not None else wide_decimals.call("negative", number.sql)
        return replace(wide(result, number.scale, constant), shown_scale=number.shown_scale)
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


def as_bits(value: Value) -> Sql:
    """Return the 64 bits of the value as a UBIGINT."""
    kind = "uint" if as_number(value).kind == "uint" else "int"
    result = integer_value(value, kind).sql
    return result if kind == "uint" else reinterpret_bits(sql("{}::HUGEINT", result), "uint")


def unsigned(expression: Sql) -> Value:
    """Return 64 bits as an unsigned number."""
    return Value(sql(f"try_cast((({{}})::HUGEINT + {TWO_64}) % {TWO_64} AS UBIGINT)", expression), "uint")


def _shift(template: str, value: Value, places: Value) -> Value:
    count = as_integer(places)
    power = sql("pow(2, least(greatest({}, 0), 63))::HUGEINT", count)
    moved = sql(template, as_bits(value), power)
    result = sql(
        "CASE WHEN {} BETWEEN 0 AND 63 THEN {} WHEN {} IS NOT NULL AND {} IS NOT NULL THEN 0 END",
        count,
        moved,
        count,
        moved,
    )
    return Value(sql("try_cast({} AS UBIGINT)", result), "uint")


_BIT_OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "&": lambda left, right: Value(sql("{} & {}", as_bits(left), as_bits(right)), "uint"),
    "|": lambda left, right: Value(sql("{} | {}", as_bits(left), as_bits(right)), "uint"),
    "^": lambda left, right: Value(sql("xor({}, {})", as_bits(left), as_bits(right)), "uint"),
    "<<": lambda left, right: _shift(f"({{}}::HUGEINT * {{}}) % {TWO_64}", left, right),
    ">>": lambda left, right: _shift("{}::HUGEINT // {}", left, right),
}
