"""Reads what many statements share: names of tables, lists of them, IF EXISTS, LOCK and ALGORITHM.

One law: a name comes out as it is written, without its quotes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.syntax.definitions import TableName

T = TypeVar("T")

ALGORITHMS = ("DEFAULT", "COPY", "INPLACE", "INSTANT")
LOCKS = ("DEFAULT", "NONE", "SHARED", "EXCLUSIVE")


def table_name(cursor: Cursor, what: str = "the name of a table") -> TableName:
    return TableName(*cursor.qualified_name(what))


def comma_list(cursor: Cursor, item: Callable[[Cursor], T]) -> tuple[T, ...]:
    """`item, item …` without parentheses."""
    items = [item(cursor)]
    while cursor.accept(","):
        items.append(item(cursor))
    return tuple(items)


def column_name(cursor: Cursor) -> tuple[str, str]:
    """`column`, `table.column` or `schema.table.column`: what stands before the last dot, and the column."""
    names = [cursor.name("the name of a column")]
    while len(names) < 3 and cursor.accept("."):
        names.append(cursor.name("the name of a column"))
    return ".".join(names[:-1]), names[-1]


def restrict_or_cascade(cursor: Cursor) -> str:
    """RESTRICT, CASCADE or nothing: TiDB reads it and forgets it."""
    return cursor.take() if cursor.word() in ("RESTRICT", "CASCADE") else ""


def one_of(cursor: Cursor, accepted: tuple[str, ...]) -> str:
    """`= word` or `word`, which must be one of these."""
    cursor.accept("=")
    if cursor.word() not in accepted:
        cursor.unexpected(", ".join(accepted), accepted)
    return cursor.take()


def lock_and_algorithm(cursor: Cursor) -> tuple[str, str]:
    """ALGORITHM and LOCK behind a statement on an index, each once, in any order: their values or nothing."""
    values = {"ALGORITHM": "", "LOCK": ""}
    while (word := cursor.word()) in values and not values[word]:
        cursor.take()
        values[word] = one_of(cursor, ALGORITHMS if word == "ALGORITHM" else LOCKS)
    return values["ALGORITHM"], values["LOCK"]


def location_labels(cursor: Cursor) -> tuple[str, ...]:
    """`LOCATION LABELS 'zone', 'rack'` of a TiFlash replica."""
    return comma_list(cursor, lambda cursor: cursor.string()) if cursor.accept("LOCATION LABELS") else ()
