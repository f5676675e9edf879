"""MySQL's functions of dates and times.

One law: parts of a moment are read from its text, so that zero dates have them; sums need a date that exists. A form is
a literal, and each of its letters stands for one expression (TiDB: pkg/types/time.go, DateFormat).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from simulator.tidb.expressions.comparisons import as_duration, as_moment
from simulator.tidb.expressions.moments import from_timestamp, timestamp
from simulator.tidb.expressions.sql import Sql, joined, sql, text, when
from simulator.tidb.expressions.values import Function, Value, as_integer, decimal, integer, null, numeric, string

PARTS = {"YEAR": (1, 4), "MONTH": (6, 2), "DAY": (9, 2), "HOUR": (12, 2), "MINUTE": (15, 2), "SECOND": (18, 2),
         "MICROSECOND": (21, 6)}
"""First character and length in the text of a moment."""

MICROS = {"MICROSECOND": 1, "SECOND": 10 ** 6, "MINUTE": 60 * 10 ** 6, "HOUR": 3600 * 10 ** 6, "DAY": 86400 * 10 ** 6,
          "WEEK": 7 * 86400 * 10 ** 6}
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
UNITS = (*MICROS, *MONTHS)
"""The units that need no text to be taken apart."""


def _part(name: str) -> Callable[[Value], Value]:
    start, length = PARTS[name]

    def part(value: Value) -> Value:
        if value.kind == "time" and name in MICROS and name != "DAY":
            return _time_part(name, value)
        return integer(sql(f"substring({{}}, {start}, {length})", as_moment(value)))

    return part


def _time_part(name: str, value: Value) -> Value:
    size = sql("abs({})", as_duration(value))
    over = {"MINUTE": 60, "SECOND": 60, "MICROSECOND": 10 ** 6}.get(name, 10 ** 9)
    return integer(sql(f"({{}} // {MICROS[name]}) % {over}", size))


def _of_day(template: str) -> Callable[[Value], Value]:
    return lambda value: integer(sql(template, timestamp(as_moment(value))))


def _date(value: Value) -> Value:
    return Value(sql("left({}, 10) || ' 00:00:00.000000'", as_moment(value)), "date")


def _moment(value: Value) -> Value:
    return Value(as_moment(value), "datetime")


def _added(sign: int) -> Callable[[Value, Value, Value], Value]:
    """DATE_ADD, DATE_SUB: a date stays one if whole days are added."""
    def added(time: Value, amount: Value, unit: Value) -> Value:
        name = unit.constant or ""
        start = timestamp(as_moment(time))
        if name in MONTHS:
            months = sql(f"try_cast({{}}::HUGEINT * {sign * MONTHS[name]} AS INTEGER)", as_integer(amount))
            found = sql("try({} + to_months({}))", start, months)
        else:
            number = numeric(amount)
            whole = sql("{}::HUGEINT", as_integer(amount)) if name != "SECOND" else (
                number.sql if number.kind == "real" else decimal(number.sql, 6).sql)
            micros = sql(f"try_cast(round({{}} * {sign * MICROS[name]}) AS BIGINT)", whole)
            found = sql("try(make_timestamp(epoch_us({}) + {}))", start, micros)
        day = name in (*MONTHS, "DAY", "WEEK") and time.kind == "date"
        return Value(from_timestamp(found), "date" if day else "datetime")

    return added


def _extract(unit: Value, value: Value) -> Value:
    if unit.constant in PARTS:
        return _part(unit.constant)(value)
    return _of_day("quarter({})" if unit.constant == "QUARTER" else "week({})")(value)


def _difference(unit: Value, first: Value, second: Value) -> Value:
    """TIMESTAMPDIFF: whole units between two moments."""
    start, end = timestamp(as_moment(first)), timestamp(as_moment(second))
    if unit.constant not in MONTHS:
        micros = sql("(epoch_us({}) - epoch_us({}))", end, start)
        return integer(sql(f"{{}} // {MICROS[unit.constant or 'DAY']}", micros))
    return integer(sql(f"{{}} // {MONTHS[unit.constant]}", _months(start, end)))


def _months(start: Sql, end: Sql) -> Sql:
    """Whole months; the day and the time of day decide about the last one."""
    low, high = sql("least({}, {})", start, end), sql("greatest({}, {})", start, end)
    count = sql("date_diff('month', {}, {})", low, high)
    short = sql("(day({}), {}::TIME) < (day({}), {}::TIME)", high, high, low, low)
    whole = sql("({} - CASE WHEN {} THEN 1 ELSE 0 END)", count, short)
    known = sql("{} IS NOT NULL AND {} IS NOT NULL", start, end)
    return when(known, sql("CASE WHEN {} > {} THEN -{} ELSE {} END", start, end, whole, whole))


def _days(value: Value) -> Sql:
    return sql("date_diff('day', DATE '1970-01-01', {}::DATE)", timestamp(as_moment(value)))


def _micros(value: Value) -> Sql:
    """Since 1970, the time zone UTC."""
    return sql("epoch_us({})", timestamp(as_moment(value)))


def _last_day(value: Value) -> Value:
    return Value(from_timestamp(sql("last_day({})::TIMESTAMP", timestamp(as_moment(value)))), "date")


def _unix_timestamp(value: Value) -> Value:
    """A whole number of a moment without a fraction, else a decimal."""
    seconds = decimal(sql("try({}::DECIMAL(38, 0) * 0.000001::DECIMAL(7, 6))", _micros(value)), 6)
    return integer(seconds.sql) if value.kind == "date" else Value(
        seconds.sql, "decimal", scale=6, text=sql(r"regexp_replace({}::VARCHAR, '\.?0*$', '')", seconds.sql))


def _name(function: str) -> Callable[[Value], Value]:
    return lambda value: string(sql(f"{function}({{}})", timestamp(as_moment(value))))


# -- text of a given form, and time zones -----------------------------------------------------------------------------

HOUR_OF_12 = "(substring({}, 12, 2)::INTEGER + 11) % 12 + 1"
DAY_OF_MONTH = "substring({}, 9, 2)::INTEGER"
OF_TEXT = {
    "%Y": "left({}, 4)", "%y": "substring({}, 3, 2)", "%m": "substring({}, 6, 2)",
    "%c": "(substring({}, 6, 2)::INTEGER)::VARCHAR", "%d": "substring({}, 9, 2)", "%e": f"({DAY_OF_MONTH})::VARCHAR",
    "%H": "substring({}, 12, 2)", "%k": "(substring({}, 12, 2)::INTEGER)::VARCHAR",
    "%h": f"lpad(({HOUR_OF_12})::VARCHAR, 2, '0')", "%I": f"lpad(({HOUR_OF_12})::VARCHAR, 2, '0')",
    "%l": f"({HOUR_OF_12})::VARCHAR", "%i": "substring({}, 15, 2)", "%S": "substring({}, 18, 2)",
    "%s": "substring({}, 18, 2)", "%f": "substring({}, 21, 6)", "%T": "substring({}, 12, 8)",
    "%p": "CASE WHEN substring({}, 12, 2) < '12' THEN 'AM' ELSE 'PM' END",
}
"""What is cut out of the text of a moment."""

OF_CLOCK = ("%H", "%k", "%h", "%I", "%l", "%i", "%S", "%s", "%f", "%T", "%r", "%p")
OF_DAY = {
    "%a": "left(dayname({}), 3)", "%W": "dayname({})", "%b": "left(monthname({}), 3)", "%M": "monthname({})",
    "%j": "lpad(dayofyear({})::VARCHAR, 3, '0')", "%w": "dayofweek({})::VARCHAR", "%U": "strftime({}, '%U')",
    "%u": "strftime({}, '%W')", "%v": "strftime({}, '%V')", "%x": "strftime({}, '%G')",
}
"""What needs a day of the calendar."""

STRPTIME = {
    "%Y": "%Y", "%y": "%y", "%m": "%m", "%c": "%-m", "%d": "%d", "%e": "%-d", "%H": "%H", "%k": "%-H", "%h": "%I",
    "%I": "%I", "%l": "%-I", "%i": "%M", "%S": "%S", "%s": "%S", "%f": "%f", "%T": "%H:%M:%S", "%p": "%p", "%b": "%b",
    "%M": "%B", "%j": "%j", "%a": "%a", "%W": "%A", "%r": "%I:%M:%S %p", "%%": "%%",
}
"""MySQL's letters in DuckDB's spelling, for reading."""


def formatted(value: Value, form: Value) -> Value:
    """DATE_FORMAT"""
    moment = as_moment(value)
    pieces = [_piece(letter, moment) for letter in _letters(form.constant or "")]
    return string(when(sql("{} IS NOT NULL", moment), joined("||", pieces) if pieces else text("")))


def _letters(form: str) -> Iterator[str]:
    yield from re.findall(r"(?s)%.|[^%]+|%$", form)


def _piece(letter: str, moment: Sql) -> Sql:
    if letter == "%r":
        minutes = sql("substring({}, 14, 6)", moment)
        return joined("||", [_piece("%I", moment), minutes, text(" "), _piece("%p", moment)])
    if letter == "%D":
        return _ordinal(sql(DAY_OF_MONTH, moment))
    if letter in OF_TEXT:
        template = OF_TEXT[letter]
        return sql(template, *[moment] * template.count("{}"))
    if letter in OF_DAY:
        return sql(OF_DAY[letter], timestamp(moment))
    return text(letter.removeprefix("%") if letter.startswith("%") else letter)


def _ordinal(day: Sql) -> Sql:
    return sql("{}::VARCHAR || CASE WHEN {} IN (1, 21, 31) THEN 'st' WHEN {} IN (2, 22) THEN 'nd' "
               "WHEN {} IN (3, 23) THEN 'rd' ELSE 'th' END", day, day, day, day)


def parsed(value: Value, form: Value) -> Value:
    """STR_TO_DATE: NULL for a text that has not that form."""
    letters = list(_letters(form.constant or ""))
    spelled = "".join(STRPTIME.get(letter, letter) for letter in letters)
    found = from_timestamp(sql("try_strptime({}, {})", _trimmed(value), text(spelled)))
    timed = any(letter in OF_CLOCK for letter in letters)
    return Value(found, "datetime" if timed else "date")


def _trimmed(value: Value) -> Sql:
    return sql("trim({})", value.text or value.sql)


def from_unixtime(value: Value, form: Value | None = None) -> Value:
    """FROM_UNIXTIME, the time zone UTC."""
    seconds = decimal(numeric(value).sql, 6).sql
    micros = sql("try_cast({} * 1000000 AS BIGINT)", seconds)
    within = when(sql("{} BETWEEN 0 AND 32536771199999999", micros), micros)
    moment = Value(from_timestamp(sql("try(make_timestamp({}))", within)), "datetime")
    return moment if form is None else formatted(moment, form)


def in_zone(value: Value, source: Value, target: Value) -> Value:
    """CONVERT_TZ: between offsets `+hh:mm` and names of zones; NULL for a name that is none."""
    moment = timestamp(as_moment(value))
    if "null" in (value.kind, source.kind, target.kind):
        return null()
    there = moved(moved(moment, source.constant or "", -1), target.constant or "", 1)
    return Value(from_timestamp(there), "datetime")


def moved(moment: Sql, zone: str, sign: int) -> Sql:
    """A timestamp from UTC to a zone, or back."""
    minutes = _offset(zone)
    if minutes is not None:
        return sql(f"{{}} + to_minutes({sign * minutes})", moment)
    zones = ("UTC", zone) if sign > 0 else (zone, "UTC")
    return sql("try(timezone({}, timezone({}, {})))", text(zones[1]), text(zones[0]), moment)


def _offset(zone: str) -> int | None:
    """Minutes."""
    found = re.fullmatch(r"([+-])(\d{1,2}):(\d{2})", zone)
    minutes = int(found[2]) * 60 + int(found[3]) if found else 0
    return (-minutes if found[1] == "-" else minutes) if found else 0 if zone.upper() == "UTC" else None


TIME_FUNCTIONS: dict[str, Function] = {
    **{name: Function(1, 1, _part(name)) for name in PARTS},
    "DAYOFMONTH": Function(1, 1, _part("DAY")),
    "DATE": Function(1, 1, _date),
    "TIMESTAMP": Function(1, 1, _moment),
    "TIME": Function(1, 1, lambda value: Value(as_duration(value), "time")),
    "QUARTER": Function(1, 1, lambda value: integer(
        sql("(substring({}, 6, 2)::BIGINT + 2) // 3", as_moment(value)))),
    "DAYOFWEEK": Function(1, 1, _of_day("dayofweek({}) + 1")),
    "DAYOFYEAR": Function(1, 1, _of_day("dayofyear({})")),
    "WEEKDAY": Function(1, 1, _of_day("isodow({}) - 1")),
    "WEEKOFYEAR": Function(1, 1, _of_day("week({})")),
    "DAYNAME": Function(1, 1, _name("dayname")),
    "MONTHNAME": Function(1, 1, _name("monthname")),
    "LAST_DAY": Function(1, 1, _last_day),
    "DATEDIFF": Function(2, 2, lambda end, start: integer(sql("{} - {}", _days(end), _days(start)))),
    "TO_DAYS": Function(1, 1, lambda value: integer(sql("{} + 719528", _days(value)))),
    "TO_SECONDS": Function(1, 1, lambda value: integer(
        sql("{} * 86400 + (({} % 86400000000) + 86400000000) % 86400000000 // 1000000 + 62167219200",
            _days(value), _micros(value)))),
    "TIME_TO_SEC": Function(1, 1, lambda value: integer(sql("{} // 1000000", as_duration(value)))),
    "UNIX_TIMESTAMP": Function(1, 1, _unix_timestamp),
    "FROM_UNIXTIME": Function(1, 2, from_unixtime, (1,)),
    "DATE_FORMAT": Function(2, 2, formatted, (1,)),
    "STR_TO_DATE": Function(2, 2, parsed, (1,)),
    "CONVERT_TZ": Function(3, 3, in_zone, (1, 2)),
    "DATE_ADD": Function(3, 3, _added(1), (2,)),
    "ADDDATE": Function(3, 3, _added(1), (2,)),
    "DATE_SUB": Function(3, 3, _added(-1), (2,)),
    "SUBDATE": Function(3, 3, _added(-1), (2,)),
    "EXTRACT": Function(2, 2, _extract, (0,)),
    "TIMESTAMPDIFF": Function(3, 3, _difference, (0,)),
    "TIMESTAMPADD": Function(3, 3, lambda unit, amount, time: _added(1)(time, amount, unit), (0,)),
}
"""By TiDB's names."""
