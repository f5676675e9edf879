"""Windows and orders from a cursor, as text.

One law: a frame that names its start only ends at the current row, and is written so.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.literals import LITERALS
from simulator.tidb.parser.units import read_unit
from simulator.tidb.restore.expressions import restored
from simulator.tidb.restore.names import quoted


def read_over(cursor: Cursor) -> str:
    """` OVER w`, ` OVER (…)`, or nothing where no OVER follows."""
    if not cursor.accept("OVER"):
        return ""
    return f" OVER {read_window_definition(cursor) if cursor.word() == '(' else _name(cursor)}"


def _name(cursor: Cursor) -> str:
    return quoted(cursor.name("the name of a window"))


def read_window_definition(cursor: Cursor) -> str:
    """`([name] [PARTITION BY …] [ORDER BY …] [frame])`"""
    cursor.expect("(")
    parts = []
    if cursor.is_name() and cursor.word() not in ("PARTITION BY", "ORDER BY", "ROWS", "RANGE", "GROUPS"):
        parts.append(_name(cursor))
    if cursor.accept("PARTITION BY"):
        parts.append(f"PARTITION BY {read_items(cursor, ', ')}")
    if cursor.word() == "ORDER BY":
        parts.append(read_order(cursor))
    if cursor.word() in ("ROWS", "RANGE"):
        parts.append(_frame(cursor))
    cursor.expect(")")
    return f"({' '.join(parts)})"


def read_order(cursor: Cursor) -> str:
    """`ORDER BY …`"""
    cursor.expect("ORDER BY")
    return f"ORDER BY {read_items(cursor)}"


def read_items(cursor: Cursor, separator: str = ",") -> str:
    """What rows are ordered or grouped by."""
    items = [_item(cursor)]
    while cursor.accept(","):
        items.append(_item(cursor))
    return separator.join(items)


def _item(cursor: Cursor) -> str:
    text = restored(cursor.rules.node(cursor))
    if cursor.accept("DESC"):
        return f"{text} DESC"
    cursor.accept("ASC")
    return text


def _frame(cursor: Cursor) -> str:
    unit = cursor.take()
    if not cursor.accept("BETWEEN"):
        return f"{unit} BETWEEN {_bound(cursor)} AND CURRENT ROW"
    start = _bound(cursor)
    cursor.expect("AND")
    return f"{unit} BETWEEN {start} AND {_bound(cursor)}"


def _bound(cursor: Cursor) -> str:
    if cursor.accept("CURRENT ROW"):
        return "CURRENT ROW"
    if cursor.accept("UNBOUNDED"):
        amount = "UNBOUNDED"
    elif cursor.accept("INTERVAL"):
        amount = f"INTERVAL {restored(cursor.rules.node(cursor))} {read_unit(cursor).text}"
    elif cursor.kind() == "number":
        amount = restored(LITERALS["number"](cursor))
    else:
        cursor.unexpected("UNBOUNDED, CURRENT ROW, INTERVAL or a number")
    if cursor.word() not in ("PRECEDING", "FOLLOWING"):
        cursor.unexpected("PRECEDING or FOLLOWING")
    return f"{amount} {cursor.take()}"
