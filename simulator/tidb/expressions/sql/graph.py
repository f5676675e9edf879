"""Expressions of DuckDB SQL as a graph.

A part that several expressions use is computed once, in a subquery of its own, so the length of a query grows with the
number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

MAX_DEPTH = 50
"""Nested calls in one subquery; DuckDB takes a thousand. Names of subquery columns end in a blank, as no column of TiDB
does."""

MOST_LEVELS = 600
"""Subqueries around each other. DuckDB's time grows with their square: half a minute for twice as many."""


@dataclass(frozen=True, eq=False)
class Sql:
    """An SQL expression: pieces of text with parts between them."""

    pieces: tuple[str, ...]
    parts: tuple[Sql, ...] = ()
    problems: tuple[tuple[str, Sql], ...] = ()
    """The node's own problems by kind, in addition to those of its parts (see `problems`)."""

    computes: str = "all"
    """Which parts a row needs: `all`, `case` (condition, value, …, otherwise), `AND` and `OR` (up to the part that
    decides), or `quietly` (all, but their problems are ignored)."""


def sql(template: str, *parts: Sql) -> Sql:
    """Return an expression; each `{}` of the template stands for a part."""
    pieces = tuple(template.split("{}"))
    assert len(pieces) == len(parts) + 1, template
    return Sql(pieces, parts)


def identifier(column: str) -> Sql:
    return Sql((quote(column),))


def text(value: str) -> Sql:
    """Return a string literal."""
    if value.isprintable():
        return Sql((f"'{value.replace(chr(39), chr(39) * 2)}'",))
    return Sql((f"decode(unhex('{value.encode().hex()}'))",))


NULL = Sql(("NULL",))
TRUE, FALSE = Sql(("true",)), Sql(("false",))


def join(glue: str, parts: list[Sql]) -> Sql:
    """Return all parts with `glue` between them, in parentheses."""
    pieces = ("(", *[f" {glue} "] * (len(parts) - 1), ")")
    return Sql(pieces, tuple(parts), computes=glue if glue in ("AND", "OR") else "all")


def when(condition: Sql, value: Sql, otherwise: Sql = NULL) -> Sql:
    return case([(condition, value)], otherwise)


def case(branches: list[tuple[Sql, Sql]], otherwise: Sql = NULL) -> Sql:
    """Return the value of the first branch whose condition is true."""
    if not branches:
        return otherwise
    pieces = ("CASE WHEN ", *[" THEN ", " WHEN "] * (len(branches) - 1), " THEN ", " ELSE ", " END")
    return Sql(pieces, (*(part for branch in branches for part in branch), otherwise), computes="case")


def quote(identifier: str) -> str:
    escaped = identifier.replace('"', '""')
    return f'"{escaped}"'


def select_query(expressions: Mapping[str, Sql], source: str, mark: str = "", with_all: bool = False) -> str:
    """Return a SELECT of expressions by name from a table or a SELECT in parentheses.

    With `kept`, all columns of the source come first. `mark` keeps the names of subquery columns distinct from those of
    other queries.
    """
    nodes = list(topological_order(expressions.values()))
    uses: dict[Sql, int] = {}
    for node in nodes:
        for part in node.parts:
            uses[part] = uses.get(part, 0) + 1
    texts: dict[Sql, str] = {}
    depths: dict[Sql, int] = {}
    levels: dict[Sql, int] = {}
    steps: list[list[str]] = []
    for node in nodes:
        inner = [*(f"({texts[part]})" if part.parts else texts[part] for part in node.parts), ""]
        texts[node] = "".join(text for pair in zip(node.pieces, inner, strict=True) for text in pair)
        depths[node] = max((depths[part] for part in node.parts), default=-1) + 1
        levels[node] = max((levels[part] for part in node.parts), default=0)
        if node.parts and (uses.get(node, 0) > 1 or depths[node] >= MAX_DEPTH):
            place = levels[node]
            if place >= MOST_LEVELS:
                raise RecursionError
            steps += [[]] * (place + 1 - len(steps))
            step_name = f'"{mark}{place}.{len(steps[place])} "'
            steps[place] = [*steps[place], f"{texts[node]} AS {step_name}"]
            texts[node], depths[node] = step_name, 0
            levels[node] = place + 1
    for step in steps:
        source = f"(SELECT *, {', '.join(step)} FROM {source})"
    shown = [*(("*",) if with_all else ()), *(f"{texts[node]} AS {quote(key)}" for key, node in expressions.items())]
    return f"SELECT {', '.join(shown)} FROM {source}"


def inline_text(root: Sql, longest: int) -> str | None:
    """Return an expression as one text without subqueries, or None if it is longer than `longest`."""
    texts: dict[Sql, str] = {}
    for node in topological_order([root]):
        inner = [*(f"({texts[part]})" if part.parts else texts[part] for part in node.parts), ""]
        texts[node] = "".join(text for pair in zip(node.pieces, inner, strict=True) for text in pair)
        if len(texts[node]) > longest:
            return None
    return texts[root]


def topological_order(roots: Iterable[Sql]) -> Iterator[Sql]:
    """Yield every node once, after its parts."""
    done: set[Sql] = set()
    waiting = [(root, False) for root in reversed(list(roots))]
    while waiting:
        node, ready = waiting.pop()
        if node in done:
            continue
        if ready:
            done.add(node)
            yield node
            continue
        waiting.append((node, True))
        waiting += [(part, False) for part in reversed(node.parts) if part not in done]
