"""Comparisons of MySQL values, with collations and binary strings, which have one character per byte.

One law: what two values are compared as follows from both their kinds (TiDB: pkg/expression/builtin_compare.go,
GetAccurateCmpType and refineArgs), and text is compared by the collation that counts more. Texts are equal and sorted
here as handle keys are, for both are made by `tidb.collations`.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pyarrow as pa

from simulator.tidb.collations import compare
from simulator.tidb.expressions import wide_decimals
from simulator.tidb.expressions.json import json_key
from simulator.tidb.expressions.moments import duration, moment, printed_duration
from simulator.tidb.expressions.sql import Sql, TRUE, sql, text, when
from simulator.tidb.expressions.values import (
    DIGITS,
    MOMENTS,
    Value,
    as_real,
    as_text,
    decimal,
    duration_literal,
    exact,
    leading_number,
    moment_literal,
    numeric,
)
from simulator.tidb.values import spellings

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
    return any(value.kind in temporal and (other.kind in (*temporal, "string") or other.constant is not None)
               for value, other in pairs)


def as_moment(value: Value) -> Sql:
    """`YYYY-MM-DD hh:mm:ss.ffffff`; null for what is no moment."""
    if value.kind in MOMENTS:
        return value.sql
    if value.constant is None:
        return moment(as_text(value))
    shown = value.constant if value.kind == "string" else spellings.number(value.constant)
    return sql("{}::VARCHAR", moment_literal(shown))


def as_duration(value: Value) -> Sql:
    """Microseconds; null for what is no time."""
    if value.kind == "time":
        return value.sql
    if value.kind in MOMENTS:
        return printed_duration(sql("substring({}, 12)", value.sql))
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
    first, second = _exactly(left, right), _exactly(right, left)
    kinds = {first.kind, second.kind}
    if "real" in kinds:
        return as_real(first), as_real(second)
    if "wide" in kinds:
        one, other = (wide_decimals.key(wide_decimals.as_wide(value.sql)) for value in (first, second))
        return one, other
    if len(kinds) == 1 and "decimal" not in kinds:
        return first.sql, second.sql
    if "decimal" not in kinds:
        return sql("{}::HUGEINT", first.sql), sql("{}::HUGEINT", second.sql)
    return as_decimals(first, second)[:2]


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


def collated(found: Sql, collation: str) -> Sql:
    """What compares as the text does: a text, or a BLOB."""
    if compare.is_weighed(collation):
        return sql(f"sort_key_{collation}({{}})", found)
    return sql("rtrim({}, ' ')", found) if compare.pads(collation) else found


def folded(found: Sql, collation: str) -> Sql:
    """The text with one character for each of its own, alike where the collation finds them alike."""
    return sql(f"alike_{collation}({{}})", found) if compare.is_weighed(collation) else found


def folded_text(found: str, collation: str) -> str:
    """The same of a constant."""
    return str(compare.alike(collation, pa.array([found]))[0]) if compare.is_weighed(collation) else found


def is_exact(collation: str) -> bool:
    """Whether the collation tells upper from lower case."""
    return collation == "binary" or collation.endswith("_bin")


def latin1(found: Sql) -> Sql:
    """The bytes of a text, one character per byte."""
    pairs = sql("regexp_extract_all(hex(encode({})), '..')", found)
    return when(_is_ascii(found), found,
                sql("array_to_string(list_transform({}, lambda h: chr(('0x' || h)::INTEGER)), '')", pairs))


def blob(value: Value) -> Sql:
    """The bytes of a value's text, as a BLOB."""
    found = as_text(value)
    if not value.bytes:
        return sql("encode({})", found)
    pairs = sql("list_transform(regexp_extract_all({}, '(?s).'), lambda c: printf('%02X', unicode(c)))", found)
    return when(_is_ascii(found), sql("encode({})", found), sql("unhex(array_to_string({}, ''))", pairs))


def shown(bytes: Sql) -> Sql:
    """A BLOB, one character per byte."""
    pairs = sql("regexp_extract_all(hex({}), '..')", bytes)
    return when(sql("{} IS NOT NULL", bytes),
                sql("array_to_string(list_transform({}, lambda h: chr(('0x' || h)::INTEGER)), '')", pairs))


def _is_ascii(found: Sql) -> Sql:
    return sql("strlen({}) = length({})", found, found)
