"""Literals, and the cells of columns, as expressions."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec.structs import replace

from simulator.tidb.errors import sql_error_with_text
from simulator.tidb.expressions import numbers
from simulator.tidb.expressions.conversions import parse_printed_moment
from simulator.tidb.expressions.expression import (
    ALWAYS,
    CONNECTION_COLLATION,
    MAX_DIGITS,
    WARNED,
    Context,
    Evaluate,
    Expression,
    Row,
    apply,
    fixed,
    null,
)
from simulator.tidb.expressions.numbers import real_text
from simulator.tidb.functions.time_conversions import no_moment, parse_text
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS, ColumnType, is_text, type_code
from simulator.tidb.syntax.definitions import literal_bytes
from simulator.tidb.syntax.expressions import Literal
from simulator.tidb.values import durations
from simulator.tidb.values.documents import MARK, text_of_stored
from simulator.tidb.values.durations import duration_micros


def column_value(column: Column, cell: Evaluate) -> Expression:
    """Return the value of a column, given the function that returns its cell: TiDB text in bytes."""
    return replace(_cell_value(column.type, cell), is_column=True)


def _shown(cell: bytes) -> str:
    return cell.decode()


def _text(cell: bytes) -> str:
    try:
        return cell.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return cell.decode("utf-8", "surrogateescape")


def _single(cell: bytes) -> float:
    return float(np.float32(cell))


def _single_text(cell: bytes) -> str:
    return real_text(float(str(np.float32(cell))))


def _cell_value(type: ColumnType, cell: Evaluate) -> Expression:
    if type.name in INTEGER_BITS:
        kind = "uint" if type.unsigned else "int"
        return Expression(apply(int, cell), kind, text=apply(_shown, cell), column_type=type)
    if type.name == "year":
        return Expression(apply(int, cell), "int", is_year=True)
    if type.name == "bit":
        return Expression(apply(int, cell), "uint", integral=False, column_type=type)
    if type.name == "float":
        return Expression(apply(_single, cell), "real", text=apply(_single_text, cell), column_type=type)
    if type.name == "double":
        return Expression(apply(float, cell), "real")
    if type.name == "decimal":
        return Expression(
            apply(lambda each: Decimal(each.decode()), cell),
            "decimal",
            text=apply(_shown, cell),
            scale=max(type.decimal, 0),
            digits=type.length,
        )
    if type.name in ("date", "datetime", "timestamp"):
        return Expression(
            apply(lambda each: parse_printed_moment(each.decode()), cell),
            "date" if type.name == "date" else "datetime",
            text=apply(_shown, cell),
            scale=max(type.decimal, 0),
            column_type=type,
        )
    if type.name == "time":
        return Expression(
            apply(lambda each: duration_micros(each.decode()), cell),
            "time",
            text=apply(_shown, cell),
            scale=max(type.decimal, 0),
        )
    if type.name == "json":
        stored = apply(_text, cell)
        return Expression(
            apply(lambda each: each.removeprefix(MARK), stored), "json", text=apply(text_of_stored, stored)
        )
    return Expression(
        apply(_text, cell),
        "string",
        type.collation,
        2,
        type.charset == "ascii",
        number=_member_number(type, cell),
        is_binary=type.charset == "binary",
        blob_type=type_code(type) if is_text(type) else 253,
        column_type=type if type.elements else None,
    )


def _member_number(type: ColumnType, cell: Evaluate) -> Evaluate | None:
    """Return the index of an ENUM's member, 0 for none, or the bits of a SET's."""
    if type.name not in ("enum", "set"):
        return None
    numbers = {element: place for place, element in enumerate(type.elements)}
    if type.name == "enum":
        return apply(lambda each: numbers.get(_text(each), -1) + 1, cell)
    return apply(lambda each: sum(1 << numbers[member] for member in _text(each).split(",") if member), cell)


@lru_cache(1 << 12)
def literal_value(literal: Literal) -> Expression:
    kind, shown = literal.kind, literal.text
    if kind == "null":
        return null()
    if kind == "boolean":
        value = shown == "TRUE"
        return Expression(fixed(value), "bool", constant=str(int(value)), is_constant=True)
    if kind in ("date", "time", "timestamp"):
        return time_literal(kind, shown)
    if kind in ("hex", "bit"):
        return _bits_value(kind, shown)
    if kind == "string":
        return _string_value(literal)
    return number_value(shown)


def _string_value(literal: Literal) -> Expression:
    binary, shown = literal.charset == "binary", literal.text
    shown = shown.encode("utf-8", "surrogateescape").decode("latin-1") if binary else shown
    collation = "binary" if binary else f"{literal.charset}_bin" if literal.introduced else CONNECTION_COLLATION
    return text_value(shown, collation, binary)


def text_value(shown: str, collation: str = CONNECTION_COLLATION, is_binary: bool = False) -> Expression:
    return Expression(
        fixed(shown), "string", collation, constant=shown, is_constant=True, is_binary=is_binary, ascii=shown.isascii()
    )


def number_value(shown: str) -> Expression:
    """Return the value of a number as TiDB writes it."""
    if "e" in shown:
        number = float(shown)
        return Expression(fixed(number), "real", constant=shown, text=fixed(real_text(number)), is_constant=True)
    if "." not in shown and -(2**63) <= int(shown) < 2**64:
        kind = "int" if int(shown) < 2**63 else "uint"
        return Expression(fixed(int(shown)), kind, constant=shown, text=fixed(shown), is_constant=True)
    return decimal_literal(shown)


MOST_DIGITS = 81
"""The digits of a literal that TiDB reads: nine words of nine."""


def decimal_literal(shown: str) -> Expression:
    """Return a decimal literal. One with too many digits before its point is the largest DECIMAL (tidb
    pkg/parser/lexer.go, toDecimal; pkg/types/mydecimal.go, FromString)."""
    number = numbers.fitted(Decimal(shown))
    if number is None:
        number = Decimal("9" * MAX_DIGITS).copy_sign(Decimal(shown))
    sign, figures, exponent = number.as_tuple()
    scale = max(-int(exponent), 0)
    digits = max(len(figures), scale, 1)
    whole, value = shown.lstrip("+-").partition(".")[0], number

    def cut(row: Row, context: Context) -> Decimal:
        context.problem(WARNED, f"1292 Truncated incorrect DECIMAL value: '{whole[-MOST_DIGITS:]}'")
        return value

    evaluate = cut if len(whole) > MOST_DIGITS else fixed(number)
    return Expression(evaluate, "decimal", constant=shown, scale=scale, digits=digits, is_constant=True)


def _bits_value(kind: str, shown: str) -> Expression:
    """Return a hexadecimal or bit literal: bytes, or an integer in numeric context."""
    content = literal_bytes(kind, shown)
    number = fixed(min(int.from_bytes(content, "big"), 2**64 - 1))
    return Expression(
        fixed(content.decode("latin-1")), "string", "binary", number=number, is_binary=True, is_constant=True
    )


# -- times ----------------------------------------------------------------------------------------------------------------


DATE = r"0*\d{1,4}([^\d]0*\d{1,2}){2}"
PATTERNS = {
    "date": re.compile(rf"\s*({DATE}|\d{{2,4}}(\d{{2}}){{2}})\s*", re.ASCII),
    "time": re.compile(r"\s*-?((\d{1,2}\s+)?0*\d{0,3}(:0*\d{1,2}){0,2}|\d{1,7})?(\.\d*)?\s*", re.ASCII),
    "timestamp": re.compile(rf"\s*{DATE}\s+(0*\d{{0,2}}([^\d]0*\d{{1,2}}){{2}})?(\.\d*)?\s*", re.ASCII),
}


def time_literal(kind: str, text: str) -> Expression:
    """Return the value of a literal: `date`, `time` or `timestamp`. Raises SqlError 1292."""
    if not PATTERNS[kind].fullmatch(text):
        name = "datetime" if kind == "timestamp" else kind
        raise sql_error_with_text(1292, f"Incorrect {name} value: '{text}'")
    digits = 0 if kind == "date" else min(len(text.partition(".")[2].rstrip()), 6)
    if kind == "time":
        duration = durations.duration(text, 6)
        if duration is None:
            raise sql_error_with_text(1292, f"Truncated incorrect time value: '{text}'")
        return Expression(fixed(duration), "time", scale=digits, is_constant=True)
    moment = parse_text(text)
    if moment is None:
        problem = no_moment(text, text)
        raise sql_error_with_text(problem.number, problem.text)
    if kind == "timestamp":
        return Expression(fixed(moment), "datetime", scale=digits, is_constant=True)
    return _date(moment)


def _date(moment: str) -> Expression:
    shown = moment[:10]
    needs = "" if "-00" not in shown else "z" if shown == "0000-00-00" else "p"
    moment = f"{shown} 00:00:00.000000"
    if not needs:
        return Expression(fixed(moment), "date", is_constant=True)

    def evaluate(row: Row, context: Context) -> Any:
        if needs not in context.zeros:
            context.problem(ALWAYS, f"1292 Incorrect date value: '{shown}'")
        return moment

    return Expression(evaluate, "date", is_constant=True)
