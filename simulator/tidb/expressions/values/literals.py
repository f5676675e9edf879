"""Values of literals and of cells of columns."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from simulator.tidb.expressions.sql.graph import FALSE, NULL, TRUE, Sql, sql, text
from simulator.tidb.expressions.sql.moments import parse_printed_duration, parse_printed_moment
from simulator.tidb.expressions.values.value import (
    CONNECTION_COLLATION,
    DUCKDB_DIGITS,
    Value,
    decimal_literal,
    null,
    real_text,
    wide,
)
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS
from simulator.tidb.syntax.expressions import Literal
from simulator.tidb.values import spellings

BLOB_TYPES = {
    "varbinary": 15,
    "varchar": 15,
    "binary": 254,
    "char": 254,
    "tinyblob": 249,
    "mediumblob": 250,
    "longblob": 251,
    "blob": 252,
    "tinytext": 249,
    "mediumtext": 250,
    "longtext": 251,
    "text": 252,
}
"""TiDB's type codes (pkg/parser/mysql/type.go)."""


def column_value(column: Column, cell: Sql) -> Value:
    """Return the value of a cell from its TiDB text."""
    return replace(_cell_value(column, cell), is_column=True)


def _cell_value(column: Column, cell: Sql) -> Value:
    type = column.type
    if type.name in INTEGER_BITS:
        large = type.unsigned
        return Value(
            _cast(cell, "UBIGINT" if large else "BIGINT"), "uint" if large else "int", text=cell, column_type=type
        )
    if type.name == "year":
        return Value(_cast(cell, "BIGINT"), "int", is_year=True)
    if type.name == "bit":
        return Value(_cast(cell, "UBIGINT"), "uint", integral=False, column_type=type)
    if type.name == "float":
        single = _cast(cell, "FLOAT")
        return Value(sql("{}::DOUBLE", single), "real", text=real_text(single), column_type=type)
    if type.name == "double":
        return Value(_cast(cell, "DOUBLE"), "real")
    if type.name == "decimal":
        scale = max(type.decimal, 0)
        if type.length > DUCKDB_DIGITS:
            return wide(cell, scale)
        return Value(
            _cast(cell, f"DECIMAL({DUCKDB_DIGITS}, {scale})"), "decimal", text=cell, scale=scale, digits=type.length
        )
    if type.name in ("date", "datetime", "timestamp"):
        return Value(
            parse_printed_moment(cell),
            "date" if type.name == "date" else "datetime",
            text=cell,
            scale=max(type.decimal, 0),
            column_type=type,
        )
    if type.name == "time":
        return Value(parse_printed_duration(cell), "time", text=cell, scale=max(type.decimal, 0))
    return Value(cell, "json", text=cell) if type.name == "json" else _text_value(column, cell)


def _cast(cell: Sql, type: str) -> Sql:
    return sql(f"try_cast({{}} AS {type})", cell)


def _text_value(column: Column, cell: Sql) -> Value:
    type = column.type
    number = None
    if type.name == "enum":
        number = sql("coalesce(list_position({}, {}), 0 * length({}))::UBIGINT", text_list(type.elements), cell, cell)
    elif type.name == "set":
        bits = sql(
            "list_transform({}, lambda e: 1::UBIGINT << (list_position({}, e) - 1))",
            sql("list_filter(string_split({}, ','), lambda e: e != '')", cell),
            text_list(type.elements),
        )
        number = sql("CASE WHEN {} IS NOT NULL THEN coalesce(list_sum({}), 0)::UBIGINT END", cell, bits)
    return Value(
        cell,
        "string",
        type.collation,
        2,
        type.charset == "ascii",
        number=number,
        is_binary=type.charset == "binary",
        blob_type=BLOB_TYPES.get(type.name, 253),
        column_type=type if type.elements else None,
    )


def text_list(members: tuple[str, ...]) -> Sql:
    """Return a list of texts."""
    return (
        Sql(("[", *[", "] * (len(members) - 1), "]::VARCHAR[]"), tuple(map(text, members)))
        if members
        else (Sql(("[]::VARCHAR[]",)))
    )


def literal_value(literal: Literal) -> Value:
    """Return the value of a literal."""
    kind, shown = literal.kind, literal.text
    if kind == "null":
        return null()
    if kind == "boolean":
        return Value(TRUE if shown == "TRUE" else FALSE, "bool", constant=str(int(shown == "TRUE")))
    if kind in ("date", "time", "timestamp"):
        result = duration_literal(shown) if kind == "time" else moment_literal(shown)
        digits = 0 if kind == "date" else min(len(shown.partition(".")[2]), 6)
        return Value(result, "datetime" if kind == "timestamp" else kind, text=text(shown), scale=digits)
    if kind in ("hex", "bit"):
        return _bits_value(kind, shown)
    if kind == "string":
        binary = literal.charset == "binary"
        shown = shown.encode().decode("latin-1") if binary else shown
        collation = "binary" if binary else f"{literal.charset}_bin" if literal.introduced else CONNECTION_COLLATION
        return Value(text(shown), "string", collation, constant=shown, is_binary=binary)
    return number_value(shown)


def moment_literal(shown: str) -> Sql:
    """Parse a literal text as a moment; null if it is none."""
    result = spellings.moment(shown, 6)
    return NULL if result is None else text(result)


def duration_literal(shown: str) -> Sql:
    """Parse a literal text as a duration; null if it is none."""
    result = spellings.duration(shown, 6, cut=True)
    return NULL if result is None else sql(f"{result}::BIGINT")


def number_value(shown: str) -> Value:
    """Return the value of a number as TiDB writes it."""
    if "e" in shown:
        whole, _, fraction = f"{Decimal(repr(float(shown))):f}".partition(".")
        printed = f"{whole}.{fraction}" if fraction.strip("0") else whole
        return Value(sql(f"'{shown}'::DOUBLE"), "real", constant=shown, text=text(printed))
    if "." not in shown and -(2**63) <= int(shown) < 2**64:
        small = int(shown) < 2**63
        result = sql(f"'{shown}'::{'BIGINT' if small else 'UBIGINT'}")
        return Value(result, "int" if small else "uint", constant=shown, text=text(shown))
    return replace(decimal_literal(shown), text=text(shown))


def _bits_value(kind: str, shown: str) -> Value:
    """Return a hexadecimal or bit literal: bytes, or an integer in numeric context."""
    bits = shown if kind == "bit" else bin(int(shown, 16))[2:] if shown else ""
    size = (len(bits) + 7) // 8 if kind == "bit" else (len(shown) + 1) // 2
    number = int(bits or "0", 2)
    content = number.to_bytes(size, "big").decode("latin-1")
    seen = sql(f"'{min(number, 2**64 - 1)}'::UBIGINT")
    return Value(text(content), "string", "binary", number=seen, is_binary=True)
