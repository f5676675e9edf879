"""Values of MySQL expressions as DuckDB SQL, and their conversions to numbers, text and booleans.

A value has one of MySQL's kinds, and each kind has one DuckDB type. NULL is null in all of them.
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
"""Digits of DuckDB's longest decimal."""

CONNECTION_COLLATION = ""
"""Stands for collation_connection."""


@dataclass(frozen=True)
class Value:
    """A value of an expression: its SQL and its MySQL type."""

    sql: Sql
    kind: str
    """`null`, or with its DuckDB type: `bool` BOOLEAN, `int` BIGINT, `uint` UBIGINT, `decimal` DECIMAL(38, scale),
    `wide` VARCHAR of a decimal that may have more digits, `real` DOUBLE, `string` and `json` VARCHAR, `date` and
    `datetime` VARCHAR `YYYY-MM-DD hh:mm:ss.ffffff`, `time` BIGINT of microseconds, `word` a keyword."""

    collation: str = CONNECTION_COLLATION
    coercibility: int = 4
    """Coercibility of its collation: 0 for COLLATE, 2 for a column, 4 for a literal."""

    ascii: bool = False
    """Whether all its characters are ASCII for certain (tidb: pkg/expression/collation.go, Repertoire)."""

    constant: str | None = None
    """The text of a literal."""

    number: Sql | None = None
    """The number (UBIGINT) of a string whose text does not tell it: the index of an ENUM, the bits of a SET."""

    text: Sql | None = None
    """The text of a number or time as TiDB prints it, if it is known."""

    is_binary: bool = False
    """Whether it is a binary string, whose text has one character per byte."""

    blob_type: int = 253
    """TiDB's type code of a binary string in JSON; VAR_STRING if it is no column's."""

    integral: bool = True
    """Whether TiCDC takes the result of a whole expression as a number (it does not for a BIT)."""

    is_year: bool = False
    is_column: bool = False
    scale: int = 0
    """Digits behind the point of a decimal, or of a second of a datetime or time."""

    digits: int = 0
    """The most digits of a decimal; 0 if they are not known."""

    column_type: ColumnType | None = None
    """The type of its column, where the kind does not tell it: BIT, FLOAT, TIMESTAMP, ENUM, SET, integers."""

    display_name: str = ""
    """Its name in errors, such as `test.t.a`, unless it is a literal."""

    shown_scale: int | None = None
    """Digits behind the point that a client is shown, if not `scale` (tidb pkg/types/mydecimal.go, resultFrac)."""


@dataclass(frozen=True)
class Function:
    """A function of MySQL: its arguments and its computation."""

    min_arguments: int
    max_arguments: int
    compute: Callable[..., Value]
    literal_arguments: tuple[int, ...] = ()
    """Places of the arguments that must be literals."""

    needs_context: bool = False
    """Whether `compute` takes an EvaluationContext before the arguments."""


UNLIMITED = 255
"""`max_arguments` of a function with any number of arguments."""


def display_name(value: Value) -> str:
    """Return the value as an error shows it."""
    return value.display_name or ("Column#0" if value.constant is None else value.constant)


def null() -> Value:
    return Value(NULL, "null")


def boolean(expression: Sql) -> Value:
    return Value(expression, "bool")


def integer(expression: Sql) -> Value:
    """Return an integer; a fraction is rounded away from zero."""
    return Value(sql("try_cast({} AS BIGINT)", expression), "int")


def boolean_from_text(text: Sql) -> Value:
    """Return the boolean that a Python function returned as `0` or `1`."""
    return boolean(sql("{} = '1'", text))


def real(expression: Sql) -> Value:
    """Return a double; null for infinity and NaN, which MySQL does not have."""
    return Value(when(sql("isfinite({})", expression), expression), "real")


def checked_real(expression: Sql, shown: str = "") -> Value:
    """Return a double; infinity is an error (tidb pkg/types/errors.go, ErrOverflow)."""
    message = f"1690 DOUBLE value is out of range in '{shown}'".replace("{}", "")
    return Value(
        problem_where(when(sql("isfinite({})", expression), expression), sql("isinf({})", expression), ALWAYS, message),
        "real",
    )


def decimal(expression: Sql, scale: int) -> Value:
    return Value(sql(f"try_cast({{}} AS DECIMAL({DUCKDB_DIGITS}, {scale}))", expression), "decimal", scale=scale)


def string(expression: Sql, *like: Value) -> Value:
    """Return a string with the collation of the values it comes from."""
    first = min(like, key=lambda value: value.coercibility, default=None)
    if first is None or first.kind != "string":
        return Value(expression, "string")
    return Value(expression, "string", first.collation, first.coercibility, first.ascii, is_binary=first.is_binary)


def decimal_literal(number: str) -> Value:
    """Return a decimal literal, or a double if it has more than 65 digits."""
    whole, _, fraction = number.lstrip("+-").partition(".")
    digits, scale = max(len(whole.lstrip("0")) + len(fraction), 1), len(fraction)
    if digits > wide_decimals.MAX_DIGITS or scale > wide_decimals.MAX_SCALE:
        return Value(sql(f"'{number}'::DOUBLE"), "real", constant=number)
    if digits > DUCKDB_DIGITS:
        return wide(text(number), scale, number)
    result = sql(f"'{number}'::DECIMAL({DUCKDB_DIGITS}, {scale})")
    return Value(result, "decimal", constant=number, scale=scale, digits=digits)


def wide(expression: Sql, scale: int, constant: str | None = None) -> Value:
    """Return a decimal of any number of digits, which is its text."""
    return Value(expression, "wide", constant=constant, text=expression, scale=scale)


def as_number(value: Value) -> Value:
    """Return the value as a number."""
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
    """Return the value as a signed integer; see `integer_value`."""
    return integer_value(value, "int").sql


def integer_value(value: Value, kind: str = "int") -> Value:
    """Return the value as a 64-bit integer, `int` or `uint`, as CAST and arguments of functions convert it.

    Doubles are rounded half to even, decimals half away from zero. Text gives the digits that it begins with.
    """
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
    """Return the value limited to 32 bits, as functions of text take positions and lengths."""
    result = as_integer(value)
    within = sql(f"greatest(least({{}}, {2**31 - 1}), {-(2**31)})", result)
    return when(sql("{} IS NOT NULL", result), within)


def as_boolean(value: Value) -> Sql:
    """Return the value as a condition."""
    if value.kind == "bool":
        return value.sql
    if value.kind == "null":
        return sql("NULL::BOOLEAN")
    number = as_number(value)
    return sql("regexp_matches({}, '[1-9]')", number.sql) if number.kind == "wide" else sql("({} != 0)", number.sql)


def is_true(expression: Sql) -> Sql:
    return sql("coalesce({}, {})", expression, FALSE)


def as_text(value: Value) -> Sql:
    """Return the value as TiDB prints it."""
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
    """Return a decimal with the digits that a client is shown (tidb pkg/types/mydecimal.go, String)."""
    digits = value.scale if value.shown_scale is None else value.shown_scale
    if value.kind == "wide":
        return wide(wide_decimals.call(f"round:{digits}", value.sql), digits)
    return decimal(value.sql, digits)


def _moment_text(moment: Sql) -> Sql:
    """Return the text of a moment without trailing zeros of its fraction."""
    fraction = sql("rtrim({}, '0')", sql("substring({}, 20)", moment))
    return sql("left({}, 19) || CASE WHEN {} = '.' THEN '' ELSE {} END", moment, fraction, fraction)


def real_text(number: Sql) -> Sql:
    """Return a double with all its digits and no exponent (Go's FormatFloat 'f', pkg/expression/builtin_cast.go)."""
    shown = sql("{}::VARCHAR", number)
    digits = sql("replace(replace(split_part({}, 'e', 1), '.', ''), '-', '')", shown)
    power = sql("try_cast(split_part({}, 'e', 2) AS INTEGER)", shown)
    large = sql("rpad({}, ({} + 1)::INTEGER, '0')", digits, power)
    small = sql("'0.' || repeat('0', -1 - {}) || {}", power, digits)
    sign = sql("CASE WHEN {} < 0 THEN '-' ELSE '' END", number)
    long = sql("{} || CASE WHEN {} > 0 THEN {} ELSE {} END", sign, power, large, small)
    return when(sql("contains({}, 'e')", shown), long, sql(r"regexp_replace({}, '\.0$', '')", shown))


def integer_from_text(text: Sql) -> Value:
    """Return the integer that a Python function returned as text."""
    return Value(sql("{}::BIGINT", text), "int")


def bits_text(value: Value) -> Sql:
    """Return the 64 bits of a whole number as text."""
    number = as_number(value)
    if number.kind == "uint":
        return sql(f"(({{}}::HUGEINT + {2**63}) % {2**64} - {2**63})::VARCHAR", number.sql)
    return sql("{}::VARCHAR", as_integer(value))
