"""Which UPDATEs TiCDC sends as DELETE and INSERT, and in which order the rows of a transaction go.

A batch of changes becomes one with the columns `op` and `rank` more (`columns.change_frame.SENT`).

One law: what a release does is one `SplitRule`, for which only its fields and the two options that concern them are
asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask, Texts, columns
from simulator.columns.change_frame import DELETE, INSERT, UPDATE, ints, op_of
from simulator.releases import Release
from simulator.ticdc.key_bytes import known_by_handle
from simulator.ticdc.table_info import HANDLE_KEY, PRIMARY_KEY, UNIQUE_KEY, flags, handle_key
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.types import family

SPLIT_DELETE, SPLIT_INSERT = 3, 4
"""The halves of a split UPDATE, beside DELETE, UPDATE and INSERT."""

OPS = np.array([DELETE, UPDATE, INSERT, DELETE, INSERT], np.int8)
"""By kind: the operations, and the halves."""

NULL = b"null"
"""What `ColumnValueString` makes of NULL (tiflow: cdc/model/sink.go)."""

Kinds = npt.NDArray[np.int8]


@dataclass(frozen=True)
class SplitRule:
    """How a release treats the row changes of one transaction, under one changefeed."""

    release: Release
    keys: int
    """Flag bits of the columns whose change splits an UPDATE; 0 where none does."""

    several: bool
    """Whether only transactions of two or more rows of the table are split."""

    ranks: tuple[int, int, int, int, int]
    """Place of DELETE, UPDATE, INSERT, split DELETE and split INSERT inside a transaction; equals go by row key, the
    halves of one UPDATE after each other."""

    old_value: bool = True
    """Whether UPDATEs that stay whole keep the old row, and DELETEs all columns."""


def split_rule(release: Release, raw: bool = False, old_value: bool = True) -> SplitRule:
    """The rule under `output-raw-change-event` and `enable-old-value`."""
    first = release.updates_before_inserts
    if not old_value and release.handle_split != "as any":
        after = 2 if first else 1
        parts = (1, 1) if release.handle_split == "in place" else (0, 1)
        return SplitRule(release, HANDLE_KEY, False, (0, 1, after, *parts), old_value=False)
    whole = release.update_split == "never" or raw and release.raw_change_events
    ranks = (0, 1, 2, 1, 3) if release.split_interleaved else (0, 2, 4 if first else 2, 1, 3)
    keys = 0 if whole else HANDLE_KEY | PRIMARY_KEY | UNIQUE_KEY
    return SplitRule(release, keys, release.update_split == "several", ranks)


def deciding(table: Table, rule: SplitRule) -> tuple[str, ...]:
    """The visible columns of a table whose change splits an UPDATE, in table order."""
    bits = flags(table, rule.release)
    return tuple(column.name for column in visible_columns(table) if bits[column.name] & rule.keys)


def in_a_diff(table: Table, rule: SplitRule) -> tuple[str, ...]:
    """Those that can differ where rows are found again by their handle key: of that the columns whose collation, or
    prefix, leaves open what they are."""
    certain = known_by_handle(table)
    return tuple(name for name in deciding(table, rule) if name not in certain) if handle_key(table) else ()


def splits(tables: Iterable[Table], rule: SplitRule) -> bool:
    """Whether any UPDATE of the tables may be split in a diff."""
    return bool(rule.keys) and any(in_a_diff(table, rule) for table in dict.fromkeys(tables))


def keys_changed(
    table: Table, before: Texts, after: Texts, rule: SplitRule, names: Iterable[str] | None = None
) -> Mask:
    """Which rows change a key that splits their UPDATE, given as TiDB texts by column: rows of a diff, or those of
    scripted SQL, of which every deciding column may differ (`names`)."""
    found = np.zeros(len(next(iter(before.values()))), np.bool_)
    for name in in_a_diff(table, rule) if names is None else names:
        found |= _differ(table, name, before, after, rule)
    return found


def changed(
    table: Table, before: Mapping[str, str | None], after: Mapping[str, str | None], rule: SplitRule
) -> tuple[str, ...]:
    """The deciding columns that differ between two rows, given as TiDB texts by column."""
    old, new = columns([before]), columns([after])
    return tuple(name for name in deciding(table, rule) if _differ(table, name, old, new, rule)[0])


def _differ(table: Table, name: str, before: Texts, after: Texts, rule: SplitRule) -> Mask:
    kind = next(family(column.type) for column in table.columns if column.name == name)
    old, new = (side[name].cast(pa.binary()) for side in (before, after))
    if null_is_text(kind, rule):
        old, new = (pc.fill_null(cells, NULL) for cells in (old, new))
    return ~row_image.same(old, new)


def null_is_text(family: str, rule: SplitRule) -> bool:
    """Whether NULL and the text `null` are the same in a column: only texts can be `null`."""
    return rule.release.split_by_text and family in ("string", "text")


def stages(rule: SplitRule, told_apart: bool) -> dict[str, int]:
    """By kind of change, what of a transaction comes after what in a stream, which does not show halves; equals may
    come in any order. `told_apart` is whether its messages tell every UPDATE from an INSERT."""
    delete, update, insert, split_delete, split_insert = rule.ranks
    second = int(max(delete, split_delete) < update)
    third = second + int(told_apart and update < min(insert, split_insert))
    return {"DELETE": 0, "UPDATE": second, "INSERT": third}


def halves(changes: pa.RecordBatch, is_split: Mask, rule: SplitRule) -> pa.RecordBatch:
    """The row changes (columns before, after and any others), each UPDATE that is split as two."""
    kinds = op_of(changes["before"], changes["after"])
    split = is_split & (kinds == UPDATE)
    if not split.any():
        return _ranked(changes, kinds, rule)
    rows = np.repeat(np.arange(len(kinds)), 1 + split)
    second = np.concatenate(([False], rows[1:] == rows[:-1]))
    kinds = np.where(split[rows], np.where(second, SPLIT_INSERT, SPLIT_DELETE), kinds[rows]).astype(np.int8)
    found = changes.take(pa.array(rows))
    for side, without in (("before", SPLIT_INSERT), ("after", SPLIT_DELETE)):
        images = pc.if_else(pa.array(kinds == without), None, found[side])
        found = found.set_column(found.schema.get_field_index(side), side, images)
    return _ranked(found, kinds, rule)


def ranked(changes: pa.RecordBatch, rule: SplitRule) -> pa.RecordBatch:
    """The row changes of a run that splits none."""
    return _ranked(changes, op_of(changes["before"], changes["after"]), rule)


def _ranked(changes: pa.RecordBatch, kinds: Kinds, rule: SplitRule) -> pa.RecordBatch:
    ranks = np.array(rule.ranks, np.int8)
    return changes.append_column("op", pa.array(OPS[kinds])).append_column("rank", pa.array(ranks[kinds]))


def beside(changes: pa.RecordBatch) -> Mask:
    """Whether a change has others of its table at its commit-ts, as a rule of several rows asks; the batch has all
    changes of a table and commit-ts, or none."""
    pairs = np.stack([ints(changes, "commit_ts"), ints(changes, "table")], axis=1)
    _, places, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    found: Mask = counts[places] > 1
    return found
