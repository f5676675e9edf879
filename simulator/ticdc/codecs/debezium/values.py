"""Values as Debezium's connector for MySQL writes them, in whole columns; nulls stay nulls.

* DECIMAL is a float of 64 bits; BIGINT UNSIGNED wraps around into 64 bits with a sign.
* DATE is days, DATETIME milliseconds or, with more than three decimals, microseconds since 1970, TIME microseconds;
  TIMESTAMP is text in UTC. A DATE, DATETIME or TIMESTAMP that Go's time.Parse cannot read (`0000-00-00`, months and days
  that do not exist) is NULL, or 1970 in a column that is NOT NULL.
* BIT(1) is true or false. Other bits are bytes, the lowest first. Bytes are base64.
* ENUM and SET are their texts.

`source` has the same members in all messages, most of them empty: there is no binlog of MySQL.
"""

from __future__ import annotations

from datetime import date
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Mask, fixed, latin1, stored_buffers
from simulator.columns.row_image import restore_nulls
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs.json_members import Converter, Escaping, Piece, unchanged
from simulator.ticdc.codecs.wire_numbers import padded_float
from simulator.ticdc.codecs.wire_text import base64, decimal, is_raw_plain, raw_escape, raw_quoted
from simulator.ticdc.mounter import to_instants
from simulator.tidb.model import types
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType

CLUSTER = "default"
"""The name of TiCDC's cluster, `--cluster-id` of `cdc server`."""

MILLISECOND_DECIMALS = 3
"""A DATETIME with more decimals is in microseconds."""

EXACT_DIGITS, PLAIN_DECIMALS = 15, 6
"""A float of 64 bits keeps so many digits, and Go writes it without an exponent with so many decimals."""

_LONGEST_SIGNED = 19
"""Digits of the largest BIGINT with a sign."""


def source_pieces(schema: str, table: str, physical: Piece, commit_ts: Piece) -> list[Piece]:
    """Return the pieces of a payload up to the end of `source`."""
    cluster = raw_quoted(CLUSTER)
    return [
        b'{"source":{"version":"2.4.0.Final","connector":"TiCDC","name":' + cluster + b',"ts_ms":',
        physical,
        b',"snapshot":"false","db":%s,"table":%s' % (raw_quoted(schema), raw_quoted(table)),
        b',"server_id":0,"gtid":null,"file":"","pos":0,"row":0,"thread":0,"query":null,"commit_ts":',
        commit_ts,
        b',"cluster_id":' + cluster + b"}",
    ]


def number_format(column: Column, release: Release) -> Converter | None:
    """Return the format of values that are counted, as integers; None for a column of another type."""
    type, moves = column.type, release.debezium_moves_years
    match types.family(type):
        case "date":
            return partial(_date, not_null=column.not_null, moves=moves)
        case "datetime" if type.name != "timestamp":
            return partial(_datetime, column=column, moves=moves, stops=release.debezium_stops_at_odd_dates)
        case "time":
            return lambda cells, type: durations(cells, type.decimal)
    return None


def value_format(column: Column, release: Release, time_zone: str = "") -> Converter:
    """Return the format of a column's values; `time_zone` is that of TIMESTAMPs, empty for UTC."""
    type, numbers = column.type, number_format(column, release)
    if numbers is not None:
        return lambda cells, type: decimal(numbers(cells, type))
    match types.family(type):
        case "bit":
            return _bool if type.length == 1 else _bits
        case "string" | "text":
            return _base64 if types.is_binary(type) else _text
        case "enum" | "set" | "json" | "vector":
            return _text
        case "decimal" if type.length <= EXACT_DIGITS and type.decimal <= PLAIN_DECIMALS and not type.zerofill:
            return _short_decimal
        case "float" | "decimal":
            return padded_float
        case "datetime":
            return timestamp_format(column, release, time_zone)
        case "integer" if types.exceeds_int64(type):
            return _wrapped
    return unchanged


def timestamp_format(column: Column, release: Release, time_zone: str) -> Converter:
    """Return the format of a TIMESTAMP, whose values are in a time zone; empty for UTC."""
    return partial(_timestamp, zone=time_zone, not_null=column.not_null, moves=release.debezium_moves_years)


def is_string(type: ColumnType) -> bool:
    """Whether values of the type are JSON strings."""
    match types.family(type):
        case "bit":
            return type.length != 1
        case "datetime":
            return type.name == "timestamp"
        case family:
            return family in ("string", "text", "enum", "set", "json", "vector")


_text = Escaping(lambda cells, type: raw_escape(cells), is_raw_plain)


def _base64(cells: pa.Array, type: ColumnType) -> pa.Array:
    return base64(latin1(cells))


def _bool(cells: pa.Array, type: ColumnType) -> pa.Array:
    return pc.if_else(pc.equal(cells, b"0"), pa.scalar(b"false"), pa.scalar(b"true"))


def _bits(cells: pa.Array, type: ColumnType) -> pa.Array:
    return base64(bit_bytes(cells, type))


def bit_bytes(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return the bytes of BIT, the lowest first."""
    given, size = cells.drop_null(), (type.length + 7) // 8
    numbers = given.cast(pa.string()).cast(pa.uint64()).to_numpy().astype("<u8")
    return restore_nulls(fixed(np.ascontiguousarray(numbers.view(np.uint8).reshape(-1, 8)[:, :size]), given), cells)


def _short_decimal(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return the float that a DECIMAL with few digits is: the same digits, without zeros at the end."""
    if type.decimal <= 0:
        return cells
    return pc.ascii_rtrim(pc.ascii_rtrim(cells.view(pa.string()), "0"), ".").view(pa.binary())


def _wrapped(cells: pa.Array, type: ColumnType) -> pa.Array:
    if (pc.max(pc.binary_length(cells)).as_py() or 0) < _LONGEST_SIGNED:
        return cells
    return decimal(cells.cast(pa.string()).cast(pa.uint64()).view(pa.int64()))


def _date(cells: pa.Array, type: ColumnType, not_null: bool, moves: bool) -> pa.Array:
    found = parse_existing(cells, pa.date32(), moves)
    if found is not None:
        return found
    days, exists = read_dates(cells, moves)
    return _numbers(days, exists, not_null, cells)


def _datetime(cells: pa.Array, type: ColumnType, column: Column, moves: bool, stops: bool) -> pa.Array:
    found = parse_existing(cells, pa.timestamp("us" if type.decimal > MILLISECOND_DECIMALS else "ms"), moves)
    if found is not None:
        return found
    days, exists = read_dates(cells, moves)
    if stops and not exists.all():
        _reject_odd_dates(cells.filter(pa.array(~exists)), column)
    micros = days * 86400 * MICROS_PER_SECOND + read_clock(cells, type.decimal)
    return _numbers(micros if type.decimal > MILLISECOND_DECIMALS else micros // 1000, exists, column.not_null, cells)


def _reject_odd_dates(cells: pa.Array, column: Column) -> None:
    """Raise EncodeError for a date other than zero, such as 2020-00-31 (types.StrToDateTime)."""
    odd = cells.drop_null()
    odd = odd.filter(pc.invert(pc.starts_with(odd, "0000-00-00")))
    if len(odd):
        raise EncodeError(
            f"[types:1292]Incorrect datetime value: '{odd[0].as_py()[:10].decode()}' in column {column.name}",
            "CDC:ErrDebeziumEncodeFailed",
        )


def _numbers(numbers: Numbers, exists: Mask, not_null: bool, cells: pa.Array) -> pa.Array:
    if not_null:
        nulls = cells.is_null().to_numpy(zero_copy_only=False) if cells.null_count else None
        return pa.array(np.where(exists, numbers, 0), pa.int64(), mask=nulls)
    return pa.array(numbers, pa.int64(), mask=~exists)


def _timestamp(cells: pa.Array, type: ColumnType, zone: str, not_null: bool, moves: bool) -> pa.Array:
    """Return `2024-02-29T23:59:59.000Z`."""
    cells = to_instants(cells, zone)
    texts = pc.binary_join_element_wise(
        pc.binary_slice(cells, 0, 10), b"T", pc.binary_slice(cells, 11, 64), pa.scalar(b"Z"), pa.scalar(b"")
    )
    is_zero = pc.starts_with(cells, b"0000-00-00")
    if not pc.any(is_zero).as_py():
        return texts
    fraction = b"." + b"0" * type.decimal if type.decimal > 0 and not moves else b""
    zero = pa.scalar(b"1970-01-01T00:00:00" + fraction + b"Z" if not_null or moves else None, pa.binary())
    return pc.if_else(is_zero, zero, texts)


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
