"""MySQL's functions of dates and times.

Parts of a moment are substrings of its text, so zero dates have them, too. `tidb.functions` computes the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.expressions.functions.time_arithmetic import (
    add_time,
    date_add,
    time_difference,
    timestamp,
    timestamp_add,
    timestamp_difference,
)
from simulator.tidb.expressions.sql.graph import Sql, sql, text, when
from simulator.tidb.expressions.sql.problems import ignore_problems
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.values.context import EvaluationContext
from simulator.tidb.expressions.values.times import (
    CLOCK_UNITS,
    DATE_PARTS,
    date_value,
    duration_argument,
    fraction_digits,
    moment_argument,
    moment_value,
    number_digits,
    time_value,
)
from simulator.tidb.expressions.values.value import (
    Function,
    Value,
    as_number,
    as_real,
    as_text,
    bits_text,
    decimal,
    integer,
    integer_from_text,
    null,
    string,
)
from simulator.tidb.functions.intervals import is_clock_unit
from simulator.tidb.functions.time_conversions import zone_offset
from simulator.tidb.functions.time_formats import result_kind

# -- parts -------------------------------------------------------------------------------------------------------------


def _part(name: str) -> Callable[[EvaluationContext, Value], Value]:
    start, length = DATE_PARTS[name]
    return lambda context, value: integer(sql(f"substring({{}}, {start}, {length})", moment_argument(context, value)))


def _clock_part(name: str) -> Callable[[Value], Value]:
    over = {"MINUTE": 60, "SECOND": 60, "MICROSECOND": 10**6}.get(name, 10**9)
    return lambda value: integer(
        sql(f"(abs({{}}::BIGINT) // {CLOCK_UNITS[name]}) % {over}", ignore_problems(duration_argument(value)))
    )


def _day_function(name: str, gives: Callable[[Sql], Value]) -> Callable[[EvaluationContext, Value], Value]:
    return lambda context, value: gives(python_call(name, text(_kind(value)), moment_argument(context, value)))


def _kind(value: Value) -> str:
    return "date" if value.kind == "date" else "datetime"


def _extract(context: EvaluationContext, unit: Value, value: Value) -> Value:
    """Return EXTRACT. Units of the clock are taken from a duration, units with a day from a moment."""
    name = unit.constant or ""
    if not is_clock_unit(name):
        return integer_from_text(python_call("part_of_moment", text(name), moment_argument(context, value)))
    if name.startswith("DAY_") and value.kind in ("date", "datetime"):
        return integer_from_text(python_call("part_of_moment", text(name), value.sql))
    if name.startswith("DAY_") and value.kind != "time":
        return integer_from_text(python_call("extract_day", text(name), as_text(value)))
    result = (
        python_call("time_of_text", as_text(value)) if value.kind in ("string", "json") else duration_argument(value)
    )
    return integer_from_text(python_call("part_of_duration", text(name), result))


def _date(context: EvaluationContext, value: Value) -> Value:
    result = moment_argument(context, value)
    if "z" not in context.zeros:
        result = when(sql("{} NOT LIKE '0000-00-00%'", result), result)
    return date_value(sql("left({}, 10) || ' 00:00:00.000000'", result))


def _time(value: Value) -> Value:
    """Return TIME."""
    if value.kind == "time":
        return value
    if value.kind == "null":
        return null()
    return time_value(
        python_call(
            "time_of_text", sql("substring({}, 12)", value.sql) if value.kind == "datetime" else as_text(value)
        ),
        fraction_digits(value),
    )


def _last_day(context: EvaluationContext, value: Value) -> Value:
    return date_value(
        python_call(
            "last_day", text(_kind(value)), moment_argument(context, value), text("z" if "z" in context.zeros else "")
        )
    )


def _datediff(context: EvaluationContext, end: Value, start: Value) -> Value:
    return integer_from_text(python_call("datediff", moment_argument(context, end), moment_argument(context, start)))


def _week(name: str) -> Callable[..., Value]:
    def week(context: EvaluationContext, value: Value, mode: Value | None = None) -> Value:
        way = text("0") if mode is None else bits_text(mode)
        return integer_from_text(python_call(name, text(_kind(value)), moment_argument(context, value), way))

    return week


# -- Unix timestamps, zones --------------------------------------------------------------------------------------------


def _unix_timestamp(context: EvaluationContext, value: Value) -> Value:
    """Return UNIX_TIMESTAMP: an integer for a moment without a fraction, else a decimal."""
    digits = fraction_digits(value)
    if value.kind == "null":
        return null()
    micros = sql(
        "{}::BIGINT",
        python_call("unix_timestamp", ignore_problems(moment_argument(context, value)), text(context.zone)),
    )
    if not digits:
        return integer(sql("{} // 1000000", micros))
    cut = sql(f"({{}} // {10 ** (6 - digits)})::DECIMAL(38, 0) * 0.{'0' * (digits - 1)}1::DECIMAL(7, {digits})", micros)
    result = decimal(cut, digits)
    shown = sql("CASE WHEN {} = 0 THEN '0' ELSE {}::VARCHAR END", micros, result.sql)
    return Value(result.sql, "decimal", scale=digits, text=shown)


def _from_unixtime(context: EvaluationContext, value: Value, form: Value | None = None) -> Value:
    number = as_number(value)
    if number.kind == "wide":
        return null()
    micros = sql("try_cast({} * 1000000 AS BIGINT)::VARCHAR", decimal(number.sql, 6).sql)
    result = python_call("from_unixtime", micros, text(context.zone))
    if form is not None:
        return string(python_call("date_format", result, as_text(form)))
    digits = 6 if value.kind in ("string", "real", "json") else min(number.scale, 6) if number.kind == "decimal" else 0
    return moment_value(result, digits)


def _convert_tz(context: EvaluationContext, value: Value, source: Value, target: Value) -> Value:
    """Return CONVERT_TZ."""
    if "null" in (value.kind, source.kind, target.kind):
        return null()
    result = python_call("convert_tz", moment_argument(context, value), as_text(source), as_text(target))
    return moment_value(result, fraction_digits(value))


def convert_zone(moment: Sql, zone: str, sign: int) -> Sql:
    """Convert a timestamp from UTC to a zone (`sign` 1) or back (-1)."""
    minutes = 0 if zone.upper() in ("UTC", "SYSTEM") else zone_offset(zone)
    if minutes is not None:
        return sql(f"{{}} + to_minutes({sign * minutes})", moment)
    zones = ("UTC", zone) if sign > 0 else (zone, "UTC")
    return sql("try(timezone({}, timezone({}, {})))", text(zones[1]), text(zones[0]), moment)


# -- from numbers and texts --------------------------------------------------------------------------------------------


def _make_time(hour: Value, minute: Value, second: Value) -> Value:
    digits = number_digits(second)
    return time_value(
        python_call(
            "maketime", bits_text(hour), bits_text(minute), sql("{}::VARCHAR", as_real(second)), text(str(digits))
        ),
        digits,
    )


def _sec_to_time(value: Value) -> Value:
    digits = number_digits(value)
    return time_value(python_call("sec_to_time", sql("{}::VARCHAR", as_real(value)), text(str(digits))), digits)


def _str_to_date(context: EvaluationContext, value: Value, form: Value) -> Value:
    kind = result_kind(form.constant) if form.constant is not None else "datetime"
    digits = 6 if form.constant is None or "%f" in form.constant else 0
    result = python_call(
        "str_to_date", as_text(value), as_text(form), text(kind), text("z" if "z" in context.zeros else "")
    )
    if kind == "time":
        return time_value(result, digits)
    return date_value(result) if kind == "date" else moment_value(result, digits)


def _date_format(context: EvaluationContext, value: Value, form: Value) -> Value:
    return string(python_call("date_format", moment_argument(context, value), as_text(form)))


def _number_function(name: str, gives: Callable[[Sql], Value]) -> Callable[..., Value]:
    return lambda *values: gives(python_call(name, *map(bits_text, values)))


TIME_FUNCTIONS: dict[str, Function] = {
    **{name: Function(1, 1, _part(name), needs_context=True) for name in DATE_PARTS},
    "DAYOFMONTH": Function(1, 1, _part("DAY"), needs_context=True),
    **{name: Function(1, 1, _clock_part(name)) for name in CLOCK_UNITS},
    "DATE": Function(1, 1, _date, needs_context=True),
    "TIMESTAMP": Function(1, 2, timestamp, needs_context=True),
    "TIME": Function(1, 1, _time),
    "QUARTER": Function(
        1,
        1,
        lambda context, value: integer(sql("(substring({}, 6, 2)::BIGINT + 2) // 3", moment_argument(context, value))),
        needs_context=True,
    ),
    **{
        name.upper(): Function(1, 1, _day_function(name, integer_from_text), needs_context=True)
        for name in ("dayofweek", "dayofyear", "weekday", "weekofyear", "to_days", "to_seconds")
    },
    **{
        name.upper(): Function(1, 1, _day_function(name, string), needs_context=True)
        for name in ("dayname", "monthname")
    },
    "LAST_DAY": Function(1, 1, _last_day, needs_context=True),
    "DATEDIFF": Function(2, 2, _datediff, needs_context=True),
    "WEEK": Function(1, 2, _week("week"), needs_context=True),
    "YEARWEEK": Function(1, 2, _week("yearweek"), needs_context=True),
    "TIME_TO_SEC": Function(
        1, 1, lambda value: integer(sql("trunc({}::BIGINT / 1000000)", ignore_problems(duration_argument(value))))
    ),
    "SEC_TO_TIME": Function(1, 1, _sec_to_time),
    "MAKEDATE": Function(2, 2, _number_function("makedate", date_value)),
    "MAKETIME": Function(3, 3, _make_time),
    "FROM_DAYS": Function(1, 1, _number_function("from_days", date_value)),
    "PERIOD_ADD": Function(2, 2, _number_function("period_add", integer_from_text)),
    "PERIOD_DIFF": Function(2, 2, _number_function("period_diff", integer_from_text)),
    "UNIX_TIMESTAMP": Function(1, 1, _unix_timestamp, needs_context=True),
    "FROM_UNIXTIME": Function(1, 2, _from_unixtime, needs_context=True),
    "DATE_FORMAT": Function(2, 2, _date_format, needs_context=True),
    "TIME_FORMAT": Function(
        2, 2, lambda value, form: string(python_call("time_format", duration_argument(value), as_text(form)))
    ),
    "GET_FORMAT": Function(
        2, 2, lambda kind, region: string(python_call("get_format", text(kind.constant or ""), as_text(region))), (0,)
    ),
    "STR_TO_DATE": Function(2, 2, _str_to_date, needs_context=True),
    "CONVERT_TZ": Function(3, 3, _convert_tz, needs_context=True),
    **{name: Function(3, 3, date_add(1), (2,), needs_context=True) for name in ("DATE_ADD", "ADDDATE")},
    **{name: Function(3, 3, date_add(-1), (2,), needs_context=True) for name in ("DATE_SUB", "SUBDATE")},
    "ADDTIME": Function(2, 2, add_time(1)),
    "SUBTIME": Function(2, 2, add_time(-1)),
    "TIMEDIFF": Function(2, 2, time_difference),
    "EXTRACT": Function(2, 2, _extract, (0,), needs_context=True),
    "TIMESTAMPDIFF": Function(3, 3, timestamp_difference, (0,), needs_context=True),
    "TIMESTAMPADD": Function(3, 3, timestamp_add, (0,), needs_context=True),
}
"""By TiDB's names."""
