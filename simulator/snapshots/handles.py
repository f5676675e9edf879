"""The handle key of a row as bytes that sort as TiDB sorts its keys, and its integer handle.

One law: equal keys give equal bytes, different keys different ones, and smaller keys smaller ones. Text sorts by its
code points (utf8mb4_bin) under every collation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.schema.table import ColumnType, Table
from simulator.snapshots import numbers

_DIGITS = "0123456789", "9876543210"


def handle(table: Table, key: Sequence[str], texts: Mapping[str, Column]) -> Column:
    """Bytes of the handle key's columns from their TiDB text."""
    types = {column.name: column.type for column in table.columns}
    parts = [_ordered(types[name], texts[name]) for name in key]
    return parts[0] if len(parts) == 1 else F.concat(*parts)


def row_id(type: ColumnType, text: Column) -> Column:
    """The integer handle as int64; an unsigned one beyond it wraps, as in TiKV's keys."""
    if not (type.unsigned and type.name == "bigint"):
        return text.cast("bigint")
    wrapped = (text.cast("decimal(20,0)") - F.lit(str(2**64)).cast("decimal(20,0)")).cast("bigint")
    return F.coalesce(text.try_cast("bigint"), wrapped)


def synthetic_row_id(handle: Column) -> Column:
    """A `_tidb_rowid` for a table without an integer handle: positive, the same wherever the key is the same."""
    positive = F.xxhash64(handle).bitwiseAND(F.lit(2**63 - 1))
    return F.when(positive == 0, F.lit(1).cast("bigint")).otherwise(positive)


def _ordered(type: ColumnType, text: Column) -> Column:
    name = type.name
    if name in numbers.BITS or name in ("bit", "year"):
        wide = ColumnType("bigint", unsigned=True) if name == "bit" else type
        return _integer(row_id(wide, text), wide.unsigned)
    if name == "decimal":
        return _decimal(type, text)
    if name in ("float", "double"):
        return _floating(text)
    if name == "time":
        return _time(text)
    if name == "enum":
        members = F.array(*(F.lit(member) for member in type.elements))
        return _integer(F.array_position(members, text), True)
    if name in ("date", "datetime", "timestamp"):
        return text.cast("binary")
    return _string(text)


def _integer(number: Column, unsigned: bool) -> Column:
    """Eight bytes big-endian; the sign bit of a signed one flipped."""
    return (number if unsigned else number.bitwiseXOR(F.lit(-(2**63)))).cast("bigint").cast("binary")


def _string(text: Column) -> Column:
    """Zero bytes escaped, two zero bytes as the end."""
    end = F.lit("\x00\x00")
    return F.concat(F.replace(text, F.lit("\x00"), F.lit("\x00\x01")), end).cast("binary")


def _signed(negative: Column, magnitude: Column) -> Column:
    """Digits of one length after their sign, those of a negative number complemented."""
    return F.when(negative, F.concat(F.lit("0"), F.translate(magnitude, *_DIGITS))).otherwise(
        F.concat(F.lit("1"), magnitude)).cast("binary")


def _decimal(type: ColumnType, text: Column) -> Column:
    return _signed(text.startswith("-"), F.lpad(F.translate(text, "-.", ""), type.length, "0"))


def _time(text: Column) -> Column:
    magnitude = F.translate(text, "-:.", "")
    short = text.rlike(r"^-?\d\d:")
    return _signed(text.startswith("-"), F.when(short, F.concat(F.lit("0"), magnitude)).otherwise(magnitude))


def _floating(text: Column) -> Column:
    """Exponent and 17 digits."""
    spelled = F.format_string("%.16e", F.abs(text.cast("double")))
    exponent = F.regexp_extract(spelled, "e(.*)$", 1).cast("int") + 500
    exponent = F.when(text.cast("double") == 0, 0).otherwise(exponent)
    digits = F.translate(F.regexp_extract(spelled, "^(.*)e", 1), ".", "")
    return _signed(text.cast("double") < 0, F.concat(F.lpad(exponent.cast("string"), 4, "0"), digits))
