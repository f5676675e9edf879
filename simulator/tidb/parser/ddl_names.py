"""Reads what many statements share: names of tables, lists of them, IF EXISTS, LOCK and ALGORITHM.

One law: a name comes out as it is written, without its quotes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.syntax.definitions import TableName

T = TypeVar("T")

ALGORITHMS = ("DEFAULT", "COPY", "INPLACE", "INSTANT")
LOCKS = ("DEFAULT", "NONE", "SHARED", "EXCLUSIVE")


def table_name(parser: TiDBParser, what: str = "the name of a table") -> TableName:
    return TableName(*parser.qualified_free_name(what))


def comma_list(parser: TiDBParser, item: Callable[[TiDBParser], T]) -> tuple[T, ...]:
    """`item, item …` without parentheses."""
    items = [item(parser)]
    while parser.accept(","):
        items.append(item(parser))
    return tuple(items)


def column_name(parser: TiDBParser) -> tuple[str, str]:
    """`column`, `table.column` or `schema.table.column`: what stands before the last dot, and the column."""
    names = [parser.free_name("the name of a column")]
    while len(names) < 3 and parser.accept("."):
        names.append(parser.name("the name of a column"))
    return ".".join(names[:-1]), names[-1]


def restrict_or_cascade(parser: TiDBParser) -> str:
    """RESTRICT, CASCADE or nothing: TiDB reads it and forgets it."""
    return parser.take() if parser.word() in ("RESTRICT", "CASCADE") else ""


def one_of(parser: TiDBParser, accepted: tuple[str, ...]) -> str:
    """`= word` or `word`, which must be one of these."""
    parser.accept("=")
    if parser.word() not in accepted:
        parser.unexpected(", ".join(accepted), accepted)
    return parser.take()


def lock_and_algorithm(parser: TiDBParser) -> tuple[str, str]:
    """ALGORITHM and LOCK behind a statement on an index, each once, in any order: their values or nothing."""
    values = {"ALGORITHM": "", "LOCK": ""}
    while (word := parser.word()) in values and not values[word]:
        parser.take()
        values[word] = one_of(parser, ALGORITHMS if word == "ALGORITHM" else LOCKS)
    return values["ALGORITHM"], values["LOCK"]


def location_labels(parser: TiDBParser) -> tuple[str, ...]:
    """`LOCATION LABELS 'zone', 'rack'` of a TiFlash replica."""
    return comma_list(parser, lambda cursor: cursor.string()) if parser.accept("LOCATION LABELS") else ()
