"""MySQL's functions of numbers: rounding, logarithms, powers, angles."""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.expressions.operators.arithmetic import bits, calculated, lost
from simulator.tidb.expressions.sql import wide_decimals
from simulator.tidb.expressions.sql.graph import Sql, sql, when
from simulator.tidb.expressions.sql.problems import WARNED, flawed
from simulator.tidb.expressions.sql.python_functions import asked
from simulator.tidb.expressions.sql.wide_decimals import MOST, MOST_BEHIND
from simulator.tidb.expressions.values.value import (
    DIGITS,
    NUMBERS,
    Function,
    Value,
    as_count,
    as_real,
    decimal,
    in_range,
    integer,
    named,
    numeric,
    real,
    wide,
)
from simulator.tidb.functions.elementary import ELEMENTARY


def _round(value: Value, places: Value | None = None) -> Value:
    return _cut("round", value, places)


def _truncate(value: Value, places: Value) -> Value:
    return _cut("trunc", value, places)


def _cut(function: str, value: Value, places: Value | None) -> Value:
    """ROUND, TRUNCATE: an exact number of as many digits as asked for stays exact."""
    number = numeric(value)
    if places is not None and (places.constant is None or places.kind not in NUMBERS):
        return _cut_by(function, number, as_count(places))
    digits = int(float(places.constant or 0)) if places else 0
    if number.kind == "wide":
        kept = min(max(digits, -MOST), MOST_BEHIND)
        return (
            number
            if kept >= number.scale
            else wide(wide_decimals.asked(f"{function}:{kept}", number.sql), max(kept, 0))
        )
    if number.kind == "real":
        return _cut_by(function, number, sql(str(max(min(digits, 300), -300))))
    if digits >= number.scale:
        return number if number.kind != "decimal" or digits == number.scale else decimal(number.sql, min(digits, 30))
    kept = max(digits, 0)
    found = number.sql if kept else decimal(number.sql, number.scale).sql
    power = 10 ** min(max(-digits, 0), DIGITS - 1)
    if function == "round" and digits >= 0:
        found = decimal(found, kept).sql
    elif digits >= 0:
        found = sql(f"trunc({{}}, {kept})", found)
    else:
        found = _in_tens(function, sql("trunc({})::HUGEINT", found), power)
    if number.kind in ("int", "uint"):
        return Value(sql(f"try_cast({{}} AS {'UBIGINT' if number.kind == 'uint' else 'BIGINT'})", found), number.kind)
    return decimal(found, kept)


def _in_tens(function: str, whole: Sql, power: int) -> Sql:
    """A whole number of so many."""
    near = sql(f"(abs({{}}) + {power // 2 if function == 'round' else 0}) // {power} * {power}", whole)
    return sql("{} * sign({})", near, whole)


def _cut_by(function: str, number: Value, digits: Sql) -> Value:
    """By a number of digits that each row has: a double."""
    power, found = sql("pow(10, {})", digits), as_real(number)
    moved = sql("{} * {}", found, power)
    cut = sql("round_even({}, 0)" if function == "round" else "trunc({})", moved)
    return real(sql("CASE WHEN isinf({}) THEN {} ELSE {} / {} END", moved, found, cut, power))


def _whole(function: str) -> Callable[[Value], Value]:
    """CEILING, FLOOR: whole numbers of exact ones, doubles of doubles."""

    def rounded(value: Value) -> Value:
        number = numeric(value)
        if number.kind in ("int", "uint"):
            return number
        if number.kind == "wide":
            return wide(wide_decimals.asked(function, number.sql), 0)
        found = sql(f"{function}({{}})", number.sql)
        return real(found) if number.kind == "real" else decimal(found, 0)

    return rounded


def _absolute(value: Value) -> Value:
    number = numeric(value)
    if number.kind == "uint":
        return number
    if number.kind == "int":
        whole = sql("abs({}::HUGEINT)", number.sql)
        found = sql("try_cast({} AS BIGINT)", whole)
        gone = sql("{} IS NULL AND {} IS NOT NULL", found, whole)
        return Value(lost(found, gone, "BIGINT", f"abs({named(value)})"), "int")
    if number.kind == "wide":
        return wide(wide_decimals.asked("abs", number.sql), number.scale)
    return Value(
        sql("abs({})", number.sql),
        number.kind,
        scale=number.scale,
        shown_scale=number.shown_scale,
        digits=number.digits,
    )


def as_in_go(name: str, *numbers: Sql) -> Sql:
    """A function of doubles as Go computes it, to the last bit."""
    return sql("{}::DOUBLE", asked(name, *(sql("{}::VARCHAR", number) for number in numbers)))


def _double(template: str, valid: str = "", problem: str = "") -> Callable[..., Value]:
    """A function of doubles; null, with a problem perhaps, where the condition on its first argument does not hold."""

    def function(*values: Value) -> Value:
        numbers = [as_real(value) for value in values]
        called = template.partition("(")[0]
        result = as_in_go(called, *numbers) if called in ELEMENTARY else sql(f"try({template})", *numbers)
        if not valid:
            return in_range(result, f"{called}({', '.join(map(named, values))})")
        inside = sql(valid, numbers[0])
        found = when(inside, result)
        return real(flawed(found, sql("NOT {}", inside), WARNED, problem) if problem else found)

    return function


NO_LOGARITHM = "3020 Invalid argument for logarithm"


def _logarithm(base: Value, value: Value | None = None) -> Value:
    if value is None:
        return _ln(base)
    first, second = as_real(base), as_real(value)
    inside = sql("{} > 0 AND {} != 1 AND {} > 0", first, first, second)
    found = when(inside, sql("{} / nullif({}, 0)", as_in_go("ln", second), as_in_go("ln", first)))
    return real(flawed(found, sql("NOT {}", inside), WARNED, NO_LOGARITHM))


_ln = _double("ln({})", "{} > 0", NO_LOGARITHM)


def _atan(first: Value, second: Value | None = None) -> Value:
    if second is None:
        return real(as_in_go("atan", as_real(first)))
    return real(as_in_go("atan2", as_real(first), as_real(second)))


NUMBER_FUNCTIONS: dict[str, Function] = {
    "ABS": Function(1, 1, _absolute),
    "CEIL": Function(1, 1, _whole("ceil")),
    "CEILING": Function(1, 1, _whole("ceil")),
    "FLOOR": Function(1, 1, _whole("floor")),
    "ROUND": Function(1, 2, _round),
    "TRUNCATE": Function(2, 2, _truncate),
    "SIGN": Function(1, 1, lambda value: integer(sql("sign({})", as_real(value)))),
    "POW": Function(2, 2, _double("pow({}, {})")),
    "POWER": Function(2, 2, _double("pow({}, {})")),
    "SQRT": Function(1, 1, _double("sqrt({})", "{} >= 0")),
    "EXP": Function(1, 1, _double("exp({})")),
    "LN": Function(1, 1, _ln),
    "LOG": Function(1, 2, _logarithm),
    "LOG2": Function(1, 1, _double("log2({})", "{} > 0", NO_LOGARITHM)),
    "LOG10": Function(1, 1, _double("log10({})", "{} > 0", NO_LOGARITHM)),
    "PI": Function(0, 0, lambda: real(sql("pi()"))),
    "SIN": Function(1, 1, _double("sin({})")),
    "COS": Function(1, 1, _double("cos({})")),
    "TAN": Function(1, 1, _double("tan({})")),
    "COT": Function(1, 1, _double("cot({})")),
    "ASIN": Function(1, 1, _double("asin({})", "{} BETWEEN -1 AND 1")),
    "ACOS": Function(1, 1, _double("acos({})", "{} BETWEEN -1 AND 1")),
    "ATAN": Function(1, 2, _atan),
    "ATAN2": Function(2, 2, _atan),
    "DEGREES": Function(1, 1, _double("degrees({})")),
    "RADIANS": Function(1, 1, _double("radians({})")),
    "BIT_COUNT": Function(1, 1, lambda value: integer(sql("bit_count({})", bits(value)))),
    "MOD": Function(2, 2, lambda left, right: calculated("%", left, right)),
}
"""By TiDB's names."""
