"""Comparisons of MySQL values.

One law: what two values are compared as follows from both their kinds (TiDB: pkg/expression/builtin_compare.go,
GetAccurateCmpType and refineArgs), and text is compared by the collation that counts more.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from simulator.tidb.expressions.bytes import latin1
from simulator.tidb.expressions.cells import duration_literal, moment_literal
from simulator.tidb.expressions.collations import collated, folded, folded_text, is_exact
from simulator.tidb.expressions.json import json_key
from simulator.tidb.expressions.moments import duration, moment
from simulator.tidb.expressions.sql import Sql, TRUE, sql, text
from simulator.tidb.expressions.values import (
    DIGITS,
    MOMENTS,
    Value,
    as_real,
    as_text,
    decimal,
    exact,
    leading_number,
    numeric,
)

OPERATORS: dict[str, str] = {
    "=": "{} = {}", "!=": "{} != {}", "<": "{} < {}", "<=": "{} <= {}", ">": "{} > {}", ">=": "{} >= {}",
    "<=>": "{} IS NOT DISTINCT FROM {}",
}


def compared(operator: str, left: Value, right: Value) -> Sql:
    """`left operator right` as a BOOLEAN."""
    if operator == "<=>" and "null" in (left.kind, right.kind):
        other = right if left.kind == "null" else left
        return TRUE if other.kind == "null" else sql("{} IS NULL", other.sql)
    if "null" in (left.kind, right.kind):
        return sql("NULL::BOOLEAN")
    return sql(OPERATORS[operator], *comparable(left, right))


def comparable(left: Value, right: Value) -> tuple[Sql, Sql]:
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


def as_moment(value: Value) -> Sql:
    """`YYYY-MM-DD hh:mm:ss.ffffff`; null for what is no moment."""
    if value.kind in MOMENTS:
        return value.sql
    return moment(as_text(value)) if value.constant is None else sql("{}::VARCHAR", moment_literal(value.constant))


def as_duration(value: Value) -> Sql:
    """Microseconds; null for what is no time."""
    if value.kind == "time":
        return value.sql
    if value.kind in MOMENTS:
        return duration(sql("substring({}, 12)", value.sql))
    return duration(as_text(value)) if value.constant is None else sql("{}::BIGINT", duration_literal(value.constant))


def _year(value: Value, other: Value) -> Value:
    """A literal of one or two digits, compared with a YEAR, is one of this century or the last."""
    if not other.year or value.constant is None or not value.constant.isdecimal() or len(value.constant) > 2:
        return value
    number = int(value.constant)
    return value if not number else _constant(str(number + (2000 if number < 70 else 1900)))


def _constant(shown: str) -> Value:
    return Value(sql(f"{shown}::BIGINT"), "int", constant=shown)


def _numbers(left: Value, right: Value) -> tuple[Sql, Sql]:
    """As whole numbers or decimals where both are exact; a literal text beside an exact number is exact too."""
    one, other = _exactly(left, right), _exactly(right, left)
    kinds = {one.kind, other.kind}
    if "real" in kinds:
        return as_real(one), as_real(other)
    if len(kinds) == 1 and "decimal" not in kinds:
        return one.sql, other.sql
    if "decimal" not in kinds:
        return sql("{}::HUGEINT", one.sql), sql("{}::HUGEINT", other.sql)
    first, second, _ = as_decimals(one, other)
    return first, second


def as_decimals(left: Value, right: Value) -> tuple[Sql, Sql, int]:
    """Two exact numbers as decimals of one scale."""
    scale = max(left.scale, right.scale)
    return decimal(left.sql, scale).sql, decimal(right.sql, scale).sql, scale


def _exactly(value: Value, other: Value) -> Value:
    """The value as a number; text that is a literal as an exact one, beside one that is exact."""
    if value.kind == "string" and value.constant is not None and numeric(other).kind != "real":
        number = Decimal(leading_number(value.constant))
        shown = f"{number:f}"
        if len(shown) <= DIGITS:
            return exact(shown)
    return numeric(value)


def collation_of(left: Value, right: Value) -> str:
    """The collation that counts; `binary` beats others of its strength."""
    if left.strength == right.strength:
        return "binary" if "binary" in (left.collation, right.collation) else left.collation
    return min(left, right, key=lambda value: value.strength).collation


def texts(left: Value, right: Value) -> tuple[Sql, Sql]:
    """Two strings in the form in which their collation compares them."""
    name = collation_of(left, right)
    first, second = as_bytes_alike(left, right)
    return collated(first, name), collated(second, name)


def as_bytes_alike(left: Value, right: Value) -> tuple[Sql, Sql]:
    """Both texts with one character per byte if one of them has it so."""
    if left.bytes == right.bytes:
        return as_text(left), as_text(right)
    first, second = (as_text(value) if value.bytes else latin1(as_text(value)) for value in (left, right))
    return first, second


def like(value: Value, pattern: Value, escape: str) -> Sql:
    """`value LIKE pattern`"""
    name = collation_of(value, pattern) if value.kind == "string" else "binary"
    if pattern.constant is not None:
        pattern, escape = replace(pattern, sql=text(_escaped(pattern.constant, escape, name)), text=None), "\\"
    first, second = as_bytes_alike(value, pattern)
    return sql("{} LIKE {} ESCAPE {}", folded(first, name), folded(second, name), text(escape))


def _escaped(pattern: str, escape: str, collation: str) -> str:
    """The pattern, folded, with a backslash for its escape character, one at its end doubled."""
    pieces, characters = [], iter(zip(pattern, folded_text(pattern, collation), strict=True))
    for character, alike in characters:
        if character in "%_" and character != escape:
            pieces.append(character)
            continue
        literal = next(characters, (escape, escape))[1] if character == escape else alike
        pieces.append(f"\\{literal}" if literal in "%_\\" else literal)
    return "".join(pieces)


def regexp(value: Value, pattern: Value) -> Sql:
    """`value REGEXP pattern`: as in Go, whose syntax DuckDB's is."""
    ignores_case = value.kind == "string" and not is_exact(value.collation)
    return sql(f"regexp_matches({{}}, {{}}, '{'i' if ignores_case else 'c'}')", as_text(value), as_text(pattern))
