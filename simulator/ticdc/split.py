"""The split of UPDATEs into DELETE and INSERT, the order of rows in a transaction, and what soft deletes become.

The functions add the columns `op` and `rank` to a batch of changes (`columns.change_frame`). A `SplitRule` has
everything that depends on the release and the changefeed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask, Texts, columns
from simulator.columns.change_frame import DELETE, EMPTY, INSERT, UPDATE, by_table, ints, op_of, picked_values
from simulator.releases import Release
from simulator.ticdc.table_info import HANDLE_KEY, PRIMARY_KEY, UNIQUE_KEY, columns_known_by_handle, flags, handle_key
from simulator.tidb.model.table import Table, mark_place, visible_columns
from simulator.tidb.model.types import family

SPLIT_DELETE, SPLIT_INSERT = 4, 5
"""The two parts of a split UPDATE, in addition to DELETE, UPDATE, INSERT and EMPTY."""

PARTS = {"before": SPLIT_INSERT, "after": SPLIT_DELETE}
"""The part that does not have an image of a split UPDATE."""

OPS = np.array([DELETE, UPDATE, INSERT, EMPTY, DELETE, INSERT], np.int8)
"""The operation of each kind."""

NULL = b"null"
"""The result of TiCDC's `ColumnValueString` for NULL (tiflow: cdc/model/sink.go)."""

Kinds = npt.NDArray[np.int8]


@dataclass(frozen=True)
class SplitRule:
    """How a release treats the row changes of one transaction, under one changefeed."""

    release: Release
    keys: int
    """Flag bits of the columns whose change splits an UPDATE; 0 if none does."""

    several: bool
    """Whether only transactions of two or more rows of the table are split."""

    ranks: tuple[int, int, int, int, int]
    """Order of DELETE, UPDATE, INSERT, split DELETE and split INSERT in a transaction. Equal ranks are ordered by
    row key; the parts of one UPDATE follow each other."""

    old_value: bool = True
    """Whether UPDATEs that are not split have the old row, and DELETEs all columns."""

    active_active: bool = False
    """Whether UPDATEs that mark rows as deleted stay UPDATEs (`enable-active-active`)."""


def split_rule(release: Release, raw: bool = False, old_value: bool = True, active_active: bool = False) -> SplitRule:
    """Return the rule under `output-raw-change-event`, `enable-old-value` and `enable-active-active`."""
    updates_first = release.updates_before_inserts
    if not old_value and release.handle_split != "as any":
        after = 2 if updates_first else 1
        parts = (1, 1) if release.handle_split == "in place" else (0, 1)
        return SplitRule(release, HANDLE_KEY, False, (0, 1, after, *parts), old_value=False)
    never_splits = release.update_split == "never" or raw and release.raw_change_events
    ranks = (0, 1, 2, 1, 3) if release.split_interleaved else (0, 2, 4 if updates_first else 2, 1, 3)
    keys = 0 if never_splits else HANDLE_KEY | PRIMARY_KEY | UNIQUE_KEY
    return SplitRule(release, keys, release.update_split == "several", ranks, active_active=active_active)


def key_columns(table: Table, rule: SplitRule) -> tuple[str, ...]:
    """Return the visible columns whose change splits an UPDATE, in table order."""
    bits = flags(table, rule.release)
    return tuple(column.name for column in visible_columns(table) if bits[column.name] & rule.keys)


def key_columns_in_diff(table: Table, rule: SplitRule) -> tuple[str, ...]:
    """Return the columns that can split an UPDATE between two rows with the same handle key.

    The handle key determines the other ones. A collation or a prefix index leaves a column's text open.
    """
    certain = columns_known_by_handle(table)
    return tuple(name for name in key_columns(table, rule) if name not in certain) if handle_key(table) else ()


def keys_changed(
    table: Table, before: Texts, after: Texts, rule: SplitRule, names: Iterable[str] | None = None
) -> Mask:
    """Return which rows change a key that splits their UPDATE, given as TiDB texts by column.

    `names` are the columns to compare, by default those of a diff. In scripted SQL every key column may differ.
    """
    is_changed = np.zeros(len(next(iter(before.values()))), np.bool_)
    for name in key_columns_in_diff(table, rule) if names is None else names:
        is_changed |= _differ(table, name, before, after, rule)
    return is_changed


def changed_key_columns(
    table: Table, before: Mapping[str, str | None], after: Mapping[str, str | None], rule: SplitRule
) -> tuple[str, ...]:
    """Return the key columns that differ between two rows, given as TiDB texts by column."""
    old, new = columns([before]), columns([after])
    return tuple(name for name in key_columns(table, rule) if _differ(table, name, old, new, rule)[0])


def _differ(table: Table, name: str, before: Texts, after: Texts, rule: SplitRule) -> Mask:
    kind = next(family(column.type) for column in table.columns if column.name == name)
    old, new = (side[name].cast(pa.binary()) for side in (before, after))
    if rule.release.split_by_text and kind in ("string", "text"):  # only these columns can hold the text `null`
        old, new = (pc.fill_null(cells, NULL) for cells in (old, new))
    return ~row_image.same(old, new)


def operation_order(rule: SplitRule, distinguishes_updates: bool) -> dict[str, int]:
    """Return the order of the operations of a transaction in a stream, which does not show split UPDATEs. Operations
    with equal numbers may come in any order.

    `distinguishes_updates` is whether messages distinguish every UPDATE from an INSERT.
    """
    delete, update, insert, split_delete, split_insert = rule.ranks
    second = int(max(delete, split_delete) < update)
    third = second + int(distinguishes_updates and update < min(insert, split_insert))
    return {"DELETE": 0, "UPDATE": second, "INSERT": third}


def split_updates(changes: pa.RecordBatch, is_split: Mask, rule: SplitRule) -> pa.RecordBatch:
    """Return the row changes (columns before, after and any others) with each split UPDATE as two rows."""
    kinds = op_of(changes["before"], changes["after"])
    split = is_split & (kinds == UPDATE)
    if not split.any():
        return _ranked(changes, kinds, rule)
    rows = np.repeat(np.arange(len(kinds)), 1 + split)
    second = np.concatenate(([False], rows[1:] == rows[:-1]))
    kinds = np.where(split[rows], np.where(second, SPLIT_INSERT, SPLIT_DELETE), kinds[rows]).astype(np.int8)
    places = {name: pa.array(rows, mask=kinds == PARTS.get(name, -1)) for name in changes.schema.names}
    parts = [changes.column(name).take(places[name]) for name in changes.schema.names]
    return _ranked(pa.RecordBatch.from_arrays(parts, schema=changes.schema), kinds, rule)


def add_ranks(changes: pa.RecordBatch, rule: SplitRule) -> pa.RecordBatch:
    """Return the row changes of a run without split UPDATEs."""
    return _ranked(changes, op_of(changes["before"], changes["after"]), rule)


def _ranked(changes: pa.RecordBatch, kinds: Kinds, rule: SplitRule) -> pa.RecordBatch:
    delete, update, insert, *parts = rule.ranks
    ranks = np.array([delete, update, insert, delete, *parts], np.int8)
    return changes.append_column("op", pa.array(OPS[kinds])).append_column("rank", pa.array(ranks[kinds]))


def shares_transaction(changes: pa.RecordBatch) -> Mask:
    """Return whether other changes of a change's table have its commit-ts.

    The batch has all changes of a table and commit-ts, or none.
    """
    pairs = np.stack([ints(changes, "commit_ts"), ints(changes, "table")], axis=1)
    _, places, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    is_shared: Mask = counts[places] > 1
    return is_shared


def apply_soft_deletes(changes: pa.RecordBatch, tables: Sequence[Table], active_active: bool) -> pa.RecordBatch:
    """Return the row changes, with `op`, that are sent of tables with SOFTDELETE, whose rows TiDB only marks as deleted, and
    of others. `tables` are those that the column `table` counts.

    A DELETE of such a table is none: it removes what was marked long ago. Unless the changefeed has
    `enable-active-active`, an UPDATE that marks a row is sent as its DELETE, at its rank in the transaction; one that
    takes the mark away, and an INSERT over a marked row, stay UPDATEs of a row that a consumer has deleted. Event filters
    and splits of UPDATEs come before (ticdc v26.3.1 to v26.3.4: pkg/common/event/active_active.go FilterDMLEvent,
    downstreamadapter/dispatcher/basic_dispatcher.go AddDMLEventsToSink).
    """
    table, ops = ints(changes, "table"), ints(changes, "op").copy()
    sent, ended = np.ones(len(table), np.bool_), np.zeros(len(table), np.bool_)
    for number, at in by_table(table):
        place = mark_place(tables[number])
        if place is None:
            continue
        sent[at] = ops[at] != DELETE
        updates = at[ops[at] == UPDATE]
        if not active_active and len(updates):
            width = len(visible_columns(tables[number]))
            old, new = (
                row_image.cell(picked_values(changes.column(side), updates), width, place)
                for side in ("before", "after")
            )
            ended[updates] = np.asarray(pc.and_(pc.is_null(old), pc.is_valid(new)))
    if ended.any():
        ops[ended] = DELETE
        for name, column in (
            ("after", pc.if_else(pa.array(ended), pa.scalar(None, pa.binary()), changes.column("after"))),
            ("op", pa.array(ops, changes.schema.field("op").type)),
        ):
            changes = changes.set_column(changes.schema.get_field_index(name), changes.schema.field(name), column)
    return changes if sent.all() else changes.filter(pa.array(sent))
