"""Parse aggregate and window functions, windows and ORDER BY, and restore them as TiDB does.

TiDB writes its own names of aggregates (STDDEV_POP for STD), and ends a frame without an end at the current row.
"""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.tokens import LITERALS, parse_unit
from simulator.tidb.restore import quote_literal, quote_name, restore_list, restore_node


def parse_over(cursor: Cursor) -> tuple[str, syntax.WindowSpec | None]:
    """Parse an optional `OVER w` or `OVER (…)`, and return its text after a blank, and the window."""
    if not cursor.accept("OVER"):
        return "", None
    if cursor.word() != "(":
        name = cursor.name("the name of a window")
        return f" OVER {quote_name(name)}", syntax.WindowSpec(base=name)
    text, window = parse_window_definition(cursor)
    return f" OVER {text}", window


def parse_window_definition(cursor: Cursor) -> tuple[str, syntax.WindowSpec]:
    """Parse `([name] [PARTITION BY …] [ORDER BY …] [frame])`."""
    cursor.expect("(")
    parts, base = [], ""
    if cursor.is_name() and cursor.word() not in ("PARTITION BY", "ORDER BY", "ROWS", "RANGE", "GROUPS"):
        base = cursor.name("the name of a window")
        parts.append(quote_name(base))
    partition: tuple[syntax.OrderItem, ...] = ()
    if cursor.accept("PARTITION BY"):
        partition = parse_items(cursor)
        parts.append(f"PARTITION BY {restore_items(partition, ', ')}")
    order = parse_order(cursor)
    if order:
        parts.append(restore_order(order))
    frame = _parse_frame(cursor) if cursor.word() in ("ROWS", "RANGE") else ""
    parts += [frame] * bool(frame)
    cursor.expect(")")
    window = syntax.WindowSpec(tuple(item.expression for item in partition), order, frame, base)
    return f"({' '.join(parts)})", window


def parse_order(cursor: Cursor) -> tuple[syntax.OrderItem, ...]:
    """Parse an optional ORDER BY."""
    return parse_items(cursor) if cursor.accept("ORDER BY") else ()


def parse_items(cursor: Cursor) -> tuple[syntax.OrderItem, ...]:
    """Parse the expressions of ORDER BY, GROUP BY or PARTITION BY."""
    return cursor.comma_list(_parse_item)


def _parse_item(cursor: Cursor) -> syntax.OrderItem:
    expression = cursor.grammar.expression(cursor)
    descending = cursor.accept("DESC")
    if not descending:
        cursor.accept("ASC")
    return syntax.OrderItem(expression, descending)


def restore_order(items: tuple[syntax.OrderItem, ...]) -> str:
    """Return `ORDER BY …`, or "" without items."""
    return f"ORDER BY {restore_items(items)}" if items else ""


def restore_items(items: tuple[syntax.OrderItem, ...], separator: str = ",") -> str:
    return separator.join(restore_node(item.expression) + " DESC" * item.descending for item in items)


def _parse_frame(cursor: Cursor) -> str:
    unit = cursor.take()
    if not cursor.accept("BETWEEN"):
        return f"{unit} BETWEEN {_parse_bound(cursor)} AND CURRENT ROW"
    start = _parse_bound(cursor)
    cursor.expect("AND")
    return f"{unit} BETWEEN {start} AND {_parse_bound(cursor)}"


def _parse_bound(cursor: Cursor) -> str:
    if cursor.accept("CURRENT ROW"):
        return "CURRENT ROW"
    if cursor.accept("UNBOUNDED"):
        amount = "UNBOUNDED"
    elif cursor.accept("INTERVAL"):
        amount = f"INTERVAL {restore_node(cursor.grammar.expression(cursor))} {parse_unit(cursor).text}"
    elif cursor.kind() == "number":
        amount = restore_node(LITERALS["number"](cursor))
    else:
        cursor.unexpected("UNBOUNDED, CURRENT ROW, INTERVAL or a number")
    return f"{amount} {cursor.one_of('PRECEDING', 'FOLLOWING')}"


AGGREGATES = frozenset(
    """
    APPROX_COUNT_DISTINCT APPROX_PERCENTILE AVG BIT_AND BIT_OR BIT_XOR COUNT GROUP_CONCAT JSON_ARRAYAGG JSON_OBJECTAGG
    MAX MIN STD STDDEV STDDEV_POP STDDEV_SAMP SUM VARIANCE VAR_POP VAR_SAMP
    """.split()
)
NAMES = {"STD": "STDDEV_POP", "STDDEV": "STDDEV_POP", "VARIANCE": "VAR_POP"}
WINDOWS = frozenset(
    "ROW_NUMBER RANK DENSE_RANK CUME_DIST PERCENT_RANK NTILE LEAD LAG FIRST_VALUE LAST_VALUE NTH_VALUE".split()
)
WITHOUT_DISTINCT = frozenset(
    ("BIT_AND", "BIT_OR", "BIT_XOR", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "APPROX_COUNT_DISTINCT", "APPROX_PERCENTILE")
)
MORE = {"APPROX_COUNT_DISTINCT": 255, "APPROX_PERCENTILE": 255, "JSON_OBJECTAGG": 1, "COUNT": 255}
"""How many more arguments a function may have after the first. COUNT only with DISTINCT."""

WHAT = "an aggregate function"


def parse_aggregate(cursor: Cursor, name: str) -> syntax.Node:
    """Parse the rest of a call of an aggregate function, with its OVER."""
    cursor.expect("(")
    if name == "GROUP_CONCAT":
        return _parse_group_concat(cursor)
    arguments: list[syntax.Node] = []
    distinct = ""
    if name != "COUNT" or not cursor.accept("*"):
        distinct = _parse_distinct(cursor, name)
        arguments.append(cursor.grammar.expression(cursor))
        more = MORE.get(name, 0) if name != "COUNT" or distinct else 0
        while more and cursor.accept(","):
            cursor.accept("ALL")
            arguments.append(cursor.grammar.expression(cursor))
            more -= 1
    cursor.expect(")")
    name = NAMES.get(name, name)
    over, window = parse_over(cursor)
    tree = syntax.Aggregate(name, tuple(arguments), bool(distinct))
    text = f"{name}({distinct}{restore_list(arguments) or '1'}){over}"
    return syntax.ContextExpression(text, WHAT, tree if window is None else syntax.WindowFunction(tree, window))


def _parse_distinct(cursor: Cursor, name: str = "") -> str:
    if name not in WITHOUT_DISTINCT and (cursor.accept("DISTINCT") or cursor.accept("DISTINCTROW")):
        if name != "COUNT":
            cursor.accept("ALL")
        return "DISTINCT "
    cursor.accept("ALL")
    return ""


def _parse_group_concat(cursor: Cursor) -> syntax.Node:
    distinct = _parse_distinct(cursor)
    arguments = cursor.comma_list(cursor.grammar.expression)
    order = parse_order(cursor)
    separator = cursor.string() if cursor.accept("SEPARATOR") else ","
    cursor.expect(")")
    over, window = parse_over(cursor)
    tree = syntax.Aggregate("GROUP_CONCAT", tuple(arguments), bool(distinct), order, separator)
    inner = distinct + restore_list(arguments)
    if window is not None:
        return syntax.ContextExpression(
            f"GROUP_CONCAT({inner}, {quote_literal(separator)}){over}", WHAT, syntax.WindowFunction(tree, window)
        )
    ordered = f" {restore_order(order)}" if order else ""
    return syntax.ContextExpression(f"GROUP_CONCAT({inner}{ordered} SEPARATOR {quote_literal(separator)})", WHAT, tree)


def parse_window(cursor: Cursor, name: str) -> syntax.Node:
    """Parse the rest of a call of a window function."""
    cursor.expect("(")
    arguments = () if cursor.word() == ")" else cursor.comma_list(cursor.grammar.expression)
    least, most = _COUNTS.get(name, (0, 0))
    if not least <= len(arguments) <= most:
        cursor.fail(f"{name} takes {least} to {most} arguments")
    cursor.expect(")")
    from_last = name == "NTH_VALUE" and _parse_from_last(cursor)
    ignore_nulls = name in ("LEAD", "LAG", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE") and _parse_ignore_nulls(cursor)
    over, window = parse_over(cursor)
    if window is None:
        cursor.unexpected("'OVER'")
    options = " FROM LAST" * from_last + " IGNORE NULLS" * ignore_nulls
    tree = syntax.WindowFunction(syntax.Aggregate(name, tuple(arguments)), window, options.strip())
    return syntax.ContextExpression(f"{name}({restore_list(arguments)}){options}{over}", "a window function", tree)


_COUNTS = {
    **dict.fromkeys(("NTILE", "FIRST_VALUE", "LAST_VALUE"), (1, 1)),
    **dict.fromkeys(("LEAD", "LAG"), (1, 3)),
    "NTH_VALUE": (2, 2),
}


def _parse_from_last(cursor: Cursor) -> bool:
    cursor.accept("FROM FIRST")
    return cursor.accept("FROM LAST")


def _parse_ignore_nulls(cursor: Cursor) -> bool:
    cursor.accept("RESPECT NULLS")
    return cursor.accept("IGNORE NULLS")
