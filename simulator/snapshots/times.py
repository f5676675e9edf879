"""Dates and times as TiDB prints them, with exactly their fractional digits.

One law: each function gives TiDB text, or null for what strict mode would reject; zero dates are values like others.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.schema.table import ColumnType
from simulator.snapshots.binding import let

_PARTS = (r"^\s*(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,2})"
          r"(?:[T ]+(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?\s*$")
_COMPACT = r"^(\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2})(?:\.(\d*))?)?$"
_ZERO = r"^(0000-\d\d|\d{4}-00|\d{4}-(0[1-9]|1[0-2])-00)"
_RANGE = "1969-12-31 10:00:00", "2038-01-19 17:14:08"
"""TIMESTAMP's, with room for any time zone the dump was taken in."""

_DURATION = r"^\s*(-?)(?:(\d{1,2}) )?(\d{1,3}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?\s*$"
_DURATION_NUMBER = r"^(-?)(\d{1,3}?)(\d{2})(\d{2})(?:\.(\d*))?$"


def date(text: Column) -> Column:
    """DATE from text."""
    exact = text.rlike(r"^\d{4}-\d\d-\d\d$") & _is_date(text)
    return F.when(exact, text).otherwise(let(F.substring(_spelled(text), 1, 10), _checked_date))


def _is_date(text: Column) -> Column:
    return text.try_cast("date").isNotNull()


def _checked_date(text: Column) -> Column:
    return F.when(_is_date(text) | _is_zero(text), text)


def _is_zero(text: Column) -> Column:
    """Whether a date has a zero month or day, or is all zeros, and is otherwise one."""
    month, day = F.substring(text, 6, 2), F.substring(text, 9, 2)
    return text.rlike(_ZERO) & month.between("00", "12") & day.between("00", "31")


def datetime(type: ColumnType, text: Column) -> Column:
    """DATETIME or TIMESTAMP from text."""
    digits = max(type.decimal, 0)
    shape = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d" + (rf"\.\d{{{digits}}}$" if digits else "$")
    moment = text.try_cast("timestamp_ntz")
    known = F.when(text.rlike(shape) & moment.isNotNull(), text).otherwise(_loose(digits, text))
    return known if type.name == "datetime" else _in_range(type, known)


def moment(type: ColumnType, value: Column) -> Column:
    """DATETIME or TIMESTAMP from Spark's timestamp in the session's zone, UTC."""
    text = _formatted(max(type.decimal, 0), value)
    return text if type.name == "datetime" else F.when(value.between(*map(F.lit, _RANGE)), text)


def _in_range(type: ColumnType, text: Column) -> Column:
    if type.name != "timestamp":
        return text
    return F.when(text.between(*_RANGE) | text.startswith("0000-00-00"), text)


def _formatted(digits: int, value: Column) -> Column:
    """A timestamp's text, rounded half up to that many fractional digits; null outside the years 0 to 9999.

    Put together from the spellings of two digits: half of what Spark's own cast to a string costs.
    """
    unit = 10 ** (6 - digits)
    micros = F.unix_micros(value) + unit // 2
    moment = F.timestamp_micros(micros)
    second = F.floor(F.pmod(micros, F.lit(86_400_000_000)) / 1_000_000).cast("int")
    year = F.year(moment)
    parts = [
        _two(F.floor(year / 100)), _two(year % 100), F.lit("-"), _two(F.month(moment)), F.lit("-"),
        _two(F.day(moment)), F.lit(" "), _two(F.floor(second / 3600)), F.lit(":"), _two(F.floor(second / 60) % 60),
        F.lit(":"), _two(second % 60)]
    if digits:
        fraction = F.floor(F.pmod(micros, F.lit(1_000_000)) / unit)
        parts += [F.lit("."), F.lpad(fraction.cast("string"), digits, "0")]
    return F.concat(*parts)


def _two(number: Column) -> Column:
    """0 to 99 as two digits, null for other numbers."""
    return F.get(F.split(F.lit(" ".join(f"{number:02}" for number in range(100))), " "), number.cast("int"))


def _padded(digits: int, text: Column) -> Column:
    """Text of a moment with exactly that many fractional digits, at least as many as it has."""
    if not digits:
        return text
    pointed = F.when(F.length(text) == 19, F.concat(text, F.lit("."))).otherwise(text)
    return F.rpad(pointed, 20 + digits, "0")


def _loose(digits: int, text: Column) -> Column:
    """A moment in another spelling, or with more or fewer fractional digits, or a zero date."""
    return let(_spelled(text), lambda spelled: _loose_spelled(digits, spelled))


def _loose_spelled(digits: int, spelled: Column) -> Column:
    zero = F.substring(_padded(6, spelled), 1, 20 + digits if digits else 19)
    clock = F.substring(spelled, 12, 8).rlike(r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$")
    return (F.when(_is_zero(F.substring(spelled, 1, 10)) & clock, zero)
            .otherwise(let(spelled.try_cast("timestamp"), lambda value: _formatted(digits, value))))


def _spelled(text: Column) -> Column:
    """`YYYY-MM-DD HH:MM:SS[.digits]` of any spelling MySQL takes, null for others; not checked further."""
    pattern = F.when(text.rlike(_PARTS), _joined(text, _PARTS))
    return pattern.when(text.rlike(_COMPACT), _joined(text, _COMPACT))


def _joined(text: Column, pattern: str) -> Column:
    year, month, day, hour, minute, second = (
        F.lpad(F.regexp_extract(text, pattern, group), 2, "0") for group in range(1, 7))
    year = F.regexp_extract(text, pattern, 1)
    year = F.when(F.length(year) <= 2, F.when(F.lpad(year, 2, "0") < "70", F.concat(F.lit("20"), F.lpad(year, 2, "0")))
                  .otherwise(F.concat(F.lit("19"), year))).otherwise(F.lpad(year, 4, "0"))
    fraction = F.substring(F.regexp_extract(text, pattern, 7), 1, 6)
    fraction = F.when(fraction == "", "").otherwise(F.concat(F.lit("."), fraction))
    return F.concat(year, F.lit("-"), month, F.lit("-"), day, F.lit(" "), hour, F.lit(":"), minute, F.lit(":"), second,
                    fraction)


def duration(type: ColumnType, text: Column) -> Column:
    """TIME from text: up to 838:59:59 on either side of zero."""
    digits = max(type.decimal, 0)
    shape = r"^-?([0-7]?\d\d|8[0-2]\d|83[0-8]):[0-5]\d:[0-5]\d" + (rf"\.\d{{{digits}}}$" if digits else "$")
    exact = text.rlike(shape) & ~text.rlike(r"^-?0\d\d:") & ~text.rlike(r"^-[0:.]*$")
    return F.when(exact & ~text.rlike(r"838:59:59\.0*[1-9]"), text).otherwise(_loose_duration(digits, text))


def _loose_duration(digits: int, text: Column) -> Column:
    colons, compact = text.rlike(_DURATION), F.lpad(text, 6, "0")
    signed = F.when(text.startswith("-"), F.concat(F.lit("-"), F.lpad(F.substring(text, 2, 20), 6, "0")))
    compact = F.when(text.rlike(r"^\d{1,6}$"), compact).when(text.rlike(r"^-\d{1,6}$"), signed).otherwise(text)

    def part(colon_group: int, compact_group: int) -> Column:
        extracted = F.when(colons, F.regexp_extract(text, _DURATION, colon_group))
        return extracted.otherwise(F.regexp_extract(compact, _DURATION_NUMBER, compact_group) if compact_group else "")

    def number(colon_group: int, compact_group: int) -> Column:
        return F.coalesce(part(colon_group, compact_group).try_cast("bigint"), F.lit(0))

    minutes, seconds = number(4, 3), number(5, 4)
    whole = (number(2, 0) * 24 + number(3, 2)) * 3600 + minutes * 60 + seconds
    micros = F.rpad(F.substring(part(6, 5), 1, 7), 7, "0").try_cast("bigint")
    unit = 10 ** (7 - digits)
    units = whole * 10**digits + F.floor((micros + unit // 2) / unit)
    known = (colons | compact.rlike(_DURATION_NUMBER)) & (minutes < 60) & (seconds < 60)
    most = (838 * 3600 + 59 * 60 + 59) * 10**digits
    return F.when(known, let(units, lambda units: F.when(
        units <= most, _clock(units, digits, text.rlike(r"^\s*-") & (units > 0)))))


def _clock(units: Column, digits: int, negative: Column) -> Column:
    seconds = F.floor(units / 10**digits)
    hours = F.floor(seconds / 3600).cast("string")
    parts = [
        F.when(negative, "-").otherwise(""), F.when(F.length(hours) < 2, F.lpad(hours, 2, "0")).otherwise(hours),
        F.lit(":"), F.lpad((F.floor(seconds / 60) % 60).cast("string"), 2, "0"),
        F.lit(":"), F.lpad((seconds % 60).cast("string"), 2, "0")]
    if digits:
        parts += [F.lit("."), F.lpad((units % 10**digits).cast("string"), digits, "0")]
    return F.concat(*parts)
