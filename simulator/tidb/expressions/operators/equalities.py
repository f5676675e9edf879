"""Comparisons of one value with many literals: `a = 1 OR a = 2` is `a IN (1, 2)`, for which DuckDB has a hash table.

Without it, the time of a condition grows with the square of their number.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from itertools import groupby
from typing import NamedTuple

from simulator.tidb.expressions.sql.graph import Sql, topological_order

EQUAL = ("", " = ", "")
INTEGER = re.compile(r"-?\d{1,18}")


def merge_equalities(conditions: Iterable[Sql]) -> list[Sql]:
    """Return conditions of an OR, where neighbours that compare the same value with literals of one type are one."""
    forms = _Forms({}, {})
    groups = groupby(((_group(condition, forms), condition) for condition in conditions), lambda pair: pair[0])
    return [merged for key, pairs in groups for merged in _merged(key, [condition for _, condition in pairs])]


def _merged(key: Hashable, conditions: list[Sql]) -> list[Sql]:
    if key is None or len(conditions) == 1:
        return conditions
    pieces = ("", " IN (", *[", "] * (len(conditions) - 1), ")")
    return [Sql(pieces, (conditions[0].parts[0], *(condition.parts[1] for condition in conditions)))]


def _group(condition: Sql, forms: _Forms) -> Hashable:
    """Return what the comparisons of one value with literals of one type have in common; None for other conditions."""
    if condition.pieces != EQUAL or condition.problems:
        return None
    value, literal = condition.parts
    kind = _kind(literal)
    return None if kind is None else (_form(value, forms), kind)


def _kind(literal: Sql) -> Hashable:
    """Return the form of a literal without its value; None for what is no literal, or may have problems."""
    if literal.problems:
        return None
    if not literal.parts:
        (text,) = literal.pieces
        return "integer" if INTEGER.fullmatch(text) else "text" if text.startswith("'") else None
    kinds = tuple(map(_kind, literal.parts))
    return None if None in kinds else (literal.pieces, kinds)


class _Forms(NamedTuple):
    """Numbers of expressions; equal ones have the same."""

    by_node: dict[Sql, int]
    by_content: dict[Hashable, int]


def _form(value: Sql, forms: _Forms) -> int:
    """Return the number of an expression."""
    if value in forms.by_node:
        return forms.by_node[value]
    for node in topological_order([value]):
        parts = tuple(forms.by_node[part] for part in node.parts)
        problems = tuple((kind, _form(problem, forms)) for kind, problem in node.problems)
        content = node.pieces, parts, problems, node.computes
        forms.by_node[node] = forms.by_content.setdefault(content, len(forms.by_content))
    return forms.by_node[value]
