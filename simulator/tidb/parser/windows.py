"""Windows and orders from a cursor, as text.

One law: a frame that names its start only ends at the current row, and is written so.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.literals import LITERALS
from simulator.tidb.parser.units import read_unit
from simulator.tidb.restore.expressions import restored
from simulator.tidb.restore.restoring import quoted


def read_over(parser: TiDBParser) -> str:
    """` OVER w`, ` OVER (…)`, or nothing where no OVER follows."""
    if not parser.accept("OVER"):
        return ""
    return f" OVER {read_window_definition(parser) if parser.word() == '(' else _name(parser)}"


def _name(parser: TiDBParser) -> str:
    return quoted(parser.name("the name of a window"))


def read_window_definition(parser: TiDBParser) -> str:
    """`([name] [PARTITION BY …] [ORDER BY …] [frame])`"""
    parser.expect("(")
    parts = []
    if parser.is_name() and parser.word() not in ("PARTITION BY", "ORDER BY", "ROWS", "RANGE", "GROUPS"):
        parts.append(_name(parser))
    if parser.accept("PARTITION BY"):
        parts.append(f"PARTITION BY {read_items(parser, ', ')}")
    if parser.word() == "ORDER BY":
        parts.append(read_order(parser))
    if parser.word() in ("ROWS", "RANGE"):
        parts.append(_frame(parser))
    parser.expect(")")
    return f"({' '.join(parts)})"


def read_order(parser: TiDBParser) -> str:
    """`ORDER BY …`"""
    parser.expect("ORDER BY")
    return f"ORDER BY {read_items(parser)}"


def read_items(parser: TiDBParser, separator: str = ",") -> str:
    """What rows are ordered or grouped by."""
    items = [_item(parser)]
    while parser.accept(","):
        items.append(_item(parser))
    return separator.join(items)


def _item(parser: TiDBParser) -> str:
    text = restored(parser.rules.node(parser))
    if parser.accept("DESC"):
        return f"{text} DESC"
    parser.accept("ASC")
    return text


def _frame(parser: TiDBParser) -> str:
    unit = parser.take()
    if not parser.accept("BETWEEN"):
        return f"{unit} BETWEEN {_bound(parser)} AND CURRENT ROW"
    start = _bound(parser)
    parser.expect("AND")
    return f"{unit} BETWEEN {start} AND {_bound(parser)}"


def _bound(parser: TiDBParser) -> str:
    if parser.accept("CURRENT ROW"):
        return "CURRENT ROW"
    if parser.accept("UNBOUNDED"):
        amount = "UNBOUNDED"
    elif parser.accept("INTERVAL"):
        amount = f"INTERVAL {restored(parser.rules.node(parser))} {read_unit(parser).text}"
    elif parser.kind() == "number":
        amount = restored(LITERALS["number"](parser))
    else:
        parser.unexpected("UNBOUNDED, CURRENT ROW, INTERVAL or a number")
    if parser.word() not in ("PRECEDING", "FOLLOWING"):
        parser.unexpected("PRECEDING or FOLLOWING")
    return f"{amount} {parser.take()}"
