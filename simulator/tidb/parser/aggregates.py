"""Aggregate and window functions from a cursor, as text: no single row has a value for them.

One law: TiDB's own names of the aggregates (STDDEV_POP for STD) are written.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.windows import read_order, read_over
from simulator.tidb.restore.expressions import listed, restored
from simulator.tidb.restore.restoring import literal
from simulator.tidb.syntax.expressions import Fragment, Node

AGGREGATES = frozenset((
    "APPROX_COUNT_DISTINCT", "APPROX_PERCENTILE", "AVG", "BIT_AND", "BIT_OR", "BIT_XOR", "COUNT", "GROUP_CONCAT",
    "JSON_ARRAYAGG", "JSON_OBJECTAGG", "MAX", "MIN", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "SUM", "VARIANCE",
    "VAR_POP", "VAR_SAMP",
))
NAMES = {"STD": "STDDEV_POP", "STDDEV": "STDDEV_POP", "VARIANCE": "VAR_POP"}
WINDOWS = frozenset((
    "ROW_NUMBER", "RANK", "DENSE_RANK", "CUME_DIST", "PERCENT_RANK", "NTILE", "LEAD", "LAG", "FIRST_VALUE",
    "LAST_VALUE", "NTH_VALUE",
))
WITHOUT_DISTINCT = frozenset((
    "BIT_AND", "BIT_OR", "BIT_XOR", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "APPROX_COUNT_DISTINCT", "APPROX_PERCENTILE",
))
MORE = {"APPROX_COUNT_DISTINCT": 255, "APPROX_PERCENTILE": 255, "JSON_OBJECTAGG": 1, "COUNT": 255}
"""How many arguments a function takes beside the first; COUNT only with DISTINCT."""

WHAT = "an aggregate function"


def read_aggregate(parser: TiDBParser, name: str) -> Node:
    """The call, its name just passed over, with its OVER."""
    parser.expect("(")
    if name == "GROUP_CONCAT":
        return _group_concat(parser)
    if name == "COUNT" and parser.accept("*"):
        inner = "1"
    else:
        distinct = _distinct(parser, name)
        inner = distinct + restored(parser.rules.node(parser))
        more = MORE.get(name, 0) if name != "COUNT" or distinct else 0
        while more and parser.accept(","):
            parser.accept("ALL")
            inner += f", {restored(parser.rules.node(parser))}"
            more -= 1
    parser.expect(")")
    return Fragment(f"{NAMES.get(name, name)}({inner}){read_over(parser)}", WHAT)


def _distinct(parser: TiDBParser, name: str = "") -> str:
    if name not in WITHOUT_DISTINCT and (parser.accept("DISTINCT") or parser.accept("DISTINCTROW")):
        if name != "COUNT":
            parser.accept("ALL")
        return "DISTINCT "
    parser.accept("ALL")
    return ""


def _group_concat(parser: TiDBParser) -> Node:
    distinct = _distinct(parser)
    arguments = [parser.rules.node(parser)]
    while parser.accept(","):
        arguments.append(parser.rules.node(parser))
    order = f" {read_order(parser)}" if parser.word() == "ORDER BY" else ""
    separator = literal(parser.string() if parser.accept("SEPARATOR") else ",")
    parser.expect(")")
    over = read_over(parser)
    if over:
        return Fragment(f"GROUP_CONCAT({distinct}{listed(arguments)}, {separator}){over}", WHAT)
    return Fragment(f"GROUP_CONCAT({distinct}{listed(arguments)}{order} SEPARATOR {separator})", WHAT)


def read_window(parser: TiDBParser, name: str) -> Node:
    """The call of a window function, its name just passed over."""
    parser.expect("(")
    arguments = [] if parser.word() == ")" else [parser.rules.node(parser)]
    while parser.accept(","):
        arguments.append(parser.rules.node(parser))
    least, most = _COUNTS.get(name, (0, 0))
    if not least <= len(arguments) <= most:
        parser.fail(f"{name} takes {least} to {most} arguments")
    parser.expect(")")
    last = name == "NTH_VALUE" and _from_last(parser)
    ignore = name in ("LEAD", "LAG", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE") and _ignores_nulls(parser)
    over = read_over(parser)
    if not over:
        parser.unexpected("'OVER'")
    ways = f"{' FROM LAST' if last else ''}{' IGNORE NULLS' if ignore else ''}"
    return Fragment(f"{name}({listed(arguments)}){ways}{over}", "a window function")


_COUNTS = {"NTILE": (1, 1), "LEAD": (1, 3), "LAG": (1, 3), "FIRST_VALUE": (1, 1), "LAST_VALUE": (1, 1),
           "NTH_VALUE": (2, 2)}


def _from_last(parser: TiDBParser) -> bool:
    parser.accept("FROM FIRST")
    return parser.accept("FROM LAST")


def _ignores_nulls(parser: TiDBParser) -> bool:
    parser.accept("RESPECT NULLS")
    return parser.accept("IGNORE NULLS")
