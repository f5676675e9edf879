"""Dates, times of day and durations of MySQL as DuckDB SQL.

One law: a moment is text `YYYY-MM-DD hh:mm:ss.ffffff`, whose order is that of time, zero dates among them; a duration
is a number of microseconds.
"""

from __future__ import annotations

from simulator.tidb.expressions.sql import Sql, sql, switched, text, when

MOMENT = (r"^\s*(\d{1,4})[-/.^@:](\d{1,2})[-/.^@:](\d{1,2})"
          r"(?:[T\s]+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,6}))?)?)?)?\s*$")
COMPACT = r"^\s*(\d{2}|\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2})(?:\.(\d{0,6}))?)?\s*$"
DURATION = r"^\s*(-?)(?:(\d+)\s+)?(\d+):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,6}))?)?\s*$"
SHORT = r"^\s*(-?)(\d{1,9})(?:\.(\d{0,6}))?\s*$"
EXACT = r"^\d{4}-\d\d-\d\d$|^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{0,6})?$"


def printed_moment(shown: Sql) -> Sql:
    """A moment from the text that TiDB prints of a date or time."""
    end = sql("CASE length({}) WHEN 10 THEN ' 00:00:00.' WHEN 19 THEN '.' ELSE '' END", shown)
    return sql("rpad({} || {}, 26, '0')", shown, end)


def moment(shown: Sql) -> Sql:
    """A moment from its text, in any of the spellings that MySQL takes; null for another text."""
    return switched([
        (_fits(shown, EXACT), printed_moment(shown)), (_fits(shown, MOMENT), _spelled(shown, MOMENT)),
        (_fits(shown, COMPACT), _spelled(shown, COMPACT))])


def _fits(shown: Sql, pattern: str) -> Sql:
    return sql("regexp_matches({}, {})", shown, text(pattern))


def _parts(shown: Sql, pattern: str, count: int) -> list[Sql]:
    """The groups of a pattern, empty where they are not there."""
    names = ", ".join(f"'p{place}'" for place in range(count))
    found = sql(f"regexp_extract({{}}, {{}}, [{names}])", shown, text(pattern))
    return [sql(f"coalesce({{}}.p{place}, '')", found) for place in range(count)]


def _spelled(shown: Sql, pattern: str) -> Sql:
    year, *parts, fraction = _parts(shown, pattern, 7)
    century = sql("CASE WHEN try_cast({} AS INTEGER) < 70 THEN '20' ELSE '19' END", year)
    short = sql("{} || lpad({}, 2, '0')", century, year)
    full = when(sql("length({}) > 2", year), sql("lpad({}, 4, '0')", year), short)
    month, day, hour, minute, second = (sql("lpad({}, 2, '0')", part) for part in parts)
    found = sql("concat({}, '-', {}, '-', {}, ' ', {}, ':', {}, ':', {}, '.', rpad({}, 6, '0'))",
                full, month, day, hour, minute, second, fraction)
    valid = sql("{} <= '12' AND {} <= '31' AND {} <= '23' AND {} <= '59' AND {} <= '59'",
                month, day, hour, minute, second)
    return when(valid, found)


def moment_number(moment: Sql, kind: str) -> Sql:
    """`YYYYMMDD` of a date, `YYYYMMDDhhmmss.ffffff` of a moment, as text."""
    if kind == "date":
        return sql("replace(left({}, 10), '-', '')", moment)
    return sql("regexp_replace({}, '[-: ]', '', 'g')", moment)


def timestamp(moment: Sql) -> Sql:
    """A DuckDB timestamp; null for a date that has a zero in it, or is not in the calendar."""
    return sql("try_cast({} AS TIMESTAMP)", moment)


def from_timestamp(timestamp: Sql) -> Sql:
    """Null beyond the year 9999."""
    within = sql("{} BETWEEN TIMESTAMP '0000-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'", timestamp)
    return when(within, sql("strftime({}, '%Y-%m-%d %H:%M:%S.%f')", timestamp))


def rounded_moment(moment: Sql, digits: int) -> Sql:
    """The nearest moment with that many digits of a second; one that is not in the calendar is cut."""
    unit = 10 ** (6 - max(digits, 0))
    if unit == 1:
        return moment
    micros = sql("epoch_us({})", timestamp(moment))
    near = from_timestamp(sql(f"try(make_timestamp(({{}} + {unit // 2}) - ({{}} + {unit // 2}) % {unit}))",
                              micros, micros))
    return sql("CASE WHEN right({}, 6) = '000000' THEN {} ELSE coalesce({}, {}) END", moment, moment, near, moment)


def duration(shown: Sql) -> Sql:
    """Microseconds from the text of a TIME: `-838:59:59.000000`, `1 10:00:00`, `10:00`, `101500`; null for another."""
    sign, digits, fraction = _parts(shown, SHORT, 3)
    padded = sql("lpad({}, greatest(length({}), 6)::INTEGER, '0')", digits, digits)
    hours, minutes, seconds = (
        sql("left({}, length({}) - 4)", padded, padded), sql("substring({}, length({}) - 3, 2)", padded, padded),
        sql("right({}, 2)", padded))
    return switched([
        (_fits(shown, DURATION), printed_duration(shown)),
        (_fits(shown, SHORT), _micros(sign, _number(hours), minutes, seconds, fraction))])


def printed_duration(shown: Sql) -> Sql:
    """Microseconds from a text with colons."""
    sign, days, hours, minutes, seconds, fraction = _parts(shown, DURATION, 6)
    whole = sql("{} * 24 + {}", _number(days), _number(hours))
    return when(sql("{} IS NOT NULL", shown), _micros(sign, whole, minutes, seconds, fraction))


def _micros(sign: Sql, hours: Sql, minutes: Sql, seconds: Sql, fraction: Sql) -> Sql:
    whole = sql("(({}) * 3600 + {} * 60 + {}) * 1000000 + {}", hours, _number(minutes), _number(seconds),
                _number(sql("rpad({}, 6, '0')", fraction)))
    return sql("CASE WHEN {} = '-' THEN -1 ELSE 1 END * ({})", sign, whole)


def _number(digits: Sql) -> Sql:
    return sql("coalesce(try_cast({} AS BIGINT), 0)", digits)


def clock(duration: Sql) -> Sql:
    """A duration as the number `hhmmss` with six more digits for its fraction."""
    size = sql("abs({})", duration)
    seconds = sql("({} // 1000000)", size)
    shown = sql("({} // 3600) * 10000 + ({} // 60) % 60 * 100 + {} % 60", seconds, seconds, seconds)
    return sql("(({}) * 1000000 + {} % 1000000) * sign({})", shown, size, duration)


def duration_text(duration: Sql) -> Sql:
    """A duration as TiDB prints it, its fraction only where it has one."""
    size = sql("abs({})", duration)
    seconds = sql("({} // 1000000)", size)
    hours, minutes, rest = (sql(part, seconds) for part in ("({} // 3600)", "({} // 60) % 60", "{} % 60"))
    shown = [sql("lpad(({})::VARCHAR, greatest(length(({})::VARCHAR), 2)::INTEGER, '0')", part, part)
             for part in (hours, minutes, rest)]
    micros = sql("({} % 1000000)", size)
    fraction = sql("CASE WHEN {} > 0 THEN '.' || lpad({}::VARCHAR, 6, '0') ELSE '' END", micros, micros)
    sign = sql("CASE WHEN {} < 0 THEN '-' ELSE '' END", duration)
    return sql("{} || {} || ':' || {} || ':' || {} || {}", sign, *shown, fraction)
