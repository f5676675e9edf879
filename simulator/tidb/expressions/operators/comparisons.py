"""Comparisons of MySQL values.

The kinds of both operands decide the type of the comparison (TiDB: pkg/expression/builtin_compare.go,
GetAccurateCmpType and refineArgs). Texts compare by the derived collation, with the same weights as handle keys
(`tidb.collations`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from simulator.tidb.expressions.operators.texts import text_operands
from simulator.tidb.expressions.sql import wide_decimals
from simulator.tidb.expressions.sql.conversions import INCORRECT_DOUBLE, leading_number, text_to_decimal
from simulator.tidb.expressions.sql.graph import FALSE, NULL, TRUE, Sql, join, sql, topological_order
from simulator.tidb.expressions.sql.moments import parse_duration, parse_moment, parse_printed_duration
from simulator.tidb.expressions.sql.problems import MAX_SHOWN, TRUNCATED, problem_always
from simulator.tidb.expressions.sql.wide_decimals import MAX_SCALE
from simulator.tidb.expressions.values.collations import derive_collation, with_explicit_collation
from simulator.tidb.expressions.values.json_documents import json_key
from simulator.tidb.expressions.values.literals import duration_literal, moment_literal
from simulator.tidb.expressions.values.value import (
    DUCKDB_DIGITS,
    MOMENT_KINDS,
    NUMERIC_KINDS,
    Value,
    as_number,
    as_real,
    as_text,
    decimal,
    decimal_literal,
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


def comparison(operator: str, left: Value, right: Value) -> Sql:
    """Return `left operator right` as a BOOLEAN."""
    if operator == "<=>" and "null" in (left.kind, right.kind):
        other = right if left.kind == "null" else left
        return TRUE if other.kind == "null" else sql("{} IS NULL", other.sql)
    if "null" in (left.kind, right.kind):
        return sql("NULL::BOOLEAN")
    if operator in ("=", "<=>") and (_exceeds_column(left, right) or _exceeds_column(right, left)):
        return FALSE
    return sql(OPERATORS[operator], *comparison_operands(left, right, operator))


def comparison_operands(left: Value, right: Value, operator: str = "=") -> tuple[Sql, Sql]:
    """Return two values, neither a NULL literal, in the type in which they are compared."""
    return convert_operands(
        comparison_kind(left, right), _expand_year(left, right, operator), _expand_year(right, left, operator), operator
    )


def _exceeds_column(value: Value, other: Value) -> bool:
    """Return whether a literal exceeds the range of a signed column, so that even rows with NULL differ from it."""
    return (
        value.constant is not None
        and value.kind == "uint"
        and other.kind == "int"
        and other.is_column
        and (not other.is_year and int(value.constant) >= 2**63)
    )


def between(value: Value, low: Value, high: Value) -> Sql:
    """Return `value BETWEEN low AND high` as a BOOLEAN.

    All three are converted to one kind first (tidb pkg/planner/core/expression_rewriter.go, wrapExpWithCast).
    """
    kind = _kind_of_three(value, low, high)
    if "null" in (value.kind, low.kind, high.kind) or kind in ("int", "json"):
        return join("AND", [comparison(">=", value, low), comparison("<=", value, high)])
    if kind == "string":
        value, low, high = with_explicit_collation(
            derive_collation("BETWEEN", (value, low, high)).collation, (value, low, high)
        )
    first, second = convert_operands(kind, value, low), convert_operands(kind, value, high)
    return join("AND", [sql("{} >= {}", *first), sql("{} <= {}", *second)])


def _kind_of_three(*values: Value) -> str:
    """Return the kind in which BETWEEN compares (tidb pkg/expression/builtin_compare.go, ResolveType4Between)."""
    kinds = [
        "int"
        if value.kind in INTEGER_KINDS
        else "decimal"
        if value.kind in DECIMAL_KINDS
        else "string"
        if value.kind in STRING_KINDS
        else "real"
        for value in values
    ]
    if set(kinds) == {"string"}:
        if any(value.kind == "json" for value in values):
            return "json"
        if values[0].kind == "time":
            return "time"
        return "datetime" if any(value.kind in (*MOMENT_KINDS, "time") for value in values) else "string"
    if all(value.kind in INTEGER_KINDS or _is_member(value) and not value.is_column for value in values):
        return "int"
    return "real" if "string" in kinds or "real" in kinds else "decimal"


STRING_KINDS = ("string", "json", "date", "datetime", "time")
INTEGER_KINDS = ("bool", "int", "uint")
DECIMAL_KINDS = ("decimal", "wide")


def comparison_kind(left: Value, right: Value) -> str:
    """Return the kind of a comparison: `json`, `string`, `datetime`, `time`, `int`, `decimal` or `real`."""
    pairs, kinds = ((left, right), (right, left)), (left.kind, right.kind)
    result = _base_kind(left, right)
    if "json" in kinds:
        return "json"
    if kinds == ("time", "time"):
        return "time"
    if result == "string" and any(kind in MOMENT_KINDS for kind in kinds):
        return "datetime"
    if any(value.is_year and other.kind in MOMENT_KINDS for value, other in pairs):
        return "datetime"
    if result not in ("real", "string"):
        return result
    for value, other in pairs:
        if value.kind in DECIMAL_KINDS and not is_constant(value) and other.kind in STRING_KINDS and is_constant(other):
            return "decimal"
        if value.kind == "time" and value.is_column and is_constant(other):
            return "time"
        if (
            value.kind == "datetime"
            and other.kind in NUMERIC_KINDS
            and other.constant is not None
            and (moment_literal(spellings.number(other.constant)) is not NULL)
        ):
            return "datetime"
        if (
            result == "real"
            and other.kind == "string"
            and other.constant is not None
            and (value.kind in INTEGER_KINDS and value.constant is None)
        ):
            return "decimal" if len(f"{Decimal(leading_number(other.constant)):f}") <= DUCKDB_DIGITS else "real"
    return result


def _base_kind(left: Value, right: Value) -> str:
    kinds = {left.kind, right.kind}
    if kinds <= set(STRING_KINDS):
        return "string"
    whole = [value.kind in INTEGER_KINDS or _is_member(value) for value in (left, right)]
    if all(whole):
        return "int"
    if all(each or value.kind in DECIMAL_KINDS for each, value in zip(whole, (left, right), strict=True)):
        return "decimal"
    return "real"


def _is_member(value: Value) -> bool:
    """Return whether a string counts as a number: ENUM, SET, hexadecimal and bit literals."""
    return value.number is not None


def is_constant(value: Value) -> bool:
    """Return whether the value is the same in every row."""
    return value.constant is not None or not any(
        node.pieces[0].startswith('"') for node in topological_order([value.sql]) if not node.parts
    )


def convert_operands(kind: str, left: Value, right: Value, operator: str = "=") -> tuple[Sql, Sql]:
    """Convert two values to a kind of comparison."""
    if kind == "string":
        return text_operands(left, right, operator)
    if kind == "decimal":
        return _decimals(_as_exact(left), _as_exact(right))
    if kind == "int":
        return _decimals(as_number(left), as_number(right))
    convert = _CONVERSIONS[kind]
    return convert(left), convert(right)


def _decimals(first: Value, second: Value) -> tuple[Sql, Sql]:
    """Return two exact numbers in one type."""
    kinds = {first.kind, second.kind}
    if "real" in kinds:
        return as_real(first), as_real(second)
    if "wide" in kinds:
        one, other = (wide_decimals.sort_key(wide_decimals.as_text(value.sql)) for value in (first, second))
        return one, other
    if len(kinds) == 1 and "decimal" not in kinds:
        return first.sql, second.sql
    if "decimal" not in kinds:
        return sql("{}::HUGEINT", first.sql), sql("{}::HUGEINT", second.sql)
    return as_decimals(first, second)[:2]


def _as_exact(value: Value) -> Value:
    """Return the value as an exact number."""
    if value.kind != "string" or value.number is not None:
        return as_number(value)
    if value.constant is None:
        return wide(text_to_decimal(value.sql), MAX_SCALE)
    shown = f"{Decimal(leading_number(value.constant)):f}"
    if len(shown) > DUCKDB_DIGITS:
        return wide(text_to_decimal(value.sql), MAX_SCALE)
    result = decimal_literal(shown)
    text_of = value.constant.strip()
    return (
        result
        if text_of in ("", leading_number(text_of))
        else replace(
            result,
            sql=problem_always(result.sql, TRUNCATED, INCORRECT_DOUBLE.format(text_of[:MAX_SHOWN])),
            constant=None,
        )
    )


def as_moment(value: Value) -> Sql:
    """Return the value as a moment, `YYYY-MM-DD hh:mm:ss.ffffff`; null if it is none."""
    if value.kind in MOMENT_KINDS:
        return value.sql
    if value.is_year:
        return sql("{}::VARCHAR || '-00-00 00:00:00.000000'", value.sql)
    if value.constant is None:
        return parse_moment(as_text(value))
    shown = value.constant if value.kind == "string" else spellings.number(value.constant)
    result = sql("{}::VARCHAR", moment_literal(shown))
    return (
        result
        if result.parts[0] is not NULL
        else problem_always(result, TRUNCATED, f"1292 Incorrect datetime value: '{value.constant[:MAX_SHOWN]}'")
    )


def as_duration(value: Value) -> Sql:
    """Return the value as a duration in microseconds; null if it is none."""
    if value.kind == "time":
        return value.sql
    if value.kind in MOMENT_KINDS:
        return parse_printed_duration(sql("substring({}, 12)", value.sql))
    if value.constant is None:
        return parse_duration(as_text(value))
    result = sql("{}::BIGINT", duration_literal(value.constant))
    return (
        result
        if result.parts[0] is not NULL
        else problem_always(result, TRUNCATED, f"1292 Truncated incorrect time value: '{value.constant[:MAX_SHOWN]}'")
    )


_CONVERSIONS: dict[str, Callable[[Value], Sql]] = {
    "json": json_key,
    "datetime": as_moment,
    "time": as_duration,
    "real": as_real,
}


def _expand_year(value: Value, other: Value, operator: str) -> Value:
    """Expand a literal of one or two digits that is compared with a YEAR, to 1970 to 2069."""
    if (
        not other.is_year
        or not other.is_column
        or value.constant is None
        or value.kind not in (*NUMERIC_KINDS, "string")
    ):
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
        sql=sql("{} + 0 * {}", _constant(str(year)).sql, as_number(value).sql)
        if value.kind == "string"
        else _constant(str(year)).sql,
    )


def _constant(shown: str) -> Value:
    return Value(sql(f"{shown}::BIGINT"), "int", constant=shown)


def as_decimals(left: Value, right: Value) -> tuple[Sql, Sql, int]:
    """Return two exact numbers as decimals of one scale."""
    scale = max(left.scale, right.scale)
    return decimal(left.sql, scale).sql, decimal(right.sql, scale).sql, scale
