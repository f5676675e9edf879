"""UPDATE and DELETE.

Every expression sees the rows as they were before the statement, also the columns that the statement assigns (TiDB's
documentation, "MySQL compatibility": UPDATE takes the original values).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places
from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.datums.columns import cast_column
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family
from simulator.tidb.sql_engine.changes.assign import DefaultMarker, assign_values
from simulator.tidb.sql_engine.changes.constraints import check_rows, finish_statement
from simulator.tidb.sql_engine.changes.duplicates import update_stored_rows
from simulator.tidb.sql_engine.changes.insert import Inputs, is_default, rekey_rows
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.queries.match_rows import MatchedRows, match_rows
from simulator.tidb.sql_engine.queries.statement_evaluation import ExpressionProblems
from simulator.tidb.sql_engine.sessions.clock import session_mode
from simulator.tidb.sql_engine.storage.names import (
    Warnings,
    is_row_id,
    mask_places,
    resolve_partitions,
    resolve_table,
    row_id_write_error,
    valid_mask,
)
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name, partition_ordinals
from simulator.tidb.sql_engine.storage.rows import (
    no_partition_error,
    put_rows,
    table_rows,
    take_rows,
    take_stored,
    try_locate_partitions,
)
from simulator.tidb.sql_engine.storage.state import StatementOutcome, StoredRows, Upstream
from simulator.tidb.sql_engine.storage.table_writes import (
    NO_PLACES,
    PartialWriteError,
    TableWrites,
    rows_differ,
    start_writes,
)


@dataclass(frozen=True)
class SourceTable:
    """A base table of a statement's FROM clause."""

    alias: str
    schema: str
    """Empty if the table has an alias."""

    table: Table


def update(statement: syntax.Update, upstream: Upstream, now_ms: int) -> StatementOutcome:
    """Execute UPDATE in the open transaction or in a new one. Raises SqlError."""
    common = () if statement.common is None else tuple(each.name.lower() for each in statement.common.tables)
    tables = list(source_tables(statement.source, upstream, "UPDATE", common))
    derived = dict(derived_columns(statement.source))
    assignments = [(*_resolve_assignment(each.column, tables, derived), each.value) for each in statement.assignments]
    plain = {str(place): value for place, (_, _, value) in enumerate(assignments) if not is_default(value)}
    targets = {str(place): column for place, (_, column, _) in enumerate(assignments)}
    upstream = with_sorted_rows(upstream, tables)
    problems = ExpressionProblems(upstream.session, writing=True, ignore=statement.ignore)
    matches = _match_statement(statement, upstream, now_ms, problems, plain, targets)
    written = []
    matched = 0
    changes = dict.fromkeys(named.alias for named, _, _ in assignments)
    _reject_repeated([named for named in tables if named.alias in changes])
    for alias in changes:
        named = next(named for named in tables if named.alias == alias)
        values: Inputs = {}
        for place, (other, column, value) in enumerate(assignments):
            if other is named:
                values[column.name] = DefaultMarker() if is_default(value) else matches.values[str(place)]
        places = matched_places(matches, named)
        matched += pc.count_distinct(places).as_py()
        if isinstance(statement.source, syntax.TableSource) and is_point(statement.where, named.table):
            values = _cast_to_times(values, named.table, upstream, now_ms, statement.ignore)
        try:
            written.append(_update_table(named, values, places, upstream, now_ms, statement.ignore))
        except PartialWriteError as failure:
            raise failure.error from None
    outcome = finish_statement(upstream, written, now_ms, warnings=problems.warnings)
    return replace(outcome, matched=matched)


def is_point(where: syntax.Node | None, table: Table) -> bool:
    """Return whether a condition is `column = literal` for all columns of the primary key or of a unique key, and no more
    (tidb pkg/planner/core/point_get_plan.go, tryPointGetPlan)."""
    keys = [table.primary_key, *(tuple(part.name for part in index.columns) for index in table.indexes if index.unique)]
    return where is not None and tuple(sorted(_equal_columns(where))) in [
        tuple(sorted(name.lower() for name in key)) for key in keys if key
    ]


def _equal_columns(where: syntax.Node) -> list[str]:
    match where:
        case syntax.Parenthesised():
            return _equal_columns(where.inner)
        case syntax.Binary("AND"):
            return [*_equal_columns(where.left), *_equal_columns(where.right)]
        case syntax.Binary("=", syntax.ColumnName() as column, syntax.Literal()):
            return [column.parts[-1].lower()]
        case syntax.Binary("=", syntax.Literal(), syntax.ColumnName() as column):
            return [column.parts[-1].lower()]
    return [""]


def _cast_to_times(
    values: Mapping[str, pa.Array | DefaultMarker], table: Table, upstream: Upstream, now_ms: int, ignore: bool
) -> Inputs:
    """Return the values of an UPDATE of one row by its key, which TiDB casts by CAST: what is no date is NULL in lenient
    modes, not zero (tidb pkg/planner/core/point_get_plan.go, buildOrderedList)."""
    mode, cast = session_mode(upstream.session, now_ms, ignore), dict(values)
    for column in table.columns if mode.lenient else ():
        value = values.get(column.name)
        if value is None or isinstance(value, DefaultMarker) or family(column.type) not in ("date", "datetime"):
            continue
        wrong = {
            misfit.row for misfit in cast_column(column, value, mode).misfits if misfit.problem.name == "wrong value"
        }
        if wrong:
            cast[column.name] = value.take(
                pa.array([None if row in wrong else row for row in range(len(value))], pa.int64())
            )
    return cast


def _match_statement(
    statement: syntax.Update | syntax.Delete,
    upstream: Upstream,
    now_ms: int,
    problems: ExpressionProblems,
    values: Mapping[str, syntax.Node] = {},
    targets: Mapping[str, Column] = {},
) -> MatchedRows:
    selection = statement.source, statement.where, statement.order, statement.limit
    return match_rows(*selection, upstream, now_ms, values, targets, statement.common, problems)


def _update_table(
    named: SourceTable,
    values: Mapping[str, pa.Array | DefaultMarker],
    places: pa.Array,
    upstream: Upstream,
    now_ms: int,
    ignore: bool,
) -> TableWrites:
    """Update the rows of one table. A row that the source has several times gets the first values that change it."""
    table, stored = named.table, table_rows(upstream, named.table)
    has_row = valid_mask(places)
    if not has_row.all():
        indices = mask_places(has_row)
        places = places.take(indices)
        values = {
            name: value if isinstance(value, DefaultMarker) else value.take(indices) for name, value in values.items()
        }
    at = np.asarray(places, np.int64)
    old = take_stored(stored, at)
    texts, effects = assign_values(table, values, len(at), upstream, now_ms, ignore=ignore, existing=old.texts)
    unplaced: list[SqlError] = []
    if ignore and table.partitioning is not None:
        fits = valid_mask(try_locate_partitions(table, texts))
        unplaced = [no_partition_error(table, texts, int(row)) for row in np.flatnonzero(~fits)]
        at, old = at[fits], take_rows(old, mask_places(fits))
        texts = {name: cells.take(mask_places(fits)) for name, cells in texts.items()}
    new = rekey_rows(table, old, texts)
    if len(np.unique(at)) < len(at):
        differs = np.flatnonzero(rows_differ(table, old, new))
        _, firsts = np.unique(at[differs], return_index=True)
        chosen = np.sort(differs[firsts])
        at, new = at[chosen], take_rows(new, pa.array(chosen))
    start = start_writes(upstream, table, now_ms, effects.counters, Warnings(effects.warnings).also(*unplaced))
    return update_stored_rows(start, at, check_rows(new, table, upstream, now_ms), ignore)


def _reject_repeated(tables: Sequence[SourceTable]) -> None:
    places = [object_key(named.table.schema, named.table.name) for named in tables]
    twice = next((named for named, place in zip(tables, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        raise sql_error(
            1105,
            f"UPDATE of `{twice.table.name}` under several aliases is not simulated; "
            "columns of one alias of a table are accepted",
        )


# -- the tables and columns of a source --------------------------------------------------------------------------------


def source_tables(
    source: syntax.Source, upstream: Upstream, verb: str, common: Sequence[str] = ()
) -> Iterator[SourceTable]:
    """Yield the base tables of a source, without those of WITH (`common`). Raises SqlError."""
    if isinstance(source, syntax.Join):
        yield from source_tables(source.left, upstream, verb, common)
        yield from source_tables(source.right, upstream, verb, common)
    elif isinstance(source, syntax.TableSource):
        name = source.name
        if not name.schema and name.name.lower() in common:
            return
        schema = name.schema or upstream.session.database
        if verb or upstream.catalog.table(schema, name.name) is not None:
            yield SourceTable(
                source.alias or name.name, "" if source.alias else schema, resolve_table(upstream, name, verb)
            )
    else:
        assert isinstance(source, syntax.DerivedTable)


def derived_columns(source: syntax.Source) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the aliases of a source's queries, with the names of their columns as far as the text has them."""
    if isinstance(source, syntax.Join):
        yield from derived_columns(source.left)
        yield from derived_columns(source.right)
    elif isinstance(source, syntax.DerivedTable):
        items = source.query.items if isinstance(source.query, syntax.SelectTree) else ()
        names = source.columns or tuple(item.name for item in items if isinstance(item, syntax.SelectItem))
        yield source.alias.lower(), tuple(name.lower() for name in names)


def with_sorted_rows(upstream: Upstream, tables: Sequence[SourceTable]) -> Upstream:
    """Return the upstream with the tables' rows in the order of TiKV, so that positions match those of a query."""
    stored: dict[Key, Table] = {object_key(named.table.schema, named.table.name): named.table for named in tables}
    return put_rows(upstream, *(table_rows(upstream, table) for table in stored.values()))


def _resolve_assignment(
    node: syntax.ColumnName, tables: Sequence[SourceTable], derived: Mapping[str, Sequence[str]]
) -> tuple[SourceTable, Column]:
    """Return the table and the column of an assignment. Raises SqlError 1054, 1052, and 1288 for a column of a query."""
    *qualifier, name = node.parts
    candidates = [
        (named, columns_by_name(named.table)[name.lower()])
        for named in tables
        if name.lower() in columns_by_name(named.table) and is_table_qualifier(qualifier, named)
    ]
    for alias, columns in derived.items() if not candidates else ():
        if qualifier == [alias] or not qualifier and name.lower() in columns:
            raise sql_error(1288, alias, "UPDATE")
    if not candidates:
        if any(is_row_id(name, named.table) and is_table_qualifier(qualifier, named) for named in tables):
            raise row_id_write_error()
        raise sql_error(1054, ".".join(node.parts), "field list")
    if len(candidates) > 1:
        raise sql_error(1052, ".".join(node.parts), "field list")
    return candidates[0]


def is_table_qualifier(qualifier: Sequence[str], named: SourceTable) -> bool:
    """Return whether the parts before a column's name mean a table."""
    if not qualifier:
        return True
    if qualifier[-1].lower() != named.alias.lower():
        return False
    return len(qualifier) == 1 or qualifier[0].lower() == named.schema.lower()


def resolve_target(name: syntax.TableName, tables: Sequence[SourceTable]) -> SourceTable:
    """Return the table that DELETE names. Raises SqlError 1109."""
    qualifier = (name.schema, name.name) if name.schema else (name.name,)
    table = next((named for named in tables if is_table_qualifier(qualifier, named)), None)
    if table is None:
        raise sql_error(1109, name.name, "MULTI DELETE")
    return table


def matched_places(matches: MatchedRows, named: SourceTable) -> pa.Array:
    """Return the int64 positions of a table's matched rows, null if an outer join has no row."""
    for each in matches.tables:
        if each.alias.lower() == named.alias.lower() and each.table is named.table:
            return each.places
    raise AssertionError(f"the source has {named.alias}")


def delete(statement: syntax.Delete, upstream: Upstream, now_ms: int) -> StatementOutcome:
    """Execute DELETE in the open transaction or in a new one. Each matched row is deleted once. Raises SqlError."""
    tables = list(source_tables(statement.source, upstream, "delete"))
    derived = dict(derived_columns(statement.source))
    for name in statement.targets:
        if not name.schema and name.name.lower() in derived:
            raise sql_error(1288, name.name, "DELETE")
    chosen = [resolve_target(name, tables) for name in statement.targets] or tables[:1]
    upstream = with_sorted_rows(upstream, tables)
    partitions = resolve_partitions(chosen[0].table, statement.partitions) if statement.partitions else None
    if partitions is not None and statement.limit is not None:
        raise sql_error(1105, "DELETE FROM … PARTITION with LIMIT is not simulated; it is accepted without LIMIT")
    problems = ExpressionProblems(upstream.session, writing=True, ignore=statement.ignore)
    matches = _match_statement(statement, upstream, now_ms, problems)
    written = []
    for table in dict.fromkeys(named.table for named in chosen):
        stored = table_rows(upstream, table)
        parts = [matched_places(matches, named) for named in chosen if named.table is table]
        places = np.unique(
            np.concatenate([np.asarray(part.take(mask_places(valid_mask(part))), np.int64) for part in parts])
        )
        if partitions is not None:
            places = _in_partitions(stored, places, partitions)
        start = start_writes(upstream, table, now_ms)
        written.append(start.with_change(places, take_stored(stored, NO_PLACES), 0, len(places)))
    return finish_statement(upstream, written, now_ms, warnings=problems.warnings)


def _in_partitions(stored: StoredRows, places: Places, partitions: list[int]) -> Places:
    """Return the positions whose rows are in some partitions."""
    assert stored.keys is not None
    ordinals = partition_ordinals(stored.table, stored.keys.handles.take(pa.array(places)))
    return places[np.isin(ordinals.to_numpy(), partitions)]
