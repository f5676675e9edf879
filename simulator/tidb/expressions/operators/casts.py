"""CAST, and the conversion of a value to the type of a column.

A value that does not fit is NULL, or truncated as MySQL does, with a problem.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.expressions.operators.comparisons import as_duration, as_moment
from simulator.tidb.expressions.operators.texts import as_blob, as_bytes
from simulator.tidb.expressions.sql import wide_decimals
from simulator.tidb.expressions.sql.conversions import text_to_decimal
from simulator.tidb.expressions.sql.graph import TRUE, Sql, sql, when
from simulator.tidb.expressions.sql.moments import duration_text, round_duration, round_moment
from simulator.tidb.expressions.sql.problems import TRUNCATED, problem_where
from simulator.tidb.expressions.sql.wide_decimals import MAX_DIGITS, MAX_SCALE
from simulator.tidb.expressions.values.json_documents import as_document
from simulator.tidb.expressions.values.literals import column_value
from simulator.tidb.expressions.values.value import (
    CONNECTION_COLLATION,
    DUCKDB_DIGITS,
    Value,
    as_number,
    as_real,
    as_text,
    decimal,
    integer_value,
    null,
    real,
    real_text,
    wide,
    with_shown_digits,
)
from simulator.tidb.functions.problems import MAX_ALLOWED_PACKET, packet_overflow
from simulator.tidb.model.charsets import CHARSETS
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS


def cast(value: Value, type: str) -> Value:
    """Return `CAST(value AS type)`; the type is spelled as TiDB restores it."""
    if value.kind == "null":
        return null()
    name, _, rest = type.partition("(")
    sizes = [int(size) for size in rest.rstrip(")").split(", ")] if rest else []
    if name in ("UNSIGNED", "SIGNED"):
        return integer_value(value, "uint" if name == "UNSIGNED" else "int")
    if name == "DECIMAL":
        digits, scale = (*sizes, 0, 0)[:2] if sizes else (10, 0)
        return _decimal(value, digits or 10, scale)
    if name == "FLOAT":
        single = sql("try_cast({} AS FLOAT)", as_real(value))
        return Value(sql("{}::DOUBLE", single), "real", text=real_text(single))
    if name == "DOUBLE":
        return real(sql(f"try_cast({{}} AS {name})::DOUBLE", as_real(value)))
    if name in ("DATE", "DATETIME"):
        return _moment(value, name, sizes[0] if sizes else 0)
    if name == "TIME":
        digits = sizes[0] if sizes else 0
        return Value(round_duration(as_duration(value), digits), "time", scale=digits)
    charset = type.partition(" CHARSET ")[2]
    return _text(value, name.partition(" ")[0], sizes, charset)


def _decimal(value: Value, digits: int, scale: int) -> Value:
    """Cast to DECIMAL, limited to its range."""
    scale = min(scale, MAX_SCALE)
    of_text = value.kind == "string" and value.number is None
    number = wide(text_to_decimal(value.sql), MAX_SCALE) if of_text else as_number(value)
    if number.kind == "wide":
        return _wide_cast(number.sql, digits, scale)
    if digits > DUCKDB_DIGITS - 1 or number.kind == "real":
        return _wide_cast(as_text(number), digits, scale)
    result = decimal(number.sql, scale).sql
    most = f"'{'9' * (digits - scale)}.{'9' * scale}'::DECIMAL({DUCKDB_DIGITS}, {scale})"
    bound = sql(f"CASE WHEN {{}} < 0 THEN -({most}) ELSE {most} END", number.sql)
    outside = sql(
        f"{{}} IS NULL AND {{}} IS NOT NULL OR {{}} > {most} OR {{}} < -({most})", result, number.sql, result, result
    )
    near = when(outside, bound, result)
    if (
        number.kind in ("int", "uint")
        and digits - scale >= 20
        or number.digits
        and (number.digits - number.scale < digits - scale)
    ):
        return Value(result, "decimal", scale=scale, digits=digits)
    return Value(_check_size(near, outside, digits, scale), "decimal", scale=scale, digits=digits)


def _check_size(expression: Sql, outside: Sql, digits: int, scale: int) -> Sql:
    return problem_where(expression, outside, TRUNCATED, f"1690 DECIMAL value is out of range in '({digits}, {scale})'")


def _wide_cast(number: Sql, digits: int, scale: int) -> Value:
    """Cast the text of a decimal."""
    result = wide_decimals.call(f"cast:{min(digits, MAX_DIGITS) * 100 + scale}", number)
    rounded = wide_decimals.call(f"round:{scale}", number)
    result = _check_size(result, sql("{} != {}", rounded, result), digits, scale)
    return wide(result, scale) if digits > DUCKDB_DIGITS else replace(decimal(result, scale), digits=digits)


def _moment(value: Value, name: str, digits: int) -> Value:
    moment = as_moment(value)
    if name == "DATE":
        return Value(sql("left({}, 10) || ' 00:00:00.000000'", moment), "date")
    return Value(round_moment(moment, digits), "datetime", scale=digits)


def _too_wide() -> Sql:
    return problem_where(sql("NULL::VARCHAR"), TRUE, TRUNCATED, f"1301 {packet_overflow('cast_as_binary')}")


def _text(value: Value, name: str, sizes: list[int], charset: str) -> Value:
    """Cast to CHAR, BINARY, JSON or YEAR."""
    if name == "JSON":
        return Value(as_document(value if value.shown_scale is None else with_shown_digits(value)), "json")
    if name == "YEAR":
        return replace(integer_value(value), is_year=True)
    result = as_text(value)
    if name == "BINARY" and not value.is_binary:
        result = as_bytes(value)
    if sizes:
        most, length = sizes[0], sql("length({})", result)
        cut = sql(f"left({{}}, {most})", result)
        if name == "BINARY":
            fits = most <= MAX_ALLOWED_PACKET
            cut = sql(f"rpad({{}}, {most}, chr(0))", cut) if fits else _too_wide()
        result = problem_where(
            cut,
            sql(f"{{}} > {most}", length),
            TRUNCATED,
            f"1406 Data Too Long, field len {most}, data len {{}}",
            sql("{}::VARCHAR", length),
        )
    if name == "BINARY":
        return Value(result, "string", "binary", 2, is_binary=True)
    return Value(result, "string", CHARSETS[charset.lower()][0] if charset else CONNECTION_COLLATION, 2)


def cast_to_column(value: Value, column: Column) -> Value:
    """Return a value as if it were written to a column and read again."""
    return column_value(column, column_text(value, column))


def column_text(value: Value, column: Column) -> Sql:
    """Return the TiDB text of a value in a column; for a binary column with one character per byte."""
    type = column.type
    if value.kind == "null":
        return sql("NULL::VARCHAR")
    if type.name in (*INTEGER_BITS, "year", "bit"):
        number = as_number(value)
        return sql("{}::VARCHAR", number.sql if number.kind == "uint" else _rounded(number))
    if type.name == "decimal":
        scale, number = max(type.decimal, 0), as_number(value)
        if number.kind == "wide" or type.length > DUCKDB_DIGITS:
            return wide_decimals.call(f"round:{scale}", wide_decimals.as_text(number.sql))
        return sql("{}::VARCHAR", decimal(number.sql, scale).sql)
    if type.name in ("float", "double"):
        return value.text if value.text is not None else sql("{}::VARCHAR", as_real(value))
    if type.name == "date":
        moment = as_moment(value)
        return sql("left({}, 10)", round_moment(moment, 0) if value.kind == "string" else moment)
    if type.name in ("datetime", "timestamp"):
        return _with_fraction(round_moment(as_moment(value), type.decimal), type.decimal)
    if type.name == "time":
        near = round_duration(as_duration(value), type.decimal)
        return _with_fraction(sql("{}", duration_text(near)), type.decimal)
    if type.charset == "binary" and not value.is_binary and type.name != "json":
        return as_bytes(value)
    if type.charset != "binary" and value.is_binary:
        return sql("try(decode({}))", as_blob(value))
    return as_text(value)


def _with_fraction(shown: Sql, digits: int) -> Sql:
    """Return the text of a moment or duration with that many digits behind its point."""
    whole = sql("split_part({}, '.', 1)", shown)
    if digits <= 0:
        return when(sql("{} IS NOT NULL", shown), whole)
    return sql(f"{{}} || '.' || rpad(left(split_part({{}}, '.', 2), {digits}), {digits}, '0')", whole, shown)


def _rounded(number: Value) -> Sql:
    rounded = sql("round({})", number.sql) if number.kind == "real" else number.sql
    return sql(f"try_cast({{}} AS DECIMAL({DUCKDB_DIGITS}, 0))", rounded)
