"""Moments (DATE, DATETIME) and durations (TIME) of MySQL as DuckDB SQL.

A moment is text `YYYY-MM-DD hh:mm:ss.ffffff`, which sorts by time and can hold zero dates. A duration is a number of
microseconds.
"""

from __future__ import annotations

from simulator.tidb.expressions.sql.graph import Sql, sql, when
from simulator.tidb.expressions.sql.problems import TRUNCATED, problem_where


def parse_printed_moment(shown: Sql) -> Sql:
    """Parse the text that TiDB prints of a date or datetime."""
    end = sql("CASE length({}) WHEN 10 THEN ' 00:00:00.' WHEN 19 THEN '.' ELSE '' END", shown)
    return sql("rpad({} || {}, 26, '0')", shown, end)


def parse_moment(shown: Sql) -> Sql:
    """Parse a moment in any spelling of MySQL; other text is null, with a problem."""
    result = sql("nullif(moment_of({}), '')", shown)
    return problem_where(result, sql("{} IS NULL", result), TRUNCATED, "1292 Incorrect datetime value: '{}'", shown)


def moment_number(moment: Sql, kind: str) -> Sql:
    """Return `YYYYMMDD` of a date or `YYYYMMDDhhmmss.ffffff` of a datetime, as text."""
    if kind == "date":
        return sql("replace(left({}, 10), '-', '')", moment)
    return sql("regexp_replace({}, '[-: ]', '', 'g')", moment)


def to_timestamp(moment: Sql) -> Sql:
    """Return a DuckDB timestamp; null for a date with a zero part or outside of the calendar."""
    return sql("try_cast({} AS TIMESTAMP)", moment)


def from_timestamp(timestamp: Sql) -> Sql:
    """Return a moment; null beyond the year 9999."""
    within = sql("{} BETWEEN TIMESTAMP '0000-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'", timestamp)
    return when(within, sql("strftime({}, '%Y-%m-%d %H:%M:%S.%f')", timestamp))


def round_moment(moment: Sql, digits: int) -> Sql:
    """Round a moment to `digits` of a second; one outside of the calendar is truncated."""
    unit = 10 ** (6 - max(digits, 0))
    if unit == 1:
        return moment
    micros = sql("epoch_us({})", to_timestamp(moment))
    more = sql(f"((({{}} + {unit // 2}) % {unit} + {unit}) % {unit})", micros)
    near = from_timestamp(sql(f"try(make_timestamp({{}} + {unit // 2} - {{}}))", micros, more))
    return sql("CASE WHEN right({}, 6) = '000000' THEN {} ELSE coalesce({}, {}) END", moment, moment, near, moment)


def parse_duration(shown: Sql) -> Sql:
    """Parse a TIME in any spelling of MySQL; other text is null, with a problem."""
    result = sql("nullif(time_of({}), '')", shown)
    problem = "1292 Truncated incorrect time value: '{}'"
    return parse_printed_duration(problem_where(result, sql("{} IS NULL", result), TRUNCATED, problem, shown))


def round_duration(duration: Sql, digits: int) -> Sql:
    """Round a duration to `digits` of a second."""
    unit = 10 ** (6 - max(digits, 0))
    if unit == 1:
        return duration
    return sql(
        f"CASE WHEN {{}} < 0 THEN -1 ELSE 1 END * ((abs({{}}) + {unit // 2}) // {unit} * {unit})", duration, duration
    )


def parse_printed_duration(shown: Sql) -> Sql:
    """Parse the text that TiDB prints of a TIME."""
    result = sql(r"regexp_extract({}, '^(-?)(\d+):(\d\d):(\d\d)(?:\.(\d*))?$', ['s', 'h', 'm', 'n', 'f'])", shown)
    hours, minutes, seconds = (_number(sql(f"{{}}.{part}", result)) for part in "hmn")
    fraction = _number(sql("rpad(coalesce({}.f, ''), 6, '0')", result))
    whole = sql("({} * 3600 + {} * 60 + {}) * 1000000 + {}", hours, minutes, seconds, fraction)
    return when(sql("{} IS NOT NULL", shown), sql("CASE WHEN {}.s = '-' THEN -1 ELSE 1 END * ({})", result, whole))


def _number(digits: Sql) -> Sql:
    return sql("coalesce(try_cast({} AS BIGINT), 0)", digits)


def clock_number(duration: Sql) -> Sql:
    """Return the number `hhmmss`, followed by six digits of its fraction."""
    size = sql("abs({})", duration)
    seconds = sql("({} // 1000000)", size)
    shown = sql("({} // 3600) * 10000 + ({} // 60) % 60 * 100 + {} % 60", seconds, seconds, seconds)
    return sql("(({}) * 1000000 + {} % 1000000) * sign({})", shown, size, duration)


def long_duration_text(duration: Sql) -> Sql:
    """Return a duration as TiDB prints it with six digits of a second."""
    shown = duration_text(duration)
    return sql("CASE WHEN contains({}, '.') THEN {} ELSE {} || '.000000' END", shown, shown, shown)


def duration_text(duration: Sql) -> Sql:
    """Return a duration as TiDB prints it, without a zero fraction."""
    size = sql("abs({})", duration)
    seconds = sql("({} // 1000000)", size)
    hours, minutes, rest = (sql(part, seconds) for part in ("({} // 3600)", "({} // 60) % 60", "{} % 60"))
    shown = [
        sql("lpad(({})::VARCHAR, greatest(length(({})::VARCHAR), 2)::INTEGER, '0')", part, part)
        for part in (hours, minutes, rest)
    ]
    micros = sql("({} % 1000000)", size)
    fraction = sql("CASE WHEN {} > 0 THEN '.' || lpad({}::VARCHAR, 6, '0') ELSE '' END", micros, micros)
    sign = sql("CASE WHEN {} < 0 THEN '-' ELSE '' END", duration)
    return sql("{} || {} || ':' || {} || ':' || {} || {}", sign, *shown, fraction)
