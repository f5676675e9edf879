"""MySQL's functions that return one of their arguments: IF, COALESCE, GREATEST and the like.

The result has the common type of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from simulator.tidb.expressions.operators.comparisons import comparison, is_constant
from simulator.tidb.expressions.sql.graph import FALSE, NULL, Sql, case, sql
from simulator.tidb.expressions.values.value import (
    DUCKDB_DIGITS,
    MOMENT_KINDS,
    NUMERIC_KINDS,
    UNLIMITED,
    Function,
    Value,
    as_boolean,
    as_integer,
    as_number,
    as_real,
    as_text,
    boolean,
    decimal,
    is_true,
    null,
    string,
    wide,
)


def common_type(values: Sequence[Value]) -> Value:
    """Return a NULL of the type that several values have in common."""
    values_with_type = [value for value in values if value.kind != "null"]
    kinds = {value.kind for value in values_with_type}
    if not values_with_type:
        return null()
    if len(kinds) == 1 and kinds != {"decimal"}:
        same = string(NULL, *values_with_type) if values_with_type[0].kind == "string" else values_with_type[0]
        scale = max(value.scale for value in values_with_type) if same.kind in ("datetime", "time") else 0
        return Value(
            NULL,
            same.kind,
            same.collation,
            same.coercibility,
            is_binary=any(value.is_binary for value in values_with_type),
            scale=scale,
        )
    if kinds <= {"bool", "int"}:
        return Value(NULL, "int")
    if kinds <= {"bool", "int", "uint", "decimal"}:
        scale = max(value.scale for value in values_with_type)
        whole = max(
            {"bool": 1, "int": 19, "uint": 20}.get(value.kind, value.digits - value.scale) for value in values_with_type
        )
        is_known = all(value.digits for value in values_with_type if value.kind == "decimal")
        if whole + scale > DUCKDB_DIGITS:
            return wide(NULL, scale)
        digits = whole + scale if is_known else 0
        return Value(NULL, "decimal", scale=scale, digits=digits, shown_scale=_shown_scale(values_with_type))
    if kinds <= {"bool", "int", "uint", "decimal", "wide"}:
        return wide(NULL, max(value.scale for value in values_with_type))
    if kinds <= {"bool", "int", "uint", "decimal", "wide", "real"}:
        return Value(NULL, "real")
    if kinds <= {"date", "datetime"}:
        return Value(NULL, "datetime", scale=max(value.scale for value in values_with_type))
    return string(NULL, *(value for value in values_with_type if value.kind == "string"))


def _shown_scale(values: Sequence[Value]) -> int | None:
    """Return the digits behind the point that a client is shown, or None for all."""
    if all(value.shown_scale is None for value in values):
        return None
    return max(value.scale if value.shown_scale is None else value.shown_scale for value in values)


def convert_to(value: Value, target: Value) -> Sql:
    """Convert the value to the type of another."""
    kind = target.kind
    if value.kind == "null":
        return NULL
    if kind == "decimal":
        return decimal(as_number(value).sql, target.scale).sql
    if kind == "wide":
        return sql("{}::VARCHAR", as_number(value).sql)
    if value.kind == kind or kind in ("date", "datetime", "time", "json"):
        return value.sql
    if kind == "string":
        return as_text(value)
    return as_real(value) if kind == "real" else as_number(value).sql


def case_value(branches: list[tuple[Sql, Value]], otherwise: Value) -> Value:
    """Return the value of the first branch whose condition is true."""
    target = common_type([*(value for _, value in branches), otherwise])
    result = case(
        [(condition, convert_to(value, target)) for condition, value in branches], convert_to(otherwise, target)
    )
    return Value(
        result,
        target.kind,
        target.collation,
        target.coercibility,
        is_binary=target.is_binary,
        scale=target.scale,
        digits=target.digits,
        shown_scale=target.shown_scale,
        text=result if target.kind == "wide" else None,
    )


def _coalesce(*values: Value) -> Value:
    return case_value([(is_not_null(value), value) for value in values[:-1]], values[-1])


def is_not_null(value: Value) -> Sql:
    """Return whether the value is not NULL."""
    return FALSE if value.kind == "null" else sql("{} IS NOT NULL", value.sql)


def _nullif(value: Value, other: Value) -> Value:
    return case_value([(is_true(comparison("=", value, other)), null())], value)


def _greatest_or_least(operator: str) -> Callable[..., Value]:
    """Return GREATEST or LEAST; NULL if any argument is.

    Of equal values TiDB returns the first for constants, but the last for rows (pkg/expression/builtin_compare_vec.go).
    Text converts all arguments to text (builtin_compare.go, resolveType4Extremum).
    """

    def extreme(*values: Value) -> Value:
        target = common_type(values)
        if target.kind in ("string", *NUMERIC_KINDS) and not any(value.kind in MOMENT_KINDS for value in values):
            values = tuple(replace(target, sql=convert_to(value, target), text=None) for value in values)
        best, decides = values[0], operator + "=" * all(map(is_constant, values))
        for value in values[1:]:
            unknown = sql("NOT {} OR NOT {}", is_not_null(best), is_not_null(value))
            best = case_value([(unknown, null()), (comparison(decides, best, value), best)], value)
        return best

    return extreme


def _if(condition: Value, yes: Value, no: Value) -> Value:
    return case_value([(as_boolean(condition), yes)], no)


def _elt(place: Value, *values: Value) -> Value:
    return case_value(
        [(sql(f"{{}} = {count}", as_integer(place)), value) for count, value in enumerate(values, 1)], null()
    )


CHOICE_FUNCTIONS: dict[str, Function] = {
    "IF": Function(3, 3, _if),
    "IFNULL": Function(2, 2, _coalesce),
    "COALESCE": Function(1, UNLIMITED, _coalesce),
    "NULLIF": Function(2, 2, _nullif),
    "ISNULL": Function(1, 1, lambda value: boolean(sql("NOT {}", is_not_null(value)))),
    "GREATEST": Function(2, UNLIMITED, _greatest_or_least(">")),
    "LEAST": Function(2, UNLIMITED, _greatest_or_least("<")),
    "ELT": Function(2, UNLIMITED, _elt),
}
"""By TiDB's names."""
