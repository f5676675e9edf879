"""Dates and times as text of a given form, and in time zones.

One law: a form is a literal, and each of its letters stands for one expression (TiDB: pkg/types/time.go, DateFormat).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from simulator.tidb.expressions.comparisons import as_moment
from simulator.tidb.expressions.moments import from_timestamp, timestamp
from simulator.tidb.expressions.sql import Sql, joined, sql, text, when
from simulator.tidb.expressions.values import Value, decimal, null, numeric, string

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
    there = _moved(_moved(moment, source.constant or "", -1), target.constant or "", 1)
    return Value(from_timestamp(there), "datetime")


def _moved(moment: Sql, zone: str, sign: int) -> Sql:
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
