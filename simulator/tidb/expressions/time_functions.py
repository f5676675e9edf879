"""MySQL's functions of dates and times.

Parts of a moment are read from its text, so zero dates have them, too. `tidb.functions` computes the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from simulator.tidb.expressions import numbers
from simulator.tidb.expressions.conversions import SECOND, as_decimal, as_number, as_real, as_text, signed_bits
from simulator.tidb.expressions.expression import (
    MOMENT_KINDS,
    Context,
    Evaluate,
    Expression,
    Function,
    apply,
    apply_in_context,
    call,
    call_in_context,
    call_with_nulls,
    fixed,
    integer,
    null,
    string,
    value_for_errors,
)
from simulator.tidb.expressions.interval_functions import (
    INTERVAL_FUNCTIONS,
    date_value,
    duration_argument,
    fraction_digits,
    kind_of_moment,
    moment_argument,
    moment_value,
    number_digits,
    time_value,
)
from simulator.tidb.functions import time_conversions, time_formats, time_functions
from simulator.tidb.functions.intervals import is_clock_unit

DATE_PARTS = {"YEAR": slice(4), "MONTH": slice(5, 7), "DAY": slice(8, 10), "DAYOFMONTH": slice(8, 10)}
"""Where the text of a moment has a part."""

CLOCK_UNITS = {"HOUR": 3600 * SECOND, "MINUTE": 60 * SECOND, "SECOND": SECOND, "MICROSECOND": 1}

NO_DATE = "0000-00-00"


# -- parts -------------------------------------------------------------------------------------------------------------


def _part(place: slice) -> Callable[[Expression], Expression]:
    return lambda value: integer(apply(lambda moment: int(moment[place]), moment_argument(value)))


def _quarter(value: Expression) -> Expression:
    return integer(apply(lambda moment: (int(moment[5:7]) + 2) // 3, moment_argument(value)))


def _clock_part(name: str) -> Callable[[Expression], Expression]:
    """Return HOUR, MINUTE, SECOND or MICROSECOND; NULL for an error (builtin_time.go, builtinHourSig)."""
    unit, over = CLOCK_UNITS[name], {"MINUTE": 60, "SECOND": 60, "MICROSECOND": SECOND}.get(name, 10**9)
    return lambda value: integer(
        apply(lambda micros: abs(micros) // unit % over, value_for_errors(duration_argument(value)))
    )


def _of_day(compute: Callable[..., Any], gives: Callable[[Evaluate], Expression]) -> Callable[[Expression], Expression]:
    """Return a function of a date."""

    def called(value: Expression) -> Expression:
        kind = kind_of_moment(value)
        return gives(call(lambda moment: compute(kind, moment), moment_argument(value)))

    return called


def _extract(unit: Expression, value: Expression) -> Expression:
    """Return EXTRACT. Units of the clock are taken from a duration, units with a day from a moment."""
    name = unit.constant or ""
    if not is_clock_unit(name) or name.startswith("DAY_") and value.kind in MOMENT_KINDS:
        compute, argument = time_functions.part_of_moment, moment_argument(value)
    elif name.startswith("DAY_") and value.kind != "time":
        compute, argument = time_functions.extract_day, as_text(value)
    else:
        is_text = value.kind in ("string", "json")
        argument = call(time_functions.time_of_text, as_text(value)) if is_text else duration_argument(value)
        return integer(call(lambda micros: time_functions.part_of_duration(name, micros), argument))
    return integer(call(lambda text: compute(name, text), argument))


def _date(value: Expression) -> Expression:
    """Return DATE; NULL for a zero date where the sql_mode forbids it."""

    def day(context: Context, moment: str) -> str | None:
        if "z" not in context.zeros and moment.startswith(NO_DATE):
            return None
        return f"{moment[:10]} 00:00:00.000000"

    return date_value(apply_in_context(day, moment_argument(value)))


def _time(value: Expression) -> Expression:
    """Return TIME."""
    if value.kind in ("time", "null"):
        return value
    clock = duration_argument(value) if value.kind == "datetime" else call(time_functions.time_of_text, as_text(value))
    return time_value(clock, fraction_digits(value))


def _last_day(value: Expression) -> Expression:
    kind = kind_of_moment(value)
    return date_value(
        call_in_context(
            lambda context, moment: time_functions.last_day(kind, moment, "z" in context.zeros), moment_argument(value)
        )
    )


def _week(value: Expression, mode: Expression | None = None) -> Expression:
    """Return WEEK, whose mode is default_week_format unless it is given."""
    kind, moment = kind_of_moment(value), moment_argument(value)
    if mode is not None:
        return integer(call(lambda day, way: time_functions.week(kind, day, way), moment, signed_bits(mode)))
    return integer(
        call_in_context(
            lambda context, day: time_functions.week(kind, day, int(context.variable("default_week_format"))), moment
        )
    )


def _yearweek(value: Expression, mode: Expression | None = None) -> Expression:
    kind, way = kind_of_moment(value), fixed(0) if mode is None else signed_bits(mode)
    return integer(
        call_with_nulls(lambda day, way: time_functions.yearweek(kind, day, way), moment_argument(value), way)
    )


def _dayname(value: Expression) -> Expression:
    """Return DAYNAME, which is a number from 0 for Monday where a number is wanted (builtinDayNameSig)."""
    name = _of_day(time_functions.dayname, string)(value)
    number = _of_day(time_functions.weekday, integer)(value)
    return name if name.kind == "null" else replace(name, number=number.evaluate)


# -- Unix timestamps, zones --------------------------------------------------------------------------------------------


def _unix_timestamp(value: Expression) -> Expression:
    """Return UNIX_TIMESTAMP: an integer for a moment without a fraction, else a decimal. An error is 0 or NULL
    (builtin_time.go, builtinUnixTimestampIntSig, builtinUnixTimestampDecSig)."""
    digits = fraction_digits(value)
    if value.kind == "null":
        return null()
    micros = call_in_context(
        lambda context, moment: time_conversions.unix_timestamp(moment, context.zone), moment_argument(value)
    )
    micros = value_for_errors(micros, None if digits else 0)
    if not digits:
        return integer(apply(lambda each: each // SECOND, micros))
    number = apply(lambda each: Decimal(each // 10 ** (6 - digits)).scaleb(-digits) if each else Decimal(0), micros)
    return Expression(number, "decimal", scale=digits)


def _from_unixtime(value: Expression, form: Expression | None = None) -> Expression:
    number = as_number(value)
    moment = call_in_context(
        lambda context, seconds: time_conversions.from_unixtime(
            int(numbers.quantize(seconds, 6).scaleb(6, numbers.EXACT)), context.zone
        ),
        as_decimal(number).evaluate,
    )
    if form is not None:
        return string(call(time_formats.date_format, moment, as_text(form)))
    digits = 6 if value.kind in ("string", "real", "json") else min(number.scale, 6) if number.kind == "decimal" else 0
    return moment_value(moment, digits)


def _convert_tz(value: Expression, source: Expression, target: Expression) -> Expression:
    """Return CONVERT_TZ."""
    if "null" in (value.kind, source.kind, target.kind):
        return null()
    result = call(time_conversions.convert_tz, moment_argument(value), as_text(source), as_text(target))
    return moment_value(result, fraction_digits(value))


# -- from numbers and texts --------------------------------------------------------------------------------------------


def _make_time(hour: Expression, minute: Expression, second: Expression) -> Expression:
    digits = number_digits(second)
    parts = (signed_bits(hour), signed_bits(minute), as_real(second))
    return time_value(
        call(lambda hours, minutes, seconds: time_functions.maketime(hours, minutes, seconds, digits), *parts), digits
    )


def _sec_to_time(value: Expression) -> Expression:
    digits = number_digits(value)
    return time_value(call(lambda seconds: time_functions.sec_to_time(seconds, digits), as_real(value)), digits)


def _time_to_sec(value: Expression) -> Expression:
    def seconds(micros: int) -> int:
        return micros // SECOND if micros >= 0 else -(-micros // SECOND)

    return integer(apply(seconds, duration_argument(value)))


def _str_to_date(value: Expression, form: Expression) -> Expression:
    kind = time_formats.result_kind(form.constant) if form.constant is not None else "datetime"
    digits = 6 if form.constant is None or "%f" in form.constant else 0
    result = call_in_context(
        lambda context, text, pattern: time_formats.str_to_date(text, pattern, kind, "z" in context.zeros),
        as_text(value),
        as_text(form),
    )
    if kind == "time":
        return time_value(result, digits)
    return date_value(result) if kind == "date" else moment_value(result, digits)


def _get_format(kind: Expression, region: Expression) -> Expression:
    name = kind.constant or ""
    return string(call(lambda where: time_functions.get_format(name, where), as_text(region)))


def _of_integers(compute: Callable[..., Any], gives: Callable[[Evaluate], Expression]) -> Callable[..., Expression]:
    return lambda *values: gives(call(compute, *map(signed_bits, values)))


TIME_FUNCTIONS: dict[str, Function] = {
    **{name: Function(1, 1, _part(place)) for name, place in DATE_PARTS.items()},
    **{name: Function(1, 1, _clock_part(name)) for name in CLOCK_UNITS},
    "DATE": Function(1, 1, _date),
    "TIME": Function(1, 1, _time),
    "QUARTER": Function(1, 1, _quarter),
    **{
        name.upper(): Function(1, 1, _of_day(getattr(time_functions, name), integer))
        for name in ("dayofweek", "dayofyear", "weekday", "weekofyear", "to_days", "to_seconds")
    },
    "DAYNAME": Function(1, 1, _dayname),
    "MONTHNAME": Function(1, 1, _of_day(time_functions.monthname, string)),
    "LAST_DAY": Function(1, 1, _last_day),
    "DATEDIFF": Function(
        2, 2, lambda end, start: integer(call(time_functions.datediff, moment_argument(end), moment_argument(start)))
    ),
    "WEEK": Function(1, 2, _week),
    "YEARWEEK": Function(1, 2, _yearweek),
    "TIME_TO_SEC": Function(1, 1, _time_to_sec),
    "SEC_TO_TIME": Function(1, 1, _sec_to_time),
    "MAKEDATE": Function(2, 2, _of_integers(time_functions.makedate, date_value)),
    "MAKETIME": Function(3, 3, _make_time),
    "FROM_DAYS": Function(1, 1, _of_integers(time_functions.from_days, date_value)),
    "PERIOD_ADD": Function(2, 2, _of_integers(time_functions.period_add, integer)),
    "PERIOD_DIFF": Function(2, 2, _of_integers(time_functions.period_diff, integer)),
    "UNIX_TIMESTAMP": Function(1, 1, _unix_timestamp),
    "FROM_UNIXTIME": Function(1, 2, _from_unixtime),
    "DATE_FORMAT": Function(
        2, 2, lambda value, form: string(call(time_formats.date_format, moment_argument(value), as_text(form)))
    ),
    "TIME_FORMAT": Function(
        2, 2, lambda value, form: string(call(time_formats.time_format, duration_argument(value), as_text(form)))
    ),
    "GET_FORMAT": Function(2, 2, _get_format, (0,)),
    "STR_TO_DATE": Function(2, 2, _str_to_date),
    "CONVERT_TZ": Function(3, 3, _convert_tz),
    "EXTRACT": Function(2, 2, _extract, (0,)),
    **INTERVAL_FUNCTIONS,
}
"""By TiDB's names."""
