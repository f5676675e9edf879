"""MySQL's functions of numbers: rounding, logarithms, powers, angles."""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.expressions.operators.arithmetic import as_bits, calculate, check_range
from simulator.tidb.expressions.sql import wide_decimals
from simulator.tidb.expressions.sql.graph import Sql, sql, when
from simulator.tidb.expressions.sql.problems import WARNED, problem_where
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.sql.wide_decimals import MAX_DIGITS, MAX_SCALE
from simulator.tidb.expressions.values.value import (
    DUCKDB_DIGITS,
    NUMERIC_KINDS,
    Function,
    Value,
    as_int32,
    as_number,
    as_real,
    checked_real,
    decimal,
    display_name,
    integer,
    real,
    wide,
)
from simulator.tidb.functions.elementary import ELEMENTARY_FUNCTIONS


def _round(value: Value, places: Value | None = None) -> Value:
    return _round_or_truncate("round", value, places)


def _truncate(value: Value, places: Value) -> Value:
    return _round_or_truncate("trunc", value, places)


def _round_or_truncate(function: str, value: Value, places: Value | None) -> Value:
    """Return ROUND or TRUNCATE. A constant number of digits keeps exact numbers exact."""
    number = as_number(value)
    if places is not None and (places.constant is None or places.kind not in NUMERIC_KINDS):
        return _round_to_column(function, number, as_int32(places))
    digits = int(float(places.constant or 0)) if places else 0
    if number.kind == "wide":
        scale = min(max(digits, -MAX_DIGITS), MAX_SCALE)
        return (
            number
            if scale >= number.scale
            else wide(wide_decimals.call(f"{function}:{scale}", number.sql), max(scale, 0))
        )
    if number.kind == "real":
        return _round_to_column(function, number, sql(str(max(min(digits, 300), -300))))
    if digits >= number.scale:
        return number if number.kind != "decimal" or digits == number.scale else decimal(number.sql, min(digits, 30))
    scale = max(digits, 0)
    result = number.sql if scale else decimal(number.sql, number.scale).sql
    power = 10 ** min(max(-digits, 0), DUCKDB_DIGITS - 1)
    if function == "round" and digits >= 0:
        result = decimal(result, scale).sql
    elif digits >= 0:
        result = sql(f"trunc({{}}, {scale})", result)
    else:
        result = _to_power_of_ten(function, sql("trunc({})::HUGEINT", result), power)
    if number.kind in ("int", "uint"):
        return Value(sql(f"try_cast({{}} AS {'UBIGINT' if number.kind == 'uint' else 'BIGINT'})", result), number.kind)
    return decimal(result, scale)


def _to_power_of_ten(function: str, whole: Sql, power: int) -> Sql:
    """Round or truncate an integer to a multiple of a power of ten."""
    near = sql(f"(abs({{}}) + {power // 2 if function == 'round' else 0}) // {power} * {power}", whole)
    return sql("{} * sign({})", near, whole)


def _round_to_column(function: str, number: Value, digits: Sql) -> Value:
    """Round or truncate to a number of digits that differs by row; the result is a double."""
    power, result = sql("pow(10, {})", digits), as_real(number)
    moved = sql("{} * {}", result, power)
    cut = sql("round_even({}, 0)" if function == "round" else "trunc({})", moved)
    return real(sql("CASE WHEN isinf({}) THEN {} ELSE {} / {} END", moved, result, cut, power))


def _ceiling_or_floor(function: str) -> Callable[[Value], Value]:
    """Return CEILING or FLOOR: an integer for an exact number, a double for a double."""

    def rounded(value: Value) -> Value:
        number = as_number(value)
        if number.kind in ("int", "uint"):
            return number
        if number.kind == "wide":
            return wide(wide_decimals.call(function, number.sql), 0)
        result = sql(f"{function}({{}})", number.sql)
        return real(result) if number.kind == "real" else decimal(result, 0)

    return rounded


def _abs(value: Value) -> Value:
    number = as_number(value)
    if number.kind == "uint":
        return number
    if number.kind == "int":
        whole = sql("abs({}::HUGEINT)", number.sql)
        result = sql("try_cast({} AS BIGINT)", whole)
        is_lost = sql("{} IS NULL AND {} IS NOT NULL", result, whole)
        return Value(check_range(result, is_lost, "BIGINT", f"abs({display_name(value)})"), "int")
    if number.kind == "wide":
        return wide(wide_decimals.call("abs", number.sql), number.scale)
    return Value(
        sql("abs({})", number.sql),
        number.kind,
        scale=number.scale,
        shown_scale=number.shown_scale,
        digits=number.digits,
    )


def go_function(name: str, *numbers: Sql) -> Sql:
    """Return a function of doubles with the same bits as Go's."""
    return sql("{}::DOUBLE", python_call(name, *(sql("{}::VARCHAR", number) for number in numbers)))


def _real_function(template: str, valid: str = "", problem: str = "") -> Callable[..., Value]:
    """Return a function of doubles.

    Where the condition `valid` on the first argument is false, the result is null, with the problem if there is one.
    """

    def function(*values: Value) -> Value:
        numbers = [as_real(value) for value in values]
        function_name = template.partition("(")[0]
        result = (
            go_function(function_name, *numbers)
            if function_name in ELEMENTARY_FUNCTIONS
            else sql(f"try({template})", *numbers)
        )
        if not valid:
            return checked_real(result, f"{function_name}({', '.join(map(display_name, values))})")
        inside = sql(valid, numbers[0])
        result = when(inside, result)
        return real(problem_where(result, sql("NOT {}", inside), WARNED, problem) if problem else result)

    return function


INVALID_LOGARITHM = "3020 Invalid argument for logarithm"


def _log(base: Value, value: Value | None = None) -> Value:
    if value is None:
        return _ln(base)
    first, second = as_real(base), as_real(value)
    inside = sql("{} > 0 AND {} != 1 AND {} > 0", first, first, second)
    result = when(inside, sql("{} / nullif({}, 0)", go_function("ln", second), go_function("ln", first)))
    return real(problem_where(result, sql("NOT {}", inside), WARNED, INVALID_LOGARITHM))


_ln = _real_function("ln({})", "{} > 0", INVALID_LOGARITHM)


def _atan(first: Value, second: Value | None = None) -> Value:
    if second is None:
        return real(go_function("atan", as_real(first)))
    return real(go_function("atan2", as_real(first), as_real(second)))


NUMBER_FUNCTIONS: dict[str, Function] = {
    "ABS": Function(1, 1, _abs),
    "CEIL": Function(1, 1, _ceiling_or_floor("ceil")),
    "CEILING": Function(1, 1, _ceiling_or_floor("ceil")),
    "FLOOR": Function(1, 1, _ceiling_or_floor("floor")),
    "ROUND": Function(1, 2, _round),
    "TRUNCATE": Function(2, 2, _truncate),
    "SIGN": Function(1, 1, lambda value: integer(sql("sign({})", as_real(value)))),
    "POW": Function(2, 2, _real_function("pow({}, {})")),
    "POWER": Function(2, 2, _real_function("pow({}, {})")),
    "SQRT": Function(1, 1, _real_function("sqrt({})", "{} >= 0")),
    "EXP": Function(1, 1, _real_function("exp({})")),
    "LN": Function(1, 1, _ln),
    "LOG": Function(1, 2, _log),
    "LOG2": Function(1, 1, _real_function("log2({})", "{} > 0", INVALID_LOGARITHM)),
    "LOG10": Function(1, 1, _real_function("log10({})", "{} > 0", INVALID_LOGARITHM)),
    "PI": Function(0, 0, lambda: real(sql("pi()"))),
    "SIN": Function(1, 1, _real_function("sin({})")),
    "COS": Function(1, 1, _real_function("cos({})")),
    "TAN": Function(1, 1, _real_function("tan({})")),
    "COT": Function(1, 1, _real_function("cot({})")),
    "ASIN": Function(1, 1, _real_function("asin({})", "{} BETWEEN -1 AND 1")),
    "ACOS": Function(1, 1, _real_function("acos({})", "{} BETWEEN -1 AND 1")),
    "ATAN": Function(1, 2, _atan),
    "ATAN2": Function(2, 2, _atan),
    "DEGREES": Function(1, 1, _real_function("degrees({})")),
    "RADIANS": Function(1, 1, _real_function("radians({})")),
    "BIT_COUNT": Function(1, 1, lambda value: integer(sql("bit_count({})", as_bits(value)))),
    "MOD": Function(2, 2, lambda left, right: calculate("%", left, right)),
}
"""By TiDB's names."""
