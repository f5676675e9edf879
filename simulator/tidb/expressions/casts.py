"""Casts of MySQL values: what CAST names, and what a column's type makes of a value.

One law: a cast never fails; what does not fit is NULL, or cut as MySQL cuts it.
"""

from __future__ import annotations

from simulator.tidb.expressions import wide_decimals
from simulator.tidb.expressions.arithmetic import bits
from simulator.tidb.expressions.comparisons import as_duration, as_moment, blob, latin1
from simulator.tidb.expressions.json import document
from simulator.tidb.expressions.moments import duration_text, rounded_moment
from simulator.tidb.expressions.sql import Sql, sql, when
from simulator.tidb.expressions.values import (
    DIGITS,
    Value,
    as_integer,
    as_real,
    as_text,
    decimal,
    null,
    numeric,
    of_column,
    real,
    string,
    wide,
)
from simulator.tidb.expressions.wide_decimals import MOST, MOST_BEHIND
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS


def cast(value: Value, type: str) -> Value:
    """`CAST(value AS type)`, the type as TiDB writes it."""
    if value.kind == "null":
        return null()
    name, _, rest = type.partition("(")
    sizes = [int(size) for size in rest.rstrip(")").split(", ")] if rest else []
    if name == "UNSIGNED":
        return Value(bits(value), "uint")
    if name == "SIGNED":
        return Value(_signed(value), "int")
    if name == "DECIMAL":
        digits, scale = (*sizes, 0, 0)[:2] if sizes else (10, 0)
        return _decimal(value, digits or 10, scale)
    if name in ("DOUBLE", "FLOAT"):
        return real(sql(f"try_cast({{}} AS {name})::DOUBLE", as_real(value)))
    if name in ("DATE", "DATETIME"):
        return _moment(value, name)
    if name == "TIME":
        return Value(as_duration(value), "time")
    return _text(value, name.partition(" ")[0], sizes)


def _signed(value: Value) -> Sql:
    """The 64 bits of an unsigned number, else the nearest of 64 bits."""
    number = numeric(value)
    if number.kind != "uint":
        return as_integer(value)
    return sql(f"({{}}::HUGEINT - CASE WHEN {{}} >= {2 ** 63} THEN {2 ** 64}::HUGEINT ELSE 0 END)::BIGINT",
               number.sql, number.sql)


def _decimal(value: Value, digits: int, scale: int) -> Value:
    """A decimal; what is too large is the largest (MySQL cuts and warns)."""
    scale = min(scale, MOST_BEHIND)
    number = numeric(value)
    if digits > DIGITS or number.kind == "wide":
        sizes = min(digits, MOST) * 100 + scale
        return wide(wide_decimals.asked(f"cast:{sizes}", wide_decimals.as_wide(number.sql)), scale)
    found = decimal(numeric(value).sql, scale).sql
    if digits == DIGITS:
        return Value(found, "decimal", scale=scale)
    most = f"'{'9' * (digits - scale)}.{'9' * scale}'::DECIMAL({DIGITS}, {scale})"
    return Value(sql(f"CASE WHEN {{}} > {most} THEN {most} WHEN {{}} < -({most}) THEN -({most}) ELSE {{}} END",
                     found, found, found), "decimal", scale=scale)


def _moment(value: Value, name: str) -> Value:
    moment = as_moment(value)
    if name == "DATE":
        return Value(sql("left({}, 10) || ' 00:00:00.000000'", moment), "date")
    return Value(moment, "datetime")


def _text(value: Value, name: str, sizes: list[int]) -> Value:
    """CHAR, BINARY, JSON and YEAR."""
    if name == "JSON":
        return Value(document(value), "json")
    if name == "YEAR":
        return Value(as_integer(value), "int", year=True)
    found = as_text(value)
    if name == "BINARY" and not value.bytes:
        found = latin1(found)
    cut = sql(f"left({{}}, {sizes[0]})", found) if sizes else found
    return Value(cut, "string", "binary", 2, bytes=True) if name == "BINARY" else string(cut, value)


def stored(value: Value, column: Column) -> Value:
    """What a column holds of a value: as if it were written and read again."""
    return of_column(column, written(value, column))


def written(value: Value, column: Column) -> Sql:
    """The text of a value that a column is given; for a binary column one character per byte."""
    type = column.type
    if value.kind == "null":
        return sql("NULL::VARCHAR")
    if type.name in (*INTEGER_BITS, "year", "bit"):
        number = numeric(value)
        return sql("{}::VARCHAR", number.sql if number.kind == "uint" else _whole(number))
    if type.name == "decimal":
        scale, number = max(type.decimal, 0), numeric(value)
        if number.kind == "wide" or type.length > DIGITS:
            return wide_decimals.asked(f"round:{scale}", wide_decimals.as_wide(number.sql))
        return sql("{}::VARCHAR", decimal(number.sql, scale).sql)
    if type.name in ("float", "double"):
        return value.text if value.text is not None else sql("{}::VARCHAR", as_real(value))
    if type.name == "date":
        moment = as_moment(value)
        return sql("left({}, 10)", rounded_moment(moment, 0) if value.kind == "string" else moment)
    if type.name in ("datetime", "timestamp"):
        return _with_fraction(rounded_moment(as_moment(value), type.decimal), type.decimal)
    if type.name == "time":
        unit = 10 ** (6 - max(type.decimal, 0))
        near = sql(f"CASE WHEN {{}} < 0 THEN -1 ELSE 1 END * ((abs({{}}) + {unit // 2}) // {unit} * {unit})",
                   as_duration(value), as_duration(value))
        return _with_fraction(sql("{}", duration_text(near)), type.decimal)
    if type.charset == "binary" and not value.bytes and type.name != "json":
        return latin1(as_text(value))
    if type.charset != "binary" and value.bytes:
        return sql("try(decode({}))", blob(value))
    return as_text(value)


def _with_fraction(shown: Sql, digits: int) -> Sql:
    """The text of a moment or duration with that many digits behind its point."""
    whole = sql("split_part({}, '.', 1)", shown)
    if digits <= 0:
        return when(sql("{} IS NOT NULL", shown), whole)
    return sql(f"{{}} || '.' || rpad(left(split_part({{}}, '.', 2), {digits}), {digits}, '0')", whole, shown)


def _whole(number: Value) -> Sql:
    rounded = sql("round({})", number.sql) if number.kind == "real" else number.sql
    return sql(f"try_cast({{}} AS DECIMAL({DIGITS}, 0))", rounded)
