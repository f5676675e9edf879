"""MySQL's functions of numbers, on Spark.

One law: exact numbers stay exact where MySQL keeps them so, all else is a double.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.mysql_arithmetic import calculated
from simulator.filters.mysql_branches import Function
from simulator.filters.mysql_values import Value, as_integer, as_real, integer, numeric, real


def _round(value: Value, places: Value | None = None) -> Value:
    number = numeric(value)
    digits = int(places.constant or 0) if places else 0
    return Value(F.round(number.column, digits), number.kind)


def _truncate(value: Value, places: Value) -> Value:
    number = numeric(value)
    factor = F.lit(float(10 ** int(places.constant or 0)))
    cut = number.column.cast("double") * factor
    return Value((F.when(cut < 0, F.ceil(cut)).otherwise(F.floor(cut)) / factor).cast("double"), "real")


def _whole(function: Callable[[Column], Column]) -> Callable[[Value], Value]:
    """CEILING, FLOOR: whole numbers of exact ones, doubles of doubles."""
    def rounded(value: Value) -> Value:
        number = numeric(value)
        found = function(number.column)
        return real(found) if number.kind == "real" else integer(found)

    return rounded


def _absolute(value: Value) -> Value:
    number = numeric(value)
    return Value(F.abs(number.column), number.kind)


def _double(function: Callable[..., Column]) -> Callable[..., Value]:
    return lambda *values: real(function(*map(as_real, values)))


def _logarithm(base: Value, value: Value | None = None) -> Value:
    return real(F.ln(as_real(base)) if value is None else F.ln(as_real(value)) / F.ln(as_real(base)))


NUMBER_FUNCTIONS: dict[str, Function] = {
    "ABS": Function(1, 1, _absolute),
    "CEIL": Function(1, 1, _whole(F.ceil)),
    "CEILING": Function(1, 1, _whole(F.ceil)),
    "FLOOR": Function(1, 1, _whole(F.floor)),
    "ROUND": Function(1, 2, _round, (1,)),
    "TRUNCATE": Function(2, 2, _truncate, (1,)),
    "SIGN": Function(1, 1, lambda value: integer(F.signum(as_real(value)))),
    "POW": Function(2, 2, _double(F.pow)),
    "POWER": Function(2, 2, _double(F.pow)),
    "SQRT": Function(1, 1, lambda value: real(F.when(as_real(value) >= 0, F.sqrt(as_real(value))))),
    "EXP": Function(1, 1, _double(F.exp)),
    "LN": Function(1, 1, _double(F.ln)),
    "LOG": Function(1, 2, _logarithm),
    "LOG2": Function(1, 1, _double(F.log2)),
    "LOG10": Function(1, 1, _double(F.log10)),
    "PI": Function(0, 0, lambda: real(F.pi())),
    "BIT_COUNT": Function(1, 1, lambda value: integer(F.bit_count(as_integer(value)))),
    "MOD": Function(2, 2, lambda left, right: calculated("%", left, right)),
}
"""By TiDB's names."""
