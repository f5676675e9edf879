"""INSERT and REPLACE.

All values are computed and checked before any row is written, as TiDB does it batch by batch (tidb
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
from simulator.tidb.sql_engine.changes.assign import AssignmentEffects, ColumnInput, DefaultMarker, assign_values
from simulator.tidb.sql_engine.changes.casting import DUPLICATE, SELECT, VALUES
from simulator.tidb.sql_engine.changes.constraints import check_rows, drop_orphans, finish_statement
from simulator.tidb.sql_engine.changes.duplicates import (
    UpdateRows,
    insert_ignore,
    insert_or_fail,
    replace_existing,
    update_on_duplicate,
)
from simulator.tidb.sql_engine.changes.insert_rows import SelectedRows, evaluate_rows, select_rows
from simulator.tidb.sql_engine.errors import not_simulated, sql_error
from simulator.tidb.sql_engine.queries.evaluate import RowSource, evaluate
from simulator.tidb.sql_engine.queries.statement_evaluation import ExpressionProblems
from simulator.tidb.sql_engine.storage.array_keys import ArrayDuplicateError
from simulator.tidb.sql_engine.storage.auto_ids import IdRequest, auto_column
from simulator.tidb.sql_engine.storage.names import (
    MAX_WARNINGS,
    Mask,
    Warnings,
    first_place,
    mask_places,
    resolve_columns,
    resolve_partitions,
    resolve_table,
    valid_mask,
)
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name, key_columns
from simulator.tidb.sql_engine.storage.rows import (
    KeyedRows,
    check_entries,
    key_rows,
    no_partition_error,
    put_rows,
    table_rows,
    try_locate_partitions,
)
from simulator.tidb.sql_engine.storage.state import FailedStatement, StatementOutcome, Upstream
from simulator.tidb.sql_engine.storage.table_writes import PartialWriteError, TableWrites, slice_rows, start_writes
from simulator.tidb.syntax.dml import Assignment, DefaultValue, Insert
from simulator.tidb.syntax.expressions import Node, names_in

Inputs = dict[str, ColumnInput]


def insert(statement: Insert, upstream: Upstream, now_ms: int) -> StatementOutcome | FailedStatement:
    """Execute INSERT or REPLACE in the open transaction or in a new one.

    Raises SqlError for values, which are checked before rows get their ids. A statement that is refused later has used
    up its ids (tidb pkg/executor/insert_common.go, lazyAdjustAutoIncrementDatum; pkg/table/tables, AddRecord).
    """
    table = resolve_table(upstream, statement.table, "replace into" if statement.replace else "insert into")
    columns = assigned_columns(statement, table)
    problems = ExpressionProblems(upstream.session, writing=True, ignore=statement.ignore)
    inputs, default_rows, rows, query = _input_values(statement, table, columns, upstream, now_ms, problems)
    origin = VALUES if statement.query is None else SELECT
    id_request = IdRequest(updates=bool(statement.on_duplicate), one_by_one=statement.query is not None)
    texts, effects = assign_values(
        table,
        inputs,
        rows,
        upstream,
        now_ms,
        ignore=statement.ignore,
        id_request=id_request,
        origin=origin,
        default_rows=default_rows,
    )
    written = start_writes(upstream, table, now_ms, effects.counters, Warnings(effects.warnings))
    if effects.error is not None:
        if not statement.ignore or statement.on_duplicate or effects.error.number != 1467:
            return _failed(effects.error, upstream, written, effects)
        return finish_statement(upstream, (replace(written, warned=written.warned.also(effects.error)),), now_ms)
    try:
        written = _write_rows(statement, written, texts, rows, query, upstream, now_ms, problems)
        outcome = finish_statement(upstream, (written,), now_ms, effects.last_insert_id, problems.warnings)
        return replace(outcome, matched=rows, insert_id=_insert_id(table, texts, effects))
    except PartialWriteError as failure:
        return _failed(
            failure.error, upstream, replace(written, counters=failure.counters, added=failure.added), effects
        )
    except SqlError as error:
        may_go_on = statement.replace or statement.ignore or statement.on_duplicate
        if may_go_on and isinstance(error, ArrayDuplicateError):
            error = not_simulated(f"a multi-valued index in REPLACE, IGNORE and ON DUPLICATE KEY: {error}")
        return _failed(error, upstream, written, effects)


def _insert_id(table: Table, texts: Mapping[str, pa.Array], effects: AssignmentEffects) -> int:
    """Return the first id that the statement generated, or else its last explicit one (tidb pkg/session, LastInsertID)."""
    column = auto_column(table)
    if effects.last_insert_id is not None or column is None or not len(texts[column.name]):
        return effects.last_insert_id or 0
    return int(float(texts[column.name][-1].as_py() or 0))


def _failed(error: SqlError, upstream: Upstream, written: TableWrites, effects: AssignmentEffects) -> FailedStatement:
    """Return a refused statement with the ids that it used up, and LAST_INSERT_ID() if a row was inserted."""
    after = put_rows(upstream, table_rows(upstream, written.stored.table).with_counters(written.counters))
    if written.added and effects.last_insert_id:
        after = replace(after, session=replace(after.session, last_insert_id=effects.last_insert_id))
    return FailedStatement(error, after)


def _write_rows(
    statement: Insert,
    written: TableWrites,
    texts: Mapping[str, pa.Array],
    rows: int,
    query: SelectedRows | None,
    upstream: Upstream,
    now_ms: int,
    problems: ExpressionProblems,
) -> TableWrites:
    """Insert the rows of the statement, or let them update or replace existing ones. Raises PartialWriteError and
    SqlError."""
    table = written.stored.table
    partitions = resolve_partitions(table, statement.partitions) if statement.partitions else None
    new_rows, fits, errors = _locate_rows(table, texts, rows, partitions, {} if query is None else query.texts)
    if errors and not statement.ignore:
        if statement.on_duplicate or statement.replace or not fits[0]:
            raise errors[0]
        before = check_rows(slice_rows(new_rows, 0, first_place(~fits)), table, upstream, now_ms)
        raise replace(insert_or_fail(written, before), counters=written.numbered(new_rows)[1]).failed(errors[0])
    new_rows = check_rows(new_rows, table, upstream, now_ms)
    if statement.on_duplicate:
        names = {_assigned_column(each, table).name for each in statement.on_duplicate}
        updating = _duplicate_update(statement, table, query, upstream, now_ms, problems)
        return update_on_duplicate(written, new_rows, updating, names, statement.ignore)
    if statement.ignore:
        new_rows, orphaned = drop_orphans(upstream, table, new_rows)
        return insert_ignore(replace(written, warned=written.warned.also(*errors, *orphaned)), new_rows)
    return (replace_existing if statement.replace else insert_or_fail)(written, new_rows)


def assigned_columns(statement: Insert, table: Table) -> list[Column]:
    """Return the columns that get values. Raises SqlError 1054, 1110 and 1136 for rows of another length."""
    if statement.columns is None:
        columns = list(table.columns)
    else:
        columns = resolve_columns(table, statement.columns)
    for row, nodes in enumerate(statement.rows or (), 1):
        if len(nodes) != len(columns) and (nodes or statement.columns):
            raise sql_error(1136, row)
    return columns


def _input_values(
    statement: Insert,
    table: Table,
    columns: Sequence[Column],
    upstream: Upstream,
    now_ms: int,
    problems: ExpressionProblems,
) -> tuple[Inputs, Mapping[str, pa.Array], int, SelectedRows | None]:
    """Return raw values by column, which rows have DEFAULT, the number of rows, and the query that provides them."""
    if statement.query is not None:
        updates = [each.value for each in statement.on_duplicate]
        query = select_rows(statement.query, columns, updates, table, upstream, now_ms, problems)
        return dict(query.values), {}, query.rows, query
    rows = statement.rows or ()
    if not any(rows):
        return {}, {}, len(rows), None
    full = [row or (DefaultValue(),) * len(columns) for row in rows]
    values, default_rows = evaluate_rows(full, columns, upstream, now_ms, table, problems)
    everywhere = {name for name, mask in default_rows.items() if pc.all(mask).as_py()}
    inputs: Inputs = {name: DefaultMarker() if name in everywhere else value for name, value in values.items()}
    return inputs, default_rows, len(rows), None


def _locate_rows(
    table: Table,
    texts: Mapping[str, pa.Array],
    rows: int,
    allowed: Sequence[int] | None,
    beside: Mapping[str, pa.Array],
) -> tuple[KeyedRows, Mask, list[SqlError]]:
    """Return new rows with their keys and extra cells, which rows they are, and the errors of the others.

    A row has an error if no partition accepts it, or none of the `allowed` ones.
    """
    numbers = None if table.clustered else pa.array(np.zeros(rows, np.int64))
    if table.partitioning is None:
        return _with_cells(key_rows(table, texts, numbers), beside), np.ones(rows, np.bool_), []
    ordinals = try_locate_partitions(table, texts)
    has_partition = valid_mask(ordinals)
    fits: Mask = (
        has_partition & np.isin(ordinals.fill_null(-1).to_numpy(), allowed) if allowed is not None else has_partition
    )
    errors = []
    if not fits.all():
        for row in np.flatnonzero(~fits)[:MAX_WARNINGS].tolist():
            errors.append(sql_error(1748) if has_partition[row] else no_partition_error(table, texts, row))
        indices = mask_places(fits)
        texts = {column.name: texts[column.name].take(indices) for column in visible_columns(table)}
        beside = {name: cells.take(indices) for name, cells in beside.items()}
        numbers, ordinals = None if numbers is None else numbers.take(indices), ordinals.take(indices)
    return _with_cells(key_rows(table, texts, numbers, ordinals), beside), fits, errors


def _with_cells(rows: KeyedRows, beside: Mapping[str, pa.Array]) -> KeyedRows:
    return replace(rows, texts={**rows.texts, **beside}) if beside else rows


# -- ON DUPLICATE KEY UPDATE -------------------------------------------------------------------------------------------


class ColumnAssignment(NamedTuple):
    column: Column
    value: Node


def _duplicate_update(
    statement: Insert,
    table: Table,
    query: SelectedRows | None,
    upstream: Upstream,
    now_ms: int,
    problems: ExpressionProblems,
) -> UpdateRows:
    """Return the function of ON DUPLICATE KEY UPDATE. Its assignments take effect from left to right (tidb
    pkg/executor/insert.go, doDupRowUpdate)."""
    assignments = [ColumnAssignment(_assigned_column(each, table), each.value) for each in statement.on_duplicate]
    named = {each.column.name for each in assignments}

    def updating(old: KeyedRows, new: KeyedRows) -> KeyedRows:
        texts = dict(old.texts)
        for group in _independent_groups(assignments):
            new_rows = RowSource(table, new.texts, () if query is None else query.query_columns, inserted=True)
            sources = [RowSource(table, texts), new_rows]
            if query is not None and query.extra is not None:
                sources.insert(1, RowSource(query.extra, new.texts, query.extra_columns))
            values = evaluate_assignments(group, upstream, now_ms, sources, len(old), problems)
            texts, _ = assign_values(
                table,
                values,
                len(old),
                upstream,
                now_ms,
                ignore=statement.ignore,
                existing=texts,
                named=named,
                origin=DUPLICATE,
            )
        return check_rows(rekey_rows(table, old, texts), table, upstream, now_ms)

    return updating


def _assigned_column(each: Assignment, table: Table) -> Column:
    *qualifier, name = each.column.parts
    column = columns_by_name(table).get(name.lower())
    if column is None or qualifier and qualifier[-1].lower() != table.name.lower():
        raise sql_error(1054, ".".join(each.column.parts), "field list")
    return column


def _independent_groups(assignments: Sequence[ColumnAssignment]) -> list[list[ColumnAssignment]]:
    """Group assignments that take effect together: none names a column assigned earlier in its group."""
    groups: list[list[ColumnAssignment]] = [[]]
    for each in assignments:
        named = {node.parts[-1].lower() for node in names_in(each.value)}
        assigned_before = {other.column.name.lower() for other in groups[-1]}
        if named & assigned_before or each.column.name.lower() in assigned_before:
            groups.append([])
        groups[-1].append(each)
    return groups


def evaluate_assignments(
    assignments: Sequence[ColumnAssignment],
    upstream: Upstream,
    now_ms: int,
    sources: Sequence[RowSource],
    rows: int,
    problems: ExpressionProblems,
) -> Inputs:
    """Return raw values of assignments over the rows of sources."""
    plain = [each for each in assignments if not is_default(each.value)]
    values = evaluate(
        [each.value for each in plain], [each.column for each in plain], upstream, now_ms, sources, rows, problems
    )
    by_column: Inputs = {each.column.name: value for each, value in zip(plain, values, strict=True)}
    return {each.column.name: by_column.get(each.column.name, DefaultMarker()) for each in assignments}


def is_default(value: Node) -> bool:
    """Return whether a value is DEFAULT without a column."""
    return isinstance(value, DefaultValue) and value.column is None


def rekey_rows(table: Table, old: KeyedRows, texts: Mapping[str, pa.Array]) -> KeyedRows:
    """Return changed rows with their keys. Keys are kept if their columns are unchanged."""
    if all(texts[name] is old.texts[name] for name in key_columns(table)):
        check_entries(table, texts)
        return replace(old, texts={column.name: texts[column.name] for column in visible_columns(table)})
    return key_rows(table, texts, old.row_ids)
