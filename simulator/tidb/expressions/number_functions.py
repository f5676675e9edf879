"""MySQL's functions of numbers.

One law: exact numbers stay exact where MySQL keeps them so, all else is a double.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.expressions.arithmetic import bits, calculated
from simulator.tidb.expressions.branches import Function
from simulator.tidb.expressions.sql import Sql, sql, when
from simulator.tidb.expressions.values import DIGITS, Value, as_count, as_real, decimal, integer, numeric, real


def _round(value: Value, places: Value | None = None) -> Value:
    return _cut("round", value, places)


def _truncate(value: Value, places: Value) -> Value:
    return _cut("trunc", value, places)


def _cut(function: str, value: Value, places: Value | None) -> Value:
    """ROUND, TRUNCATE: an exact number of as many digits as asked for stays exact."""
    number = numeric(value)
    if places is not None and places.constant is None:
        return _cut_by(function, number, as_count(places))
    digits = int(float(places.constant or 0)) if places else 0
    if number.kind == "real":
        return _cut_by(function, number, sql(str(max(min(digits, 300), -300))))
    if digits >= number.scale:
        return number
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
    power = sql("pow(10, {})", digits)
    return real(sql(f"{function}({{}} * {{}}) / {{}}", as_real(number), power, power))


def _whole(function: str) -> Callable[[Value], Value]:
    """CEILING, FLOOR: whole numbers of exact ones, doubles of doubles."""
    def rounded(value: Value) -> Value:
        number = numeric(value)
        if number.kind in ("int", "uint"):
            return number
        found = sql(f"{function}({{}})", number.sql)
        return real(found) if number.kind == "real" else decimal(found, 0)

    return rounded


def _absolute(value: Value) -> Value:
    number = numeric(value)
    if number.kind == "uint":
        return number
    if number.kind == "int":
        return integer(sql("abs({}::HUGEINT)", number.sql))
    return Value(sql("abs({})", number.sql), number.kind, scale=number.scale)


def _double(template: str, valid: str = "") -> Callable[..., Value]:
    """A function of doubles; null where the condition on its first argument does not hold."""
    def found(*values: Value) -> Value:
        numbers = [as_real(value) for value in values]
        result = sql(f"try({template})", *numbers)
        return real(when(sql(valid, numbers[0]), result) if valid else result)

    return found


def _logarithm(base: Value, value: Value | None = None) -> Value:
    if value is None:
        return _ln(base)
    first, second = as_real(base), as_real(value)
    found = sql("try(ln({}) / nullif(ln({}), 0))", second, first)
    return real(when(sql("{} > 0 AND {} > 0", first, second), found))


def _ln(value: Value) -> Value:
    number = as_real(value)
    return real(when(sql("{} > 0", number), sql("try(ln({}))", number)))


def _atan(first: Value, second: Value | None = None) -> Value:
    if second is None:
        return real(sql("atan({})", as_real(first)))
    return real(sql("atan2({}, {})", as_real(first), as_real(second)))


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
    "LOG2": Function(1, 1, _double("log2({})", "{} > 0")),
    "LOG10": Function(1, 1, _double("log10({})", "{} > 0")),
    "PI": Function(0, 0, lambda: real(sql("pi()"))),
    "SIN": Function(1, 1, _double("sin({})")),
    "COS": Function(1, 1, _double("cos({})")),
    "TAN": Function(1, 1, _double("tan({})")),
    "COT": Function(1, 1, _double("cot({})", "{} != 0")),
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
