"""Cells of rows and literals of expressions as MySQL values.

One law: the kind of a cell follows from its column's type, that of a literal from its spelling.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.expressions.moments import constant_duration, constant_moment, printed_duration, printed_moment
from simulator.tidb.expressions.sql import FALSE, NULL, Sql, TRUE, sql, text
from simulator.tidb.expressions.values import DIGITS, Value, exact, null, printed_real
from simulator.tidb.model.table import Column
from simulator.tidb.syntax.expressions import Literal

INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")


def of_column(column: Column, cell: Sql) -> Value:
    """The value of a cell from its TiDB text."""
    type = column.type
    if type.name in INTEGERS:
        wide = type.unsigned and type.name == "bigint"
        return Value(_cast(cell, "UBIGINT" if wide else "BIGINT"), "uint" if wide else "int", text=cell)
    if type.name == "year":
        return Value(_cast(cell, "BIGINT"), "int", year=True)
    if type.name == "bit":
        return Value(_cast(cell, "UBIGINT"), "uint", integral=False)
    if type.name == "float":
        single = _cast(cell, "FLOAT")
        return Value(sql("{}::DOUBLE", single), "real", text=printed_real(single))
    if type.name == "double":
        return Value(_cast(cell, "DOUBLE"), "real")
    if type.name == "decimal":
        scale = max(type.decimal, 0)
        return Value(_cast(cell, f"DECIMAL({DIGITS}, {scale})"), "decimal", text=cell, scale=scale)
    if type.name in ("date", "datetime", "timestamp"):
        return Value(printed_moment(cell), "date" if type.name == "date" else "datetime", text=cell)
    if type.name == "time":
        return Value(printed_duration(cell), "time", text=cell)
    return Value(cell, "json", text=cell) if type.name == "json" else _of_text(column, cell)


def _cast(cell: Sql, type: str) -> Sql:
    return sql(f"try_cast({{}} AS {type})", cell)


def _of_text(column: Column, cell: Sql) -> Value:
    type = column.type
    number = None
    if type.name == "enum":
        number = sql("coalesce(list_position({}, {}), 0 * length({}))::UBIGINT", _texts(type.elements), cell, cell)
    elif type.name == "set":
        bits = sql("list_transform({}, lambda e: 1::UBIGINT << (list_position({}, e) - 1))",
                   sql("list_filter(string_split({}, ','), lambda e: e != '')", cell), _texts(type.elements))
        number = sql("CASE WHEN {} IS NOT NULL THEN coalesce(list_sum({}), 0)::UBIGINT END", cell, bits)
    return Value(cell, "string", type.collation, 2, number=number, bytes=type.charset == "binary")


def _texts(texts: tuple[str, ...]) -> Sql:
    return Sql(("[", *[", "] * (len(texts) - 1), "]::VARCHAR[]"), tuple(map(text, texts))) if texts else (
        Sql(("[]::VARCHAR[]",)))


def of_literal(literal: Literal) -> Value:
    """The value of a literal."""
    kind, shown = literal.kind, literal.text
    if kind == "null":
        return null()
    if kind == "boolean":
        return Value(TRUE if shown == "TRUE" else FALSE, "bool", constant=str(int(shown == "TRUE")))
    if kind in ("date", "time", "timestamp"):
        found = duration_literal(shown) if kind == "time" else moment_literal(shown)
        return Value(found, "datetime" if kind == "timestamp" else kind, text=text(shown))
    if kind in ("hex", "bit"):
        return _of_bits(kind, shown)
    if kind == "string":
        binary = literal.charset == "binary"
        shown = shown.encode().decode("latin-1") if binary else shown
        collation = "binary" if binary else f"{literal.charset or 'utf8mb4'}_bin"
        return Value(text(shown), "string", collation, constant=shown, bytes=binary)
    return of_number(shown)


def moment_literal(shown: str) -> Sql:
    found = constant_moment(shown)
    return NULL if found is None else text(found)


def duration_literal(shown: str) -> Sql:
    found = constant_duration(shown)
    return NULL if found is None else sql(f"{found}::BIGINT")


def of_number(shown: str) -> Value:
    """A number as TiDB writes it."""
    if "e" in shown:
        return Value(sql(f"'{shown}'::DOUBLE"), "real", constant=shown, text=text(shown))
    if "." not in shown and -2 ** 63 <= int(shown) < 2 ** 64:
        small = int(shown) < 2 ** 63
        found = sql(f"'{shown}'::{'BIGINT' if small else 'UBIGINT'}")
        return Value(found, "int" if small else "uint", constant=shown, text=text(shown))
    return replace(exact(shown), text=text(shown))


def _of_bits(kind: str, shown: str) -> Value:
    """A hexadecimal or bit literal: bytes, and a whole number where a number is asked for."""
    bits = shown if kind == "bit" else bin(int(shown, 16))[2:] if shown else ""
    size = (len(bits) + 7) // 8 if kind == "bit" else (len(shown) + 1) // 2
    number = int(bits or "0", 2)
    content = number.to_bytes(size, "big").decode("latin-1")
    seen = sql(f"'{min(number, 2 ** 64 - 1)}'::UBIGINT")
    return Value(text(content), "string", "binary", number=seen, bytes=True)
