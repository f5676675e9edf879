"""Constraints: the CHECKs of a row, and at the end of a statement its foreign keys.

Foreign keys are checked, as far as TiDB checks them, once a statement has written all its rows. Cascaded changes are
checked in turn (tidb pkg/executor/foreign_key.go).

A row violates a CHECK whose condition is false, not one whose condition is unknown. A table has the CHECKs that were
defined while tidb_enable_check_constraint was on. They apply whatever the variable is later (tidb
pkg/table/tables/tables.go, CheckRowConstraint; since 7.2.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places, raw
from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.ddl.constraints.foreign_keys import referring_keys
from simulator.tidb.expressions.trees import parse_expression
from simulator.tidb.keys import encode_sort_keys
from simulator.tidb.model.table import ForeignKey, Table
from simulator.tidb.sql_engine.changes.assign import assign_values
from simulator.tidb.sql_engine.changes.duplicates import update_stored_rows
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.queries.evaluate import RowSource, evaluate
from simulator.tidb.sql_engine.sessions.transactions import add_writes, open_transaction
from simulator.tidb.sql_engine.storage.array_keys import array_indexes, check_distinct, check_values
from simulator.tidb.sql_engine.storage.names import MAX_WARNINGS, Mask, differ, mask_places, valid_mask
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name, find_keys
from simulator.tidb.sql_engine.storage.rows import (
    KeyedRows,
    column_arrays,
    key_rows,
    put_rows,
    row_writes,
    table_rows,
    take_rows,
    take_stored,
)
from simulator.tidb.sql_engine.storage.state import StatementOutcome, Upstream
from simulator.tidb.sql_engine.storage.table_writes import (
    NO_PLACES,
    PartialWriteError,
    RowDelta,
    TableWrites,
    start_writes,
)


def check_rows(rows: KeyedRows, table: Table, upstream: Upstream, now_ms: int) -> KeyedRows:
    """Return the rows with the name of the first CHECK that each violates."""
    checks = [each for each in table.checks if each.enforced]
    if not checks or not len(rows):
        return rows
    broken = [syntax.Is(parse_expression(constraint.expression), "FALSE") for constraint in checks]
    values = evaluate(broken, [None] * len(broken), upstream, now_ms, [RowSource(table, rows.texts)])
    names = pa.nulls(len(rows), pa.string())
    for check, truth in reversed([*zip(checks, values, strict=True)]):
        names = pc.if_else(pc.equal(truth.cast(pa.string()), "1"), check.name, names)
    return replace(rows, violated_checks=names) if names.null_count < len(names) else rows


def with_stored_checks(statement: syntax.Statement, table: Table, upstream: Upstream) -> Table:
    """Return a created or altered table with the CHECKs that TiDB stores."""
    forgotten = isinstance(statement, syntax.CreateTable) and not upstream.session.check_constraints
    return replace(table, checks=()) if forgotten and table.checks else table


def verify_added_checks(upstream: Upstream, before: Table | None, table: Table, now_ms: int) -> None:
    """Raise SqlError 3819 if a row violates a CHECK that ALTER TABLE adds or enforces.

    TiDB searches rows by `WHERE NOT condition` without parentheses, so NOT applies to the first operand only
    (pkg/ddl/constraint.go, verifyRemainRecordsForCheckConstraint).
    """
    if before is None or before.checks == table.checks:
        return
    stored = upstream.rows.get(object_key(table.schema, table.name))
    for check in table.checks if stored is not None and len(stored.row_ids) else ():
        if check.enforced and check not in before.checks:
            assert stored is not None
            rows = RowSource(table, column_arrays(stored.cells))
            values = evaluate(
                [syntax.Is(parse_expression(f"NOT {check.expression}"), "TRUE")], [None], upstream, now_ms, [rows]
            )
            if pc.any(pc.equal(values[0].cast(pa.string()), "1")).as_py():
                raise sql_error(3819, check.name.lower())


CASCADES = ("CASCADE", "SET NULL")

MAX_CASCADE_DEPTH = 15
"""The depth of cascades that TiDB follows (tidb pkg/executor/foreign_key.go, maxForeignKeyCascadeDepth)."""


def enforce_foreign_keys(
    upstream: Upstream, changes: Sequence[RowDelta], now_ms: int
) -> tuple[Upstream, list[RowDelta]]:
    """Return the upstream after ON DELETE and ON UPDATE, and all changes with the cascaded ones.

    Raises SqlError 1452 for a row without a parent, 1451 for a parent that rows refer to, 3008 for cascades that are
    too deep.
    """
    if not are_enforced(upstream):
        return upstream, list(changes)
    return _check_and_cascade(upstream, changes, now_ms, 1)


def are_enforced(upstream: Upstream) -> bool:
    """Return whether foreign keys are checked."""
    return upstream.session.foreign_key_checks and upstream.release.foreign_key_checks


def _check_and_cascade(
    upstream: Upstream, changes: Sequence[RowDelta], now_ms: int, depth: int
) -> tuple[Upstream, list[RowDelta]]:
    """Check the changes, then follow one cascade after another with its own cascades (tidb pkg/executor/adapter.go,
    handleForeignKeyTrigger)."""
    for change in changes:
        for foreign in change.table.foreign_keys:
            without_parent = orphan_mask(upstream, change.table, foreign, _new_children(change, foreign))
            if without_parent.any():
                raise sql_error(1452, constraint_text(change.table, foreign))
    all_changes, cascades = list(changes), []
    for change in changes:
        for child, foreign in list(referring_keys(upstream.catalog, change.table.schema, change.table.name)):
            for event in _parent_changes(change, foreign):
                if event.rule in CASCADES:
                    cascades.append((event, child, foreign))
                elif len(_referring_rows(upstream, event, child, foreign)[0]):
                    raise sql_error(1451, constraint_text(child, foreign))
    for event, child, foreign in cascades:
        if depth > MAX_CASCADE_DEPTH:
            raise SqlError(
                3008, "HY000", f"Foreign key cascade delete/update exceeds max depth of {MAX_CASCADE_DEPTH}."
            )
        upstream, cascaded = _cascade(upstream, event, child, foreign, now_ms)
        upstream, more = _check_and_cascade(upstream, cascaded, now_ms, depth + 1)
        all_changes += more
    return upstream, all_changes


def drop_orphans(upstream: Upstream, table: Table, new_rows: KeyedRows) -> tuple[KeyedRows, list[SqlError]]:
    """Return the rows of INSERT IGNORE that have a parent, and the errors of the others, which are warnings (tidb
    pkg/executor/foreign_key.go, checkRows)."""
    errors: list[SqlError] = []
    if not are_enforced(upstream):
        return new_rows, errors
    for foreign in table.foreign_keys:
        without_parent = orphan_mask(upstream, table, foreign, new_rows)
        if without_parent.any():
            errors += [sql_error(1452, constraint_text(table, foreign))] * int(without_parent.sum())
            new_rows = take_rows(new_rows, mask_places(~without_parent))
    return new_rows, errors


def _new_children(change: RowDelta, foreign: ForeignKey) -> KeyedRows:
    """Return inserted rows, and updated rows whose foreign key has changed."""
    to_check = np.ones(len(change.inserted), np.bool_)
    if change.updates:
        to_check[: change.updates] = _key_changed(change, foreign.columns)
    return change.inserted if to_check.all() else take_rows(change.inserted, mask_places(to_check))


def _key_changed(change: RowDelta, columns: Sequence[str]) -> Mask:
    """Return which updated rows have another value in a key."""
    old = _key_values(change.table, columns, change.removed.texts).slice(0, change.updates)
    new = _key_values(change.table, columns, change.inserted.texts).slice(0, change.updates)
    return differ(old, new)


def _key_values(table: Table, columns: Sequence[str], texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return the values of some columns as bytes, which are equal for equal values; null if one is NULL."""
    key_columns = [columns_by_name(table)[name.lower()] for name in columns]
    parts = [raw(encode_sort_keys(column.type, texts[column.name])) for column in key_columns]
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, b"")


def orphan_mask(upstream: Upstream, table: Table, foreign: ForeignKey, rows: KeyedRows) -> Mask:
    """Return which rows refer to a missing parent; none if the parent table is missing (tidb
    pkg/planner/core/foreign_key.go, buildFKCheckOnModifyChildTable)."""
    if not len(rows):
        return np.zeros(0, np.bool_)
    values = _key_values(table, foreign.columns, rows.texts)
    to_check = valid_mask(values)
    parent = upstream.catalog.table(foreign.schema, foreign.table)
    if parent is None or not to_check.any():
        return np.zeros(len(rows), np.bool_)
    if not _is_indexed(parent, foreign.references):
        return np.ones(len(rows), np.bool_)
    parents = _key_values(parent, foreign.references, column_arrays(table_rows(upstream, parent).cells))
    return to_check & (find_keys(parents, values) < 0)


def _is_indexed(table: Table, columns: Sequence[str]) -> bool:
    """Return whether an index begins with these columns. The parent table may have been replaced by another one of its
    name."""
    column_names = [name.lower() for name in columns]
    prefixes = [[part.name.lower() for part in index.columns][: len(column_names)] for index in table.indexes]
    return sorted(column_names) in [
        sorted(names) for names in (*prefixes, [name.lower() for name in table.primary_key])
    ]


def verify_added_keys(upstream: Upstream, before: Table | None, table: Table) -> None:
    """Raise SqlError 1452 if a row has no parent by a foreign key that ALTER TABLE adds (tidb v8.5
    pkg/ddl/foreign_key.go, checkForeignKeyConstrain)."""
    if before is None or before is table or before.foreign_keys == table.foreign_keys:
        return
    stored = table_rows(upstream, table)
    rows = take_stored(stored, np.arange(len(stored.row_ids)))
    known_ids = {foreign.id for foreign in before.foreign_keys}
    for foreign in table.foreign_keys:
        if foreign.id not in known_ids and orphan_mask(upstream, table, foreign, rows).any():
            raise sql_error(1452, constraint_text(table, foreign))


class ParentChange(NamedTuple):
    """Parent rows that were deleted or have another key."""

    change: RowDelta
    parents: Mask
    """Which of the removed rows they are."""

    rule: str
    updates: bool


def _parent_changes(change: RowDelta, foreign: ForeignKey) -> Iterator[ParentChange]:
    """Yield the changes of parents that a foreign key reacts to."""
    old = _key_values(change.table, foreign.references, change.removed.texts)
    moved = valid_mask(old)
    if change.updates:
        moved[: change.updates] &= _key_changed(change, foreign.references)
    paired = np.arange(len(old)) < change.updates
    for parents, rule, updates in (
        (moved & ~paired, foreign.on_delete, False),
        (moved & paired, foreign.on_update, True),
    ):
        if parents.any():
            yield ParentChange(change, parents, rule.upper(), updates)


def _referring_rows(
    upstream: Upstream, event: ParentChange, child: Table, foreign: ForeignKey
) -> tuple[Places, Places]:
    """Return the positions of the rows that refer to the parents, and which parent each refers to."""
    old = _key_values(event.change.table, foreign.references, event.change.removed.texts).filter(
        pa.array(event.parents)
    )
    which = find_keys(old, _key_values(child, foreign.columns, column_arrays(table_rows(upstream, child).cells)))
    places = np.flatnonzero(which >= 0)
    return places, np.flatnonzero(event.parents)[which[places]]


def _cascade(
    upstream: Upstream, event: ParentChange, child: Table, foreign: ForeignKey, now_ms: int
) -> tuple[Upstream, list[RowDelta]]:
    """Apply ON DELETE or ON UPDATE to the rows that refer to changed parents."""
    places, parents = _referring_rows(upstream, event, child, foreign)
    if not len(places):
        return upstream, []
    start = start_writes(upstream, child, now_ms)
    rows = take_stored(start.stored, places)
    if event.rule == "CASCADE" and not event.updates:
        written = start.with_change(places, take_stored(start.stored, NO_PLACES), 0, len(places))
        return put_rows(upstream, written.stored), list(written.changes)
    names = [columns_by_name(child)[name.lower()].name for name in foreign.columns]
    if event.rule == "SET NULL":
        values = {name: pa.nulls(len(places), pa.binary()) for name in names}
    else:
        parent_columns = columns_by_name(event.change.table)
        values = {
            name: event.change.inserted.texts[parent_columns[other.lower()].name].take(pa.array(parents))
            for name, other in zip(names, foreign.references, strict=True)
        }
    texts, _ = assign_values(child, values, len(places), upstream, now_ms, existing=rows.texts)
    new = check_rows(key_rows(child, texts, rows.row_ids), child, upstream, now_ms)
    try:
        written = update_stored_rows(start, places, new, ignore=False)
    except PartialWriteError as failure:
        raise failure.error from None
    return put_rows(upstream, written.stored.with_counters(written.counters)), list(written.changes)


def constraint_text(table: Table, foreign: ForeignKey) -> str:
    """Return a foreign key as errors 1451 and 1452 print it (tidb pkg/meta/model, FKInfo.String)."""
    columns, references = (", ".join(f"`{name}`" for name in names) for names in (foreign.columns, foreign.references))
    parent = (
        f"`{foreign.table}`"
        if foreign.schema.lower() == table.schema.lower()
        else (f"`{foreign.schema}`.`{foreign.table}`")
    )
    text = (
        f"`{table.schema}`.`{table.name}`, CONSTRAINT `{foreign.name}` FOREIGN KEY ({columns}) REFERENCES "
        f"{parent} ({references})"
    )
    for event, rule in (("DELETE", foreign.on_delete), ("UPDATE", foreign.on_update)):
        text += f" ON {event} {rule.upper()}" if rule else ""
    return text


def _check_arrays(written: TableWrites) -> None:
    table = written.stored.table
    for change in written.changes:
        if len(change.inserted):
            check_values(table, change.inserted.texts)
    if len(written.stored.row_ids):
        check_distinct(table, column_arrays(written.stored.cells))


def finish_statement(
    upstream: Upstream,
    tables: Sequence[TableWrites],
    now_ms: int,
    last_insert_id: int | None = None,
    warnings: Sequence[str] = (),
) -> StatementOutcome:
    """Return the outcome of a statement that wrote to these tables. `warnings` are those of its expressions.

    Raises SqlError 1451 and 1452, and of multi-valued indexes 1062, 3752, 3903 and 3907.
    """
    upstream = open_transaction(upstream)
    for each in tables:
        upstream = put_rows(upstream, each.stored.with_counters(each.counters))
    changes = [change for each in tables for change in each.changes]
    for each in tables:
        if array_indexes(each.stored.table):
            _check_arrays(each)
    upstream, changes = enforce_foreign_keys(upstream, changes, now_ms)
    writes = [row_writes(change.table, change.removed, change.inserted) for change in changes]
    upstream = add_writes(upstream, writes)
    if last_insert_id is not None and any(each.added for each in tables):
        upstream = replace(upstream, session=replace(upstream.session, last_insert_id=last_insert_id))
    affected = sum(each.affected for each in tables)
    all_warnings = [*warnings, *(text for each in tables for text in each.warned.texts)]
    return StatementOutcome(upstream, affected=affected, warnings=tuple(all_warnings[:MAX_WARNINGS]))
