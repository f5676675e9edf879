"""Aggregate functions.

Rows are in the order of the query below. NULL is ignored as in MySQL (TiDB: pkg/executor/aggfuncs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from simulator.errors import SqlError
from simulator.tidb.expressions.functions.choices import is_not_null
from simulator.tidb.expressions.operators.arithmetic import as_bits, calculate
from simulator.tidb.expressions.sql import wide_decimals
from simulator.tidb.expressions.sql.graph import Sql, join, sql, text, when
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.values.json_documents import as_json_item
from simulator.tidb.expressions.values.value import Value, as_number, as_text, decimal, wide
from simulator.tidb.sql_engine.errors import not_simulated, sql_error
from simulator.tidb.sql_engine.queries.sorting import distinct_key, order_term
from simulator.tidb.syntax.queries import Aggregate

ARGUMENT_COUNTS = {"JSON_OBJECTAGG": 2}
"""The number of arguments, if it is not one."""

LONGEST_CONCAT = 1024
"""group_concat_max_len, in bytes."""


class AggregateInput(Protocol):
    """The groups or the window over which a function aggregates."""

    def column(self, expression: Sql) -> str:
        """Compute an expression for each row. Return the quoted name of the column."""

    def over(self, text: str) -> Sql:
        """Compute an aggregate of DuckDB."""

    def first(self, value: Value, order: str, where: str = "") -> Value:
        """Return the value of the first row of each group in an order."""

    def sorting(self, tree: Aggregate) -> list[str]:
        """Return the terms of the function's ORDER BY, and those of the rows."""


def aggregate_value(tree: Aggregate, values: Sequence[Value], group: AggregateInput) -> Value:
    """Return the value of an aggregate function for each group. Raises SqlError."""
    compute = AGGREGATES.get(tree.name)
    if compute is None:
        computed = ", ".join(sorted(AGGREGATES))
        raise not_simulated(f"the aggregate function {tree.name} is not computed; {computed} are")
    argument_count = ARGUMENT_COUNTS.get(tree.name, 1)
    if (
        tree.order
        and tree.name != "GROUP_CONCAT"
        or tree.name != "COUNT"
        and len(values) != argument_count
        and (tree.name != "GROUP_CONCAT" or not values)
    ):
        raise sql_error(1064, f"{tree.name} does not take these arguments")
    return compute(tree, values, group)


def _distinct(tree: Aggregate) -> str:
    return "DISTINCT " if tree.distinct else ""


def _count(tree: Aggregate, values: Sequence[Value], group: AggregateInput) -> Value:
    if not tree.distinct:
        counted = join("AND", [is_not_null(value) for value in values]) if values else sql("true")
        return Value(group.over(f"count(*) FILTER (WHERE {group.column(counted)})"), "int")
    keys = [group.column(distinct_key(value)) for value in values]
    if len(keys) == 1:
        return Value(group.over(f"count(DISTINCT {keys[0]})"), "int")
    not_null = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    return Value(group.over(f"count(DISTINCT row({', '.join(keys)})) FILTER (WHERE {not_null})"), "int")


def _sum(tree: Aggregate, values: Sequence[Value], group: AggregateInput) -> Value:
    number = as_number(values[0])
    if number.kind == "real":
        return Value(group.over(f"sum({_distinct(tree)}{group.column(number.sql)})"), "real")
    if number.kind == "wide":
        listed = group.over(f"string_agg({_distinct(tree)}{group.column(number.sql)}, ' ')")
        return wide(wide_decimals.call("sum", listed), number.scale)
    number_column = group.column(decimal(number.sql, number.scale).sql)
    return decimal(group.over(f"sum({_distinct(tree)}{number_column})"), number.scale)


def _average(tree: Aggregate, values: Sequence[Value], group: AggregateInput) -> Value:
    """AVG: four more digits than its argument (div_precision_increment)."""
    number = as_number(values[0])
    count = Value(group.over(f"count({_distinct(tree)}{group.column(number.sql)})"), "int")
    average = calculate("/", _sum(tree, values, group), count)
    if average.kind == "wide":
        return wide(wide_decimals.call(f"round:{min(number.scale + 4, 30)}", average.sql), min(number.scale + 4, 30))
    return average if average.kind == "real" else decimal(average.sql, min(number.scale + 4, 30))


def _min_or_max(descending: bool) -> Callable[[Aggregate, Sequence[Value], AggregateInput], Value]:
    """MIN, MAX: members of ENUM and SET are compared by their text."""

    def extreme(tree: Aggregate, values: Sequence[Value], group: AggregateInput) -> Value:
        (value,) = values
        if value.kind == "null":
            return value
        key = group.column(distinct_key(value))
        return group.first(value, order_term(key, descending), f"{key} IS NOT NULL")

    return extreme


def _group_concat(tree: Aggregate, values: Sequence[Value], group: AggregateInput) -> Value:
    """GROUP_CONCAT: at most group_concat_max_len bytes."""
    not_null = join("AND", [is_not_null(value) for value in values])
    binary = any(value.is_binary for value in values)
    if binary and not all(value.is_binary for value in values):
        raise not_simulated("GROUP_CONCAT of bytes and text together is not computed; one of both is")
    texts = group.column(when(not_null, join("||", [as_text(value) for value in values])))
    separator = "".join(text(tree.separator).pieces)
    like = [value for value in values if value.kind == "string"]
    if tree.distinct:
        if tree.order or any(value.collation != "binary" for value in like):
            raise not_simulated("GROUP_CONCAT(DISTINCT …) is computed for numbers, times and bytes, without ORDER BY")
        joined = group.over(f"string_agg(DISTINCT {texts}, {separator} ORDER BY {texts})")
    else:
        joined = group.over(f"string_agg({texts}, {separator} ORDER BY {', '.join(group.sorting(tree))})")
    return Value(
        sql(f"left({{}}, {LONGEST_CONCAT})", joined),
        "string",
        "binary" if binary else "utf8mb4_bin",
        2,
        is_binary=binary,
    )


def _bit_aggregate(function: str, nothing: int) -> Callable[[Aggregate, Sequence[Value], AggregateInput], Value]:
    """BIT_AND, BIT_OR, BIT_XOR: of 64 bits, with `nothing` as the value of no rows."""

    def combined(tree: Aggregate, values: Sequence[Value], group: AggregateInput) -> Value:
        bits = group.over(f"{function}({group.column(as_bits(values[0]))})")
        return Value(sql(f"coalesce({{}}, '{nothing}'::UBIGINT)", bits), "uint")

    return combined


def _json_array(tree: Aggregate, values: Sequence[Value], group: AggregateInput) -> Value:
    """JSON_ARRAYAGG."""
    element = group.column(sql("coalesce({}, 'null')", as_json_item(values[0])))
    elements = group.over(f"string_agg({element}, ', ' ORDER BY {', '.join(group.sorting(tree))})")
    return Value(sql("'[' || {} || ']'", elements), "json")


def _json_object(tree: Aggregate, values: Sequence[Value], group: AggregateInput) -> Value:
    """JSON_OBJECTAGG: of equal keys the last one counts."""
    key, value = values
    if key.is_binary or key.kind == "null":
        raise SqlError(3144, "22032", "Cannot create a JSON value from a string with CHARACTER SET 'binary'.")
    pair = group.column(python_call("json_pair", as_text(key), as_json_item(value)))
    pairs = group.over(f"string_agg({pair}, ', ' ORDER BY {', '.join(group.sorting(tree))})")
    return Value(python_call("json_merged", sql("'{' || {} || '}'", pairs)), "json")


AGGREGATES: dict[str, Callable[[Aggregate, Sequence[Value], AggregateInput], Value]] = {
    "COUNT": _count,
    "SUM": _sum,
    "AVG": _average,
    "MIN": _min_or_max(False),
    "MAX": _min_or_max(True),
    "GROUP_CONCAT": _group_concat,
    "BIT_AND": _bit_aggregate("bit_and", 2**64 - 1),
    "BIT_OR": _bit_aggregate("bit_or", 0),
    "BIT_XOR": _bit_aggregate("bit_xor", 0),
    "JSON_ARRAYAGG": _json_array,
    "JSON_OBJECTAGG": _json_object,
}
"""Functions by TiDB's names."""
