"""Values of MySQL expressions as DuckDB SQL: what a cell or a literal is, as a number, as text, as a truth.

One law: a value has one of MySQL's kinds, and each kind one DuckDB type; NULL is null in all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from simulator.tidb.expressions.moments import clock, duration_text, moment_number
from simulator.tidb.expressions.sql import FALSE, NULL, Sql, sql, text, when

NUMBERS = ("bool", "int", "uint", "decimal", "real")
MOMENTS = ("date", "datetime")
NUMBER = r"^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)"
DIGITS = 38
"""Of DuckDB's longest decimal."""


@dataclass(frozen=True)
class Value:
    sql: Sql
    kind: str
    """`null`, or by its DuckDB type: `bool` BOOLEAN, `int` BIGINT, `uint` UBIGINT, `decimal` DECIMAL(38, scale), `real`
    DOUBLE, `string` and `json` VARCHAR, `date` and `datetime` VARCHAR `YYYY-MM-DD hh:mm:ss.ffffff`, `time` BIGINT of
    microseconds, `word` a keyword."""

    collation: str = "utf8mb4_bin"
    strength: int = 4
    """How little its collation counts: 0 where COLLATE names it, 2 for a column, 4 for a literal."""

    constant: str | None = None
    """The text of a literal."""

    number: Sql | None = None
    """What a string is as a number (UBIGINT), if that is not in its text: the index of an ENUM, the bits of a SET."""

    text: Sql | None = None
    """What a number or time is as a string, as TiDB prints it, if it is known."""

    bytes: bool = False
    """Whether the text has one character per byte (binary strings)."""

    integral: bool = True
    """Whether TiCDC sees the number in the result of a whole expression (not that of a BIT)."""

    year: bool = False
    scale: int = 0
    """Digits behind the point of a decimal."""


def null() -> Value:
    return Value(NULL, "null")


def boolean(found: Sql) -> Value:
    return Value(found, "bool")


def integer(found: Sql) -> Value:
    """A whole number out of any number; its fraction is rounded away from zero."""
    return Value(sql("try_cast({} AS BIGINT)", found), "int")


def real(found: Sql) -> Value:
    """A double; null for infinity and what is no number, which MySQL has not."""
    return Value(when(sql("isfinite({})", found), found), "real")


def decimal(found: Sql, scale: int) -> Value:
    return Value(sql(f"try_cast({{}} AS DECIMAL({DIGITS}, {scale}))", found), "decimal", scale=scale)


def string(found: Sql, *like: Value) -> Value:
    """A string with the collation of the values it comes from."""
    first = min(like, key=lambda value: value.strength, default=None)
    if first is None or first.kind != "string":
        return Value(found, "string")
    return Value(found, "string", first.collation, first.strength, bytes=first.bytes)


def exact(number: str) -> Value:
    """A decimal literal; a double if 38 digits do not hold it."""
    whole, _, fraction = number.lstrip("+-").partition(".")
    if max(len(whole.lstrip("0")) + len(fraction), 1) > DIGITS:
        return Value(sql(f"'{number}'::DOUBLE"), "real", constant=number)
    scale = len(fraction)
    return Value(sql(f"'{number}'::DECIMAL({DIGITS}, {scale})"), "decimal", constant=number, scale=scale)


def leading_number(value: str) -> str:
    """The number that a text begins with; `0` where it begins with none."""
    found = re.match(NUMBER, value)
    return found[1] if found else "0"


def numeric(value: Value) -> Value:
    """The value as a number."""
    if value.kind in NUMBERS:
        return integer(value.sql) if value.kind == "bool" else value
    if value.kind == "null":
        return Value(sql("NULL::BIGINT"), "int")
    if value.number is not None:
        return Value(value.number, "uint")
    if value.kind in MOMENTS:
        return decimal(moment_number(value.sql, value.kind), 6)
    if value.kind == "time":
        return decimal(sql("{}::DECIMAL(38, 6) * 0.000001::DECIMAL(7, 6)", clock(value.sql)), 6)
    return Value(_leading(value.sql), "real")


def _leading(found: Sql) -> Sql:
    """The number that a text begins with, else 0; of JSON true is 1."""
    number = sql("try_cast(regexp_extract({}, {}, 1) AS DOUBLE)", found, text(NUMBER))
    return sql("coalesce({}, ({} = 'true')::DOUBLE)", number, found)


def as_real(value: Value) -> Sql:
    number = numeric(value)
    return number.sql if number.kind == "real" else sql("{}::DOUBLE", number.sql)


def as_integer(value: Value) -> Sql:
    """A whole number, rounded half away from zero; null if 64 bits do not hold it."""
    number = numeric(value)
    if number.kind == "int":
        return number.sql
    return sql("try_cast({} AS BIGINT)", sql("round({})", number.sql) if number.kind == "real" else number.sql)


def as_count(value: Value) -> Sql:
    """A whole number as a function of text takes a place or a length: of 32 bits."""
    found = as_integer(value)
    within = sql(f"greatest(least({{}}, {2 ** 31 - 1}), {-2 ** 31})", found)
    return when(sql("{} IS NOT NULL", found), within)


def truth(value: Value) -> Sql:
    """Whether the value is true in a condition."""
    if value.kind == "bool":
        return value.sql
    if value.kind == "null":
        return sql("NULL::BOOLEAN")
    return sql("({} != 0)", numeric(value).sql)


def is_true(found: Sql) -> Sql:
    return sql("coalesce({}, {})", found, FALSE)


def as_text(value: Value) -> Sql:
    """The value as TiDB prints it."""
    if value.text is not None:
        return value.text
    if value.kind in ("string", "json", "word"):
        return value.sql
    if value.kind == "null":
        return sql("NULL::VARCHAR")
    if value.kind == "date":
        return sql("left({}, 10)", value.sql)
    if value.kind == "datetime":
        return _moment_text(value.sql)
    if value.kind == "time":
        return duration_text(value.sql)
    return printed_real(value.sql) if value.kind == "real" else sql("{}::VARCHAR", numeric(value).sql)


def _moment_text(moment: Sql) -> Sql:
    """Without a fraction that is zero, or the zeros behind one."""
    fraction = sql("rtrim({}, '0')", sql("substring({}, 20)", moment))
    return sql("left({}, 19) || CASE WHEN {} = '.' THEN '' ELSE {} END", moment, fraction, fraction)


def printed_real(number: Sql) -> Sql:
    """A double with all its digits and without an exponent (Go's FormatFloat 'f', pkg/expression/builtin_cast.go)."""
    shown = sql("{}::VARCHAR", number)
    digits = sql("replace(replace(split_part({}, 'e', 1), '.', ''), '-', '')", shown)
    power = sql("try_cast(split_part({}, 'e', 2) AS INTEGER)", shown)
    large = sql("rpad({}, ({} + 1)::INTEGER, '0')", digits, power)
    small = sql("'0.' || repeat('0', -1 - {}) || {}", power, digits)
    sign = sql("CASE WHEN {} < 0 THEN '-' ELSE '' END", number)
    long = sql("{} || CASE WHEN {} > 0 THEN {} ELSE {} END", sign, power, large, small)
    return when(sql("contains({}, 'e')", shown), long, sql(r"regexp_replace({}, '\.0$', '')", shown))
