"""UPDATE: the rows that a statement is about get other values, each once.

One law: every expression sees the rows as they were before the statement, the columns that it assigns itself included
(TiDB's documentation, "MySQL compatibility": UPDATE takes the original values).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.errors import SqlError
from simulator.tidb.ddl.catalog import Key, key
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.changes.assign import Default, assigned
from simulator.tidb.sql_engine.changes.checks import checked
from simulator.tidb.sql_engine.changes.finish import finished
from simulator.tidb.sql_engine.changes.insert import Values, is_default, rekeyed
from simulator.tidb.sql_engine.changes.update_rows import updated
from simulator.tidb.sql_engine.errors import refused
from simulator.tidb.sql_engine.queries.expression_problems import Problems
from simulator.tidb.sql_engine.queries.queries import Matched, matching
from simulator.tidb.sql_engine.storage.names import Warned, means_row_id, row_id_is_written, target, valid, where
from simulator.tidb.sql_engine.storage.outcome import Outcome
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name
from simulator.tidb.sql_engine.storage.rows import located, no_partition, put, rows_of, taken, taken_rows
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.sql_engine.storage.table_writes import Failed, Written, differ, nothing_written
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.dml import Update
from simulator.tidb.syntax.expressions import ColumnName
from simulator.tidb.syntax.queries import DerivedTable, Join, SelectItem, SelectTree, Source, TableSource


@dataclass(frozen=True)
class Named:
    """A base table of a statement's source."""

    alias: str
    schema: str
    """Empty where it has an alias."""

    table: Table


def update(statement: Update, upstream: Upstream, now_ms: int) -> Outcome:
    """What UPDATE comes to, in the open transaction or in a new one. Raises SqlError."""
    common = () if statement.common is None else tuple(each.name.lower() for each in statement.common.tables)
    tables = list(named_tables(statement.source, upstream, "UPDATE", common))
    derived = dict(derived_tables(statement.source))
    assignments = [(*_assigned(each.column, tables, derived), each.value) for each in statement.assignments]
    plain = {str(place): value for place, (_, _, value) in enumerate(assignments) if not is_default(value)}
    targets = {str(place): column for place, (_, column, _) in enumerate(assignments)}
    upstream = with_rows(upstream, tables)
    problems = Problems(upstream.session, writing=True, ignore=statement.ignore)
    found = matching(
        statement.source,
        statement.where,
        statement.order,
        statement.limit,
        upstream,
        now_ms,
        plain,
        {name: targets[name] for name in plain},
        statement.common,
        problems,
    )
    written = []
    changes = dict.fromkeys(named.alias for named, _, _ in assignments)
    _check_once([named for named in tables if named.alias in changes])
    for alias in changes:
        named = next(named for named in tables if named.alias == alias)
        values: Values = {}
        for place, (other, column, value) in enumerate(assignments):
            if other is named:
                values[column.name] = Default() if is_default(value) else found.values[str(place)]
        try:
            written.append(_updated(named, values, places_in(found, named), upstream, now_ms, statement.ignore))
        except Failed as failure:
            raise failure.error from None
    return finished(upstream, written, now_ms, warnings=problems.warnings)


def _updated(
    named: Named,
    values: Mapping[str, pa.Array | Default],
    places: pa.Array,
    upstream: Upstream,
    now_ms: int,
    ignore: bool,
) -> Written:
    """What becomes of the rows of one table. A row that the source has several times gets the first values that
    change it."""
    table, stored = named.table, rows_of(upstream, named.table)
    there = valid(places)
    if not there.all():
        kept = where(there)
        places = places.take(kept)
        values = {name: value if isinstance(value, Default) else value.take(kept) for name, value in values.items()}
    at = np.asarray(places, np.int64)
    old = taken(stored, at)
    made = assigned(table, values, len(at), upstream, now_ms, ignore=ignore, existing=old.texts)
    texts, lost = made.texts, list[SqlError]()
    if ignore and table.partitioning is not None:
        fits = valid(located(table, texts))
        lost = [no_partition(table, texts, int(row)) for row in np.flatnonzero(~fits)]
        at, old = at[fits], taken_rows(old, where(fits))
        texts = {name: cells.take(where(fits)) for name, cells in texts.items()}
    new = rekeyed(table, old, texts)
    if len(np.unique(at)) < len(at):
        differs = np.flatnonzero(differ(table, old, new))
        _, firsts = np.unique(at[differs], return_index=True)
        chosen = np.sort(differs[firsts])
        at, new = at[chosen], taken_rows(new, pa.array(chosen))
    start = nothing_written(upstream, table, now_ms, made.counters, Warned(made.warnings).also(*lost))
    return updated(start, at, checked(new, table, upstream, now_ms), ignore)


def _check_once(tables: Sequence[Named]) -> None:
    places = [key(named.table.schema, named.table.name) for named in tables]
    twice = next((named for named, place in zip(tables, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        raise refused(
            1105,
            f"UPDATE of `{twice.table.name}` under several aliases is not simulated; "
            "columns of one alias of a table are accepted",
        )


# -- the tables and columns of a source --------------------------------------------------------------------------------


def named_tables(source: Source, upstream: Upstream, verb: str, common: Sequence[str] = ()) -> Iterator[Named]:
    """The base tables of a source, those of WITH (`common`) left out. Raises SqlError."""
    if isinstance(source, Join):
        yield from named_tables(source.left, upstream, verb, common)
        yield from named_tables(source.right, upstream, verb, common)
    elif isinstance(source, TableSource):
        name = source.name
        if not name.schema and name.name.lower() in common:
            return
        schema = name.schema or upstream.session.database
        if verb or upstream.catalog.table(schema, name.name) is not None:
            yield Named(source.alias or name.name, "" if source.alias else schema, target(upstream, name, verb))
    else:
        assert isinstance(source, DerivedTable)


def derived_tables(source: Source) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The queries of a source by their aliases, with what their columns are called as far as the text says."""
    if isinstance(source, Join):
        yield from derived_tables(source.left)
        yield from derived_tables(source.right)
    elif isinstance(source, DerivedTable):
        items = source.query.items if isinstance(source.query, SelectTree) else ()
        names = source.columns or tuple(item.name for item in items if isinstance(item, SelectItem))
        yield source.alias.lower(), tuple(name.lower() for name in names)


def with_rows(upstream: Upstream, tables: Sequence[Named]) -> Upstream:
    """With the rows of the tables in the order of TiKV, so that places in them are what a query finds."""
    stored: dict[Key, Table] = {key(named.table.schema, named.table.name): named.table for named in tables}
    return put(upstream, *(rows_of(upstream, table) for table in stored.values()))


def _assigned(node: ColumnName, tables: Sequence[Named], derived: Mapping[str, Sequence[str]]) -> tuple[Named, Column]:
    """The table and the column that an assignment means. Raises SqlError 1054, 1052, and 1288 for one of a query."""
    *qualifier, name = node.parts
    found = [
        (named, columns_by_name(named.table)[name.lower()])
        for named in tables
        if name.lower() in columns_by_name(named.table) and means(qualifier, named)
    ]
    for alias, columns in derived.items() if not found else ():
        if qualifier == [alias] or not qualifier and name.lower() in columns:
            raise refused(1288, alias, "UPDATE")
    if not found:
        if any(means_row_id(name, named.table) and means(qualifier, named) for named in tables):
            raise row_id_is_written()
        raise refused(1054, ".".join(node.parts), "field list")
    if len(found) > 1:
        raise refused(1052, ".".join(node.parts), "field list")
    return found[0]


def means(qualifier: Sequence[str], named: Named) -> bool:
    """Whether the parts in front of a column's name mean a table."""
    if not qualifier:
        return True
    if qualifier[-1].lower() != named.alias.lower():
        return False
    return len(qualifier) == 1 or qualifier[0].lower() == named.schema.lower()


def named_target(name: TableName, tables: Sequence[Named]) -> Named:
    """The table of a source that DELETE names. Raises SqlError 1109."""
    qualifier = (name.schema, name.name) if name.schema else (name.name,)
    found = next((named for named in tables if means(qualifier, named)), None)
    if found is None:
        raise refused(1109, name.name, "MULTI DELETE")
    return found


def places_in(found: Matched, named: Named) -> pa.Array:
    """int64 places of the rows of a table that a query found, null where it has none."""
    for each in found.tables:
        if each.alias.lower() == named.alias.lower() and each.table is named.table:
            return each.places
    raise AssertionError(f"the source has {named.alias}")
