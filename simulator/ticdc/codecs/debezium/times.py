"""Dates and times as Debezium counts them: days, milliseconds and microseconds, from texts of a fixed width.

Go's time.Parse refuses months and days that do not exist; such values are marked here.
"""

from __future__ import annotations

from datetime import date

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Mask, stored_buffers
from simulator.columns.row_image import restore_nulls

Numbers = npt.NDArray[np.int64]

MICROS_PER_SECOND = 1_000_000


def _days_to_january(year: Numbers) -> Numbers:
    """Return the days from 1970 to the first day of a year of the Gregorian calendar, also before its introduction."""
    past = year - 1
    days: Numbers = 365 * year + past // 4 - past // 100 + past // 400 - 719527
    return days


_YEARS = np.arange(10_000)
_MOVED = np.where(_YEARS < 70, _YEARS + 2000, np.where(_YEARS < 100, _YEARS + 1900, _YEARS))
_JANUARY = {False: _days_to_january(_YEARS), True: _days_to_january(_MOVED)}
_LEAP = ((_YEARS % 4 == 0) & ((_YEARS % 100 != 0) | (_YEARS % 400 == 0))).astype(np.int32)
_MONTHS = np.array([[0, 31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] + [0] * 87 for leap in (0, 1)])
_LAST, _BEFORE = _MONTHS.ravel(), (np.cumsum(_MONTHS, axis=1) - _MONTHS).ravel()
"""By leap year and month, two digits, also those of months that do not exist: the last day, the days before."""


def parse_existing(cells: pa.Array, kind: pa.DataType, moves: bool) -> pa.Array | None:
    """Return DATE or DATETIME texts as the integers of Arrow's type, null for NULL; None if a date does not exist or, with
    `moves`, is moved to another year."""
    try:
        found = cells.view(pa.string()).cast(kind)
    except pa.ArrowInvalid:
        return None
    numbers = found.view(pa.int32() if kind == pa.date32() else pa.int64())
    first = pc.min(numbers).as_py() if moves else None
    if first is not None and first < pa.scalar(FIRST_KEPT, pa.date32()).cast(kind).value:
        return None
    return numbers.cast(pa.int64())


FIRST_KEPT = date(100, 1, 1)
"""Dates from here on stay in their year."""


def read_dates(cells: pa.Array, moves: bool) -> tuple[Numbers, Mask]:
    """Return the days since 1970 of texts that begin with a date, and which dates exist.

    The days of others mean nothing. NULL is a date that does not exist. With `moves` the years below 100 are those of
    1970 to 2069.
    """
    digits = _digits(cells, 10)
    year, month, day = _number(digits, 0, 4), _number(digits, 5, 7), _number(digits, 8, 10)
    place = _LEAP[year] * 100 + month
    return _JANUARY[moves][year] + _BEFORE[place] + day - 1, (day >= 1) & (day <= _LAST[place])


def read_clock(cells: pa.Array, decimals: int) -> Numbers:
    """Return the microseconds since midnight of DATETIME texts with so many decimals."""
    digits = _digits(cells, 19 + (decimals + 1 if decimals > 0 else 0))
    seconds = (_number(digits, 11, 13) * 60 + _number(digits, 14, 16)) * 60 + _number(digits, 17, 19)
    return seconds.astype(np.int64) * MICROS_PER_SECOND + _fraction(digits, decimals)


def durations(cells: pa.Array, decimals: int) -> pa.Array:
    """Return the microseconds of TIME texts, `-838:59:59.000000`; null for NULL."""
    given = cells.drop_null()
    tail = 6 + (decimals + 1 if decimals > 0 else 0)
    hours = pc.binary_slice(given, 0, -tail).cast(pa.string())
    negative = pc.starts_with(hours, "-").to_numpy(zero_copy_only=False)
    hours = pc.utf8_ltrim(hours, "-").cast(pa.int64()).to_numpy()
    digits = _digits(pc.binary_slice(given, -tail), tail)
    seconds = hours * 3600 + _number(digits, 1, 3) * 60 + _number(digits, 4, 6)
    micros = seconds * MICROS_PER_SECOND + _fraction(digits, decimals)
    return restore_nulls(pa.array(np.where(negative, -micros, micros), pa.int64()), cells)


def _digits(cells: pa.Array, width: int) -> Bytes:
    """Return the first `width` bytes of all texts as digits, a row for each place; zeros for NULL."""
    filled = pc.fill_null(cells, b"0" * width)
    data, _ = stored_buffers(filled)
    if len(data) != width * len(cells):
        data, _ = stored_buffers(pc.binary_slice(filled, 0, width))
    return np.ascontiguousarray(data.reshape(len(cells), width).T) - np.uint8(0x30)


def _fraction(digits: Bytes, decimals: int) -> Numbers:
    """Return the last `decimals` digits as microseconds."""
    if decimals <= 0:
        return np.zeros(digits.shape[1], np.int64)
    fraction: Numbers = _number(digits, len(digits) - decimals, len(digits)).astype(np.int64) * 10 ** (6 - decimals)
    return fraction


def _number(digits: Bytes, start: int, end: int) -> npt.NDArray[np.int32]:
    number: npt.NDArray[np.int32] = digits[start].astype(np.int32)
    for place in range(start + 1, end):
        number = number * 10 + digits[place]
    return number
