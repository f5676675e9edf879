"""The names of a query's columns, for views: aliases, names of columns, what `*` stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from simulator.tidb.syntax.queries import (
    DerivedTable,
    Join,
    QueryTree,
    SelectItem,
    SelectTree,
    SetOperation,
    Source,
    Star,
    TableSource,
    WithTree,
)

ColumnsOf = Callable[[str, str], Sequence[str]]
"""Returns the columns of a table, given its schema (empty for the current one) and name; raises KeyError."""

NamedTables = Mapping[str, Sequence[str]]
"""The columns of common tables, by lower case."""


def field_names(query: QueryTree, columns_of: ColumnsOf) -> tuple[str, ...]:
    """Return the names of the query's columns; none if they are unknown."""
    try:
        return tuple(_names(query, columns_of, {}))
    except (KeyError, RecursionError):
        return ()


def _names(query: QueryTree, columns_of: ColumnsOf, common: NamedTables) -> Iterator[str]:
    match query:
        case WithTree():
            for table in query.tables:
                # a recursive table is named by its first part
                common = {**common, table.name.lower(): table.columns or tuple(_names(table.query, columns_of, common))}
            yield from _names(query.query, columns_of, common)
        case SetOperation():
            yield from _names(query.left, columns_of, common)
        case SelectTree():
            for item in query.items:
                if isinstance(item, SelectItem):
                    yield item.name
                elif query.source is not None:
                    yield from _columns(query.source, item, columns_of, common)
        case _:
            yield from (f"column_{place}" for place in range(len(query.rows[0])))


def _columns(source: Source, star: Star, columns_of: ColumnsOf, common: NamedTables) -> Sequence[str]:
    """Return the columns of a source that `*` or `t.*` stands for."""
    match source:
        case Join():
            left, right = (_columns(side, star, columns_of, common) for side in (source.left, source.right))
            return _joined(source, left, right) if star.table is None else (*left, *right)
        case DerivedTable():
            found = source.columns or tuple(_names(source.query, columns_of, common))
            return found if _is_of(star, source.alias) else ()
        case TableSource():
            schema, name = source.name
            if not _is_of(star, source.alias or name):
                return ()
            named = None if schema else common.get(name.lower())
            return columns_of(schema, name) if named is None else named


def _is_of(star: Star, name: str) -> bool:
    return star.table is None or star.table.name.lower() == name.lower()


def _joined(join: Join, left: Sequence[str], right: Sequence[str]) -> Sequence[str]:
    """Return the columns of a join: first those that both sides share by USING or NATURAL, once."""
    other = {name.lower() for name in right}
    shared = {name.lower() for name in left} & other if join.natural else {name.lower() for name in join.using}
    if not shared:
        return (*left, *right)
    first, second = (right, left) if join.kind == "RIGHT" else (left, right)
    once = [name for name in first if name.lower() in shared]
    return (*once, *(name for name in (*first, *second) if name.lower() not in shared))
