"""MySQL's functions that return one of their arguments: IF, COALESCE, GREATEST and the like.

The result has the common type of the arguments.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from simulator.tidb.expressions import numbers
from simulator.tidb.expressions.collations import derive_collation
from simulator.tidb.expressions.comparisons import comparison, of_today
from simulator.tidb.expressions.conversions import (
    as_boolean,
    as_decimal,
    as_integer,
    as_number,
    as_real,
    as_text,
    moment_text,
    parse_moment,
)
from simulator.tidb.expressions.expression import (
    INTEGER_KINDS,
    MOMENT_KINDS,
    NULL_VALUE,
    NUMERIC_KINDS,
    UNLIMITED,
    Context,
    Evaluate,
    Expression,
    Function,
    Row,
    apply,
    apply_in_context,
    boolean,
    null,
    place,
    string,
)
from simulator.tidb.expressions.texts import as_bytes, collation_key

WHOLE_DIGITS = {"bool": 1, "int": 19, "uint": 20}


def common_type(values: Sequence[Expression]) -> Expression:
    """Return a NULL of the type that several values have in common."""
    typed = [value for value in values if value.kind != "null"]
    kinds = {value.kind for value in typed}
    if not typed:
        return null()
    scale = max(value.scale for value in typed)
    if len(kinds) == 1 and kinds != {"decimal"}:
        same = string(NULL_VALUE, *typed) if typed[0].kind == "string" else typed[0]
        return Expression(
            NULL_VALUE,
            same.kind,
            same.collation,
            same.coercibility,
            is_binary=any(value.is_binary for value in typed),
            scale=scale if same.kind in ("datetime", "time") else 0,
        )
    if kinds <= {"bool", "int"}:
        return Expression(NULL_VALUE, "int")
    if kinds <= {*INTEGER_KINDS, "decimal"}:
        whole = max(WHOLE_DIGITS.get(value.kind, value.digits - value.scale) for value in typed)
        is_known = all(value.digits for value in typed if value.kind == "decimal")
        digits = whole + scale if is_known else 0
        return Expression(NULL_VALUE, "decimal", scale=scale, digits=digits, shown_scale=_shown_scale(typed))
    if kinds <= set(NUMERIC_KINDS):
        return Expression(NULL_VALUE, "real")
    if kinds <= {*MOMENT_KINDS, "time"}:
        return Expression(NULL_VALUE, "datetime", scale=scale)
    return string(NULL_VALUE, *(value for value in typed if value.kind == "string"))


def _shown_scale(values: Sequence[Expression]) -> int | None:
    """Return the digits behind the point that a client is shown, or None for all."""
    if all(value.shown_scale is None for value in values):
        return None
    return max(value.digits_shown for value in values)


def convert_to(value: Expression, target: Expression) -> Evaluate:
    kind = target.kind
    if value.kind == "null":
        return NULL_VALUE
    if kind == "decimal":
        number, scale = as_decimal(value), target.scale
        if number.scale == scale and value.kind == "decimal":
            return number.evaluate
        return apply(lambda each: numbers.quantize(each, scale), number.evaluate)
    if kind == "string":
        return as_bytes(value) if target.is_binary else as_text(value)
    if kind == "datetime" and value.kind == "time":
        return of_today(value).evaluate
    if value.kind == kind or kind in (*MOMENT_KINDS, "time", "json"):
        return value.evaluate
    return as_real(value) if kind == "real" else as_number(value).evaluate


def _chosen(choose: Evaluate, values: Sequence[Expression], members: Sequence[Expression] = ()) -> Expression:
    """Return the value whose place `choose` returns; NULL if it returns None. It is a number where one is wanted if some
    of them are ENUM or SET, and the others integers: `members` are the values themselves (builtin_cast.go,
    TryPushCastIntoControlFunctionForHybridType)."""
    target, members = common_type(values), members or values

    def chosen(choices: Sequence[Evaluate]) -> Evaluate:
        def evaluate(row: Row, context: Context) -> object:
            which = choose(row, context)
            return None if which is None else choices[which](row, context)

        return evaluate

    number = None
    if target.kind == "string" and not target.is_binary and any(value.number is not None for value in members):
        if all(value.kind in ("null", *INTEGER_KINDS) or value.number is not None for value in members):
            number = chosen([value.number or value.evaluate for value in members])
    return replace(
        target, evaluate=chosen([convert_to(value, target) for value in values]), number=number, is_constant=False
    )


def case_value(branches: Sequence[tuple[Evaluate, Expression]], otherwise: Expression) -> Expression:
    """Return the value of the first branch whose condition is true."""
    conditions = [condition for condition, _ in branches]

    def choose(row: Row, context: Context) -> int:
        for which, condition in enumerate(conditions):
            if condition(row, context):
                return which
        return len(conditions)

    return _chosen(choose, [*(value for _, value in branches), otherwise])


def _coalesce(*values: Expression) -> Expression:
    target = common_type(values)
    choices = [convert_to(value, target) for value in values]

    def evaluate(row: Row, context: Context) -> object:
        for choice in choices:
            value = choice(row, context)
            if value is not None:
                return value
        return None

    return replace(target, evaluate=evaluate, is_constant=False)


def _greatest_or_least(name: str) -> Callable[..., Expression]:
    """Return GREATEST or LEAST; NULL if any argument is.

    Of equal values TiDB returns the first for constants, but the last for rows (pkg/expression/builtin_compare_vec.go).
    """

    def extreme(*values: Expression) -> Expression:
        target = common_type(values)
        parse = None
        if target.kind in ("string", "json"):
            target = string(NULL_VALUE, *(value for value in values if value.kind == "string"))
            parse = _as_moments(values)
        parts = [convert_to(value, target) for value in values]
        if parse is not None:
            parts = [apply_in_context(parse, part) for part in parts]
        key = None
        if target.kind == "string" and parse is None:
            key = collation_key(derive_collation(name, values, True).collation or "utf8mb4_bin")
        keeps = operators.gt if name == "greatest" else operators.lt
        if all(value.is_constant for value in values):
            keeps = operators.ge if name == "greatest" else operators.le

        def choose(best: Any, *others: Any) -> object:
            for other in others:
                if not (keeps(best, other) if key is None else keeps(key(best), key(other))):
                    best = other
            return best

        return replace(target, evaluate=apply(choose, *parts), is_constant=False)

    return extreme


def _as_moments(values: Sequence[Expression]) -> Callable[[Context, str], str] | None:
    """Return how texts are compared that stand beside dates: as dates or moments, those that are none as they are; None if
    they are compared as texts (builtin_compare.go, resolveType4Extremum, doTimeConversionForGL)."""
    kinds = [value.kind for value in values if value.kind in (*MOMENT_KINDS, "time")]
    decides = "datetime" if "datetime" in kinds else kinds[0] if kinds else ""
    if decides not in MOMENT_KINDS:
        return None
    most = 10 if decides == "date" else 26

    def parse(context: Context, text: str) -> str:
        moment = parse_moment(context, text)
        return text if moment is None else moment_text(moment)[:most]

    return parse


def _nullif(value: Expression, other: Expression) -> Expression:
    """Return NULLIF, which evaluates its value once: the rows of the comparison are pairs of the value and the row."""

    def of_row(part: Evaluate | None) -> Evaluate | None:
        return None if part is None else lambda pair, context: part(pair[1], context)

    held = replace(value, evaluate=place(0), text=of_row(value.text), number=of_row(value.number))
    compared = replace(other, evaluate=of_row(other.evaluate), text=of_row(other.text), number=of_row(other.number))
    is_equal, of_value = comparison("=", held, compared), value.evaluate

    def evaluate(row: Row, context: Context) -> object:
        found = of_value(row, context)
        return None if found is None or is_equal((found, row), context) else found

    return replace(common_type((null(), value)), evaluate=evaluate)


def _elt(number: Expression, *values: Expression) -> Expression:
    count = len(values)
    texts = [string(as_text(value), value) for value in values]
    return _chosen(apply(lambda which: which - 1 if 1 <= which <= count else None, as_integer(number)), texts, values)


def _isnull(value: Expression) -> Expression:
    return boolean(lambda row, context: value.evaluate(row, context) is None)


CHOICE_FUNCTIONS: dict[str, Function] = {
    "IF": Function(3, 3, lambda condition, yes, no: case_value([(as_boolean(condition), yes)], no)),
    "IFNULL": Function(2, 2, _coalesce),
    "COALESCE": Function(1, UNLIMITED, _coalesce),
    "NULLIF": Function(2, 2, _nullif),
    "ISNULL": Function(1, 1, _isnull),
    "GREATEST": Function(2, UNLIMITED, _greatest_or_least("greatest")),
    "LEAST": Function(2, UNLIMITED, _greatest_or_least("least")),
    "ELT": Function(2, UNLIMITED, _elt),
}
"""By TiDB's names."""
