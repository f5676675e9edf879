"""What a parenthesis holds, told from the tokens behind it before any is read.

One law: `((SELECT 1))` is an expression that holds a query, `((SELECT 1) UNION SELECT 2)` is a query.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor

OPERATORS = ("UNION", "EXCEPT", "INTERSECT")
CONTINUATIONS = (*OPERATORS, "ORDER BY", "LIMIT", "FETCH")
"""What may follow a query in parentheses."""


def begins_query(cursor: Cursor, places: int = 0) -> bool:
    """Whether a query without parentheses begins so many tokens ahead."""
    word = cursor.word_ahead(places)
    return word in ("SELECT", "WITH", "TABLE") or word == "VALUES" and cursor.word_ahead(places + 1) == "ROW"


def begins_subquery(cursor: Cursor, nested: bool = False) -> bool:
    """Whether the `(` that comes next holds a query; if `nested`, a query in several pairs of them is one too."""
    if cursor.word() != "(":
        return False
    places = 1
    while cursor.word_ahead(places) == "(":
        places += 1
    if not begins_query(cursor, places):
        return False
    endings = (*CONTINUATIONS, ")") if nested else CONTINUATIONS
    return all(cursor.word_ahead(cursor.closing_ahead(opening) + 1) in endings for opening in range(1, places))
