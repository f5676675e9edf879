"""What decides whether an UPDATE is split, and what each kind of row change stands behind.

One law: only fields of the release and the two options that concern them are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import columns
from simulator.columns.change_frame import DELETE, INSERT, UPDATE
from simulator.releases import Release
from simulator.ticdc.key_bytes import Texts, told_by_handle
from simulator.ticdc.table_info import HANDLE_KEY, PRIMARY_KEY, UNIQUE_KEY, flags, handle_key
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.types import family

SPLIT_DELETE, SPLIT_INSERT = 3, 4
"""The halves of a split UPDATE, beside DELETE, UPDATE and INSERT."""

NULL = b"null"
"""What `ColumnValueString` makes of NULL (tiflow: cdc/model/sink.go)."""

NO_TEXT = b"\xfe"
"""What no text is."""

Mask = npt.NDArray[np.bool_]


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
        halves = (1, 1) if release.handle_split == "in place" else (0, 1)
        return SplitRule(release, HANDLE_KEY, False, (0, 1, after, *halves), old_value=False)
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
    told = told_by_handle(table)
    return tuple(name for name in deciding(table, rule) if name not in told) if handle_key(table) else ()


def splits(tables: Iterable[Table], rule: SplitRule) -> bool:
    """Whether any UPDATE of the tables may be split in a diff."""
    return bool(rule.keys) and any(in_a_diff(table, rule) for table in dict.fromkeys(tables))


def keys_changed(table: Table, before: Texts, after: Texts, rule: SplitRule) -> Mask:
    """Which rows of a diff change a key that splits their UPDATE, given as TiDB texts by column."""
    found = np.zeros(len(next(iter(before.values()))), np.bool_)
    for name in in_a_diff(table, rule):
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
    null = NULL if null_is_text(kind, rule) else NO_TEXT
    old, new = (pc.fill_null(side[name].cast(pa.binary()), null) for side in (before, after))
    found: Mask = pc.not_equal(old, new).to_numpy(zero_copy_only=False)
    return found


def null_is_text(family: str, rule: SplitRule) -> bool:
    """Whether NULL and the text `null` are the same in a column: only texts can be `null`."""
    return rule.release.split_by_text and family in ("string", "text")


def rank(rule: SplitRule, op: int, half: bool = False) -> int:
    """The place of a row change (`changes.DELETE`, …) inside its transaction."""
    return rule.ranks[{DELETE: SPLIT_DELETE, INSERT: SPLIT_INSERT}[op] if half and op != UPDATE else op]


def stages(rule: SplitRule, told: bool) -> dict[str, int]:
    """By kind of change, what of a transaction comes after what in a stream, which does not show halves; equals may
    come in any order. `told` is whether its messages tell every UPDATE from an INSERT."""
    delete, update, insert, split_delete, split_insert = rule.ranks
    second = int(max(delete, split_delete) < update)
    third = second + int(told and update < min(insert, split_insert))
    return {"DELETE": 0, "UPDATE": second, "INSERT": third}
