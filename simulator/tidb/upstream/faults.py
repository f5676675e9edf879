"""Arithmetic of INSERT and UPDATE that TiDB refuses where SELECT would give NULL: a division by 0, a result that its
type does not hold.

One law: only what is computed for every row is looked at; what IF, CASE, COALESCE or AND may leave aside is NULL where
it cannot be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from simulator.tidb.restore.expressions import restored
from simulator.tidb.syntax.expressions import Binary, Call, Case, Is, Literal, Node, Unary
from simulator.tidb.upstream.refusals import refused
from simulator.tidb.upstream.state import SqlSession

DIVISIONS = ("/", "DIV", "%")
ARITHMETIC = ("+", "-", "*", *DIVISIONS)
ASIDE = ("IF", "IFNULL", "COALESCE", "NULLIF")
"""Functions that do not compute all of their arguments for every row."""

ZERO = Literal("integer", "0")


def refuse(
    values: Iterable[tuple[Node, pa.Array]], session: SqlSession,
    evaluated: Callable[[Sequence[Node]], Sequence[pa.Array]], ignore: bool = False,
) -> None:
    """Raises SqlError 1365 or 1690 where a value is NULL since arithmetic in it failed; `evaluated` computes more
    expressions over the same rows, as TiDB text (tidb pkg/expression/errors.go, handleDivisionByZeroError)."""
    if ignore:
        return
    suspects = [part for node, value in values if value.null_count for part in _sure(node)]
    if not suspects:
        return
    strict = {"STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"} & session.sql_mode
    divided = evaluated([_by_zero(part) for part in suspects])
    lost = evaluated([_lost(part) for part in suspects])
    for part, by_zero, gone in zip(suspects, divided, lost, strict=True):
        if strict and "ERROR_FOR_DIVISION_BY_ZERO" in session.sql_mode and _any(by_zero):
            raise refused(1365)
        if _any(gone):
            raise refused(1690, "BIGINT", f"({restored(part)})")


def _sure(node: Node) -> Iterator[Binary]:
    """The arithmetic in an expression that is computed for every row."""
    waiting: list[object] = [node]
    while waiting:
        found = waiting.pop()
        if isinstance(found, tuple):
            waiting += found
        if not isinstance(found, Node) or isinstance(found, Case) or isinstance(found, Call) and found.name in ASIDE:
            continue
        if isinstance(found, Binary):
            if found.operator in ("AND", "OR"):
                continue
            if found.operator in ARITHMETIC:
                yield found
        waiting += vars(found).values()


def _by_zero(part: Binary) -> Node:
    return _both(_there(part.left), Binary("=", part.right, ZERO)) if part.operator in DIVISIONS else ZERO


def _lost(part: Binary) -> Node:
    there = _both(_there(part.left), _there(part.right))
    return _both(Is(part, "NULL"), _both(there, Unary("NOT", _by_zero(part))))


def _there(node: Node) -> Node:
    return Is(node, "NULL", negated=True)


def _both(left: Node, right: Node) -> Node:
    return Binary("AND", left, right)


def _any(truths: pa.Array) -> bool:
    return b"1" in truths.to_pylist()
