"""Values of MySQL expressions as DuckDB SQL: what a cell or a literal is, as a number, as text, as a truth.

One law: a value has one of MySQL's kinds, and each kind one DuckDB type; NULL is null in all of them. The kind of a
cell follows from its column's type, that of a literal from its spelling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from simulator.tidb.expressions.sql import wide_decimals
from simulator.tidb.expressions.sql.conversions import (
    DUCKDB_INTEGER_TYPES,
    constant_to_integer,
    constant_to_real,
    decimal_to_integer,
    json_to_integer,
    json_to_real,
    real_to_integer,
    reinterpret_bits,
    text_to_integer,
    text_to_real,
)
from simulator.tidb.expressions.sql.graph import FALSE, NULL, Sql, sql, text, when
from simulator.tidb.expressions.sql.moments import (
    clock_number,
    duration_text,
    long_duration_text,
    moment_number,
    round_duration,
    round_moment,
)
from simulator.tidb.expressions.sql.problems import ALWAYS, problem_where
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.model.types import ColumnType

NUMERIC_KINDS = ("bool", "int", "uint", "decimal", "wide", "real")
MOMENT_KINDS = ("date", "datetime")

DUCKDB_DIGITS = 38
"""Of DuckDB's longest decimal."""

CONNECTION_COLLATION = ""
"""The collation of the connection, collation_connection."""


@dataclass(frozen=True)
class Value:
    sql: Sql
    kind: str
    """`null`, or by its DuckDB type: `bool` BOOLEAN, `int` BIGINT, `uint` UBIGINT, `decimal` DECIMAL(38, scale), `wide`
    VARCHAR of a decimal that may have more digits, `real` DOUBLE, `string` and `json` VARCHAR, `date` and `datetime`
    VARCHAR `YYYY-MM-DD hh:mm:ss.ffffff`, `time` BIGINT of microseconds, `word` a keyword."""

    collation: str = CONNECTION_COLLATION
    coercibility: int = 4
    """How little its collation counts: 0 where COLLATE names it, 2 for a column, 4 for a literal."""

    ascii: bool = False
    """Whether all its characters are ASCII for certain (tidb: pkg/expression/collation.go, Repertoire)."""

    constant: str | None = None
    """The text of a literal."""

    number: Sql | None = None
    """What a string is as a number (UBIGINT), if that is not in its text: the index of an ENUM, the bits of a SET."""

    text: Sql | None = None
    """What a number or time is as a string, as TiDB prints it, if it is known."""

    is_binary: bool = False
    """Whether the text has one character per byte (binary strings)."""

    blob_type: int = 253
    """What binary strings are in JSON: the number of TiDB's type, VAR_STRING where it is no column's."""

    integral: bool = True
    """Whether TiCDC sees the number in the result of a whole expression (not that of a BIT)."""

    is_year: bool = False
    is_column: bool = False
    scale: int = 0
    """Digits behind the point of a decimal, or of the seconds of a datetime or time."""

    digits: int = 0
    """The most digits that a decimal has in all; 0 where they are not known."""

    column_type: ColumnType | None = None
    """The type of the column that it is a cell of, where its kind does not tell: BIT, FLOAT, TIMESTAMP, ENUM, SET,
    and whether an integer is unsigned."""

    display_name: str = ""
    """How an error names it, unless it is a literal: `test.t.a`."""

    shown_scale: int | None = None
    """How many of them a client is shown, if not all (tidb pkg/types/mydecimal.go, resultFrac)."""


@dataclass(frozen=True)
class Function:
    """A function of MySQL: what it makes of values."""

    min_arguments: int
    """Arguments it takes at least."""

    max_arguments: int
    compute: Callable[..., Value]
    literal_arguments: tuple[int, ...] = ()
    """Places of the arguments that must be literals."""

    needs_context: bool = False
    """Whether it is asked with the `Situation` before its values."""


UNLIMITED = 255
"""Arguments, for a function that takes any number of them."""


def display_name(value: Value) -> str:
    """The value as an error shows it."""
    return value.display_name or ("Column#0" if value.constant is None else value.constant)


def null() -> Value:
    return Value(NULL, "null")


def boolean(expression: Sql) -> Value:
    return Value(expression, "bool")


def integer(expression: Sql) -> Value:
    """A whole number out of any number; its fraction is rounded away from zero."""
    return Value(sql("try_cast({} AS BIGINT)", expression), "int")


def real(expression: Sql) -> Value:
    """A double; null for infinity and what is no number, which MySQL has not."""
    return Value(when(sql("isfinite({})", expression), expression), "real")


def checked_real(expression: Sql, shown: str = "") -> Value:
    """A double; infinity is an error (tidb pkg/types/errors.go, ErrOverflow)."""
    message = f"1690 DOUBLE value is out of range in '{shown}'".replace("{}", "")
    return Value(
        problem_where(when(sql("isfinite({})", expression), expression), sql("isinf({})", expression), ALWAYS, message),
        "real",
    )


def decimal(expression: Sql, scale: int) -> Value:
    return Value(sql(f"try_cast({{}} AS DECIMAL({DUCKDB_DIGITS}, {scale}))", expression), "decimal", scale=scale)


def string(expression: Sql, *like: Value) -> Value:
    """A string with the collation of the values it comes from."""
    first = min(like, key=lambda value: value.coercibility, default=None)
    if first is None or first.kind != "string":
        return Value(expression, "string")
    return Value(expression, "string", first.collation, first.coercibility, first.ascii, is_binary=first.is_binary)


def decimal_literal(number: str) -> Value:
    """A decimal literal; a double if 65 digits do not hold it."""
    whole, _, fraction = number.lstrip("+-").partition(".")
    digits, scale = max(len(whole.lstrip("0")) + len(fraction), 1), len(fraction)
    if digits > wide_decimals.MAX_DIGITS or scale > wide_decimals.MAX_SCALE:
        return Value(sql(f"'{number}'::DOUBLE"), "real", constant=number)
    if digits > DUCKDB_DIGITS:
        return wide(text(number), scale, number)
    result = sql(f"'{number}'::DECIMAL({DUCKDB_DIGITS}, {scale})")
    return Value(result, "decimal", constant=number, scale=scale, digits=digits)


def wide(expression: Sql, scale: int, constant: str | None = None) -> Value:
    """A decimal in its text."""
    return Value(expression, "wide", constant=constant, text=expression, scale=scale)


def as_number(value: Value) -> Value:
    """The value as a number."""
    if value.kind in NUMERIC_KINDS:
        return integer(value.sql) if value.kind == "bool" else value
    if value.kind == "null":
        return Value(sql("NULL::BIGINT"), "int")
    if value.number is not None:
        return Value(value.number, "uint")
    if value.kind in MOMENT_KINDS:
        number = moment_number(value.sql, value.kind)
        return (
            replace(decimal(number, value.scale), digits=14 + value.scale)
            if value.scale
            else (integer(sql("split_part({}, '.', 1)", number)))
        )
    if value.kind == "time":
        number = sql("{}::DECIMAL(38, 6) * 0.000001::DECIMAL(7, 6)", clock_number(value.sql))
        return (
            replace(decimal(number, value.scale), digits=7 + value.scale)
            if value.scale
            else (integer(sql("trunc({})", number)))
        )
    if value.kind == "json":
        return Value(json_to_real(as_text(value)), "real")
    if value.constant is not None:
        return Value(constant_to_real(value.constant), "real")
    return Value(text_to_real(value.sql), "real")


def as_real(value: Value) -> Sql:
    number = as_number(value)
    return number.sql if number.kind == "real" else sql("{}::DOUBLE", number.sql)


def as_integer(value: Value) -> Sql:
    """A signed whole number as functions take one; see `integer_value`."""
    return integer_value(value, "int").sql


def integer_value(value: Value, kind: str = "int") -> Value:
    """The value as a whole number of 64 bits, `int` or `uint`, as CAST makes it, and every function that takes whole
    numbers: doubles to the nearest, a half to the even one, decimals away from zero, of text the digits that it begins
    with."""
    if value.kind == "null":
        return Value(sql(f"NULL::{DUCKDB_INTEGER_TYPES[kind]}"), kind)
    if value.scale and value.kind in ("datetime", "time"):
        near = round_moment(value.sql, 0) if value.kind == "datetime" else round_duration(value.sql, 0)
        value = replace(value, sql=near, scale=0, text=None)
    if value.kind == "json":
        return Value(json_to_integer(as_text(value), kind), kind)
    if value.kind == "string" and value.number is None:
        result = (
            text_to_integer(value.sql, kind) if value.constant is None else constant_to_integer(value.constant, kind)
        )
        return Value(result, kind)
    number = as_number(value)
    if number.kind == kind:
        return number
    if number.kind in ("int", "uint"):
        return Value(reinterpret_bits(sql("{}::HUGEINT", number.sql), kind), kind)
    if number.kind == "real":
        return Value(real_to_integer(number.sql, kind), kind)
    shown = sql("{}::VARCHAR", number.sql)
    rounded = (
        wide_decimals.call("round:0", number.sql)
        if number.kind == "wide"
        else (sql(f"try_cast({{}} AS DECIMAL({DUCKDB_DIGITS}, 0))", number.sql))
    )
    near = sql("try_cast({} AS HUGEINT)", rounded)
    bound = sql("CASE WHEN {} LIKE '-%' THEN -1e30 WHEN {} IS NOT NULL THEN 1e30 END::HUGEINT", shown, shown)
    return Value(decimal_to_integer(sql("coalesce({}, {})", near, bound), kind, shown), kind)


def as_int32(value: Value) -> Sql:
    """A whole number as a function of text takes a place or a length: of 32 bits."""
    result = as_integer(value)
    within = sql(f"greatest(least({{}}, {2**31 - 1}), {-(2**31)})", result)
    return when(sql("{} IS NOT NULL", result), within)


def as_boolean(value: Value) -> Sql:
    """Whether the value is true in a condition."""
    if value.kind == "bool":
        return value.sql
    if value.kind == "null":
        return sql("NULL::BOOLEAN")
    number = as_number(value)
    return sql("regexp_matches({}, '[1-9]')", number.sql) if number.kind == "wide" else sql("({} != 0)", number.sql)


def is_true(expression: Sql) -> Sql:
    return sql("coalesce({}, {})", expression, FALSE)


def as_text(value: Value) -> Sql:
    """The value as TiDB prints it."""
    if value.text is not None:
        return value.text
    if value.kind in ("string", "word"):
        return value.sql
    if value.kind == "json":
        return python_call("json_shown", value.sql)
    if value.kind == "null":
        return sql("NULL::VARCHAR")
    if value.kind == "date":
        return sql("left({}, 10)", value.sql)
    if value.kind == "datetime" and value.scale:
        return sql(f"left({{}}, {20 + value.scale})", value.sql)
    if value.kind == "datetime":
        return _moment_text(value.sql)
    if value.kind == "time" and value.scale:
        shown = long_duration_text(value.sql)
        return sql(f"left({{}}, length({{}}) - {6 - value.scale})", shown, shown)
    if value.kind == "time":
        return duration_text(value.sql)
    return real_text(value.sql) if value.kind == "real" else sql("{}::VARCHAR", as_number(value).sql)


def with_shown_digits(value: Value) -> Value:
    """A decimal with the digits that a client is shown of it (tidb pkg/types/mydecimal.go, String)."""
    digits = value.scale if value.shown_scale is None else value.shown_scale
    if value.kind == "wide":
        return wide(wide_decimals.call(f"round:{digits}", value.sql), digits)
    return decimal(value.sql, digits)


def _moment_text(moment: Sql) -> Sql:
    """Without a fraction that is zero, or the zeros behind one."""
    fraction = sql("rtrim({}, '0')", sql("substring({}, 20)", moment))
    return sql("left({}, 19) || CASE WHEN {} = '.' THEN '' ELSE {} END", moment, fraction, fraction)


def real_text(number: Sql) -> Sql:
    """A double with all its digits and without an exponent (Go's FormatFloat 'f', pkg/expression/builtin_cast.go)."""
    shown = sql("{}::VARCHAR", number)
    digits = sql("replace(replace(split_part({}, 'e', 1), '.', ''), '-', '')", shown)
    power = sql("try_cast(split_part({}, 'e', 2) AS INTEGER)", shown)
    large = sql("rpad({}, ({} + 1)::INTEGER, '0')", digits, power)
    small = sql("'0.' || repeat('0', -1 - {}) || {}", power, digits)
    sign = sql("CASE WHEN {} < 0 THEN '-' ELSE '' END", number)
    long = sql("{} || CASE WHEN {} > 0 THEN {} ELSE {} END", sign, power, large, small)
    return when(sql("contains({}, 'e')", shown), long, sql(r"regexp_replace({}, '\.0$', '')", shown))
