"""What a file has for a column → TiDB text, checked as TiDB's strict mode checks an INSERT.

One law: the result is null exactly where the value is NULL or would be rejected.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, types
from pyspark.sql import functions as F

from simulator.schema.table import ColumnType
from simulator.snapshots import documents, numbers, strings, times

INTEGRAL = (types.ByteType, types.ShortType, types.IntegerType, types.LongType)
MOMENT = (types.TimestampNTZType, types.TimestampType)
TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")


def tidb_text(type: ColumnType, sql: str, kind: types.DataType) -> Column:
    """TiDB text of a value (SQL) that was read as Spark type `kind` (of SQL and CSV files: binary, BIT tagged)."""
    name, value = type.name, F.expr(sql)
    if name in numbers.BITS and isinstance(kind, INTEGRAL):
        return numbers.whole(type, value)
    if name == "decimal" and isinstance(kind, types.DecimalType) and type.length <= 38:
        return numbers.fixed(type, value.try_cast(f"decimal({type.length},{max(type.decimal, 0)})"))
    if name in ("float", "double") and isinstance(kind, (types.FloatType, types.DoubleType)):
        return numbers.floating(type, value)
    if name in ("datetime", "timestamp") and isinstance(kind, MOMENT):
        return times.moment(type, sql)
    if name in _TIMES:
        return _TIMES[name](type, f"cast({sql} as string)")
    if name in TEXTS and type.charset == "binary":
        return strings.binary(type, value.cast("binary"))
    if name == "bit":
        return numbers.bit(type, value)
    return _from_text(type, _text(value, kind))


def _text(value: Column, kind: types.DataType) -> Column:
    if isinstance(kind, types.BooleanType):
        return value.cast("int").cast("string")
    return value.cast("string")


def _from_text(type: ColumnType, text: Column) -> Column:
    name = type.name
    if name in numbers.BITS:
        return numbers.integer(type, text)
    if name == "decimal":
        return numbers.decimal(type, text)
    if name in ("float", "double"):
        return numbers.floating(type, numbers.number_text(text))
    if name == "vector":
        return documents.vector(type.length, text)
    if name in TEXTS:
        return strings.text(type, text)
    if name in ("enum", "set"):
        return strings.enum(type, text) if name == "enum" else strings.set_of(type, text)
    return {"year": numbers.year, "json": documents.document}[name](text)


_TIMES: dict[str, Callable[[ColumnType, str], Column]] = {
    "datetime": times.datetime, "timestamp": times.datetime, "time": times.duration,
    "date": lambda type, text: times.date(text),
}


def accepted(type: ColumnType) -> str:
    """What a column of that type takes, for people."""
    name = type.name
    if name in numbers.BITS:
        low, high = numbers.bounds(type)
        return f"{low} to {high}"
    if name == "decimal":
        return f"at most {type.length - max(type.decimal, 0)} digits before the point"
    if name in ("enum", "set"):
        return ", ".join(map(repr, type.elements[:8])) + (", …" if len(type.elements) > 8 else "")
    if name in TEXTS:
        limit = strings.BYTES.get(name, type.length)
        unit = "bytes" if type.charset == "binary" or name in strings.BYTES else "characters"
        return f"at most {limit} {unit}" + ("" if type.charset == "binary" else " of valid UTF-8")
    return _SHAPES[name]


_SHAPES = {
    "float": "a finite number in range", "double": "a finite number in range",
    "date": "YYYY-MM-DD of the calendar", "datetime": "YYYY-MM-DD HH:MM:SS of the calendar",
    "timestamp": "YYYY-MM-DD HH:MM:SS from 1970 to 2038-01-19 03:14:07 UTC", "time": "-838:59:59 to 838:59:59",
    "year": "1901 to 2155, or 0", "bit": "a number or bytes of no more bits than the column has",
    "json": "a JSON document", "vector": "[number,…] of the column's dimensions",
}


def tagged_bit(value: Column, kind: types.DataType) -> Column:
    """A BIT of a typed file in the tagged form of SQL and CSV files."""
    if isinstance(kind, types.BinaryType):
        return F.concat(F.lit(b"x"), value)
    return F.concat(F.lit(b"n"), _text(value, kind).cast("binary"))
