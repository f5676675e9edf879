"""Dates, times of day and durations of MySQL on Spark.

One law: a moment is text `YYYY-MM-DD hh:mm:ss.ffffff`, whose order is that of time, zero dates among them; a duration
is a number of microseconds.
"""

from __future__ import annotations

import re

from pyspark.sql import Column
from pyspark.sql import functions as F

MOMENT = (r"^\s*(\d{1,4})[-/.^@:](\d{1,2})[-/.^@:](\d{1,2})"
          r"(?:[T\s]+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,6}))?)?)?)?\s*$")
COMPACT = r"^\s*(\d{2}|\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2})(?:\.(\d{0,6}))?)?\s*$"
DURATION = r"^\s*(-?)(?:(\d+)\s+)?(\d+):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,6}))?)?\s*$"
DURATION_NUMBER = r"^\s*(-?)(?:(\d*?)(\d{1,2})(?=\d\d(?:\.|\s|$)))?(\d{1,2})(?:\.(\d{0,6}))?\s*$"
EXACT = r"^\d{4}-\d\d-\d\d$|^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{0,6})?$"


def printed_moment(text: Column) -> Column:
    """A moment from the text that TiDB prints of a date or time."""
    return F.rpad(F.concat(text, F.when(F.length(text) == 10, F.lit(" 00:00:00.")).when(
        F.length(text) == 19, F.lit(".")).otherwise(F.lit(""))), 26, "0")


def moment(text: Column) -> Column:
    """A moment from its text, in any of the spellings that MySQL takes; null for another text."""
    return F.when(text.rlike(EXACT), printed_moment(text)).when(text.rlike(MOMENT), _spelled(text, MOMENT)).when(
        text.rlike(COMPACT), _spelled(text, COMPACT))


def constant_moment(text: str) -> str | None:
    """The same of a literal."""
    found = re.match(MOMENT, text) or re.match(COMPACT, text)
    if not found:
        return None
    year, month, day, hour, minute, second = (part or "0" for part in found.groups()[:6])
    if len(year) < 3:
        year = f"{'20' if int(year) < 70 else '19'}{int(year):02}"
    if int(month) > 12 or int(day) > 31 or int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return None
    clock = f"{int(hour):02}:{int(minute):02}:{int(second):02}"
    return f"{int(year):04}-{int(month):02}-{int(day):02} {clock}.{(found[7] or '').ljust(6, '0')}"


def _spelled(text: Column, pattern: str) -> Column:
    parts = [F.regexp_extract(text, pattern, place) for place in range(1, 8)]
    year = F.when(F.length(parts[0]) > 2, F.lpad(parts[0], 4, "0")).otherwise(
        F.concat(F.when(parts[0].cast("int") < 70, F.lit("20")).otherwise(F.lit("19")), F.lpad(parts[0], 2, "0")))
    month, day, hour, minute, second = (F.lpad(part, 2, "0") for part in parts[1:6])
    found = F.concat(year, F.lit("-"), month, F.lit("-"), day, F.lit(" "), hour, F.lit(":"), minute, F.lit(":"), second,
                     F.lit("."), F.rpad(parts[6], 6, "0"))
    valid = (month <= "12") & (day <= "31") & (hour <= "23") & (minute <= "59") & (second <= "59")
    return F.when(valid, found)


def moment_number(moment: Column, kind: str) -> Column:
    """`YYYYMMDD` of a date, `YYYYMMDDhhmmss.ffffff` of a moment."""
    if kind == "date":
        return F.replace(F.substring(moment, 1, 10), F.lit("-"), F.lit("")).cast("decimal(20,6)")
    return F.regexp_replace(moment, r"[-: ]", "").cast("decimal(20,6)")


def timestamp(moment: Column) -> Column:
    """A Spark timestamp without a zone; null for a date that has a zero in it."""
    return moment.try_cast("timestamp_ntz")


def from_timestamp(timestamp: Column) -> Column:
    return F.date_format(timestamp, "yyyy-MM-dd HH:mm:ss.SSSSSS")


def duration(text: Column) -> Column:
    """Microseconds from the text of a TIME: `-838:59:59.000000`, `1 10:00:00`, `10:00`, `101500`; null for another."""
    short = [F.regexp_extract(text, DURATION_NUMBER, place) for place in range(1, 6)]
    return F.when(text.rlike(DURATION), printed_duration(text)).when(
        text.rlike(DURATION_NUMBER), _micros(short[0], _number(short[1]), short[2], short[3], short[4]))


def printed_duration(text: Column) -> Column:
    """Microseconds from a text with colons."""
    parts = [F.regexp_extract(text, DURATION, place) for place in range(1, 7)]
    hours = _number(parts[1]) * 24 + _number(parts[2])
    return F.when(text.isNotNull(), _micros(parts[0], hours, parts[3], parts[4], parts[5]))


def constant_duration(text: str) -> int | None:
    """The microseconds of a literal."""
    found, short = re.match(DURATION, text), re.match(DURATION_NUMBER, text)
    if not found and not short:
        return None
    sign, days, *parts = found.groups() if found else (short[1], None, *short.groups()[1:]) if short else ()
    hours, minutes, seconds = (int(part or 0) for part in parts[:3])
    whole = ((int(days or 0) * 24 + hours) * 3600 + minutes * 60 + seconds) * 1_000_000
    return (whole + int((parts[3] or "").ljust(6, "0"))) * (-1 if sign else 1)


def _micros(sign: Column, hours: Column, minutes: Column, seconds: Column, fraction: Column) -> Column:
    whole = (hours * 3600 + _number(minutes) * 60 + _number(seconds)) * 1_000_000 + _number(F.rpad(fraction, 6, "0"))
    return F.when(sign == "-", -whole).otherwise(whole)


def _number(digits: Column) -> Column:
    return F.coalesce(digits.try_cast("bigint"), F.lit(0).cast("bigint"))


def clock(duration: Column) -> Column:
    """A duration as the number `hhmmss` with six more digits for its fraction."""
    size = F.abs(duration)
    seconds = F.floor(size / 1_000_000)
    shown = F.floor(seconds / 3600) * 10000 + F.floor(seconds / 60) % 60 * 100 + seconds % 60
    return (shown * 1_000_000 + size % 1_000_000) * F.signum(duration)


def duration_text(duration: Column) -> Column:
    """A duration as TiDB prints it, its fraction only where it has one."""
    size = F.abs(duration)
    seconds = F.floor(size / 1_000_000)
    parts = (F.floor(seconds / 3600), F.floor(seconds / 60) % 60, seconds % 60)
    shown = F.concat_ws(":", *(F.lpad(part.cast("string"), 2, "0") for part in parts))
    fraction = F.when(size % 1_000_000 > 0, F.concat(F.lit("."), F.lpad((size % 1_000_000).cast("string"), 6, "0")))
    return F.concat(F.when(duration < 0, F.lit("-")).otherwise(F.lit("")), shown, F.coalesce(fraction, F.lit("")))
