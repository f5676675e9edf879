"""Arithmetic of MySQL values, and its functions of numbers.

One law: exact numbers stay exact where MySQL keeps them so, any text or double makes a double; a division by zero, and
what 64 bits or 38 digits do not hold, is NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulator.tidb.expressions import wide_decimals
from simulator.tidb.expressions.comparisons import as_decimals
from simulator.tidb.expressions.sql import Sql, sql, text, when
from simulator.tidb.expressions.values import (
    DIGITS,
    Function,
    Value,
    as_count,
    as_integer,
    as_real,
    decimal,
    integer,
    null,
    numeric,
    real,
    wide,
)
from simulator.tidb.expressions.wide_decimals import MOST, MOST_BEHIND

TWO_64 = f"{2 ** 64}::HUGEINT"
WORD = 9
"""Digits of a word of TiDB's decimals (pkg/types/mydecimal.go)."""

MORE_DIGITS = 4
"""Digits of a quotient behind those of its dividend (div_precision_increment)."""


def calculated(operator: str, left: Value, right: Value) -> Value:
    """`left operator right`; NULL if either is."""
    if "null" in (left.kind, right.kind):
        return null()
    return _BITS[operator](left, right) if operator in _BITS else _arithmetic(operator, numeric(left), numeric(right))


def _arithmetic(operator: str, left: Value, right: Value) -> Value:
    kinds = {left.kind, right.kind}
    if "real" in kinds:
        found = sql(_REAL[operator], as_real(left), as_real(right))
        return integer(found) if operator == "DIV" else real(found)
    if "wide" in kinds:
        return _of_wide(operator, left, right)
    if operator == "/":
        return _divided(left, right)
    if "decimal" in kinds:
        return _of_decimals(operator, left, right)
    unsigned = left.kind == "uint" if operator == "%" else "uint" in kinds
    found = sql(_WHOLE[operator], left.sql, right.sql)
    return Value(sql("try_cast({} AS UBIGINT)", found), "uint") if unsigned else integer(found)


def _of_wide(operator: str, left: Value, right: Value) -> Value:
    """Of decimals that may have more digits than DuckDB's."""
    scale = {"*": min(left.scale + right.scale, MOST_BEHIND), "/": _digits_behind(left, right), "DIV": 0}.get(
        operator, max(left.scale, right.scale))
    numbers = (wide_decimals.as_wide(value.sql) for value in (left, right))
    found = wide_decimals.asked(f"/:{scale}" if operator == "/" else operator, *numbers)
    return integer(found) if operator == "DIV" else wide(found, scale)


def _most_digits(value: Value) -> int:
    return {"bool": 1, "int": 19, "uint": 20}.get(value.kind, value.digits)


def _of_decimals(operator: str, left: Value, right: Value) -> Value:
    """Where the result may have more digits than DuckDB's, it is computed as a wide one."""
    first, second = _most_digits(left), _most_digits(right)
    if not first or not second:
        return _of_short_decimals(operator, left, right)
    scale = max(left.scale, right.scale)
    most = first + second if operator == "*" else max(first - left.scale, second - right.scale) + scale + 1
    if operator in ("*", "+", "-") and (most > DIGITS or operator == "*" and left.scale + right.scale > MOST_BEHIND):
        return _of_wide(operator, left, right)
    found = _of_short_decimals(operator, left, right)
    return replace(found, digits=most) if operator in ("*", "+", "-") else found


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
    found = sql(_WHOLE[operator], _unscaled(left, scale), _unscaled(right, scale))
    return integer(found) if operator == "DIV" else _scaled(found, scale)


def _divided(left: Value, right: Value) -> Value:
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
    shown = when(sql("{} = 0", dividend), when(sql("{} IS NOT NULL", found), zero), sql("{}::VARCHAR", found))
    before = left.scale if left.shown_scale is None else left.shown_scale
    return Value(found, "decimal", scale=digits, text=shown, shown_scale=min(before + MORE_DIGITS, digits))


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


_REAL = {
    "+": "{} + {}", "-": "{} - {}", "*": "{} * {}", "/": "{} / nullif({}, 0)", "%": "{} % nullif({}, 0)",
    "DIV": "trunc({} / nullif({}, 0))",
}
_WHOLE = {
    "+": "{}::HUGEINT + {}::HUGEINT", "-": "{}::HUGEINT - {}::HUGEINT", "*": "try({}::HUGEINT * {}::HUGEINT)",
    "%": "{}::HUGEINT % nullif({}::HUGEINT, 0)", "DIV": "{}::HUGEINT // nullif({}::HUGEINT, 0)",
}


def negative(value: Value) -> Value:
    """`-value`"""
    if value.kind == "null":
        return value
    number = numeric(value)
    constant = None if value.constant is None or value.kind == "string" else _opposite(value.constant)
    shown = None if constant is None else text(constant)
    if number.kind == "real":
        return Value(sql("-{}", number.sql), "real", constant=constant, text=shown)
    if number.kind == "int":
        return Value(sql("try_cast(-({}::HUGEINT) AS BIGINT)", number.sql), "int", constant=constant, text=shown)
    if number.kind == "wide":
        found = text(constant) if constant is not None else wide_decimals.asked("negative", number.sql)
        return wide(found, number.scale, constant)
    opposite = sql("-{}", decimal(number.sql, number.scale).sql)
    if constant == str(-2 ** 63):
        return Value(sql("try_cast({} AS BIGINT)", opposite), "int", constant=constant, text=shown)
    return Value(opposite, "decimal", constant=constant, text=shown, scale=number.scale)


def _opposite(number: str) -> str:
    return number[1:] if number.startswith("-") else f"-{number}"


def bits(value: Value) -> Sql:
    """The 64 bits of the value as a UBIGINT."""
    number = numeric(value)
    whole = sql("round({})", number.sql) if number.kind == "real" else number.sql
    return sql(f"try_cast((try_cast({{}} AS HUGEINT) + {TWO_64}) % {TWO_64} AS UBIGINT)", whole)


def unsigned(found: Sql) -> Value:
    """64 bits as an unsigned number."""
    return Value(sql(f"try_cast((({{}})::HUGEINT + {TWO_64}) % {TWO_64} AS UBIGINT)", found), "uint")


def _shifted(template: str, value: Value, places: Value) -> Value:
    count = as_integer(places)
    power = sql("pow(2, least(greatest({}, 0), 63))::HUGEINT", count)
    found = when(sql("{} BETWEEN 0 AND 63", count), sql(template, bits(value), power),
                 sql("CASE WHEN {} IS NOT NULL THEN 0 END", count))
    return Value(sql("try_cast({} AS UBIGINT)", found), "uint")


_BITS: dict[str, Callable[[Value, Value], Value]] = {
    "&": lambda left, right: Value(sql("{} & {}", bits(left), bits(right)), "uint"),
    "|": lambda left, right: Value(sql("{} | {}", bits(left), bits(right)), "uint"),
    "^": lambda left, right: Value(sql("xor({}, {})", bits(left), bits(right)), "uint"),
    "<<": lambda left, right: _shifted(f"({{}}::HUGEINT * {{}}) % {TWO_64}", left, right),
    ">>": lambda left, right: _shifted("{}::HUGEINT // {}", left, right),
}


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
    if number.kind == "wide":
        kept = min(max(digits, -MOST), MOST_BEHIND)
        return number if kept >= number.scale else wide(
            wide_decimals.asked(f"{function}:{kept}", number.sql), max(kept, 0))
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
        return integer(sql("abs({}::HUGEINT)", number.sql))
    if number.kind == "wide":
        return wide(wide_decimals.asked("abs", number.sql), number.scale)
    return Value(sql("abs({})", number.sql), number.kind, scale=number.scale)


def _double(template: str, valid: str = "") -> Callable[..., Value]:
    """A function of doubles; null where the condition on its first argument does not hold."""
    def function(*values: Value) -> Value:
        numbers = [as_real(value) for value in values]
        result = sql(f"try({template})", *numbers)
        return real(when(sql(valid, numbers[0]), result) if valid else result)

    return function


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
