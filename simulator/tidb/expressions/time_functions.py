"""MySQL's functions of dates and times, as DuckDB SQL.

Parts of a moment are read from its text, so that zero dates have them; whatever else there is about a day or a clock
`tidb.functions` computes.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.expressions.called import asked
from simulator.tidb.expressions.problems import without_problems
from simulator.tidb.expressions.situation import Situation
from simulator.tidb.expressions.sql import NULL, Sql, sql, text, when
from simulator.tidb.expressions.values import (
    NUMBERS,
    Function,
    Value,
    as_integer,
    as_real,
    as_text,
    decimal,
    integer,
    null,
    numeric,
    string,
)
from simulator.tidb.functions.intervals import COMPOUND, is_clock
from simulator.tidb.functions.time_forms import kind_of
from simulator.tidb.functions.time_readings import offset_of

PARTS = {"YEAR": (1, 4), "MONTH": (6, 2), "DAY": (9, 2)}
"""First character and length in the text of a moment."""

CLOCK = {"HOUR": 3600 * 10**6, "MINUTE": 60 * 10**6, "SECOND": 10**6, "MICROSECOND": 1}
UNITS = (*CLOCK, "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", *COMPOUND)


def dated(situation: Situation, value: Value) -> Sql:
    """A value as a moment, `YYYY-MM-DD hh:mm:ss.ffffff`."""
    if value.kind in ("date", "datetime"):
        return value.sql
    if value.kind == "null":
        return sql("NULL::VARCHAR")
    if value.kind == "time":
        return asked("moment_of_duration", sql("{}::VARCHAR", value.sql), text(situation.today))
    if value.year:
        return asked("moment_of_year", sql("{}::VARCHAR", value.sql))
    if value.kind in NUMBERS:
        return asked("moment_of_number", _number_text(value))
    return asked("moment_of_text", as_text(value), text(situation.zone), text(situation.zeros))


def _number_text(value: Value) -> Sql:
    return text(value.constant) if value.constant is not None and "e" not in value.constant else as_text(value)


def timed(value: Value) -> Sql:
    """A value as microseconds of a duration, as text."""
    if value.kind == "time":
        return sql("{}::VARCHAR", value.sql)
    if value.kind == "null":
        return sql("NULL::VARCHAR")
    if value.kind in ("date", "datetime"):
        return asked("duration_of_text", sql("substring({}, 12)", value.sql))
    return asked("duration_of_text", _number_text(value) if value.kind in NUMBERS else as_text(value))


def digits_of(value: Value) -> int:
    """Digits of a second that a value has: of a text that is no literal all (getExpressionFsp)."""
    if value.constant is not None:
        return min(len(value.constant.rpartition(".")[2]), 6) if "." in value.constant else 0
    if value.kind in ("date", "datetime", "time"):
        return value.scale
    if value.kind in ("bool", "int", "uint", "null"):
        return 0
    return min(value.scale, 6) if value.kind in ("decimal", "wide") else 6


def _moment(found: Sql, digits: int) -> Value:
    return Value(found, "datetime", scale=digits)


def _day(found: Sql) -> Value:
    return Value(found, "date")


def _time(micros: Sql, digits: int) -> Value:
    return Value(sql("{}::BIGINT", micros), "time", scale=digits)


def _whole(found: Sql) -> Value:
    return Value(sql("{}::BIGINT", found), "int")


def _text_of(value: Value) -> Sql:
    """The 64 bits of a whole number as text."""
    number = numeric(value)
    if number.kind == "uint":
        return sql(f"(({{}}::HUGEINT + {2**63}) % {2**64} - {2**63})::VARCHAR", number.sql)
    return sql("{}::VARCHAR", as_integer(value))


# -- parts -------------------------------------------------------------------------------------------------------------


def _part(name: str) -> Callable[[Situation, Value], Value]:
    start, length = PARTS[name]
    return lambda situation, value: integer(sql(f"substring({{}}, {start}, {length})", dated(situation, value)))


def _clock_part(name: str) -> Callable[[Value], Value]:
    over = {"MINUTE": 60, "SECOND": 60, "MICROSECOND": 10**6}.get(name, 10**9)
    return lambda value: integer(sql(f"(abs({{}}::BIGINT) // {CLOCK[name]}) % {over}", without_problems(timed(value))))


def _of_day(name: str, gives: Callable[[Sql], Value]) -> Callable[[Situation, Value], Value]:
    return lambda situation, value: gives(asked(name, text(_kind(value)), dated(situation, value)))


def _kind(value: Value) -> str:
    return "date" if value.kind == "date" else "datetime"


def _extract(situation: Situation, unit: Value, value: Value) -> Value:
    """A unit of the clock is that of a duration; of a moment those with a day, too."""
    name = unit.constant or ""
    if not is_clock(name):
        return _whole(asked("part_of_moment", text(name), dated(situation, value)))
    if name.startswith("DAY_") and value.kind in ("date", "datetime"):
        return _whole(asked("part_of_moment", text(name), value.sql))
    if name.startswith("DAY_") and value.kind != "time":
        return _whole(asked("extract_day", text(name), as_text(value)))
    found = asked("time_of_text", as_text(value)) if value.kind in ("string", "json") else timed(value)
    return _whole(asked("part_of_duration", text(name), found))


def _date(situation: Situation, value: Value) -> Value:
    found = dated(situation, value)
    if "z" not in situation.zeros:
        found = when(sql("{} NOT LIKE '0000-00-00%'", found), found)
    return _day(sql("left({}, 10) || ' 00:00:00.000000'", found))


def _of_time(value: Value) -> Value:
    """TIME"""
    if value.kind == "time":
        return value
    if value.kind == "null":
        return null()
    return _time(
        asked("time_of_text", sql("substring({}, 12)", value.sql) if value.kind == "datetime" else as_text(value)),
        digits_of(value),
    )


def _last_day(situation: Situation, value: Value) -> Value:
    return _day(
        asked("last_day", text(_kind(value)), dated(situation, value), text("z" if "z" in situation.zeros else ""))
    )


def _days_between(situation: Situation, end: Value, start: Value) -> Value:
    return _whole(asked("datediff", dated(situation, end), dated(situation, start)))


def _week(name: str) -> Callable[..., Value]:
    def week(situation: Situation, value: Value, mode: Value | None = None) -> Value:
        way = text("0") if mode is None else _text_of(mode)
        return _whole(asked(name, text(_kind(value)), dated(situation, value), way))

    return week


# -- sums and differences ----------------------------------------------------------------------------------------------


def _added(sign: int) -> Callable[[Situation, Value, Value, Value], Value]:
    """DATE_ADD, DATE_SUB: what they give follows from the first value (addSubDateFunctionClass)."""

    def added(situation: Situation, base: Value, amount: Value, unit: Value) -> Value:
        name = unit.constant or ""
        if "null" in (base.kind, amount.kind):
            return null()
        kind, shown = _amount(amount)
        digits = _digits_added(base, amount, name)
        if base.kind == "time" and (is_clock(name) and not name.startswith("DAY_") or name == "DAY_MICROSECOND"):
            found = asked("duration_add", text(str(sign)), text(name), timed(base), text(kind), shown)
            return _time(found, digits)
        of = (
            "datetime"
            if base.kind in ("datetime", "time")
            else "date"
            if base.kind == "date"
            else ("number" if base.kind in NUMBERS else "string")
        )
        start = (
            dated(situation, base)
            if of in ("date", "datetime")
            else (_number_text(base) if of == "number" else as_text(base))
        )
        found = asked(
            "date_add",
            text(str(sign)),
            text(name),
            text(situation.zone),
            text(str(digits)),
            text(of),
            start,
            text(kind),
            shown,
        )
        if of in ("string", "number"):
            return string(found)
        return _day(found) if of == "date" and not is_clock(name) else _moment(found, digits)

    return added


def _amount(value: Value) -> tuple[str, Sql]:
    """How an amount is read, and its text."""
    if value.kind in ("string", "json", "word"):
        return "string", as_text(value)
    if value.kind in ("decimal", "wide", "real"):
        return "decimal", as_text(value)
    return "int", _text_of(value)


def _digits_added(base: Value, amount: Value, unit: str) -> int:
    if unit.endswith("MICROSECOND"):
        return 6
    more = 0
    if unit == "SECOND":
        more = (
            6
            if amount.kind in ("string", "real", "json")
            else min(amount.scale, 6)
            if (amount.kind in ("decimal", "wide"))
            else 0
        )
    return max(digits_of(base) if base.kind in ("date", "datetime", "time") else 0, more)


def _timestamp_add(situation: Situation, unit: Value, amount: Value, base: Value) -> Value:
    found = asked(
        "timestamp_add",
        text(unit.constant or ""),
        sql("{}::VARCHAR", as_real(amount)),
        dated(situation, base),
        text("d") if base.kind == "date" else NULL,
    )
    return string(found)


def _timestamp_difference(situation: Situation, unit: Value, start: Value, end: Value) -> Value:
    return _whole(asked("timestampdiff", text(unit.constant or ""), dated(situation, start), dated(situation, end)))


def _clock_added(sign: int) -> Callable[[Value, Value], Value]:
    """ADDTIME, SUBTIME"""

    def added(base: Value, amount: Value) -> Value:
        if amount.kind == "datetime" or base.kind == "null":
            return null() if base.kind != "string" else string(sql("NULL::VARCHAR"))
        way = text(str(sign))
        kind, by = ("time", timed(amount)) if amount.kind == "time" else ("string", as_text(amount))
        digits = max(digits_of(base), digits_of(amount))
        if base.kind == "datetime":
            return _moment(asked("add_to_moment", way, base.sql, text(kind), by), digits)
        if base.kind == "time":
            return _time(asked("add_to_duration", way, timed(base), text(kind), by), digits)
        if base.kind == "date":
            shown = asked("add_date_time", way, text(kind), by, text(str(digits_of(amount))))
            return string(when(sql("{} IS NOT NULL", base.sql), shown))
        if kind == "string" and amount.kind not in ("string", "null") and amount.kind not in NUMBERS:
            return string(sql("NULL::VARCHAR"))
        return string(asked("add_to_text", way, as_text(base), text(kind), by))

    return added


def _time_difference(first: Value, second: Value) -> Value:
    """TIMEDIFF"""
    sides = []
    for value in (first, second):
        known = value.kind in ("date", "datetime")
        kind = value.kind if known or value.kind == "time" else "string"
        sides += [text(kind), value.sql if known else timed(value) if kind == "time" else as_text(value)]
    return _time(asked("timediff", *sides), max(digits_of(first), digits_of(second)))


def _timestamp(situation: Situation, value: Value, clock: Value | None = None) -> Value:
    """TIMESTAMP, of one value or of a moment and a time."""
    shown = (
        value
        if value.kind in ("date", "datetime") or value.kind in NUMBERS and not value.year
        else (string(as_text(value)))
    )
    found, digits = dated(situation._replace(zeros="zp"), shown), digits_of(value)
    if clock is None:
        return _moment(found, digits)
    digits = max(digits, digits_of(clock))
    start = when(sql("{} NOT LIKE '0000%'", found), found)
    by = ("time", timed(clock)) if clock.kind == "time" else ("clock", as_text(clock))
    return _moment(asked("add_to_moment", text("1"), start, text(by[0]), by[1]), digits)


# -- numbers of seconds, zones -----------------------------------------------------------------------------------------


def _unix_timestamp(situation: Situation, value: Value) -> Value:
    """A whole number of a moment without a fraction, else a decimal."""
    digits = digits_of(value)
    if value.kind == "null":
        return null()
    micros = sql("{}::BIGINT", asked("unix_timestamp", without_problems(dated(situation, value)), text(situation.zone)))
    if not digits:
        return integer(sql("{} // 1000000", micros))
    cut = sql(f"({{}} // {10 ** (6 - digits)})::DECIMAL(38, 0) * 0.{'0' * (digits - 1)}1::DECIMAL(7, {digits})", micros)
    found = decimal(cut, digits)
    shown = sql("CASE WHEN {} = 0 THEN '0' ELSE {}::VARCHAR END", micros, found.sql)
    return Value(found.sql, "decimal", scale=digits, text=shown)


def _from_unixtime(situation: Situation, value: Value, form: Value | None = None) -> Value:
    number = numeric(value)
    if number.kind == "wide":
        return null()
    micros = sql("try_cast({} * 1000000 AS BIGINT)::VARCHAR", decimal(number.sql, 6).sql)
    found = asked("from_unixtime", micros, text(situation.zone))
    if form is not None:
        return string(asked("date_format", found, as_text(form)))
    digits = 6 if value.kind in ("string", "real", "json") else min(number.scale, 6) if number.kind == "decimal" else 0
    return _moment(found, digits)


def _in_zone(situation: Situation, value: Value, source: Value, target: Value) -> Value:
    """CONVERT_TZ"""
    if "null" in (value.kind, source.kind, target.kind):
        return null()
    found = asked("convert_tz", dated(situation, value), as_text(source), as_text(target))
    return _moment(found, digits_of(value))


def moved(moment: Sql, zone: str, sign: int) -> Sql:
    """A timestamp from UTC to a zone, or back."""
    minutes = 0 if zone.upper() in ("UTC", "SYSTEM") else offset_of(zone)
    if minutes is not None:
        return sql(f"{{}} + to_minutes({sign * minutes})", moment)
    zones = ("UTC", zone) if sign > 0 else (zone, "UTC")
    return sql("try(timezone({}, timezone({}, {})))", text(zones[1]), text(zones[0]), moment)


# -- made of numbers and texts -----------------------------------------------------------------------------------------


def _make_time(hour: Value, minute: Value, second: Value) -> Value:
    digits = (
        0
        if second.kind in ("bool", "int", "uint", "null")
        else min(second.scale, 6)
        if (second.kind in ("decimal", "wide"))
        else 6
    )
    return _time(
        asked("maketime", _text_of(hour), _text_of(minute), sql("{}::VARCHAR", as_real(second)), text(str(digits))),
        digits,
    )


def _sec_to_time(value: Value) -> Value:
    digits = (
        0
        if value.kind in ("bool", "int", "uint", "null")
        else min(value.scale, 6)
        if (value.kind in ("decimal", "wide"))
        else 6
    )
    return _time(asked("sec_to_time", sql("{}::VARCHAR", as_real(value)), text(str(digits))), digits)


def _str_to_date(situation: Situation, value: Value, form: Value) -> Value:
    kind = kind_of(form.constant) if form.constant is not None else "datetime"
    digits = 6 if form.constant is None or "%f" in form.constant else 0
    found = asked(
        "str_to_date", as_text(value), as_text(form), text(kind), text("z") if "z" in situation.zeros else NULL
    )
    if kind == "time":
        return _time(found, digits)
    return _day(found) if kind == "date" else _moment(found, digits)


def _formatted(situation: Situation, value: Value, form: Value) -> Value:
    return string(asked("date_format", dated(situation, value), as_text(form)))


def _of_numbers(name: str, gives: Callable[[Sql], Value]) -> Callable[..., Value]:
    return lambda *values: gives(asked(name, *map(_text_of, values)))


TIME_FUNCTIONS: dict[str, Function] = {
    **{name: Function(1, 1, _part(name), situated=True) for name in PARTS},
    "DAYOFMONTH": Function(1, 1, _part("DAY"), situated=True),
    **{name: Function(1, 1, _clock_part(name)) for name in CLOCK},
    "DATE": Function(1, 1, _date, situated=True),
    "TIMESTAMP": Function(1, 2, _timestamp, situated=True),
    "TIME": Function(1, 1, _of_time),
    "QUARTER": Function(
        1,
        1,
        lambda situation, value: integer(sql("(substring({}, 6, 2)::BIGINT + 2) // 3", dated(situation, value))),
        situated=True,
    ),
    **{
        name.upper(): Function(1, 1, _of_day(name, _whole), situated=True)
        for name in ("dayofweek", "dayofyear", "weekday", "weekofyear", "to_days", "to_seconds")
    },
    **{name.upper(): Function(1, 1, _of_day(name, string), situated=True) for name in ("dayname", "monthname")},
    "LAST_DAY": Function(1, 1, _last_day, situated=True),
    "DATEDIFF": Function(2, 2, _days_between, situated=True),
    "WEEK": Function(1, 2, _week("week"), situated=True),
    "YEARWEEK": Function(1, 2, _week("yearweek"), situated=True),
    "TIME_TO_SEC": Function(
        1, 1, lambda value: integer(sql("trunc({}::BIGINT / 1000000)", without_problems(timed(value))))
    ),
    "SEC_TO_TIME": Function(1, 1, _sec_to_time),
    "MAKEDATE": Function(2, 2, _of_numbers("makedate", _day)),
    "MAKETIME": Function(3, 3, _make_time),
    "FROM_DAYS": Function(1, 1, _of_numbers("from_days", _day)),
    "PERIOD_ADD": Function(2, 2, _of_numbers("period_add", _whole)),
    "PERIOD_DIFF": Function(2, 2, _of_numbers("period_diff", _whole)),
    "UNIX_TIMESTAMP": Function(1, 1, _unix_timestamp, situated=True),
    "FROM_UNIXTIME": Function(1, 2, _from_unixtime, situated=True),
    "DATE_FORMAT": Function(2, 2, _formatted, situated=True),
    "TIME_FORMAT": Function(2, 2, lambda value, form: string(asked("time_format", timed(value), as_text(form)))),
    "GET_FORMAT": Function(
        2, 2, lambda kind, region: string(asked("get_format", text(kind.constant or ""), as_text(region))), (0,)
    ),
    "STR_TO_DATE": Function(2, 2, _str_to_date, situated=True),
    "CONVERT_TZ": Function(3, 3, _in_zone, situated=True),
    **{name: Function(3, 3, _added(1), (2,), situated=True) for name in ("DATE_ADD", "ADDDATE")},
    **{name: Function(3, 3, _added(-1), (2,), situated=True) for name in ("DATE_SUB", "SUBDATE")},
    "ADDTIME": Function(2, 2, _clock_added(1)),
    "SUBTIME": Function(2, 2, _clock_added(-1)),
    "TIMEDIFF": Function(2, 2, _time_difference),
    "EXTRACT": Function(2, 2, _extract, (0,), situated=True),
    "TIMESTAMPDIFF": Function(3, 3, _timestamp_difference, (0,), situated=True),
    "TIMESTAMPADD": Function(3, 3, _timestamp_add, (0,), situated=True),
}
"""By TiDB's names."""
