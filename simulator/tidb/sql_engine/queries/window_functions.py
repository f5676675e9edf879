"""Window functions.

They are computed over the rows of a query before its DISTINCT, ORDER BY and LIMIT. Rows that a window orders as equal
are in the order of the query below (TiDB: pkg/executor/window.go, pkg/executor/aggfuncs).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from simulator.errors import SqlError
from simulator.tidb.expressions.functions.choices import case_value
from simulator.tidb.expressions.sql.graph import Sql, sql
from simulator.tidb.expressions.translate import translate
from simulator.tidb.expressions.values.value import Value, null
from simulator.tidb.sql_engine.errors import not_simulated, sql_error
from simulator.tidb.sql_engine.queries.aggregates import aggregate_value
from simulator.tidb.sql_engine.queries.scopes import QueryScope, map_value
from simulator.tidb.sql_engine.queries.sorting import distinct_key, order_term, sort_key
from simulator.tidb.syntax.queries import Aggregate, WindowFunction, WindowSpec

HOLE = re.compile(r"\x00(\d+)\x00")
ALL = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


class _WindowRows:
    """The rows of a window, as aggregate functions use them."""

    def __init__(
        self, partition: Sequence[Sql], order: Sequence[tuple[Sql, bool]], rows: Sequence[str], frame: str
    ) -> None:
        self._partition, self._order, self._rows, self._frame = partition, order, rows, frame
        self._columns: list[Sql] = []

    def column(self, expression: Sql) -> str:
        """Return a placeholder for the expression, which `over` replaces."""
        self._columns.append(expression)
        return f"\x00{len(self._columns) - 1}\x00"

    def over(self, call: str, by_rows: bool = False, frame: str | None = None) -> Sql:
        """Compute an aggregate of DuckDB over the rows of the frame. With `by_rows` no two rows are equal."""
        terms = [order_term(self.column(key), descending) for key, descending in self._order]
        terms += self._rows if by_rows else []
        clauses = [f"PARTITION BY {', '.join(map(self.column, self._partition))}"] * bool(self._partition)
        clauses += [f"ORDER BY {', '.join(terms)}"] * bool(terms)
        clauses.append(self._frame if frame is None else frame)
        pieces = HOLE.split(f"{call} OVER ({' '.join(clauses)})")
        return Sql(tuple(pieces[::2]), tuple(self._columns[int(place)] for place in pieces[1::2]))

    def first(self, value: Value, order: str, where: str = "") -> Value:
        """Return the value of the row with the least key, or the greatest. Rows without a key are ignored."""
        extreme = "arg_max" if order.endswith("NULLS LAST") else "arg_min"
        key = order.partition(" ")[0]
        return self.each(value, lambda column: f"{extreme}({column}, {key})", by_rows=False)

    def sorting(self, tree: Aggregate) -> list[str]:
        return [*(order_term(self.column(key), descending) for key, descending in self._order), *self._rows] or ["1"]

    def each(
        self, value: Value, function: Callable[[str], str], by_rows: bool = True, frame: str | None = None
    ) -> Value:
        """Apply a function to each part of a value."""
        return map_value(value, lambda part: self.over(function(self.column(part)), by_rows, frame))


def window_value(
    tree: WindowFunction, scope: QueryScope, named_windows: Sequence[tuple[str, WindowSpec]], rows: Sequence[str]
) -> Value:
    """Return the value of a window function for each row. Raises SqlError."""
    if tree.unsupported:
        raise sql_error(1235, tree.unsupported)
    function = tree.function
    if function.name == "GROUP_CONCAT":
        raise sql_error(1235, "group_concat as window function")
    if function.distinct:
        raise sql_error(1235, "<window function>(DISTINCT ..)")
    window = _resolve_window(tree.window, {name.lower(): named for name, named in named_windows})
    plain = replace(scope, windowed=None)
    partition = [distinct_key(translate(node, plain)) for node in window.partition]
    order = [(sort_key(translate(item.expression, plain)), item.descending) for item in window.order]
    if "RANGE" in window.frame and re.search(r"\d|INTERVAL", window.frame):
        raise not_simulated("a RANGE of numbers or intervals is not computed; ROWS is")
    window_rows = _WindowRows(partition, order, rows, window.frame)
    values = [translate(argument, plain) for argument in function.arguments]
    compute = FUNCTIONS.get(function.name)
    return (
        aggregate_value(function, values, window_rows)
        if compute is None
        else compute(window_rows, values, function, window)
    )


def _resolve_window(window: WindowSpec, named_windows: Mapping[str, WindowSpec]) -> WindowSpec:
    """Return a window merged with the window that it names. Raises SqlError 3579."""
    if not window.base:
        return window
    base = named_windows.get(window.base.lower())
    if base is None:
        raise SqlError(3579, "HY000", f"Window name '{window.base}' is not defined.")
    base = _resolve_window(base, named_windows)
    return WindowSpec(window.partition or base.partition, window.order or base.order, window.frame or base.frame)


WindowFunctionImpl = Callable[[_WindowRows, Sequence[Value], Aggregate, WindowSpec], Value]


def _ranking(name: str, kind: str, by_rows: bool) -> WindowFunctionImpl:
    type = "BIGINT" if kind == "int" else "DOUBLE"
    return lambda rows, values, function, window: Value(
        sql(f"({{}})::{type}", rows.over(f"{name}()", by_rows, "")), kind
    )


def _ntile(rows: _WindowRows, values: Sequence[Value], function: Aggregate, window: WindowSpec) -> Value:
    (count,) = values
    if count.kind == "null":
        return null()
    if count.constant is None or not count.constant.isdigit() or not int(count.constant):
        raise SqlError(1210, "HY000", "Incorrect arguments to ntile")
    return Value(sql("({})::UBIGINT", rows.over(f"ntile({count.constant})", True, "")), "uint")


def _lead_or_lag(name: str) -> WindowFunctionImpl:
    """LEAD, LAG."""

    def shifted(rows: _WindowRows, values: Sequence[Value], function: Aggregate, window: WindowSpec) -> Value:
        places = values[1].constant if len(values) > 1 else "1"
        if places is None or not places.isdigit():
            raise SqlError(1210, "HY000", f"Incorrect arguments to {name}")
        neighbour = rows.each(values[0], lambda column: f"{name}({column}, {places})", frame="")
        if len(values) < 3:
            return neighbour
        exists = sql("{} IS NOT NULL", rows.over(f"{name}(1, {places})", True, ""))
        return case_value([(exists, neighbour)], values[2])

    return shifted


def _frame_value(name: str) -> WindowFunctionImpl:
    """FIRST_VALUE, LAST_VALUE, NTH_VALUE."""

    def of_frame(rows: _WindowRows, values: Sequence[Value], function: Aggregate, window: WindowSpec) -> Value:
        place = ""
        if len(values) > 1:
            if values[1].constant is None or not values[1].constant.isdigit() or not int(values[1].constant):
                raise SqlError(1210, "HY000", "Incorrect arguments to nth_value")
            place = f", {values[1].constant}"
        frame = window.frame or ("" if window.order else ALL)
        return rows.each(values[0], lambda column: f"{name}({column}{place})", frame.startswith("ROWS"), frame)

    return of_frame


FUNCTIONS: dict[str, WindowFunctionImpl] = {
    "ROW_NUMBER": _ranking("row_number", "int", True),
    "RANK": _ranking("rank", "int", False),
    "DENSE_RANK": _ranking("dense_rank", "int", False),
    "PERCENT_RANK": _ranking("percent_rank", "real", False),
    "CUME_DIST": _ranking("cume_dist", "real", False),
    "NTILE": _ntile,
    "LEAD": _lead_or_lag("lead"),
    "LAG": _lead_or_lag("lag"),
    "FIRST_VALUE": _frame_value("first_value"),
    "LAST_VALUE": _frame_value("last_value"),
    "NTH_VALUE": _frame_value("nth_value"),
}
"""Functions that exist for windows only, by TiDB's names."""
