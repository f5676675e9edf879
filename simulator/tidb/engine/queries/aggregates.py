"""Aggregate functions, computed row by row.

NULL is ignored as in MySQL. Rows are in the order of the query below (tidb pkg/executor/aggfuncs).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries.relation import distinct_key, sort_key, sorted_by
from simulator.tidb.engine.scope import QueryScope
from simulator.tidb.engine.settings import variable_text
from simulator.tidb.errors import not_simulated, sql_error
from simulator.tidb.expressions import numbers
from simulator.tidb.expressions.arithmetic import as_bits
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.conversions import as_decimal, as_real, as_text, integer_value
from simulator.tidb.expressions.expression import (
    MAX_SCALE,
    WARNED,
    Evaluate,
    Expression,
    Row,
    apply,
    decimal,
    display_name,
    null,
    real,
)
from simulator.tidb.expressions.json_documents import as_json_item
from simulator.tidb.functions.json_functions import json_merged, json_pair
from simulator.tidb.syntax.queries import Aggregate

State: TypeAlias = "tuple[Callable[[Row], None], Callable[[], Any]]"
"""Adds a row; returns the result for the rows so far."""

Start: TypeAlias = "Callable[[StatementContext], State]"


class Aggregation(NamedTuple):
    """A compiled aggregate function."""

    start: Start
    """Begins with no rows."""

    value: Expression
    """The result as an expression: its rows are results."""


def itself(row: Row, context: Any) -> Any:
    """Return what a result is, as an expression over results."""
    return row


def compile_aggregate(tree: Aggregate, scope: QueryScope) -> Aggregation:
    """Return an aggregate function over rows of a scope. Raises SqlError."""
    compute = AGGREGATES.get(tree.name)
    if compute is None:
        raise not_simulated(f"the aggregate function {tree.name} is not computed; {', '.join(sorted(AGGREGATES))} are")
    least, most = ARGUMENT_COUNTS.get(tree.name, (1, 1))
    if tree.order and tree.name != "GROUP_CONCAT" or not least <= len(tree.arguments) <= most:
        raise sql_error(1064, f"{tree.name} does not take these arguments")
    values = [compile_expression(argument, scope) for argument in tree.arguments]
    aggregation = compute(tree, values, scope)
    if tree.distinct and tree.name not in ("COUNT", "MIN", "MAX", "GROUP_CONCAT"):
        keys = [distinct_key(value) for value in values]
        aggregation = aggregation._replace(start=_of_distinct(aggregation.start, keys))
    scope.compilation.varying += 1
    return aggregation


def _of_distinct(start: Start, keys: Sequence[Evaluate]) -> Start:
    """Return an aggregation of the first row of each combination of keys; rows with NULL are left out."""

    def begin(context: StatementContext) -> State:
        add, result = start(context)
        known = set()

        def add_new(row: Row) -> None:
            key = tuple([key(row, context) for key in keys])
            if key not in known and None not in key:
                context.hold(100)
                known.add(key)
                add(row)

        return add_new, result

    return begin


def _folded(evaluate: Evaluate, first: Any, combine: Callable[[Any, Any], Any], finish: Callable[[Any], Any]) -> Start:
    """Return the aggregation of values other than NULL; with `first` of None the first value begins."""

    def begin(context: StatementContext) -> State:
        total = first

        def add(row: Row) -> None:
            nonlocal total
            value = evaluate(row, context)
            if value is not None:
                total = value if total is None else combine(total, value)

        return add, lambda: finish(total)

    return begin


def _count(tree: Aggregate, values: Sequence[Expression], scope: QueryScope) -> Aggregation:
    value = Expression(itself, "int")
    if not values:

        def begin(context: StatementContext) -> State:
            count = 0

            def add(row: Row) -> None:
                nonlocal count
                count += 1

            return add, lambda: count

        return Aggregation(begin, value)
    parts = [each.evaluate for each in values]

    def present(row: Row, context: Any) -> int | None:
        return None if any(part(row, context) is None for part in parts) else 1

    start = _folded(present, 0, lambda count, one: count + 1, lambda count: count)
    return Aggregation(_of_distinct(start, list(map(distinct_key, values))) if tree.distinct else start, value)


def _summed(value: Expression) -> Expression:
    """Return an argument as a decimal or a double (tidb pkg/expression/aggregation/base_func.go, typeInfer4Sum)."""
    if value.kind == "null":
        return decimal(value.evaluate, 0)
    exact = value.kind in ("bool", "int", "uint", "decimal")
    return as_decimal(value) if exact else Expression(as_real(value), "real")


def _sum(tree: Aggregate, values: Sequence[Expression], scope: QueryScope) -> Aggregation:
    number = _summed(values[0])
    combine, value = operator.add, real(itself)
    if number.kind != "real":
        combine, value = numbers.EXACT.add, decimal(itself, number.scale)
    return Aggregation(_folded(number.evaluate, None, combine, lambda total: total), value)


def _average(tree: Aggregate, values: Sequence[Expression], scope: QueryScope) -> Aggregation:
    """AVG: div_precision_increment more digits than its argument."""
    number = _summed(values[0])
    scale = min(number.scale + scope.compilation.more_digits, MAX_SCALE)

    def combine(pair: tuple[Any, int], value: Any) -> tuple[Any, int]:
        total, count = pair
        if count == 0:
            return value, 1
        return total + value if number.kind == "real" else numbers.EXACT.add(total, value), count + 1

    def finish(pair: tuple[Any, int]) -> Any:
        total, count = pair
        if not count:
            return None
        if number.kind == "real":
            return total / count
        return numbers.quantize(numbers.EXACT.divide(total, Decimal(count)), scale)

    value = real(itself) if number.kind == "real" else decimal(itself, scale)
    return Aggregation(_folded(number.evaluate, (0, 0), combine, finish), value)


def _extreme(is_better: Callable[[Any, Any], bool]) -> Callable[..., Aggregation]:
    """MIN, MAX: members of ENUM and SET are compared by their text."""

    def compute(tree: Aggregate, values: Sequence[Expression], scope: QueryScope) -> Aggregation:
        (value,) = values
        if value.kind == "null":
            return Aggregation(lambda context: (lambda row: None, lambda: None), null())
        key = distinct_key(value)
        parts = [part for part in (value.evaluate, value.text, value.number) if part is not None]

        def begin(context: StatementContext) -> State:
            best: Any = None
            chosen: Any = None

            def add(row: Row) -> None:
                nonlocal best, chosen
                found = key(row, context)
                if found is not None and (best is None or is_better(found, best)):
                    best, chosen = found, [part(row, context) for part in parts]

            return add, lambda: chosen

        slots = iter(apply(lambda chosen, number=number: chosen[number], itself) for number in range(len(parts)))
        result = replace(
            value,
            evaluate=next(slots),
            text=None if value.text is None else next(slots),
            number=None if value.number is None else next(slots),
            constant=None,
            is_constant=False,
        )
        return Aggregation(begin, result)

    return compute


def _group_concat(tree: Aggregate, values: Sequence[Expression], scope: QueryScope) -> Aggregation:
    """GROUP_CONCAT: at most group_concat_max_len bytes."""
    longest = int(variable_text(scope.context.session.settings, "group_concat_max_len"))
    binary = any(value.is_binary for value in values)
    if binary and not all(value.is_binary for value in values):
        raise not_simulated("GROUP_CONCAT of bytes and text together is not computed; one of both is")
    texts = [as_text(value) for value in values]
    order = [(sort_key(_ordered(item, values, scope)), item.descending) for item in tree.order]
    keys = [distinct_key(value) for value in values] if tree.distinct else []
    named, encoding = display_name(values[0]), "latin-1" if binary else "utf-8"
    separator = tree.separator.encode().decode("latin-1") if binary else tree.separator

    def begin(context: StatementContext) -> State:
        found: list[tuple[list[Any], str]] = []
        known, is_cut = set(), False

        def add(row: Row) -> None:
            parts = [text(row, context) for text in texts]
            if None in parts:
                return
            if keys:
                key = tuple([key(row, context) for key in keys])
                if key in known:
                    return
                known.add(key)
            joined = "".join(parts)
            context.hold(len(joined) + 100)
            found.append(([key(row, context) for key, _ in order], joined))

        def result() -> str | None:
            nonlocal is_cut
            if not found:
                return None
            descending = [each for _, each in order]
            joined = separator.join(sorted_by(_as_heap(found, descending) if order else list(found), descending))
            if len(joined) * 4 > longest and len(encoded := joined.encode(encoding, "surrogateescape")) > longest:
                if not is_cut:
                    context.problem(WARNED, f"1260 Some rows were cut by GROUPCONCAT({named})")
                is_cut = True
                return encoded[:longest].decode(encoding, "ignore")
            return joined

        return add, result

    collation = "binary" if binary else "utf8mb4_bin"
    return Aggregation(begin, Expression(itself, "string", collation, 2, is_binary=binary))


def _as_heap(pairs: Sequence[tuple[list[Any], str]], descending: Sequence[bool]) -> list[tuple[Sequence[Any], str]]:
    """Return pairs in the order of TiDB's heap with the last one on top, from which it sorts them: those with equal keys
    stay in that order (tidb pkg/executor/aggfuncs/func_group_concat.go, topNRows)."""
    rank_of, previous, rank = dict[int, int](), None, -1
    for number in sorted_by([(keys, place) for place, (keys, _) in enumerate(pairs)], descending):
        rank += pairs[number][0] != previous
        previous, rank_of[number] = pairs[number][0], rank
    heap: list[int] = []
    for number in range(len(pairs)):
        heap.append(number)
        place = number
        while place and rank_of[heap[place]] > rank_of[heap[(place - 1) // 2]]:
            heap[place], heap[(place - 1) // 2] = heap[(place - 1) // 2], heap[place]
            place = (place - 1) // 2
    return [pairs[number] for number in heap]


def _ordered(item: Any, values: Sequence[Expression], scope: QueryScope) -> Expression:
    """Return an item of ORDER BY; a number is that of an argument (tidb pkg/planner/core, resolveByItems)."""
    node = item.expression
    if getattr(node, "kind", "") == "integer":
        number = int(node.text)
        if not 1 <= number <= len(values):
            raise sql_error(1054, node.text, "order clause")
        return values[number - 1]
    return compile_expression(node, scope)


def _bit_aggregate(nothing: int, combine: Callable[[int, int], int]) -> Callable[..., Aggregation]:
    """BIT_AND, BIT_OR, BIT_XOR: of 64 bits, with `nothing` as the value of no rows."""

    def compute(tree: Aggregate, values: Sequence[Expression], scope: QueryScope) -> Aggregation:
        start = _folded(as_bits(values[0]), nothing, combine, lambda bits: bits)
        return Aggregation(start, Expression(itself, "uint"))

    return compute


def _json_array(tree: Aggregate, values: Sequence[Expression], scope: QueryScope) -> Aggregation:
    item = as_json_item(values[0])
    return _json(lambda row, context: item(row, context) or "null", lambda items: f"[{', '.join(items)}]")


def _json_object(tree: Aggregate, values: Sequence[Expression], scope: QueryScope) -> Aggregation:
    """JSON_OBJECTAGG: of equal keys the last one counts."""
    key, value = values
    if key.is_binary or key.kind == "null":
        raise sql_error(3144, "binary")
    name, item = as_text(key), as_json_item(value)

    def pair(row: Row, context: Any) -> str:
        called = name(row, context)
        if called is None:
            raise sql_error(3158)
        return json_pair(called, item(row, context))

    return _json(pair, lambda pairs: json_merged(f"{{{', '.join(pairs)}}}"))


def _json(item: Evaluate, joined: Callable[[Sequence[str]], str]) -> Aggregation:
    def begin(context: StatementContext) -> State:
        found: list[str] = []

        def add(row: Row) -> None:
            found.append(item(row, context))
            context.hold(len(found[-1]) + 100)

        return add, lambda: joined(found) if found else None

    return Aggregation(begin, Expression(itself, "json"))


def _variance(finish: Callable[[int, float], float | None]) -> Callable[..., Aggregation]:
    """VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP (tidb pkg/executor/aggfuncs/func_varpop.go, calculateIntermediate)."""

    def compute(tree: Aggregate, values: Sequence[Expression], scope: QueryScope) -> Aggregation:
        def combine(state: tuple[int, float, float], value: float) -> tuple[int, float, float]:
            count, total, variance = state[0] + 1, state[1] + value, state[2]
            if count > 1:
                apart = count * value - total
                variance += apart * apart / (count * (count - 1))
            return count, total, variance

        start = _folded(as_real(values[0]), (0, 0.0, 0.0), combine, lambda state: finish(state[0], state[2]))
        return Aggregation(start, Expression(itself, "real"))

    return compute


def _approximate_percentile(tree: Aggregate, values: Sequence[Expression], scope: QueryScope) -> Aggregation:
    """APPROX_PERCENTILE (tidb pkg/executor/aggfuncs/func_percentile.go)."""
    value, percent = values
    if not percent.is_constant or percent.kind == "null":
        raise sql_error(1105, "APPROX_PERCENTILE should take a constant expression as percentage argument")
    wanted, key = integer_value(percent).evaluate, sort_key(value)

    def begin(context: StatementContext) -> State:
        found: list[tuple[list[Any], Any]] = []
        share = wanted((), context)
        if not 0 < share <= 100:
            raise sql_error(1105, f"Percentage value {share} is out of range [1, 100]")

        def add(row: Row) -> None:
            found_key = key(row, context)
            if found_key is not None:
                found.append(([found_key], value.evaluate(row, context)))

        def result() -> Any:
            place = max(math.ceil(len(found) * share / 100), 1) - 1
            return sorted_by(list(found), [False])[place] if found else None

        return add, result

    return Aggregation(begin, replace(value, evaluate=itself, text=None, number=None, constant=None, is_constant=False))


UNLIMITED = 255

ARGUMENT_COUNTS = {
    "COUNT": (0, UNLIMITED),
    "GROUP_CONCAT": (1, UNLIMITED),
    "APPROX_COUNT_DISTINCT": (1, UNLIMITED),
    "APPROX_PERCENTILE": (2, 2),
    "JSON_OBJECTAGG": (2, 2),
}
"""The least and the greatest number of arguments, if they are not one."""

AGGREGATES: dict[str, Callable[[Aggregate, Sequence[Expression], QueryScope], Aggregation]] = {
    "COUNT": _count,
    "SUM": _sum,
    "AVG": _average,
    "MIN": _extreme(lambda value, best: value < best),
    "MAX": _extreme(lambda value, best: value > best),
    "GROUP_CONCAT": _group_concat,
    "BIT_AND": _bit_aggregate(2**64 - 1, lambda one, other: one & other),
    "BIT_OR": _bit_aggregate(0, lambda one, other: one | other),
    "BIT_XOR": _bit_aggregate(0, lambda one, other: one ^ other),
    "JSON_ARRAYAGG": _json_array,
    "JSON_OBJECTAGG": _json_object,
    "VAR_POP": _variance(lambda count, variance: variance / count if count else None),
    "VAR_SAMP": _variance(lambda count, variance: variance / (count - 1) if count > 1 else None),
    "STDDEV_POP": _variance(lambda count, variance: math.sqrt(variance / count) if count else None),
    "STDDEV_SAMP": _variance(lambda count, variance: math.sqrt(variance / (count - 1)) if count > 1 else None),
    "APPROX_COUNT_DISTINCT": lambda tree, values, scope: _count(replace(tree, distinct=True), values, scope),
    "APPROX_PERCENTILE": _approximate_percentile,
}
"""Functions by TiDB's names."""
