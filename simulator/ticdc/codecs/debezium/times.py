"""Dates and times as Debezium counts them: days, milliseconds and microseconds, from texts of a fixed width.

Go's time.Parse refuses months and days that do not exist; such values are marked here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Mask, stored_buffers
from simulator.columns.row_image import restore_nulls

Numbers = npt.NDArray[np.int64]

MICROS_PER_SECOND = 1_000_000
DAYS_IN_MONTH = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def read_dates(cells: pa.Array, moves: bool) -> tuple[Numbers, Mask]:
    """Return the days since 1970 of texts that begin with a date, and which dates exist.

    The days of others mean nothing. NULL is a date that does not exist. With `moves` the years below 100 are those of
    1970 to 2069.
    """
    digits = _matrix(cells, 10)
    year, month, day = _number(digits, 0, 4), _number(digits, 5, 7), _number(digits, 8, 10)
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    has_month = (month >= 1) & (month <= 12)
    last = DAYS_IN_MONTH[np.where(has_month, month, 0)] + ((month == 2) & leap)
    if moves:
        year = np.where(year < 70, year + 2000, np.where(year < 100, year + 1900, year))
    return days_since_1970(year, month, day), has_month & (day >= 1) & (day <= last)


def days_since_1970(year: Numbers, month: Numbers, day: Numbers) -> Numbers:
    """Return the days from 1970-01-01 to a date of the Gregorian calendar, also before its introduction."""
    years = year - (month <= 2)
    era = years // 400
    year_of_era = years - era * 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    result: Numbers = era * 146097 + day_of_era - 719468
    return result


def read_clock(cells: pa.Array, decimals: int) -> Numbers:
    """Return the microseconds since midnight of DATETIME texts with so many decimals."""
    digits = _matrix(cells, 19 + (decimals + 1 if decimals > 0 else 0))
    seconds = (_number(digits, 11, 13) * 60 + _number(digits, 14, 16)) * 60 + _number(digits, 17, 19)
    return seconds * MICROS_PER_SECOND + _fraction(digits, decimals)


def durations(cells: pa.Array, decimals: int) -> pa.Array:
    """Return the microseconds of TIME texts, `-838:59:59.000000`; null for NULL."""
    given = cells.drop_null()
    tail = 6 + (decimals + 1 if decimals > 0 else 0)
    hours = pc.binary_slice(given, 0, -tail).cast(pa.string())
    negative = pc.starts_with(hours, "-").to_numpy(zero_copy_only=False)
    hours = pc.utf8_ltrim(hours, "-").cast(pa.int64()).to_numpy()
    digits = _matrix(pc.binary_slice(given, -tail), tail)
    seconds = hours * 3600 + _number(digits, 1, 3) * 60 + _number(digits, 4, 6)
    micros = seconds * MICROS_PER_SECOND + _fraction(digits, decimals)
    return restore_nulls(pa.array(np.where(negative, -micros, micros), pa.int64()), cells)


def _matrix(cells: pa.Array, width: int) -> Bytes:
    """Return the first `width` bytes of each text as digits; zeros for NULL."""
    filled = pc.fill_null(cells, b"0" * width)
    data, offsets = stored_buffers(filled)
    if len(data) != width * len(cells):
        data, _ = stored_buffers(pc.binary_slice(filled, 0, width))
    return data.reshape(len(cells), width) - np.uint8(0x30)


def _fraction(digits: Bytes, decimals: int) -> Numbers:
    """Return the last `decimals` digits as microseconds."""
    if decimals <= 0:
        return np.zeros(len(digits), np.int64)
    width = digits.shape[1]
    result: Numbers = _number(digits, width - decimals, width) * 10 ** (6 - decimals)
    return result


def _number(digits: Bytes, start: int, end: int) -> Numbers:
    powers = 10 ** np.arange(end - start - 1, -1, -1)
    result: Numbers = digits[:, start:end].astype(np.int64) @ powers
    return result
