"""INSERT and REPLACE: the rows that a statement gives, and what becomes of those that are there.

One law: all values are found and checked before any row is written, as TiDB does it batch by batch (tidb
pkg/executor/insert_common.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SqlError
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.partitions import locate_partition
from simulator.tidb.syntax.expressions import ColumnName, Node, names_in
from simulator.tidb.syntax.queries import DerivedTable, QueryTree
from simulator.tidb.syntax.rows import Assignment, DefaultValue, Insert
from simulator.tidb.upstream import auto_ids
from simulator.tidb.upstream.assign import Assigned, Default, Value, assigned
from simulator.tidb.upstream.duplicates import Updating, Written, ignored, inserted, replaced, updated_on_duplicate
from simulator.tidb.upstream.misfits import DUPLICATE, SELECT, VALUES
from simulator.tidb.upstream.outcome import Outcome, Refusal
from simulator.tidb.upstream.problems import Problems
from simulator.tidb.upstream.queries import RowSource, columns_of, matching, values_of
from simulator.tidb.upstream.refusals import refused
from simulator.tidb.upstream.state import StoredRows, Upstream
from simulator.tidb.upstream.stored import KeyedRows, no_partition, put, rows_of, with_keys
from simulator.tidb.upstream.targets import (
    MOST_WARNINGS,
    Mask,
    Warned,
    named_columns,
    partition_set,
    target,
    valid,
    where,
)
from simulator.tidb.upstream.unique import columns_by_name, key_columns
from simulator.tidb.upstream.writing import finished

Values = dict[str, Value]


def insert(statement: Insert, upstream: Upstream, now_ms: int) -> Outcome | Refusal:
    """What INSERT or REPLACE comes to, in the open transaction or in a new one.

    Raises SqlError for values; they are looked at before the rows get their ids. Whatever is refused after that has
    used them up (tidb pkg/executor/insert_common.go, lazyAdjustAutoIncrementDatum; pkg/table/tables, AddRecord).
    """
    table = target(upstream, statement.table, "replace into" if statement.replace else "insert into")
    columns = _columns(statement, table)
    problems = Problems(upstream.session, writing=True, ignore=statement.ignore)
    given, rows = _given(statement, table, columns, upstream, now_ms, problems)
    way = VALUES if statement.query is None else SELECT
    made = assigned(table, given, rows, upstream, now_ms, ignore=statement.ignore, way=way)
    stored, used = rows_of(upstream, table), made.counters
    try:
        partitions = partition_set(table, statement.partitions) if statement.partitions else None
        fresh, skipped = _keyed(table, made.texts, rows, partitions, statement.ignore)
        if not (table.clustered or statement.on_duplicate or statement.replace):
            used = _numbering(table, upstream, now_ms, rows, used)[1]
        return _written(statement, table, made, fresh, skipped, stored, upstream, now_ms, problems)
    except SqlError as error:
        return Refusal(error, put(upstream, replace(stored, next_auto=used.auto, next_row_id=used.row_id)))


def _written(
    statement: Insert, table: Table, made: Assigned, fresh: KeyedRows, skipped: Sequence[SqlError], stored: StoredRows,
    upstream: Upstream, now_ms: int, problems: Problems,
) -> Outcome:
    """The rows of the statement among those that are there. Raises SqlError."""
    numbering = partial(_numbering, table, upstream, now_ms)
    written = Written(stored, made.counters, numbering, warned=Warned(made.warnings).also(*skipped))
    if statement.on_duplicate:
        updating = _updating(statement, table, upstream, now_ms, problems)
        written = updated_on_duplicate(written, fresh, updating, statement.ignore)
    else:
        written = (replaced if statement.replace else ignored if statement.ignore else inserted)(written, fresh)
    return finished(upstream, (written,), now_ms, made.last_insert_id, problems.warnings)


def _numbering(
    table: Table, upstream: Upstream, now_ms: int, rows: int, before: auto_ids.Counters
) -> tuple[auto_ids.Ids, auto_ids.Counters]:
    return auto_ids.row_ids(table, rows, upstream, before, now_ms)


def _columns(statement: Insert, table: Table) -> list[Column]:
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
) -> tuple[Values, int]:
    """Raw values by column, and how many rows there are."""
    if statement.query is not None:
        return _selected(statement.query, columns, upstream, now_ms, problems)
    rows = statement.rows or ()
    if not any(rows):
        return {}, len(rows)
    full = [row or (DefaultValue(),) * len(columns) for row in rows]
    found: Values = {}
    values = columns_of(full, columns, upstream, now_ms, table, problems)
    for column, value in zip(columns, values, strict=True):
        everywhere = value.default is not None and pc.all(value.default).as_py()
        found[column.name] = Default() if everywhere else value
    return found, len(rows)


def _selected(
    query: QueryTree, columns: Sequence[Column], upstream: Upstream, now_ms: int, problems: Problems
) -> tuple[Values, int]:
    """The rows of a query as values for columns. Raises SqlError 1136 for another number of columns."""
    names = tuple(f"column {place}" for place in range(len(columns)))
    wanted: dict[str, Node] = {name: ColumnName((name,)) for name in names}
    source = DerivedTable(query, "selected rows", names)
    try:
        targets = dict(zip(names, columns, strict=True))
        found = matching(source, None, (), None, upstream, now_ms, wanted, targets, problems=problems)
    except SqlError as error:
        raise refused(1136, 1) if error.number == 1353 else error from None
    values: Values = {column.name: found.values[name] for name, column in zip(names, columns, strict=True)}
    return values, len(next(iter(found.values.values())))


def _keyed(
    table: Table, texts: Mapping[str, pa.Array], rows: int, allowed: Sequence[int] | None, ignore: bool
) -> tuple[KeyedRows, list[SqlError]]:
    """New rows with their keys, and with IGNORE the errors of those that no partition takes, or none of `allowed`."""
    numbers = None if table.clustered else pa.array(np.zeros(rows, np.int64))
    if table.partitioning is None:
        return with_keys(table, texts, numbers), []
    ordinals = locate_partition(table, texts)
    taken = valid(ordinals)
    fits: Mask = taken & np.isin(ordinals.fill_null(-1).to_numpy(), allowed) if allowed is not None else taken
    errors = []
    if not fits.all():
        for row in np.flatnonzero(~fits)[:MOST_WARNINGS].tolist():
            errors.append(refused(1748) if taken[row] else no_partition(table, texts, row))
        if not ignore:
            raise errors[0]
        kept = where(fits)
        texts = {column.name: texts[column.name].take(kept) for column in visible_columns(table)}
        numbers, ordinals = None if numbers is None else numbers.take(kept), ordinals.take(kept)
    return with_keys(table, texts, numbers, ordinals), errors


# -- ON DUPLICATE KEY UPDATE -------------------------------------------------------------------------------------------


class Assigning(NamedTuple):
    column: Column
    value: Node


def _updating(
    statement: Insert, table: Table, upstream: Upstream, now_ms: int, problems: Problems
) -> Updating:
    """What the clause makes of stored rows: its assignments take effect from left to right (tidb
    pkg/executor/insert.go, doDupRowUpdate)."""
    known = columns_by_name(table)
    assignments = []
    for each in statement.on_duplicate:
        assignments.append(Assigning(_assigned_column(each, table), each.value))
    alias, named = statement.alias, {each.column.name for each in assignments}
    called = dict(zip(statement.alias_columns, statement.columns or (column.name for column in table.columns)))
    names = {name: known[column.lower()].name for name, column in called.items()}

    def updating(old: KeyedRows, new: KeyedRows) -> KeyedRows:
        texts = dict(old.texts)
        for group in _groups(assignments):
            sources = (
                RowSource(table, texts), RowSource(table, new.texts, alias=alias, names=names, inserted=True))
            values = given_values(group, upstream, now_ms, sources, len(old), problems)
            texts = assigned(
                table, values, len(old), upstream, now_ms, ignore=statement.ignore, existing=texts, named=named,
                way=DUPLICATE).texts
        return rekeyed(table, old, texts)

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
    assignments: Sequence[Assigning], upstream: Upstream, now_ms: int, sources: Sequence[RowSource], rows: int,
    problems: Problems,
) -> Values:
    """Raw values of assignments over the rows of sources."""
    plain = [each for each in assignments if not is_default(each.value)]
    values = values_of(
        [each.value for each in plain], [each.column for each in plain], upstream, now_ms, sources, rows, problems)
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
