"""Calls of functions of time from a cursor, in the forms that TiDB's grammar gives them.

One law: each reads from the `(` behind the name, if there is one, to its `)`.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.units import read_unit
from simulator.tidb.syntax.expressions import Call, Literal, Node, Word


def _optional(parser: TiDBParser, name: str) -> Node:
    """`CURRENT_DATE`, `CURRENT_DATE()`"""
    parser.accept("( )")
    return Call(name)


def _empty(parser: TiDBParser, name: str) -> Node:
    """`CURDATE()`"""
    parser.expect("( )")
    return Call(name)


def _precise(parser: TiDBParser, name: str) -> Node:
    """`CURRENT_TIMESTAMP`, `NOW()`, `NOW(6)`"""
    if not parser.accept("(") or parser.accept(")"):
        return Call(name)
    digits = parser.integer("a number of digits or ')'")
    parser.expect(")")
    return Call(name, (Literal("integer", str(digits)),))


def _interval_call(parser: TiDBParser, name: str) -> Node:
    """`DATE_ADD(x, INTERVAL 1 DAY)`; `ADDDATE(x, 1)` adds days."""
    parser.expect("(")
    time = parser.rules.node(parser)
    parser.expect(",")
    unit = Word("DAY")
    if parser.word() == "INTERVAL" and (parser.word_after() != "(" or name.startswith("DATE_")):
        parser.take()
        amount = parser.rules.node(parser)
        unit = read_unit(parser)
    elif name.startswith("DATE_"):
        parser.unexpected("'INTERVAL'")
    else:
        amount = parser.rules.node(parser)
    parser.expect(")")
    return Call(name, (time, amount, unit))


def _extract(parser: TiDBParser, name: str) -> Node:
    parser.expect("(")
    unit = read_unit(parser)
    parser.expect("FROM")
    time = parser.rules.node(parser)
    parser.expect(")")
    return Call(name, (unit, time))


def _timestamp_unit(parser: TiDBParser, name: str) -> Node:
    """`TIMESTAMPADD(DAY, 1, x)`"""
    parser.expect("(")
    at = parser.next_token()
    unit = read_unit(parser)
    if "_" in unit.text:
        parser.fail(f"{name} takes no unit {unit.text}", at)
    parser.expect(",")
    first = parser.rules.node(parser)
    parser.expect(",")
    second = parser.rules.node(parser)
    parser.expect(")")
    return Call(name, (unit, first, second))


def _get_format(parser: TiDBParser, name: str) -> Node:
    parser.expect("(")
    if parser.word() not in ("DATE", "DATETIME", "TIME", "TIMESTAMP"):
        parser.unexpected("DATE, DATETIME, TIME or TIMESTAMP")
    kind = parser.take()
    parser.expect(",")
    region = parser.rules.node(parser)
    parser.expect(")")
    return Call(name, (Word("DATETIME" if kind == "TIMESTAMP" else kind), region))


TIME_FORMS: dict[str, Callable[[TiDBParser, str], Node]] = {
    **{name: _optional for name in ("CURRENT_USER", "CURRENT_DATE", "CURRENT_ROLE", "UTC_DATE", "TIDB_CURRENT_TSO")},
    **{name: _precise for name in (
        "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_TIME", "UTC_TIMESTAMP", "CURTIME",
        "SYSDATE")},
    **{name: _interval_call for name in ("ADDDATE", "SUBDATE", "DATE_ADD", "DATE_SUB")},
    **{name: _timestamp_unit for name in ("TIMESTAMPADD", "TIMESTAMPDIFF")},
    "CURDATE": _empty,
    "EXTRACT": _extract,
    "GET_FORMAT": _get_format,
}
"""By name."""
