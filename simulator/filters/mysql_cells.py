"""Cells of rows and literals of expressions as MySQL values on Spark.

One law: the kind of a cell follows from its column's type, that of a literal from its spelling.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.mysql_moments import constant_duration, constant_moment, printed_duration, printed_moment
from simulator.filters.mysql_values import Value, exact, null
from simulator.schema.expression_tree import Literal
from simulator.schema.table import Column as TableColumn

INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")


def of_column(column: TableColumn, text: Column) -> Value:
    """The value of a cell from its TiDB text."""
    type = column.type
    if type.name in INTEGERS:
        wide = type.unsigned and type.name == "bigint"
        return Value(text.try_cast("decimal(20,0)" if wide else "bigint"), "uint" if wide else "int", text=text)
    if type.name in ("year", "bit"):
        kind = ("bigint", "int") if type.name == "year" else ("decimal(20,0)", "uint")
        return Value(text.try_cast(kind[0]), kind[1], year=type.name == "year", integral=type.name == "year")
    if type.name in ("float", "double"):
        return Value(text.try_cast(type.name).cast("double"), "real", text=text)
    if type.name == "decimal":
        scale = max(type.decimal, 0)
        return Value(text.try_cast(f"decimal({min(max(type.length, scale, 1), 38)},{scale})"), "decimal", text=text)
    if type.name in ("date", "datetime", "timestamp"):
        return Value(printed_moment(text), "date" if type.name == "date" else "datetime", text=text)
    if type.name == "time":
        return Value(printed_duration(text), "time", text=text)
    return Value(text, "json", text=text) if type.name == "json" else _of_text(column, text)


def _of_text(column: TableColumn, text: Column) -> Value:
    type = column.type
    number = None
    if type.name == "enum":
        number = F.coalesce(F.array_position(_texts(type.elements), text), F.lit(0) * F.length(text))
    elif type.name == "set":
        members = F.split(text, ",")
        bits = (F.when(F.array_contains(members, F.lit(element)), exact(str(1 << place))).otherwise(F.lit(0))
                for place, element in enumerate(type.elements))
        number = sum(bits, F.lit(0)).cast("decimal(20,0)")
    return Value(text, "string", type.collation, 2, number=number, bytes=type.charset == "binary")


def _texts(texts: tuple[str, ...]) -> Column:
    return F.array(*(F.lit(text) for text in texts)) if texts else F.expr("cast(array() as array<string>)")


def of_literal(literal: Literal) -> Value:
    """The value of a literal."""
    kind, text = literal.kind, literal.text
    if kind == "null":
        return null()
    if kind == "boolean":
        return Value(F.lit(text == "TRUE"), "bool", constant=str(int(text == "TRUE")))
    if kind in ("date", "time", "timestamp"):
        column = F.lit(constant_duration(text) if kind == "time" else constant_moment(text))
        return Value(column, "datetime" if kind == "timestamp" else kind, text=F.lit(text))
    if kind in ("hex", "bit"):
        return _of_bits(kind, text)
    if kind == "string":
        binary = literal.charset == "binary"
        text = text.encode().decode("latin-1") if binary else text
        collation = "binary" if binary else f"{literal.charset or 'utf8mb4'}_bin"
        return Value(F.lit(text), "string", collation, constant=text, bytes=binary)
    return of_number(text)


def of_number(text: str) -> Value:
    """A number as TiDB writes it."""
    if "e" in text:
        return Value(F.lit(float(text)), "real", constant=text, text=F.lit(text))
    if "." not in text and abs(int(text)) < 2 ** 64:
        small = -2 ** 63 <= int(text) < 2 ** 63
        type = "bigint" if small else "decimal(20,0)"
        return Value(F.lit(text).cast(type), "int" if small else "uint", constant=text, text=F.lit(text))
    return Value(exact(text), "decimal", constant=text, text=F.lit(text))


def _of_bits(kind: str, text: str) -> Value:
    """A hexadecimal or bit literal: bytes, and a whole number where a number is asked for."""
    bits = text if kind == "bit" else bin(int(text, 16))[2:] if text else ""
    size = (len(bits) + 7) // 8 if kind == "bit" else len(text) // 2
    number = int(bits or "0", 2)
    content = number.to_bytes(size, "big").decode("latin-1")
    seen = F.lit(str(number)).cast("decimal(20,0)") if number < 2 ** 64 else F.lit(float(number))
    return Value(F.lit(content), "string", "binary", number=seen, bytes=True)
