"""Decide whether a parenthesis contains a query or an expression, before any token is consumed.

`((SELECT 1))` is an expression that contains a query, `((SELECT 1) UNION SELECT 2)` is a query.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor

OPERATORS = ("UNION", "EXCEPT", "INTERSECT")
CONTINUATIONS = (*OPERATORS, "ORDER BY", "LIMIT", "FETCH")
"""The words that may follow a query in parentheses."""


def begins_query(cursor: Cursor, places: int = 0) -> bool:
    """Whether a query without parentheses begins `places` tokens ahead."""
    word = cursor.word_ahead(places)
    return word in ("SELECT", "WITH", "TABLE") or word == "VALUES" and cursor.word_ahead(places + 1) == "ROW"


def begins_subquery(cursor: Cursor, nested: bool = False) -> bool:
    """Whether the next `(` contains a query. With `nested`, several pairs of parentheses may surround it."""
    if cursor.word() != "(":
        return False
    places = 1
    while cursor.word_ahead(places) == "(":
        places += 1
    if not begins_query(cursor, places):
        return False
    endings = (*CONTINUATIONS, ")") if nested else CONTINUATIONS
    return all(cursor.word_ahead(cursor.closing_ahead(opening) + 1) in endings for opening in range(1, places))
