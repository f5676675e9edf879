"""Comparisons of MySQL values, with collations and binary strings, which have one character per byte.

One law: what two values are compared as follows from both their kinds (TiDB: pkg/expression/builtin_compare.go,
GetAccurateCmpType and refineArgs), and text is compared by the collation that counts more. Texts are equal and sorted
here as handle keys are, for both are made by `tidb.collations`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from simulator.tidb.expressions.operators.texts import texts
from simulator.tidb.expressions.sql import wide_decimals
from simulator.tidb.expressions.sql.conversions import NO_REAL, decimal_text, leading_number
from simulator.tidb.expressions.sql.graph import FALSE, NULL, TRUE, Sql, in_order, joined, sql
from simulator.tidb.expressions.sql.moments import duration, moment, printed_duration
from simulator.tidb.expressions.sql.problems import SHOWN, TRUNCATED, always
from simulator.tidb.expressions.sql.wide_decimals import MOST_BEHIND
from simulator.tidb.expressions.values.collations import by, derived
from simulator.tidb.expressions.values.json_documents import json_key
from simulator.tidb.expressions.values.literals import duration_literal, moment_literal
from simulator.tidb.expressions.values.value import (
    DIGITS,
    MOMENTS,
    NUMBERS,
    Value,
    as_real,
    as_text,
    decimal,
    exact,
    numeric,
    wide,
)
from simulator.tidb.values import spellings

OPERATORS: dict[str, str] = {
    "=": "{} = {}",
    "!=": "{} != {}",
    "<": "{} < {}",
    "<=": "{} <= {}",
    ">": "{} > {}",
    ">=": "{} >= {}",
    "<=>": "{} IS NOT DISTINCT FROM {}",
}


def compared(operator: str, left: Value, right: Value) -> Sql:
    """`left operator right` as a BOOLEAN."""
    if operator == "<=>" and "null" in (left.kind, right.kind):
        other = right if left.kind == "null" else left
        return TRUE if other.kind == "null" else sql("{} IS NULL", other.sql)
    if "null" in (left.kind, right.kind):
        return sql("NULL::BOOLEAN")
    if operator in ("=", "<=>") and (_is_beyond(left, right) or _is_beyond(right, left)):
        return FALSE
    return sql(OPERATORS[operator], *comparable(left, right, operator))


def comparable(left: Value, right: Value, operator: str = "=") -> tuple[Sql, Sql]:
    """The two values in the type in which they are compared; neither is a NULL literal."""
    return compared_as(compared_kind(left, right), _year(left, right, operator), _year(right, left, operator), operator)


def _is_beyond(value: Value, other: Value) -> bool:
    """Whether a literal is larger than any number of a signed column, which then equals it in no row, NULL or not."""
    return (
        value.constant is not None
        and value.kind == "uint"
        and other.kind == "int"
        and other.is_column
        and (not other.year and int(value.constant) >= 2**63)
    )


def between(value: Value, low: Value, high: Value) -> Sql:
    """`value BETWEEN low AND high` as a BOOLEAN: all three are made one kind first (tidb
    pkg/planner/core/expression_rewriter.go, wrapExpWithCast)."""
    kind = _kind_of_three(value, low, high)
    if "null" in (value.kind, low.kind, high.kind) or kind in ("int", "json"):
        return joined("AND", [compared(">=", value, low), compared("<=", value, high)])
    if kind == "string":
        value, low, high = by(derived("BETWEEN", (value, low, high)).collation, (value, low, high))
    first, second = compared_as(kind, value, low), compared_as(kind, value, high)
    return joined("AND", [sql("{} >= {}", *first), sql("{} <= {}", *second)])


def _kind_of_three(*values: Value) -> str:
    """tidb pkg/expression/builtin_compare.go, ResolveType4Between."""
    kinds = [
        "int"
        if value.kind in COUNTS
        else "decimal"
        if value.kind in DECIMALS
        else "string"
        if value.kind in STRINGS
        else "real"
        for value in values
    ]
    if set(kinds) == {"string"}:
        if any(value.kind == "json" for value in values):
            return "json"
        if values[0].kind == "time":
            return "time"
        return "datetime" if any(value.kind in (*MOMENTS, "time") for value in values) else "string"
    if all(value.kind in COUNTS or _is_member(value) and not value.is_column for value in values):
        return "int"
    return "real" if "string" in kinds or "real" in kinds else "decimal"


STRINGS = ("string", "json", "date", "datetime", "time")
COUNTS = ("bool", "int", "uint")
DECIMALS = ("decimal", "wide")


def compared_kind(left: Value, right: Value) -> str:
    """As what two values are compared: `json`, `string`, `datetime`, `time`, `int`, `decimal` or `real`."""
    pairs, kinds = ((left, right), (right, left)), (left.kind, right.kind)
    found = _base_kind(left, right)
    if "json" in kinds:
        return "json"
    if kinds == ("time", "time"):
        return "time"
    if found == "string" and any(kind in MOMENTS for kind in kinds):
        return "datetime"
    if any(value.year and other.kind in MOMENTS for value, other in pairs):
        return "datetime"
    if found not in ("real", "string"):
        return found
    for value, other in pairs:
        if value.kind in DECIMALS and not is_constant(value) and other.kind in STRINGS and is_constant(other):
            return "decimal"
        if value.kind == "time" and value.is_column and is_constant(other):
            return "time"
        if (
            value.kind == "datetime"
            and other.kind in NUMBERS
            and other.constant is not None
            and (moment_literal(spellings.number(other.constant)) is not NULL)
        ):
            return "datetime"
        if (
            found == "real"
            and other.kind == "string"
            and other.constant is not None
            and (value.kind in COUNTS and value.constant is None)
        ):
            return "decimal" if len(f"{Decimal(leading_number(other.constant)):f}") <= DIGITS else "real"
    return found


def _base_kind(left: Value, right: Value) -> str:
    kinds = {left.kind, right.kind}
    if kinds <= set(STRINGS):
        return "string"
    whole = [value.kind in COUNTS or _is_member(value) for value in (left, right)]
    if all(whole):
        return "int"
    if all(each or value.kind in DECIMALS for each, value in zip(whole, (left, right), strict=True)):
        return "decimal"
    return "real"


def _is_member(value: Value) -> bool:
    """Whether it is of an ENUM or a SET, or bits that count as a number."""
    return value.number is not None


def is_constant(value: Value) -> bool:
    """Whether the value is the same in every row."""
    return value.constant is not None or not any(
        node.pieces[0].startswith('"') for node in in_order([value.sql]) if not node.parts
    )


def compared_as(kind: str, left: Value, right: Value, operator: str = "=") -> tuple[Sql, Sql]:
    """Two values as that kind."""
    if kind == "string":
        return texts(left, right, operator)
    if kind == "decimal":
        return _decimals(_exactly(left), _exactly(right))
    if kind == "int":
        return _decimals(numeric(left), numeric(right))
    convert = _CONVERTED[kind]
    return convert(left), convert(right)


def _decimals(first: Value, second: Value) -> tuple[Sql, Sql]:
    """Two exact numbers."""
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


def _exactly(value: Value) -> Value:
    """The value as an exact number."""
    if value.kind != "string" or value.number is not None:
        return numeric(value)
    if value.constant is None:
        return wide(decimal_text(value.sql), MOST_BEHIND)
    shown = f"{Decimal(leading_number(value.constant)):f}"
    if len(shown) > DIGITS:
        return wide(decimal_text(value.sql), MOST_BEHIND)
    found = exact(shown)
    text_of = value.constant.strip()
    return (
        found
        if text_of in ("", leading_number(text_of))
        else replace(found, sql=always(found.sql, TRUNCATED, NO_REAL.format(text_of[:SHOWN])), constant=None)
    )


def as_moment(value: Value) -> Sql:
    """`YYYY-MM-DD hh:mm:ss.ffffff`; null for what is no moment."""
    if value.kind in MOMENTS:
        return value.sql
    if value.year:
        return sql("{}::VARCHAR || '-00-00 00:00:00.000000'", value.sql)
    if value.constant is None:
        return moment(as_text(value))
    shown = value.constant if value.kind == "string" else spellings.number(value.constant)
    found = sql("{}::VARCHAR", moment_literal(shown))
    return (
        found
        if found.parts[0] is not NULL
        else always(found, TRUNCATED, f"1292 Incorrect datetime value: '{value.constant[:SHOWN]}'")
    )


def as_duration(value: Value) -> Sql:
    """Microseconds; null for what is no time."""
    if value.kind == "time":
        return value.sql
    if value.kind in MOMENTS:
        return printed_duration(sql("substring({}, 12)", value.sql))
    if value.constant is None:
        return duration(as_text(value))
    found = sql("{}::BIGINT", duration_literal(value.constant))
    return (
        found
        if found.parts[0] is not NULL
        else always(found, TRUNCATED, f"1292 Truncated incorrect time value: '{value.constant[:SHOWN]}'")
    )


_CONVERTED: dict[str, Callable[[Value], Sql]] = {
    "json": json_key,
    "datetime": as_moment,
    "time": as_duration,
    "real": as_real,
}


def _year(value: Value, other: Value, operator: str) -> Value:
    """A literal of one or two digits, compared with a YEAR, is one of this century or the last."""
    if not other.year or not other.is_column or value.constant is None or value.kind not in (*NUMBERS, "string"):
        return value
    text_of = value.constant.strip()
    number = Decimal(leading_number(text_of))
    if number != number.to_integral_value():
        if operator in ("=", "<=>", "!=") or value.kind == "decimal":
            return value
        number = number.to_integral_value(ROUND_CEILING if operator in ("<", ">=") else ROUND_FLOOR)
    zero = value.kind == "string" and text_of in ("0", "00", "000")
    if not 0 < number < 100 and not zero:
        return value
    year = int(number) + (2000 if number < 70 else 1900)
    return replace(
        _constant(str(year)),
        sql=sql("{} + 0 * {}", _constant(str(year)).sql, numeric(value).sql)
        if value.kind == "string"
        else _constant(str(year)).sql,
    )


def _constant(shown: str) -> Value:
    return Value(sql(f"{shown}::BIGINT"), "int", constant=shown)


def as_decimals(left: Value, right: Value) -> tuple[Sql, Sql, int]:
    """Two exact numbers as decimals of one scale."""
    scale = max(left.scale, right.scale)
    return decimal(left.sql, scale).sql, decimal(right.sql, scale).sql, scale
