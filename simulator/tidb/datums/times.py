"""Cast datums to DATE, DATETIME, TIMESTAMP, TIME and YEAR (tidb pkg/types/datum.go, pkg/types/time.go)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import NamedTuple

from simulator.tidb.datums import (
    OUT_OF_RANGE,
    CastProblem,
    Datum,
    Mode,
    datum_text,
    inconvertible,
    incorrect_value,
    other_problem,
    truncated_value,
)
from simulator.tidb.datums.numbers import BIGINTS, MOST, SPACE, cast_integer, json_integer, text_integer
from simulator.tidb.model.types import ColumnType
from simulator.tidb.values.documents import load
from simulator.tidb.values.durations import LONGEST, duration_micros, duration_text, round_duration, text_duration
from simulator.tidb.values.moments import (
    ZERO,
    CoreTime,
    InvalidDigits,
    as_utc,
    in_century,
    in_range,
    number_moment,
    parse_stored_moment,
    text_moment,
)

MOST_CLOCK, LEAST_LONG_NUMBER = 8385959, 10_000_000_000
UNREADABLE = other_problem(1105, "strconv.Atoi: parsing: invalid syntax")


class ConvertedMoment(NamedTuple):
    moment: CoreTime | None
    """None for NULL."""

    problem: CastProblem | None = None


def cast_moment(type: ColumnType, datum: Datum, mode: Mode) -> tuple[str | None, CastProblem | None]:
    """Cast a datum to DATE, DATETIME, or TIMESTAMP in UTC (pkg/table/column.go, CastColumnValue)."""
    digits = max(type.decimal, 0) if type.name != "date" else 0
    moment, problem = _converted(type, datum, digits, mode)
    if moment is None:
        return None, problem
    if type.name == "date":
        moment = CoreTime(*moment[:3])
    moment, problem = _allowed(type, datum, moment, problem, mode)
    if type.name == "date":
        return moment.text()[:10], problem
    moment = moment._replace(digits=digits)
    if type.name == "timestamp":
        moment = as_utc(moment, mode.zone) or ZERO._replace(digits=digits)
    return moment.text(), problem


def _allowed(
    type: ColumnType, datum: Datum, moment: CoreTime, problem: CastProblem | None, mode: Mode
) -> tuple[CoreTime, CastProblem | None]:
    """Apply sql_mode to zero and invalid dates (pkg/table/column.go, handleZeroDatetime)."""
    if mode.loading:
        return moment, problem
    invalid = problem is not None and problem.number == 1292
    refused = incorrect_value(type.name, datum_text(datum))
    if type.name == "timestamp":
        if moment.is_zero():
            return ZERO, refused if invalid or "NO_ZERO_DATE" in mode.sql_mode else None
        if invalid:
            return ZERO, refused._replace(forced=mode.strict)
    elif moment.is_zero():
        return ZERO, refused if invalid or "NO_ZERO_DATE" in mode.sql_mode else None
    elif not (moment.month and moment.day):
        return (ZERO, refused) if "NO_ZERO_IN_DATE" in mode.sql_mode else (moment, None)
    return moment, problem


def _converted(type: ColumnType, datum: Datum, digits: int, mode: Mode) -> ConvertedMoment:
    """Convert a datum to a date and time (convertToMysqlTime, convertToMysqlTimestamp)."""
    kind, text = datum.kind, datum_text(datum)
    if kind in ("date", "datetime", "timestamp"):
        moment = parse_stored_moment(text)
        if kind != type.name and not moment.is_zero() and not _checked(type, moment, mode):
            return ConvertedMoment(moment, incorrect_value(type.name, text))
        return _rounded(type, moment, digits, text)
    if kind == "time":
        day = mode.now.astimezone(mode.zone).replace(tzinfo=None)
        day_time = CoreTime(day.year, day.month, day.day).later(timedelta(microseconds=duration_micros(text)))
        assert day_time is not None
        day_time = day_time._replace(digits=len(text.partition(".")[2]))
        if not _checked(type, day_time, mode):
            return ConvertedMoment(day_time, incorrect_value("time", text))
        return _rounded(type, day_time, digits, text)
    if kind == "int" or kind == "uint" and type.name != "timestamp":
        return _of_number(type, int(text), text, mode)
    if kind == "decimal":
        if text.startswith("0.0"):
            return ConvertedMoment(ZERO)
        return _of_text(type, text, digits, mode, number=True)
    if kind in ("string", "gbk", "bytes"):
        return _of_text(type, text, digits, mode)
    if kind == "json":
        value = json.loads(text)
        return _of_text(type, value if isinstance(value, str) else text, digits, mode)
    return ConvertedMoment(None, inconvertible(datum, type))


def _rounded(type: ColumnType, moment: CoreTime, digits: int, text: str) -> ConvertedMoment:
    if type.name == "date":
        return ConvertedMoment(moment)
    rounded = moment.rounded(digits)
    return ConvertedMoment(moment, incorrect_value("time", text)) if rounded is None else ConvertedMoment(rounded)


def _checked(type: ColumnType, moment: CoreTime, mode: Mode) -> bool:
    if type.name == "timestamp":
        return as_utc(moment, mode.zone) is not None
    return in_range(moment, mode.zero_in_date, mode.any_day)


def _of_number(type: ColumnType, number: int, text: str, mode: Mode) -> ConvertedMoment:
    moment = number_moment(number) if number <= MOST else None
    if moment is None or not (moment.is_zero() or in_range(moment, mode.zero_in_date, mode.any_day)):
        return ConvertedMoment(ZERO, incorrect_value("time", text))
    if not _checked(type, moment, mode):
        return ConvertedMoment(ZERO, incorrect_value("time", text))
    return ConvertedMoment(moment)


def _of_text(type: ColumnType, text: str, digits: int, mode: Mode, number: bool = False) -> ConvertedMoment:
    try:
        moment = text_moment(text, digits, mode.zone, number)
    except InvalidDigits:
        return ConvertedMoment(ZERO, UNREADABLE)
    if moment is None or not _checked(type, moment, mode):
        return ConvertedMoment(ZERO, incorrect_value("datetime", text))
    return ConvertedMoment(moment)


# -- TIME --------------------------------------------------------------------------------------------------------------


def cast_time(type: ColumnType, datum: Datum, mode: Mode) -> tuple[str | None, CastProblem | None]:
    """Cast a datum to TIME (convertToMysqlDuration)."""
    digits, kind, text = max(type.decimal, 0), datum.kind, datum_text(datum)
    if kind == "time":
        return round_duration(text, digits), None
    if kind in ("date", "datetime", "timestamp"):
        moment = parse_stored_moment(text)
        return round_duration(duration_text(moment.clock, moment.digits), digits), None
    if kind in ("int", "uint", "decimal", "double", "float"):
        number, problem = cast_integer(datum, BIGINTS, mode.lenient)
        if problem:
            return None, problem
        if MOST_CLOCK < number < LEAST_LONG_NUMBER:
            return duration_text(LONGEST, digits), incorrect_value("time", text)
        if number < -MOST_CLOCK:
            return None, incorrect_value("time", text)
    elif kind == "json":
        value = json.loads(text)
        text = value if isinstance(value, str) else text
    elif kind not in ("string", "gbk", "bytes"):
        return None, inconvertible(datum, type)
    parsed = text_duration(text, digits, mode.zone, mode.zero_in_date, mode.any_day)
    return duration_text(parsed.micros, digits), truncated_value("time", text) if parsed.is_invalid else None


# -- YEAR --------------------------------------------------------------------------------------------------------------


def cast_year(type: ColumnType, datum: Datum, mode: Mode) -> tuple[str, CastProblem | None]:
    """Cast a datum to YEAR (ConvertToMysqlYear)."""
    kind, text, zero = datum.kind, datum_text(datum), False
    if kind in ("string", "gbk", "bytes"):
        trimmed = text.strip(SPACE)
        year, problem = text_integer(trimmed, mode.lenient)
        if problem and not (mode.lenient and problem.name == "wrong value"):
            return "0", problem
        zero = len(datum.body) != 4 and not year and trimmed.startswith("0")
    elif kind in ("date", "datetime", "timestamp"):
        year, problem = int(text[:4]), None
    elif kind == "time":
        day = mode.now.astimezone(mode.zone).replace(hour=0, minute=0, second=0, microsecond=0)
        year, problem = (day + timedelta(microseconds=duration_micros(text))).year, None
    elif kind == "json":
        year, problem = json_integer(load(text), BIGINTS, mode.lenient)
        if problem and not (mode.lenient and problem.name == "wrong value"):
            return "0", problem
    else:
        year, problem = cast_integer(datum, BIGINTS, mode.lenient)
        if problem:
            return "0", inconvertible(datum, type)
    if not year and not zero:
        return "0", problem
    year = in_century(year) if year >= 0 else year
    nearest = 0 if year < 0 else min(max(year, 1901), 2155)
    return str(nearest), problem or (None if nearest == year else OUT_OF_RANGE)
