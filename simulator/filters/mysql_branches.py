"""MySQL's functions that choose between values, on Spark.

One law: what is chosen has the kind that all choices have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.mysql_comparisons import compared
from simulator.filters.mysql_values import Value, as_integer, as_real, as_text, boolean, null, numeric, string, truth


class Function(NamedTuple):
    least: int
    """Arguments it takes at least."""

    most: int
    compute: Callable[..., Value]
    constants: tuple[int, ...] = ()
    """Places of the arguments that must be literals."""


MANY = 255


def united(*values: Value) -> Value:
    """What several branches have in common, the column still to be chosen: the widest kind."""
    known = [value for value in values if value.kind != "null"]
    kinds = {value.kind for value in known}
    if not known:
        return null()
    if len(kinds) == 1:
        return Value(known[0].column, known[0].kind, known[0].collation, known[0].strength, bytes=known[0].bytes)
    if kinds <= {"bool", "int"}:
        return Value(F.lit(None), "int")
    if kinds <= {"bool", "int", "uint", "decimal"}:
        return Value(F.lit(None), "decimal")
    if kinds <= {"bool", "int", "uint", "decimal", "real"}:
        return Value(F.lit(None), "real")
    if kinds <= {"date", "datetime"}:
        return Value(F.lit(None), "datetime")
    return string(F.lit(None), *(value for value in known if value.kind == "string"))


def as_kind(value: Value, kind: str) -> Column:
    """The column of a value in another kind."""
    if value.kind == "null":
        return F.lit(None)
    if value.kind == kind or kind in ("date", "datetime", "time", "json"):
        return value.column
    if kind == "string":
        return as_text(value)
    return as_real(value) if kind == "real" else numeric(value).column


def chosen(branches: list[tuple[Column, Value]], otherwise: Value) -> Value:
    """The value of the first branch whose condition is true."""
    result = united(*(value for _, value in branches), otherwise)
    column = as_kind(otherwise, result.kind)
    for condition, value in reversed(branches):
        column = F.when(condition, as_kind(value, result.kind)).otherwise(column)
    return Value(column, result.kind, result.collation, result.strength, bytes=result.bytes)


def _coalesce(*values: Value) -> Value:
    return chosen([(as_known(value), value) for value in values[:-1]], values[-1])


def as_known(value: Value) -> Column:
    """Whether the value is not NULL."""
    return F.lit(False) if value.kind == "null" else value.column.isNotNull()


def _nullif(value: Value, other: Value) -> Value:
    return chosen([(F.coalesce(compared("=", value, other), F.lit(False)), null())], value)


def _extreme(operator: str) -> Callable[..., Value]:
    """GREATEST, LEAST: NULL if any is."""
    def extreme(*values: Value) -> Value:
        best = values[0]
        for value in values[1:]:
            unknown = ~as_known(best) | ~as_known(value)
            best = chosen([(unknown, null()), (compared(operator, best, value), best)], value)
        return best

    return extreme


def _if(condition: Value, yes: Value, no: Value) -> Value:
    return chosen([(truth(condition), yes)], no)


def _elt(place: Value, *values: Value) -> Value:
    return chosen([(as_integer(place) == count, value) for count, value in enumerate(values, 1)], null())


BRANCHES: dict[str, Function] = {
    "IF": Function(3, 3, _if),
    "IFNULL": Function(2, 2, _coalesce),
    "COALESCE": Function(1, MANY, _coalesce),
    "NULLIF": Function(2, 2, _nullif),
    "ISNULL": Function(1, 1, lambda value: boolean(~as_known(value))),
    "GREATEST": Function(2, MANY, _extreme(">")),
    "LEAST": Function(2, MANY, _extreme("<")),
    "ELT": Function(2, MANY, _elt),
}
"""By TiDB's names."""
