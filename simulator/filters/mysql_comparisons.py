"""Comparisons of MySQL values on Spark.

One law: what two values are compared as follows from both their kinds (TiDB: pkg/expression/builtin_compare.go,
GetAccurateCmpType and refineArgs), and text is compared by the collation that counts more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.mysql_json import json_key
from simulator.filters.mysql_moments import constant_duration, constant_moment, duration, moment
from simulator.filters.mysql_values import MOMENTS, Value, as_real, as_text, exact, leading_number, numeric

OPERATORS: dict[str, Callable[[Column, Column], Column]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "<=>": lambda left, right: left.eqNullSafe(right),
}


def compared(operator: str, left: Value, right: Value) -> Column:
    """`left operator right` as a Spark boolean."""
    if operator == "<=>" and "null" in (left.kind, right.kind):
        other = right if left.kind == "null" else left
        return F.lit(True) if other.kind == "null" else other.column.isNull()
    if "null" in (left.kind, right.kind):
        return F.lit(None).cast("boolean")
    return OPERATORS[operator](*comparable(left, right))


def comparable(left: Value, right: Value) -> tuple[Column, Column]:
    """The two values in the type in which they are compared; neither is a NULL literal."""
    kinds = (left.kind, right.kind)
    if "json" in kinds:
        return json_key(left), json_key(right)
    if kinds == ("string", "string"):
        return texts(left, right)
    if _is_about(MOMENTS, left, right):
        return as_moment(left), as_moment(right)
    if _is_about(("time",), left, right):
        return as_duration(left), as_duration(right)
    return _numbers(_year(left, right), _year(right, left))


def _is_about(temporal: tuple[str, ...], left: Value, right: Value) -> bool:
    """Whether both are compared as such times: one is, and the other is too, or is text, or a literal."""
    pairs = ((left, right), (right, left))
    return any(one.kind in temporal and (other.kind in (*temporal, "string") or other.constant is not None)
               for one, other in pairs)


def as_moment(value: Value) -> Column:
    """`YYYY-MM-DD hh:mm:ss.ffffff`; null for what is no moment."""
    if value.kind in MOMENTS:
        return value.column
    return moment(as_text(value)) if value.constant is None else F.lit(constant_moment(value.constant))


def as_duration(value: Value) -> Column:
    """Microseconds; null for what is no time."""
    if value.kind == "time":
        return value.column
    return duration(as_text(value)) if value.constant is None else F.lit(constant_duration(value.constant))


def _year(value: Value, other: Value) -> Value:
    """A literal of one or two digits, compared with a YEAR, is one of this century or the last."""
    if not other.year or value.constant is None or not value.constant.isdecimal() or len(value.constant) > 2:
        return value
    number = int(value.constant)
    return value if not number else _constant(str(number + (2000 if number < 70 else 1900)))


def _constant(text: str) -> Value:
    return Value(F.lit(text).cast("bigint"), "int", constant=text)


def _numbers(left: Value, right: Value) -> tuple[Column, Column]:
    """As whole numbers or decimals where both are exact; a literal text beside an exact number is exact too."""
    one, other = _exactly(left, right), _exactly(right, left)
    kinds = {one.kind, other.kind}
    if "real" in kinds:
        return as_real(one), as_real(other)
    if kinds == {"int"}:
        return one.column, other.column
    return tuple_of_decimals(one, other)


def tuple_of_decimals(left: Value, right: Value) -> tuple[Column, Column]:
    """Two exact numbers as decimals."""
    first, second = (value.column.cast("decimal(20,0)") if value.kind == "int" else value.column
                     for value in (left, right))
    return first, second


def _exactly(value: Value, other: Value) -> Value:
    """The value as a number; text that is a literal as an exact one, beside one that is exact."""
    if value.kind == "string" and value.constant is not None and numeric(other).kind != "real":
        number = Decimal(leading_number(value.constant))
        text = f"{number:f}"
        if len(text) <= 38:
            return Value(exact(text), "decimal", constant=text)
    return numeric(value)


def collation_of(left: Value, right: Value) -> str:
    """The collation that counts; `binary` beats others of its strength."""
    if left.strength == right.strength:
        return "binary" if "binary" in (left.collation, right.collation) else left.collation
    return min(left, right, key=lambda value: value.strength).collation


def texts(left: Value, right: Value) -> tuple[Column, Column]:
    """Two strings in the form in which their collation compares them."""
    name = collation_of(left, right)
    first, second = as_bytes_alike(left, right)
    return collated(first, name), collated(second, name)


def as_bytes_alike(left: Value, right: Value) -> tuple[Column, Column]:
    """Both texts with one character per byte if one of them has it so."""
    if left.bytes == right.bytes:
        return as_text(left), as_text(right)
    first, second = (as_text(value) if value.bytes else F.decode(F.encode(as_text(value), "UTF-8"), "ISO-8859-1")
                     for value in (left, right))
    return first, second


def collated(text: Column, collation: str) -> Column:
    """Text whose order and equality are the collation's; all but utf8mb4_0900_… and binary ignore blanks at the end."""
    if collation == "binary":
        return text
    padded = text if "_0900_" in collation else F.rtrim(text)
    if is_exact(collation):
        return padded
    return F.collate(padded, "UTF8_LCASE" if collation.startswith(("gbk", "gb18030")) else "UNICODE_CI_AI")


def is_exact(collation: str) -> bool:
    """Whether the collation tells upper from lower case."""
    return collation == "binary" or collation.endswith("_bin")


def like(text: Value, pattern: str, escape: str) -> Column:
    """`text LIKE pattern`, the pattern a constant."""
    return as_text(text).rlike(f"(?s){_ignoring_case(text)}^{''.join(_translated(pattern, escape))}$")


def _translated(pattern: str, escape: str) -> list[str]:
    """The pattern as a regular expression of Java, piece by piece."""
    pieces, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            pieces.append(re.escape(next(characters, escape)))
        else:
            pieces.append({"%": ".*", "_": "."}.get(character, re.escape(character)))
    return pieces


def regexp(text: Value, pattern: str) -> Column:
    """`text REGEXP pattern`, the pattern a constant."""
    return as_text(text).rlike(_ignoring_case(text) + pattern)


def _ignoring_case(text: Value) -> str:
    return "" if text.kind != "string" or is_exact(text.collation) else "(?iu)"
