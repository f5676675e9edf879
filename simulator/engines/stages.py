"""The changefeed's rules applied to batches of row changes: event filters, splits of UPDATEs, and destinations.

The result for a row does not depend on its batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import EVENTS, ROW, Ints, by_table, ints, op_of, picked_values, row_changes_schema
from simulator.columns.hashing import Crcs
from simulator.columns.row_image import LazyCells
from simulator.sources.snapshots import PhysicalTable
from simulator.ticdc import split, table_info
from simulator.ticdc.dispatch import Route
from simulator.ticdc.dispatch.destinations import Destinations, choose_partitions, dispatch_hashes, table_hash
from simulator.ticdc.filters.event_filters import ROW_KINDS, EventFilters, reads_values, rule_ignoring_row
from simulator.ticdc.filters.row_expressions import passing_rows
from simulator.ticdc.mounter import without_marks
from simulator.ticdc.split import SplitRule, apply_soft_deletes
from simulator.tidb.model.table import visible_columns


@dataclass(frozen=True)
class RowRules:
    """The changefeed's rules for row changes."""

    tables: tuple[PhysicalTable, ...]
    routes: tuple[Route, ...]
    """The route of each table."""

    filters: EventFilters
    ignored_start_ts: frozenset[int]
    split: SplitRule
    destinations: Destinations
    scripted: frozenset[int] = frozenset()
    """The tables that scripted SQL writes to: an UPDATE may change their handle key, as with row ids that are told."""

    _filters_rows: dict[int, bool] = field(default_factory=dict, init=False, repr=False, compare=False)
    _splitting_columns: dict[int, tuple[str, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What is known of tables so far: a changefeed may have thousands, and few of them have rows in a batch."""

    @cached_property
    def partitions(self) -> dict[str, tuple[int, int]]:
        """Topic → (destination of its partition 0, number of partitions)."""
        to = self.destinations
        return {topic: (first, count) for topic, first, count in zip(to.topics, to.first, to.counts, strict=True)}

    @cached_property
    def has_soft_deletes(self) -> bool:
        """Whether the release changes rows of some table because of its SOFTDELETE."""
        return self.split.release.soft_deletes and any(each.table.soft_delete for each in self.tables)

    @cached_property
    def splitting(self) -> npt.NDArray[np.bool_]:
        """For each table, whether its UPDATEs may be split."""
        return np.array([bool(self.splitting_columns(number)) for number in range(len(self.tables))], np.bool_)

    def filters_rows(self, number: int) -> bool:
        """Return whether event filters apply to the rows of a table."""
        if number not in self._filters_rows:
            table = self.tables[number].table
            kinds = any(rule_ignoring_row(self.filters, table.schema, table.name, kind) for kind in ROW_KINDS)
            reads = kinds or any(reads_values(rule, table) for rule in self.filters.rules)
            self._filters_rows[number] = reads or bool(self.ignored_start_ts)
        return self._filters_rows[number]

    def splitting_columns(self, number: int) -> tuple[str, ...]:
        """Return the columns of a table whose change splits an UPDATE."""
        if number not in self._splitting_columns:
            any_key = number in self.scripted or self.tables[number].row_ids
            columns = split.key_columns if any_key else split.key_columns_in_diff
            keys = self.split.keys
            self._splitting_columns[number] = columns(self.tables[number].table, self.split) if keys else ()
        return self._splitting_columns[number]


def filter_and_split(changes: pa.RecordBatch, rules: RowRules) -> pa.RecordBatch:
    """Return the ROW_CHANGES that are sent: those that pass event filters, with split UPDATEs as DELETE and INSERT, soft
    deletes as DELETE, and with op and rank.

    A column `beside` may say whether another change has the same table and commit-ts; else the batch has all changes of
    a table and commit-ts, or none. A column `row_id` is kept.
    """
    splits = _has_updates(changes) and any(map(rules.splitting_columns, _tables(changes)))
    if splits and rules.split.several and "beside" not in changes.schema.names:
        changes = changes.append_column("beside", pa.array(split.shares_transaction(changes)))
    if not splits:
        ranked = split.add_ranks(filter_rows(changes, rules), rules.split)
    elif rules.split.release.filters_halves:
        ranked = filter_rows(split.split_updates(changes, _splitting(changes, rules), rules.split), rules)
    else:
        changes = filter_rows(changes, rules)
        ranked = split.split_updates(changes, _splitting(changes, rules), rules.split)
    if rules.has_soft_deletes:
        tables = [physical.table for physical in rules.tables]
        ranked = apply_soft_deletes(ranked, tables, rules.split.active_active)
    return _shaped(ranked)


def _has_updates(changes: pa.RecordBatch) -> bool:
    nulls = changes.column("before").null_count + changes.column("after").null_count
    return bool(nulls < changes.num_rows)


def _tables(changes: pa.RecordBatch) -> list[int]:
    """Return the numbers of the tables that have rows in a batch."""
    numbers: list[int] = pc.unique(changes.column("table")).to_pylist()
    return numbers


def _shaped(changes: pa.RecordBatch) -> pa.RecordBatch:
    known_ids = ("row_id",) if "row_id" in changes.schema.names else ()
    return changes.select(row_changes_schema("op", "rank", *known_ids).names)


def _splitting(changes: pa.RecordBatch, rules: RowRules) -> npt.NDArray[np.bool_]:
    """Return a mask of the UPDATEs that are split."""
    table, before, after = ints(changes, "table"), changes.column("before"), changes.column("after")
    candidates = np.asarray(before.is_valid()) & np.asarray(after.is_valid())
    if "beside" in changes.schema.names:
        candidates &= np.asarray(changes.column("beside"))
    is_split = np.zeros(len(table), np.bool_)
    for number, at in by_table(np.where(candidates, table, -1)):
        if number >= 0 and (columns := rules.splitting_columns(number)):
            definition = rules.tables[number].table
            names = [column.name for column in visible_columns(definition)]
            images = (without_marks(picked_values(image, at), rules.split.release) for image in (before, after))
            old, new = (LazyCells(image, names) for image in images)
            is_split[at] = split.keys_changed(definition, old, new, rules.split, columns)
    return is_split


def filter_rows(changes: pa.RecordBatch, rules: RowRules) -> pa.RecordBatch:
    """Return the changes that pass event filters."""
    if not any(map(rules.filters_rows, _tables(changes))):
        return changes
    table = ints(changes, "table")
    passes = np.ones(len(table), np.bool_)
    for number, at in by_table(table):
        if rules.filters_rows(number):
            rows = changes if len(at) == len(table) else changes.take(pa.array(at))
            passes[at] = passing_rows(rows, rules.tables[number].table, rules.filters, rules.ignored_start_ts)
    return changes if passes.all() else changes.filter(pa.array(passes))


def to_events(changes: pa.RecordBatch, rules: RowRules) -> pa.RecordBatch:
    """Return row changes as EVENTS, each with the partition of TiCDC's dispatcher, in the same order."""
    count = changes.num_rows
    known_ids = changes.column("row_id") if "row_id" in changes.schema.names else None
    table, commit_ts = ints(changes, "table"), ints(changes, "commit_ts")
    before, after, handle = (changes.column(name) for name in ("before", "after", "handle"))
    # Dispatched by the new row, or the old one of a DELETE (tiflow: partition/index_value.go).
    dispatched = without_marks(pc.coalesce(after, before), rules.split.release)
    hashed, destination = np.zeros(count, np.int64), np.zeros(count, np.int64)
    row_id: list[pa.Array] = []
    places: list[Ints] = []
    for number, at in by_table(table):
        rows = (
            (dispatched, handle) if len(at) == count else (column.take(pa.array(at)) for column in (dispatched, handle))
        )
        images, handles = rows
        ids, hashes = _row_ids_and_hashes(
            images, handles, number, rules, None if known_ids is None else known_ids.take(pa.array(at))
        )
        row_id.append(ids)
        places.append(at)
        hashed[at] = hashes
        destination[at] = _destinations(number, hashes, commit_ts[at], ids, rules)
    return pa.RecordBatch.from_arrays(
        [
            changes.column("commit_ts"),
            pa.array(np.full(count, ROW, np.int8)),
            changes.column("table"),
            pa.array(op_of(before, after)),
            _in_row_order(row_id, places),
            pa.array(hashed),
            pa.array(destination.astype(np.int32)),
            before,
            after,
        ],
        schema=EVENTS,
    )


def destinations(images: pa.Array, handles: pa.Array, number: int, commit_ts: Ints, rules: RowRules) -> Ints:
    """Return the destinations of rows of a table, if they do not depend on the change (`dispatch.known_when_read`)."""
    ids, hashes = _row_ids_and_hashes(images, handles, number, rules)
    return _destinations(number, hashes, commit_ts, ids, rules)


def _row_ids_and_hashes(
    images: pa.Array, handles: pa.Array, number: int, rules: RowRules, known_ids: pa.Array | None = None
) -> tuple[pa.Array, Crcs]:
    """Return row id and dispatch hash of rows of a table; `known_ids` has null where a row id is unknown."""
    table = rules.tables[number].table
    row_ids = (
        _row_ids(rules.tables[number], handles, number)
        if known_ids is None
        else _fill_row_ids(known_ids, handles, number, rules.tables[number])
    )
    names = [column.name for column in visible_columns(table)]
    texts = LazyCells(images, names, table_info.column_from_row_id(table, row_ids))
    hashes = dispatch_hashes(rules.routes[number], table, texts, len(images))
    if images.null_count:  # a row without columns is dispatched by its table (tiflow v5.0.3 dispatcher/index_value.go)
        hashes = np.where(np.asarray(images.is_null()), table_hash(table), hashes)
    return row_ids, hashes


def _row_ids(physical: PhysicalTable, handles: pa.Array, number: int) -> pa.Array:
    if physical.row_ids:
        return table_info.row_ids_of_handles(handles)
    return table_info.row_ids(physical.table, handles, number)


def _fill_row_ids(known_ids: pa.Array, handles: pa.Array, number: int, physical: PhysicalTable) -> pa.Array:
    """Replace null row ids by those of the handles, as a diff has them."""
    missing = np.flatnonzero(np.asarray(known_ids.is_null()))
    if not len(missing):
        return known_ids
    from_handles = _row_ids(physical, handles.take(pa.array(missing)), number)
    return pc.replace_with_mask(known_ids, known_ids.is_null(), from_handles)


def _destinations(number: int, hashes: Crcs, commit_ts: Ints, row_ids: pa.Array, rules: RowRules) -> Ints:
    to = rules.routes[number]
    first, _ = rules.partitions[to.topic]
    count = rules.destinations.counted(to.topic, commit_ts)
    return first + choose_partitions(to, hashes, commit_ts, row_ids, count)


def _in_row_order(parts: Sequence[pa.Array], places: Sequence[Ints]) -> pa.Array:
    """Concatenate the tables' values in the order of the rows."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return pa.array([], pa.int64())
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))
