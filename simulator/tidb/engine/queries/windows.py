"""Window functions: behind each row of a query stands the list of their results.

They are computed over the rows of a query before its DISTINCT, ORDER BY and LIMIT. Rows that a window orders as equal
are in the order of the query below (tidb pkg/executor/window.go, pkg/executor/aggfuncs).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries.aggregates import compile_aggregate, itself
from simulator.tidb.engine.queries.relation import SortKey, Values, distinct_key, held, sort_key, sorted_by
from simulator.tidb.engine.scope import Known, QueryScope, map_expression
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.choices import common_type, convert_to
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.expression import NUMERIC_KINDS, Evaluate, Expression, null
from simulator.tidb.expressions.trees import parse_expression, replace_nodes
from simulator.tidb.syntax.queries import WindowFunction, WindowSpec

TEMPORAL = ("date", "datetime", "time")


class Part(NamedTuple):
    """The rows of a partition in the order of a window."""

    rows: list[Values]
    keys: Sequence[Sequence[Any]]
    """The keys of ORDER BY; rows with equal keys are peers."""

    context: StatementContext

    def peers(self) -> list[tuple[int, int]]:
        """Return for each row its first peer, and the place behind its last one."""
        found: list[tuple[int, int]] = []
        for _, group in groupby(self.keys):
            size = sum(1 for _ in group)
            found += [(len(found), len(found) + size)] * size
        return found


Frames: TypeAlias = Callable[[Part], "list[tuple[int, int]]"]
"""Returns the frame of each row: its first place, and the place behind its last one."""

Compute: TypeAlias = Callable[[Part], Sequence[Any]]
"""Returns the result for each row of a partition."""


class Windows:
    """The window functions of a query."""

    def __init__(self, place: int, named: Sequence[tuple[str, WindowSpec]]) -> None:
        """`place` is that of their results in a row."""
        self._place, self._named = place, {name.lower(): window for name, window in named}
        self._functions: list[tuple[list[Evaluate], list[SortKey], Compute]] = []

    def compile(self, tree: WindowFunction, scope: QueryScope) -> Expression:
        """Return the value of a window function for each row. Raises SqlError."""
        if tree.unsupported:
            raise sql_error(1235, tree.unsupported)
        function = tree.function
        if function.name == "GROUP_CONCAT":
            raise sql_error(1235, "group_concat as window function")
        if function.distinct:
            raise sql_error(1235, "<window function>(DISTINCT ..)")
        window = _resolve_window(tree.window, self._named)
        plain = scope.changed(windowed=None)
        partition = [distinct_key(compile_expression(node, plain)) for node in window.partition]
        ordered = [(compile_expression(item.expression, plain), item.descending) for item in window.order]
        order = [SortKey(sort_key(value), descending) for value, descending in ordered]
        frames = compile_frame(window, ordered, plain)
        if function.name in FUNCTIONS:
            values = [compile_expression(argument, plain) for argument in function.arguments]
            compute, result = FUNCTIONS[function.name](values, frames)
        else:
            aggregation = compile_aggregate(function, plain)
            compute, result = _aggregated(aggregation.start, frames), aggregation.value
        number, place = len(self._functions), self._place
        self._functions.append((partition, order, compute))
        scope.compilation.varying += 1

        def of_row(evaluate: Evaluate) -> Evaluate:
            return lambda row, context: evaluate(row[place][number], context)

        return map_expression(result, of_row)

    def rows(self, rows: Iterator[Values], context: StatementContext) -> Iterator[Values]:
        """Yield each row with the results behind it, in the order of the last window."""
        found = held(rows, context)
        results: list[list[Any]] = [[] for _ in found]
        places: Sequence[int] = range(len(found))
        for partition, order, compute in self._functions:
            parts: dict[tuple[Any, ...], list[int]] = {}
            for place in places:
                parts.setdefault(tuple([key(found[place], context) for key in partition]), []).append(place)
            places = []
            for members in sorted_by([*parts.items()], [False] * len(partition)):
                pairs: list[tuple[Sequence[Any], int]] = [
                    ([key.evaluate(found[place], context) for key in order], place) for place in members
                ]
                ordered = sorted_by(pairs, [key.descending for key in order])
                part = Part([found[place] for place in ordered], [keys for keys, _ in pairs], context)
                for place, value in zip(ordered, compute(part), strict=True):
                    results[place].append(value)
                places += ordered
        return ([*found[place], results[place]] for place in places)


def _resolve_window(window: WindowSpec, named: Mapping[str, WindowSpec]) -> WindowSpec:
    """Return a window merged with the window that it names. Raises SqlError 3579."""
    if not window.base:
        return window
    base = named.get(window.base.lower())
    if base is None:
        raise sql_error(3579, window.base)
    base = _resolve_window(base, named)
    return WindowSpec(window.partition or base.partition, window.order or base.order, window.frame or base.frame)


# -- frames ------------------------------------------------------------------------------------------------------------

FRAME_ERRORS = {
    3584: "frame start cannot be UNBOUNDED FOLLOWING.",
    3585: "frame end cannot be UNBOUNDED PRECEDING.",
    3586: "frame start or end is negative, NULL or of non-integral type",
    3587: "RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal type",
    3588: "RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.",
    3589: "RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.",
}
SIDES = {"PRECEDING": 0, "ROW": 1, "FOLLOWING": 2}


def _frame_error(number: int) -> SqlError:
    joined = " with " if number > 3586 else ": "
    return SqlError(number, "HY000", f"Window '<unnamed window>'{joined}{FRAME_ERRORS[number]}")


def compile_frame(window: WindowSpec, order: Sequence[tuple[Expression, bool]], scope: QueryScope) -> Frames:
    """Return the frames of a window. Raises SqlError for bounds that TiDB does not accept (tidb
    pkg/planner/core/logical_plan_builder.go, buildWindowFunctionFrame)."""
    if not window.frame:
        if order:
            return lambda part: [(0, last) for _, last in part.peers()]
        return lambda part: [(0, len(part.rows))] * len(part.rows)
    unit, _, bounds = window.frame.partition(" BETWEEN ")
    first, _, last = bounds.rpartition(" AND ")
    if first == "UNBOUNDED FOLLOWING" or last == "UNBOUNDED PRECEDING":
        raise _frame_error(3584 if first == "UNBOUNDED FOLLOWING" else 3585)
    if SIDES[first.rpartition(" ")[2]] > SIDES[last.rpartition(" ")[2]]:
        raise _frame_error(3586)
    if unit == "ROWS":
        start, end = _row_bound(first, 0), _row_bound(last, 1)
    else:
        start, end = (_range_bound(text, side, order, scope) for side, text in enumerate((first, last)))
    return lambda part: list(zip(start(part), end(part), strict=True))


def _row_bound(text: str, behind: int) -> Callable[[Part], Sequence[int]]:
    """Return the start (or the place behind the end) of the frame of each row by its place."""
    amount, _, side = text.partition(" ")
    if amount == "UNBOUNDED":
        return lambda part: [len(part.rows) * behind] * len(part.rows)
    if text != "CURRENT ROW" and not amount.isdecimal():
        raise _frame_error(3586)
    shift = behind if text == "CURRENT ROW" else int(amount) * (-1 if side == "PRECEDING" else 1) + behind
    return lambda part: [min(max(place + shift, 0), len(part.rows)) for place in range(len(part.rows))]


def _range_bound(
    text: str, behind: int, order: Sequence[tuple[Expression, bool]], scope: QueryScope
) -> Callable[[Part], Sequence[int]]:
    """Return the start (or the place behind the end) of the frame of each row by the value of ORDER BY."""
    if text.startswith("UNBOUNDED"):
        return lambda part: [len(part.rows) * behind] * len(part.rows)
    if text == "CURRENT ROW":
        return lambda part: [pair[behind] for pair in part.peers()]
    value, descending = order[0] if len(order) == 1 else (null(), False)
    if value.kind not in (*NUMERIC_KINDS, *TEMPORAL):
        raise _frame_error(3587)
    amount, _, side = text.rpartition(" ")
    if amount.startswith("INTERVAL ") != (value.kind in TEMPORAL):
        raise _frame_error(3588 if value.kind in TEMPORAL else 3589)
    adds = (side == "FOLLOWING") != descending
    if value.kind in TEMPORAL:
        tree = parse_expression(f"DATE_{'ADD' if adds else 'SUB'}(`value`, {amount})")
    else:
        tree = parse_expression(f"`value` {'+' if adds else '-'} {amount}")
    moved = compile_expression(
        replace_nodes(tree, lambda node: Known(value) if isinstance(node, syntax.ColumnName) else None), scope
    )
    target = common_type([value, moved])
    bound, own = convert_to(moved, target), convert_to(value, target)
    find = bisect_right if behind else bisect_left

    def places(part: Part) -> list[int]:
        present = [place for place, key in enumerate(part.keys) if key[0] is not None]
        low, high = (present[0], present[-1] + 1) if present else (0, 0)
        values = [own(row, part.context) for row in part.rows[low:high]]
        groups = part.peers()
        result = []
        for place, row in enumerate(part.rows):
            if part.keys[place][0] is None:
                result.append(groups[place][behind])
                continue
            limit = bound(row, part.context)
            if descending:
                other = bisect_left if behind else bisect_right
                result.append(low + len(values) - other(values[::-1], limit))
            else:
                result.append(low + find(values, limit))
        return result

    return places


# -- functions ---------------------------------------------------------------------------------------------------------


def _aggregated(start: Any, frames: Frames) -> Compute:
    """Return an aggregate function of the rows of each frame. A frame that only grows is not read again."""

    def compute(part: Part) -> list[Any]:
        found, state, known = [], None, (0, 0)
        for first, last in frames(part):
            if state is None or first != known[0] or last < known[1]:
                state, known = start(part.context), (first, first)
            add, result = state
            for row in part.rows[known[1] : last]:
                add(row)
            known = first, max(last, known[1])
            found.append(result())
        return found

    return compute


Build: TypeAlias = "Callable[[Sequence[Expression], Frames], tuple[Compute, Expression]]"


def _ranking(kind: str, compute: Compute) -> Build:
    return lambda values, frames: (compute, Expression(itself, kind))


def _dense_ranks(part: Part) -> list[int]:
    found, rank = list[int](), 0
    for place, (first, _) in enumerate(part.peers()):
        rank += first == place
        found.append(rank)
    return found


def _percent_ranks(part: Part) -> list[float]:
    count = len(part.rows)
    return [first / (count - 1) if count > 1 else 0.0 for first, _ in part.peers()]


def _literal_number(values: Sequence[Expression], place: int, name: str, least: int) -> int:
    """Return an argument that has to be a number. Raises SqlError 1210."""
    constant = values[place].constant
    if constant is None or not constant.isdecimal() or int(constant) < least:
        raise sql_error(1210, name)
    return int(constant)


def _ntile(values: Sequence[Expression], frames: Frames) -> tuple[Compute, Expression]:
    if values[0].kind == "null":
        return lambda part: [None] * len(part.rows), null()
    tiles = _literal_number(values, 0, "ntile", 1)

    def compute(part: Part) -> list[int]:
        size, larger = divmod(len(part.rows), tiles)
        border = larger * (size + 1)
        return [
            (place // (size + 1) if place < border else larger + (place - border) // max(size, 1)) + 1
            for place in range(len(part.rows))
        ]

    return compute, Expression(itself, "uint")


def _picked(values: Sequence[Expression], choose: Callable[[Part], list[int | None]]) -> tuple[Compute, Expression]:
    """Return the first value in other rows, whose places `choose` returns; the second value where it returns None."""
    target = common_type(values) if len(values) > 1 else values[0]
    if target.kind == "null":
        return lambda part: [None] * len(part.rows), target
    if len(values) > 1:
        parts = [convert_to(values[0], target)]
        otherwise = convert_to(values[1], target)
    else:
        parts = [each for each in (target.evaluate, target.text, target.number) if each is not None]

    def compute(part: Part) -> list[Any]:
        found = []
        for row, place in zip(part.rows, choose(part), strict=True):
            if place is not None:
                found.append([each(part.rows[place], part.context) for each in parts])
            else:
                found.append([otherwise(row, part.context)] if len(values) > 1 else [None] * len(parts))
        return found

    slots = iter(range(len(parts)))

    def slot(evaluate: Evaluate) -> Evaluate:
        number = next(slots)
        return lambda row, context: row[number]

    return compute, map_expression(target, slot)


def _lead_or_lag(name: str, sign: int) -> Build:
    def build(values: Sequence[Expression], frames: Frames) -> tuple[Compute, Expression]:
        shift = sign * (_literal_number(values, 1, name, 0) if len(values) > 1 else 1)

        def choose(part: Part) -> list[int | None]:
            count = len(part.rows)
            return [place + shift if 0 <= place + shift < count else None for place in range(count)]

        return _picked([values[0], *values[2:]], choose)

    return build


def _of_frame(name: str, choose: Callable[[int, int, int], int | None]) -> Build:
    """FIRST_VALUE, LAST_VALUE, NTH_VALUE."""

    def build(values: Sequence[Expression], frames: Frames) -> tuple[Compute, Expression]:
        number = _literal_number(values, 1, name, 1) if len(values) > 1 else 1

        def chosen(part: Part) -> list[int | None]:
            return [choose(first, last, number) if first < last else None for first, last in frames(part)]

        return _picked(values[:1], chosen)

    return build


FUNCTIONS: dict[str, Build] = {
    "ROW_NUMBER": _ranking("int", lambda part: range(1, len(part.rows) + 1)),
    "RANK": _ranking("int", lambda part: [first + 1 for first, _ in part.peers()]),
    "DENSE_RANK": _ranking("int", _dense_ranks),
    "PERCENT_RANK": _ranking("real", _percent_ranks),
    "CUME_DIST": _ranking("real", lambda part: [last / len(part.rows) for _, last in part.peers()]),
    "NTILE": _ntile,
    "LEAD": _lead_or_lag("lead", 1),
    "LAG": _lead_or_lag("lag", -1),
    "FIRST_VALUE": _of_frame("first_value", lambda first, last, number: first),
    "LAST_VALUE": _of_frame("last_value", lambda first, last, number: last - 1),
    "NTH_VALUE": _of_frame(
        "nth_value", lambda first, last, number: first + number - 1 if first + number <= last else None
    ),
}
"""Functions that exist for windows only, by TiDB's names."""
