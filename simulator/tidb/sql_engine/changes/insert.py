"""INSERT and REPLACE: the rows that a statement gives, and what becomes of those that are there.

One law: all values are found and checked before any row is written, as TiDB does it batch by batch (tidb
pkg/executor/insert_common.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SqlError
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.sql_engine.changes.assign import Assigned, Default, Value, assigned
from simulator.tidb.sql_engine.changes.cast_errors import DUPLICATE, SELECT, VALUES
from simulator.tidb.sql_engine.changes.checks import checked
from simulator.tidb.sql_engine.changes.duplicates import ignored, inserted, replaced
from simulator.tidb.sql_engine.changes.finish import finished
from simulator.tidb.sql_engine.changes.foreign_keys import ignored_orphans
from simulator.tidb.sql_engine.changes.insert_select import Selection, selected
from simulator.tidb.sql_engine.changes.on_duplicate import Updating, updated_on_duplicate
from simulator.tidb.sql_engine.errors import refused
from simulator.tidb.sql_engine.queries.expression_problems import Problems
from simulator.tidb.sql_engine.queries.queries import RowSource, columns_of, values_of
from simulator.tidb.sql_engine.storage.auto_ids import Asked
from simulator.tidb.sql_engine.storage.names import (
    MOST_WARNINGS,
    Mask,
    Warned,
    first,
    named_columns,
    partition_set,
    target,
    valid,
    where,
)
from simulator.tidb.sql_engine.storage.outcome import Outcome, Refusal
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name, key_columns
from simulator.tidb.sql_engine.storage.rows import KeyedRows, located, no_partition, put, rows_of, with_keys
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.sql_engine.storage.table_writes import Failed, Written, nothing_written, sliced
from simulator.tidb.syntax.dml import Assignment, DefaultValue, Insert
from simulator.tidb.syntax.expressions import Node, names_in

Values = dict[str, Value]


def insert(statement: Insert, upstream: Upstream, now_ms: int) -> Outcome | Refusal:
    """What INSERT or REPLACE comes to, in the open transaction or in a new one.

    Raises SqlError for values; they are looked at before the rows get their ids. Whatever is refused after that has
    used them up (tidb pkg/executor/insert_common.go, lazyAdjustAutoIncrementDatum; pkg/table/tables, AddRecord).
    """
    table = target(upstream, statement.table, "replace into" if statement.replace else "insert into")
    columns = assigned_columns(statement, table)
    problems = Problems(upstream.session, writing=True, ignore=statement.ignore)
    given, rows, query = _given(statement, table, columns, upstream, now_ms, problems)
    way = VALUES if statement.query is None else SELECT
    asked = Asked(updates=bool(statement.on_duplicate), one_by_one=statement.query is not None)
    made = assigned(table, given, rows, upstream, now_ms, ignore=statement.ignore, asked=asked, way=way)
    written = nothing_written(upstream, table, now_ms, made.counters, Warned(made.warnings))
    if made.error is not None:
        if not statement.ignore or statement.on_duplicate or made.error.number != 1467:
            return _refused(made.error, upstream, written, made)
        return finished(upstream, (replace(written, warned=written.warned.also(made.error)),), now_ms)
    try:
        written = _written(statement, written, made, rows, query, upstream, now_ms, problems)
        return finished(upstream, (written,), now_ms, made.last_insert_id, problems.warnings)
    except Failed as failure:
        return _refused(failure.error, upstream, replace(written, counters=failure.counters, added=failure.added), made)
    except SqlError as error:
        return _refused(error, upstream, written, made)


def _refused(error: SqlError, upstream: Upstream, written: Written, made: Assigned) -> Refusal:
    """What a statement that is refused has used up, and LAST_INSERT_ID() if a row had come."""
    behind = put(upstream, replace(rows_of(upstream, written.stored.table), counters=written.counters))
    if written.added and made.last_insert_id:
        behind = replace(behind, session=replace(behind.session, last_insert_id=made.last_insert_id))
    return Refusal(error, behind)


def _written(
    statement: Insert,
    written: Written,
    made: Assigned,
    rows: int,
    query: Selection | None,
    upstream: Upstream,
    now_ms: int,
    problems: Problems,
) -> Written:
    """The rows of the statement among those that are there. Raises Failed and SqlError."""
    table = written.stored.table
    partitions = partition_set(table, statement.partitions) if statement.partitions else None
    fresh, fits, errors = _keyed(table, made.texts, rows, partitions, {} if query is None else query.texts)
    if errors and not statement.ignore:
        if statement.on_duplicate or statement.replace or not fits[0]:
            raise errors[0]
        before = checked(sliced(fresh, 0, first(~fits)), table, upstream, now_ms)
        raise replace(inserted(written, before), counters=written.numbered(fresh)[1]).failed(errors[0])
    fresh = checked(fresh, table, upstream, now_ms)
    if statement.on_duplicate:
        names = {_assigned_column(each, table).name for each in statement.on_duplicate}
        updating = _updating(statement, table, query, upstream, now_ms, problems)
        return updated_on_duplicate(written, fresh, updating, names, statement.ignore)
    if statement.ignore:
        fresh, orphaned = ignored_orphans(upstream, table, fresh)
        return ignored(replace(written, warned=written.warned.also(*errors, *orphaned)), fresh)
    return (replaced if statement.replace else inserted)(written, fresh)


def assigned_columns(statement: Insert, table: Table) -> list[Column]:
    """The columns that values are for. Raises SqlError 1054, 1110 and 1136 for rows of another length."""
    if statement.columns is None:
        columns = list(table.columns)
    else:
        columns = named_columns(table, statement.columns)
    for row, nodes in enumerate(statement.rows or (), 1):
        if len(nodes) != len(columns) and (nodes or statement.columns):
            raise refused(1136, row)
    return columns


def _given(
    statement: Insert, table: Table, columns: Sequence[Column], upstream: Upstream, now_ms: int, problems: Problems
) -> tuple[Values, int, Selection | None]:
    """Raw values by column, how many rows there are, and the query that gives them."""
    if statement.query is not None:
        updates = [each.value for each in statement.on_duplicate]
        query = selected(statement.query, columns, updates, table, upstream, now_ms, problems)
        return dict(query.values), query.rows, query
    rows = statement.rows or ()
    if not any(rows):
        return {}, len(rows), None
    full = [row or (DefaultValue(),) * len(columns) for row in rows]
    found: Values = {}
    values = columns_of(full, columns, upstream, now_ms, table, problems)
    for column, value in zip(columns, values, strict=True):
        everywhere = value.default is not None and pc.all(value.default).as_py()
        found[column.name] = Default() if everywhere else value
    return found, len(rows), None


def _keyed(
    table: Table,
    texts: Mapping[str, pa.Array],
    rows: int,
    allowed: Sequence[int] | None,
    beside: Mapping[str, pa.Array],
) -> tuple[KeyedRows, Mask, list[SqlError]]:
    """New rows with their keys and with cells `beside` them; which rows they are, and the errors of those that no
    partition takes, or none of `allowed`."""
    numbers = None if table.clustered else pa.array(np.zeros(rows, np.int64))
    if table.partitioning is None:
        return _with_cells(with_keys(table, texts, numbers), beside), np.ones(rows, np.bool_), []
    ordinals = located(table, texts)
    taken = valid(ordinals)
    fits: Mask = taken & np.isin(ordinals.fill_null(-1).to_numpy(), allowed) if allowed is not None else taken
    errors = []
    if not fits.all():
        for row in np.flatnonzero(~fits)[:MOST_WARNINGS].tolist():
            errors.append(refused(1748) if taken[row] else no_partition(table, texts, row))
        kept = where(fits)
        texts = {column.name: texts[column.name].take(kept) for column in visible_columns(table)}
        beside = {name: cells.take(kept) for name, cells in beside.items()}
        numbers, ordinals = None if numbers is None else numbers.take(kept), ordinals.take(kept)
    return _with_cells(with_keys(table, texts, numbers, ordinals), beside), fits, errors


def _with_cells(rows: KeyedRows, beside: Mapping[str, pa.Array]) -> KeyedRows:
    return replace(rows, texts={**rows.texts, **beside}) if beside else rows


# -- ON DUPLICATE KEY UPDATE -------------------------------------------------------------------------------------------


class Assigning(NamedTuple):
    column: Column
    value: Node


def _updating(
    statement: Insert, table: Table, query: Selection | None, upstream: Upstream, now_ms: int, problems: Problems
) -> Updating:
    """What the clause makes of stored rows: its assignments take effect from left to right (tidb
    pkg/executor/insert.go, doDupRowUpdate)."""
    assignments = [Assigning(_assigned_column(each, table), each.value) for each in statement.on_duplicate]
    named = {each.column.name for each in assignments}

    def updating(old: KeyedRows, new: KeyedRows) -> KeyedRows:
        texts = dict(old.texts)
        for group in _groups(assignments):
            known = () if query is None else query.known
            fresh = RowSource(table, new.texts, known=known, inserted=True)
            beside = query.beside if query is not None else None
            sources = (
                [RowSource(table, texts), fresh]
                if beside is None or query is None
                else [RowSource(table, texts), RowSource(beside, new.texts, known=query.called), fresh]
            )
            values = given_values(group, upstream, now_ms, sources, len(old), problems)
            texts = assigned(
                table,
                values,
                len(old),
                upstream,
                now_ms,
                ignore=statement.ignore,
                existing=texts,
                named=named,
                way=DUPLICATE,
            ).texts
        return checked(rekeyed(table, old, texts), table, upstream, now_ms)

    return updating


def _assigned_column(each: Assignment, table: Table) -> Column:
    *qualifier, name = each.column.parts
    column = columns_by_name(table).get(name.lower())
    if column is None or qualifier and qualifier[-1].lower() != table.name.lower():
        raise refused(1054, ".".join(each.column.parts), "field list")
    return column


def _groups(assignments: Sequence[Assigning]) -> list[list[Assigning]]:
    """Assignments that take effect together: none names a column that one before it in its group assigns."""
    groups: list[list[Assigning]] = [[]]
    for each in assignments:
        named = {node.parts[-1].lower() for node in names_in(each.value)}
        assigned_before = {other.column.name.lower() for other in groups[-1]}
        if named & assigned_before or each.column.name.lower() in assigned_before:
            groups.append([])
        groups[-1].append(each)
    return groups


def given_values(
    assignments: Sequence[Assigning],
    upstream: Upstream,
    now_ms: int,
    sources: Sequence[RowSource],
    rows: int,
    problems: Problems,
) -> Values:
    """Raw values of assignments over the rows of sources."""
    plain = [each for each in assignments if not is_default(each.value)]
    values = values_of(
        [each.value for each in plain], [each.column for each in plain], upstream, now_ms, sources, rows, problems
    )
    found: Values = {each.column.name: value for each, value in zip(plain, values, strict=True)}
    return {each.column.name: found.get(each.column.name, Default()) for each in assignments}


def is_default(value: Node) -> bool:
    """Whether it is DEFAULT without a column."""
    return isinstance(value, DefaultValue) and value.column is None


def rekeyed(table: Table, old: KeyedRows, texts: Mapping[str, pa.Array]) -> KeyedRows:
    """Changed rows with their keys; those keys stay whose columns do."""
    if all(texts[name] is old.texts[name] for name in key_columns(table)):
        return replace(old, texts={column.name: texts[column.name] for column in visible_columns(table)})
    return with_keys(table, texts, old.row_ids)
