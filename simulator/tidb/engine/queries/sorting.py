"""Keys by which values are sorted and told apart, for ORDER BY, GROUP BY and DISTINCT.

Values that are equal in TiDB have equal keys, and smaller values have smaller keys. NULL comes first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from simulator.tidb.engine.queries.relation import Values, held
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.expressions.expression import Evaluate, Expression
from simulator.tidb.expressions.json_documents import json_key
from simulator.tidb.expressions.texts import compared_text
from simulator.tidb.syntax.queries import Limit

T = TypeVar("T")


class SortKey(NamedTuple):
    evaluate: Evaluate
    descending: bool = False


def sort_key(value: Expression) -> Evaluate:
    """Return the key by which a value is sorted; None for NULL."""
    if value.kind == "string" and value.number is not None and value.column_type is not None:
        return value.number
    return distinct_key(value)


def distinct_key(value: Expression) -> Evaluate:
    """Return the key by which a value is compared with others; None for NULL."""
    if value.kind == "string" and not value.is_binary:
        return compared_text(value, value.evaluate, value.collation)
    return json_key(value) if value.kind == "json" else value.evaluate


def _of_pairs(place: int) -> Callable[[tuple[Sequence[Any], Any]], tuple[bool, Any]]:
    def key(pair: tuple[Sequence[Any], Any]) -> tuple[bool, Any]:
        value = pair[0][place]
        return value is not None, value

    return key


def sorted_by(pairs: list[tuple[Sequence[Any], T]], descending: Sequence[bool]) -> list[T]:
    """Sort pairs of keys and objects, and return the objects; those with equal keys stay in their order."""
    for place in reversed(range(len(descending))):
        pairs.sort(key=_of_pairs(place), reverse=descending[place])
    return [each for _, each in pairs]


def sorted_rows(rows: Iterator[Values], keys: Sequence[SortKey], context: StatementContext) -> list[Values]:
    found = held(rows, context)
    pairs: list[tuple[Sequence[Any], Values]] = [([key.evaluate(row, context) for key in keys], row) for row in found]
    return sorted_by(pairs, [key.descending for key in keys])


def limited(rows: Iterable[T], limit: Limit | None) -> Iterable[T]:
    return rows if limit is None else islice(rows, limit.offset, min(limit.offset + limit.count, sys.maxsize))
