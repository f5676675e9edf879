"""Convert values to another type, as ALTER TABLE … MODIFY COLUMN does in strict mode.

The result is null for NULL and for values that TiDB rejects (tidb pkg/types/datum.go, ConvertTo; pkg/types/convert.go).
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import cells
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.values import documents, durations, moments, numbers, spellings, strings
from simulator.tidb.values.conversion import tagged, tidb_text
from simulator.tidb.values.kernels import map_distinct, matches, null_unless, replace_unusual, utf8

COUNTED = frozenset(("integer", "decimal", "float", "year", "bit"))
DATED = frozenset(("date", "datetime"))
TIMED = DATED | {"time"}
"""Families of types."""

_SIGNED = ColumnType("bigint")
_SECONDS = {"time": ColumnType("time"), "date": ColumnType("date"), "datetime": ColumnType("datetime")}
"""Types without fractional seconds, by family."""


def convert_text(source: ColumnType, target: ColumnType, text: pa.Array, today: str = "") -> pa.Array:
    """Convert TiDB text to another type. A TIME becomes a DATETIME of `today` (`2020-02-20`), or null without it."""
    text = utf8(text)
    if source == target:
        return text
    before, after = family(source), family(target)
    if after in COUNTED:
        number = number_text(source, target, text)
        return tidb_text(target, number) if after not in COUNTS else COUNTS[after](target, number)
    if after in TIMED and before in (*COUNTED, *TIMED, "json"):
        return _timed(source, target, text, today)
    if after in ("enum", "set") and before == "integer":
        return _member(target, text)
    if after == "enum" and before in ("string", "text"):
        text = null_unless(pc.not_equal(text, ""), text)
    if after == "json" and before not in ("string", "text", "enum", "set"):
        return _document(source, text)
    if is_binary(source):
        return tidb_text(target, cells.latin1(text))
    return tidb_text(target, numbers.positional(text) if before == "float" else text)


def convertible(source: ColumnType, target: ColumnType) -> bool:
    """Whether `convert_text` needs no `today`."""
    return family(source) != "time" or family(target) not in DATED


# -- numbers -----------------------------------------------------------------------------------------------------------


def number_text(source: ColumnType, target: ColumnType, text: pa.Array) -> pa.Array:
    """Return the text of the number that a value converts to, with TiDB's intermediate rounding."""
    before, after = family(source), family(target)
    whole = after in ("integer", "year", "bit")
    if is_binary(source):
        bytes = cells.latin1(text).cast(pa.binary())
        return utf8(bytes if after == "decimal" else pc.replace_substring_regex(bytes, r"(?s)\x00.*", ""))
    if source.elements:
        return strings.number_of(source, text)
    if before == "float":
        return _rounded(widened(source, text)) if whole else numbers.positional(widened(source, text))
    if before == "json":
        return map_distinct(text, lambda cell: _scalar(cell, whole))
    if before in DATED and after == "year":
        return pc.utf8_slice_codeunits(text, 0, 4)
    if before in TIMED:
        text = _rounded_time(_SECONDS[before], text) if whole and not target.unsigned else text
        return pc.replace_substring_regex(text, ":" if before == "time" else "[-: ]", "")
    return map_distinct(text, _bits) if before == "integer" and after == "bit" else text


def widened(source: ColumnType, text: pa.Array) -> pa.Array:
    """Return a FLOAT with the digits of its DOUBLE."""
    return numbers.shortest(text.cast(pa.float32()).cast(pa.float64())) if source.name == "float" else text


def _rounded(text: pa.Array) -> pa.Array:
    """Round floats to integers, half to even (tidb pkg/types/helper.go, RoundFloat)."""
    number = pc.round(text.cast(pa.float64()), 0, "half_to_even")
    return numbers.positional(numbers.shortest(number))


def _bits(integer: str) -> str:
    """Return the unsigned integer with the 64 bits of an integer."""
    return integer if not integer.startswith("-") else str(int(integer) + 2**64)


def _scalar(document: str, whole: bool) -> str | None:
    """Return the number of a JSON value, or None (ConvertJSONToInt, ConvertJSONToFloat)."""
    value = json.loads(document)
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return format(round(value), "d") if whole else document
    return None if value is None or isinstance(value, (list, dict)) else str(value)


def _year(target: ColumnType, number: pa.Array) -> pa.Array:
    """Convert numbers to YEAR. 0 is 0, other than four zeros as text are 2000 (ConvertToMysqlYear, AdjustYear)."""
    whole = tidb_text(_SIGNED, number)
    zeros = pc.and_(pc.equal(whole, "0"), matches(pc.ascii_trim_whitespace(number), "00|000|00000+"))
    return pc.if_else(zeros, "2000", pc.if_else(pc.equal(whole, "0"), "0", tidb_text(target, whole)))


def _bit(target: ColumnType, number: pa.Array) -> pa.Array:
    """Convert numbers to BIT."""
    return tidb_text(target, tagged(number))


COUNTS = {"year": _year, "bit": _bit}
"""The families to which numbers convert differently from `tidb_text`."""


def _member(target: ColumnType, number: pa.Array) -> pa.Array:
    """Convert numbers to ENUM and SET."""
    return map_distinct(number, lambda cell: strings.member_of(target, int(cell)))


# -- moments -----------------------------------------------------------------------------------------------------------


def _timed(source: ColumnType, target: ColumnType, text: pa.Array, today: str) -> pa.Array:
    before, after = family(source), family(target)
    if before == "json":
        text = map_distinct(text, _unquoted)
    elif before in COUNTED:
        number = numbers.positional(widened(source, text)) if before == "float" else text
        unsigned = target.name == "timestamp" and source.unsigned
        convert = _clock_of if after == "time" else moment_of
        text = pa.nulls(len(text), pa.string()) if unsigned else map_distinct(number, convert)
    elif before == "time" and after in DATED:
        text = map_distinct(text, lambda cell: _on(today, cell))
    elif before == "time":
        return _rounded_time(target, text)
    elif target.name == "date":
        text = pc.utf8_slice_codeunits(text, 0, 10)
    elif before in DATED and after == "time":
        clocks = pc.utf8_slice_codeunits(text, 11, 32)
        text = pc.if_else(pc.equal(clocks, ""), "00:00:00", clocks)
    return tidb_text(target, text)


def _rounded_time(target: ColumnType, text: pa.Array) -> pa.Array:
    """Round times to fewer fractional digits, half up, also below zero (Duration.RoundFrac)."""
    usual, digits = pc.invert(pc.starts_with(text, "-")), max(target.decimal, 0)
    return replace_unusual(
        text,
        usual,
        lambda odd: map_distinct(odd, lambda cell: durations.round_duration(cell, digits)),
        tidb_text(target, text),
    )


def _unquoted(document: str) -> str:
    value = json.loads(document)
    return value if isinstance(value, str) else document


def _clock_of(text: str) -> str | None:
    """Return a number if it is a TIME, or a date and time from 10,000,000,000 on (convertToMysqlDuration)."""
    number = round(float(text))
    return None if number < -8385959 or 8385959 < number < 10_000_000_000 else text


def moment_of(number: str) -> str | None:
    """Convert a number YYYYMMDDhhmmss, or a shorter form, to a date and time, or None (parseDateTimeFromNum).

    TiDB has no ALTER TABLE from DECIMAL or FLOAT: they are converted back, for the row before ALTER TABLE. A fraction
    is one of seconds (tidb pkg/types/time.go, ParseTimeFromDecimal).
    """
    whole, _, fraction = number.partition(".")
    moment = moments.number_moment(int(whole))
    if not (moment and moment.month and moment.day and moments.in_range(moment)):
        return None
    return f"{moment.text()}.{fraction}" if fraction and int(whole) > 99991231 else moment.text()


def _on(today: str, clock: str) -> str | None:
    """Return the date and time of a TIME of a day."""
    if not today:
        return None
    micros = spellings.duration(clock, 6)
    moment = datetime.fromisoformat(today) + timedelta(microseconds=micros or 0)
    return moment.isoformat(" ", "microseconds")


# -- documents ---------------------------------------------------------------------------------------------------------


def _document(source: ColumnType, text: pa.Array) -> pa.Array:
    """Convert to JSON scalars: numbers to numbers, times to strings with microseconds, the rest to strings."""
    before = family(source)
    if is_binary(source):
        return documents.document(utf8(cells.latin1(text)))
    if before in ("integer", "year"):
        return text
    if before == "float":
        return documents.document(widened(source, text))
    if before == "decimal":
        return documents.document(numbers.shortest(text.cast(pa.float64())))
    if before == "bit":
        size = (max(source.length, 1) + 7) // 8
        return map_distinct(text, lambda cell: _quoted(int(cell).to_bytes(size, "big")))
    if source.name != "date":
        text = tidb_text(ColumnType("time" if before == "time" else "datetime", decimal=6), text)
    return pc.binary_join_element_wise('"', text, '"', "")


def _quoted(bytes: bytes) -> str:
    """Return bytes as a JSON string, with Go's escapes for invalid UTF-8."""
    text = "".join(
        PRIVATE if "\udc80" <= letter <= "\udcff" else letter for letter in bytes.decode("utf-8", "surrogateescape")
    )
    return (documents.normal_json(json.dumps(text)) or "").replace(PRIVATE, "\\ufffd")


PRIVATE = "\ue000"
