"""Values of MySQL expressions on Spark: what a cell or a literal is, as a number, as text, as a truth.

One law: a value has one of MySQL's kinds, and each kind one Spark type; NULL is null in all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.mysql_moments import clock, duration_text, moment_number

NUMBERS = ("bool", "int", "uint", "decimal", "real")
MOMENTS = ("date", "datetime")
NUMBER = r"^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)"


@dataclass(frozen=True)
class Value:
    column: Column
    kind: str
    """`null`, or by its Spark type: `bool` boolean, `int` bigint, `uint` decimal(20,0), `decimal` decimal, `real`
    double, `string` and `json` string, `date` and `datetime` string `YYYY-MM-DD hh:mm:ss.ffffff`, `time` bigint of
    microseconds, `word` a keyword."""

    collation: str = "utf8mb4_bin"
    strength: int = 4
    """How little its collation counts: 0 where COLLATE names it, 2 for a column, 4 for a literal."""

    constant: str | None = None
    """The text of a literal."""

    number: Column | None = None
    """What a string is as a number, if that is not in its text: the index of an ENUM, the bits of a SET."""

    text: Column | None = None
    """What a number or time is as a string, as TiDB prints it, if it is known."""

    bytes: bool = False
    """Whether the text has one character per byte (binary strings)."""

    integral: bool = True
    """Whether TiCDC sees the number in the result of a whole expression (not that of a BIT)."""

    year: bool = False


def null() -> Value:
    return Value(F.lit(None), "null")


def boolean(column: Column) -> Value:
    return Value(column, "bool")


def integer(column: Column) -> Value:
    return Value(column.cast("bigint"), "int")


def real(column: Column) -> Value:
    return Value(column.cast("double"), "real")


def string(column: Column, *like: Value) -> Value:
    """A string with the collation of the values it comes from."""
    first = min(like, key=lambda value: value.strength, default=None)
    if first is None or first.kind != "string":
        return Value(column, "string")
    return Value(column, "string", first.collation, first.strength, bytes=first.bytes)


def exact(text: str) -> Column:
    """A decimal literal; a double if 38 digits do not hold it."""
    whole, _, fraction = text.lstrip("+-").partition(".")
    digits = max(len(whole.lstrip("0")) + len(fraction), 1)
    return F.lit(text).cast(f"decimal({digits},{len(fraction)})" if digits <= 38 else "double")


def leading_number(text: str) -> str:
    """The number that a text begins with; `0` where it begins with none."""
    found = re.match(NUMBER, text)
    return found[1] if found else "0"


def numeric(value: Value) -> Value:
    """The value as a number."""
    if value.kind in NUMBERS:
        return integer(value.column) if value.kind == "bool" else value
    if value.kind == "null":
        return Value(F.lit(None).cast("bigint"), "int")
    if value.number is not None:
        return Value(value.number.cast("decimal(20,0)"), "uint")
    if value.kind in MOMENTS:
        return Value(moment_number(value.column, value.kind), "decimal")
    if value.kind == "time":
        return Value((clock(value.column) / 1_000_000).cast("decimal(20,6)"), "decimal")
    return real(_leading(value.column))


def _leading(text: Column) -> Column:
    """The number that a text begins with, else 0; of JSON true is 1."""
    found = F.regexp_extract(text, NUMBER, 1).try_cast("double")
    return F.when(text.isNull(), F.lit(None)).otherwise(F.coalesce(found, (text == "true").cast("double")))


def as_real(value: Value) -> Column:
    return numeric(value).column.cast("double")


def as_integer(value: Value) -> Column:
    """A whole number, rounded half away from zero."""
    number = numeric(value)
    return number.column if number.kind == "int" else F.round(number.column, 0).cast("bigint")


def truth(value: Value) -> Column:
    """Whether the value is true in a condition."""
    if value.kind == "bool":
        return value.column
    if value.kind == "null":
        return F.lit(None).cast("boolean")
    return numeric(value).column != 0


def as_text(value: Value) -> Column:
    """The value as TiDB prints it."""
    if value.text is not None:
        return value.text
    if value.kind in ("string", "json", "word"):
        return value.column
    if value.kind == "null":
        return F.lit(None).cast("string")
    if value.kind == "date":
        return F.substring(value.column, 1, 10)
    if value.kind == "datetime":
        return F.regexp_replace(F.regexp_replace(value.column, r"\.0+$", ""), r"(\.\d*?)0+$", "$1")
    if value.kind == "time":
        return duration_text(value.column)
    return _printed(value) if value.kind == "real" else numeric(value).column.cast("string")


def _printed(value: Value) -> Column:
    """A double without an exponent where it is a whole number of up to 15 digits."""
    whole = (value.column == F.floor(value.column)) & (F.abs(value.column) < 1e15)
    return F.when(whole, value.column.cast("bigint").cast("string")).otherwise(
        F.replace(F.replace(value.column.cast("string"), F.lit("E-"), F.lit("e-")), F.lit("E"), F.lit("e")))
