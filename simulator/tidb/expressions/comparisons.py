"""Comparisons of MySQL values.

The kinds of both operands decide the type of the comparison (TiDB: pkg/expression/builtin_compare.go,
GetAccurateCmpType and refineArgs). Texts compare by the derived collation, with the same weights as handle keys
(`tidb.collations`).
"""

from __future__ import annotations

import operator as operators
from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from msgspec.structs import replace

from simulator.tidb.datums.numbers import SPACE, float_prefix
from simulator.tidb.expressions.collations import derive_collation, with_explicit_collation
from simulator.tidb.expressions.conversions import (
    as_number,
    as_real,
    as_text,
    converted,
    junction,
    parse_duration,
    parse_moment,
)
from simulator.tidb.expressions.expression import (
    INTEGER_KINDS,
    MAX_SHOWN,
    MOMENT_KINDS,
    NULL_VALUE,
    NUMERIC_KINDS,
    TRUNCATED,
    WARNED,
    Context,
    Evaluate,
    Expression,
    Row,
    apply,
    apply_in_context,
    fixed,
)
from simulator.tidb.expressions.json_documents import json_key, unquote_json
from simulator.tidb.expressions.literals import number_value
from simulator.tidb.expressions.numbers import bits, exact, noted, text_to_decimal
from simulator.tidb.expressions.texts import text_operands
from simulator.tidb.functions.time_conversions import moment_of_duration
from simulator.tidb.values import durations
from simulator.tidb.values.durations import duration_micros, duration_text

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operators.eq,
    "!=": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
    "<=>": operators.eq,
}

STRING_KINDS = ("string", "json", *MOMENT_KINDS, "time")


def comparison(operator: str, left: Expression, right: Expression) -> Evaluate:
    """Return `left operator right` as a condition. Raises SqlError 1267."""
    if "null" in (left.kind, right.kind):
        if operator != "<=>":
            return NULL_VALUE
        other = (right if left.kind == "null" else left).evaluate
        return lambda row, context: other(row, context) is None
    if operator in ("=", "<=>") and (_exceeds_column(left, right) or _exceeds_column(right, left)):
        return fixed(False)
    return _compared(operator, *comparison_operands(left, right, operator))


def _compared(operator: str, left: Evaluate, right: Evaluate) -> Evaluate:
    compare, is_null_safe = OPERATORS[operator], operator == "<=>"

    def evaluate(row: Row, context: Context) -> bool | None:
        first, second = left(row, context), right(row, context)
        if first is None or second is None:
            return first is second if is_null_safe else None
        return compare(first, second)

    return evaluate


def comparison_operands(left: Expression, right: Expression, operator: str = "=") -> tuple[Evaluate, Evaluate]:
    """Return two values, neither a NULL literal, in the type in which they are compared."""
    kind = "int" if _rounds_to_year(left, right, operator) else comparison_kind(left, right)
    return convert_operands(kind, _expand_year(left, right, operator), _expand_year(right, left, operator), operator)


def _rounds_to_year(left: Expression, right: Expression, operator: str) -> bool:
    """Return whether a YEAR is compared with a constant date, which is the number `YYYYMMDD` to an inequality
    (builtin_compare.go, RefineComparedConstant)."""
    pairs = ((left, right), (right, left))
    return operator in ("<", "<=", ">", ">=") and any(
        year.is_year and year.is_column and other.is_constant and other.kind in MOMENT_KINDS for year, other in pairs
    )


def _exceeds_column(value: Expression, other: Expression) -> bool:
    """Return whether a literal exceeds the range of a signed column, so that even rows with NULL differ from it."""
    return (
        value.constant is not None
        and value.kind == "uint"
        and other.kind == "int"
        and other.is_column
        and (not other.is_year and int(value.constant) >= 2**63)
    )


def between(value: Expression, low: Expression, high: Expression) -> Evaluate:
    """Return `value BETWEEN low AND high` as a condition.

    All three are converted to one kind first (tidb pkg/planner/core/expression_rewriter.go, wrapExpWithCast).
    """
    kind = _kind_of_three(value, low, high)
    if "null" in (value.kind, low.kind, high.kind) or kind in ("int", "json"):
        return junction("AND", [comparison(">=", value, low), comparison("<=", value, high)])
    if kind == "string":
        value, low, high = with_explicit_collation(
            derive_collation("BETWEEN", (value, low, high)).collation, (value, low, high)
        )
    first, second = convert_operands(kind, value, low), convert_operands(kind, value, high)
    return junction("AND", [_compared(">=", *first), _compared("<=", *second)])


def _kind_of_three(*values: Expression) -> str:
    """Return the kind in which BETWEEN compares (tidb pkg/expression/builtin_compare.go, ResolveType4Between)."""
    kinds = [
        "int"
        if value.kind in INTEGER_KINDS
        else "string"
        if value.kind in STRING_KINDS
        else "decimal"
        if value.kind == "decimal"
        else "real"
        for value in values
    ]
    if set(kinds) == {"string"}:
        if any(value.kind == "json" for value in values):
            return "json"
        if values[0].kind == "time":
            return "time"
        return "datetime" if any(value.kind in (*MOMENT_KINDS, "time") for value in values) else "string"
    if all(value.kind in INTEGER_KINDS or is_member(value) and not value.is_column for value in values):
        return "int"
    return "real" if "string" in kinds or "real" in kinds else "decimal"


def comparison_kind(left: Expression, right: Expression) -> str:
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
        if value.kind == "decimal" and not value.is_constant and other.kind in STRING_KINDS and other.is_constant:
            return "decimal"
        if value.kind == "time" and value.is_column and other.is_constant:
            return "time"
        if value.kind == "datetime" and other.kind in NUMERIC_KINDS and _is_moment(other.constant):
            return "datetime"
        if (
            result == "real"
            and other.kind == "string"
            and other.constant is not None
            and value.kind in INTEGER_KINDS
            and value.constant is None
        ):
            return "decimal"
    return result


def _is_moment(constant: str | None) -> bool:
    return constant is not None and durations.moment(durations.number(constant), 6) is not None


def _base_kind(left: Expression, right: Expression) -> str:
    if left.kind in STRING_KINDS and right.kind in STRING_KINDS:
        return "string"
    whole = [value.kind in INTEGER_KINDS or is_member(value) for value in (left, right)]
    if all(whole):
        return "int"
    if all(each or value.kind == "decimal" for each, value in zip(whole, (left, right), strict=True)):
        return "decimal"
    return "real"


def is_member(value: Expression) -> bool:
    """Return whether a string counts as a number: ENUM, SET, hexadecimal and bit literals."""
    return value.number is not None


def convert_operands(kind: str, left: Expression, right: Expression, operator: str = "=") -> tuple[Evaluate, Evaluate]:
    """Convert two values to a kind of comparison. Python compares integers and decimals exactly."""
    if kind == "string":
        return text_operands(left, right, operator)
    if kind in ("decimal", "int", "real"):
        left, right = _refined(left, right), _refined(right, left)
    if kind in ("decimal", "int"):
        convert = _as_exact if kind == "decimal" else as_number
        first, second = convert(left), convert(right)
        if "real" in (first.kind, second.kind):
            return as_real(first), as_real(second)
        return first.evaluate, second.evaluate
    to_kind = _CONVERSIONS[kind]
    return to_kind(left), to_kind(right)


def _refined(value: Expression, other: Expression) -> Expression:
    """Return an operand. TiDB makes a constant text that is compared with an integer column an integer, and compares that
    with the text: one that is no number is warned of twice (builtin_compare.go, RefineComparedConstant)."""
    is_text = value.kind == "string" and value.is_constant and value.number is None
    if not is_text or not other.is_column or other.kind not in INTEGER_KINDS:
        return value

    def noticed(context: Context, text: str) -> str:
        _, problem = float_prefix(text.strip(SPACE))
        if problem:
            for _ in range(1 if text.strip(SPACE) else 2):
                context.problem(WARNED, f"{problem.number} {problem.text}")
        return text

    return replace(value, evaluate=converted(value, apply_in_context(noticed, value.evaluate)))


def _as_exact(value: Expression) -> Expression:
    """Return the value as an exact number."""
    if value.kind != "string" or value.number is not None:
        return as_number(value)
    convert = text_to_decimal if value.constant is None else _constant_to_decimal
    return Expression(converted(value, apply_in_context(convert, value.evaluate)), "decimal")


def _constant_to_decimal(context: Context, text: str) -> Decimal:
    """Return the number that a literal begins with, else 0; the empty text is 0."""
    leading, problem = float_prefix(text.strip(SPACE))
    return noted(context, (exact(leading), problem if text.strip(SPACE) else None))


def as_moment(value: Expression) -> Evaluate:
    """Return the value as a moment, `YYYY-MM-DD hh:mm:ss.ffffff`; NULL if it is none."""
    if value.kind in MOMENT_KINDS:
        return value.evaluate
    if value.is_year:
        return apply(lambda year: f"{year:04d}-00-00 00:00:00.000000" if 0 <= year <= 9999 else None, value.evaluate)
    if value.constant is None and value.kind in ("int", "uint", "decimal", "real"):
        return converted(value, apply_in_context(_moment_of_number, as_text(value)))
    if value.constant is None or value.kind == "string":
        text = unquote_json(value) if value.kind == "json" else as_text(value)
        return converted(value, apply_in_context(parse_moment, text))
    return _parsed_literal(value, durations.moment(durations.number(value.constant), 6), "Incorrect datetime value")


def _moment_of_number(context: Context, text: str) -> str | None:
    """Return the moment that the digits of a number are; NULL if they are none (tidb pkg/types/time.go,
    ParseTimeFromFloatString)."""
    if not text.strip("0.-"):
        return "0000-00-00 00:00:00.000000"
    found = durations.moment(durations.number(text), 6)
    if found is None or "-00" in found and "p" not in context.zeros:
        context.problem(TRUNCATED, f"1292 Incorrect datetime value: '{text[:MAX_SHOWN]}'")
        return None
    return found


def as_duration(value: Expression) -> Evaluate:
    """Return the value as a duration in microseconds; NULL if it is none."""
    if value.kind == "time":
        return value.evaluate
    if value.kind in MOMENT_KINDS:
        return apply(lambda moment: duration_micros(moment[11:]), value.evaluate)
    if value.kind == "uint":
        value = Expression(
            apply(lambda number: bits(number, "int"), value.evaluate), "int", is_constant=value.is_constant
        )
    if value.constant is None:
        text = unquote_json(value) if value.kind == "json" else as_text(value)
        return converted(value, apply_in_context(parse_duration, text))
    parsed = durations.duration(value.constant, 6, cut=True)
    return _parsed_literal(value, parsed, "Truncated incorrect time value")


def _parsed_literal(literal: Expression, parsed: Any, problem: str) -> Evaluate:
    if parsed is not None:
        return fixed(parsed)
    text = f"1292 {problem}: '{(literal.constant or '')[:MAX_SHOWN]}'"
    return converted(literal, lambda row, context: context.problem(TRUNCATED, text))


_CONVERSIONS: dict[str, Callable[[Expression], Evaluate]] = {
    "json": json_key,
    "datetime": as_moment,
    "time": as_duration,
    "real": as_real,
}


def of_today(value: Expression) -> Expression:
    """Return a TIME as a moment of the day of the statement; other values are unchanged."""
    if value.kind != "time":
        return value

    digits = value.scale

    def moment(context: Context, micros: int) -> str | None:
        if context.today:
            return moment_of_duration(micros, context.today)
        return parse_moment(context, duration_text(micros, digits or None))

    evaluate = converted(value, apply_in_context(moment, value.evaluate))
    return Expression(evaluate, "datetime", scale=value.scale, is_constant=value.is_constant)


def _expand_year(value: Expression, other: Expression, operator: str) -> Expression:
    """Expand a literal of one or two digits that is compared with a YEAR, to 1970 to 2069."""
    if not other.is_year or not other.is_column or value.constant is None:
        return value
    if value.kind not in (*NUMERIC_KINDS, "string"):
        return value
    text = value.constant.strip(SPACE)
    number = exact(float_prefix(text)[0])
    if number != number.to_integral_value():
        if operator in ("=", "<=>", "!=") or value.kind == "decimal":
            return value
        number = number.to_integral_value(ROUND_CEILING if operator in ("<", ">=") else ROUND_FLOOR)
    zero = value.kind == "string" and text in ("0", "00", "000")
    if not 0 < number < 100 and not zero:
        return value
    year = int(number) + (2000 if number < 70 else 1900)
    result = number_value(str(year))
    if value.kind != "string":
        return result
    return replace(result, evaluate=apply(lambda number: year, as_number(value).evaluate))


def one_of(value: Expression, others: Sequence[Expression]) -> Evaluate:
    """Return `value IN (others)` as a condition. Constants that compare in one kind are looked up in a set."""
    together = [value, *others]
    if all(each.kind in ("string", "null") for each in together):
        value, *others = with_explicit_collation(derive_collation("in", together).collation, together)
    constants, parts = defaultdict[str, list[Expression]](list), list[Evaluate]()
    for other in others:
        if other.is_constant and "null" not in (value.kind, other.kind) and not _exceeds_column(other, value):
            constants[comparison_kind(value, other)].append(other)
        else:
            parts.append(comparison("=", value, other))
    known = [_among(value, group) for group in constants.values()]
    return junction("OR", [*known, *parts])


def _among(value: Expression, constants: Sequence[Expression]) -> Evaluate:
    """Return whether a value is one of constants, all of which compare with it in one kind."""
    if len(constants) == 1:
        return comparison("=", value, constants[0])
    pairs = [comparison_operands(value, constant) for constant in constants]
    compared, converted_constants = pairs[0][0], [constant for _, constant in pairs]
    known: tuple[object, frozenset[Any]] = (None, frozenset())

    def evaluate(row: Row, context: Context) -> bool | None:
        nonlocal known
        execution, members = known
        if execution is not context.execution:
            members = frozenset(constant(row, context) for constant in converted_constants)
            known = context.execution, members
        found = compared(row, context)
        if found is None:
            return None
        return found in members or (None if None in members else False)

    return evaluate
