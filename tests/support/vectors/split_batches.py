"""What a run makes of the transactions of vectors: batches of the changes that a diff finds.

One law: columns, keys and order are as a run has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from simulator.columns import cells, row_image
from simulator.columns.change_frame import DELETE, INSERT, ORDER
from simulator.ticdc import key_bytes
from simulator.ticdc.split import SplitRule, beside, halves, keys_changed, ranked, splits
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Table, visible_columns
from support.transaction import Row, RowEvent, sent


@dataclass(frozen=True)
class Transaction:
    """Row changes of one table, as TiDB writes them."""

    table: Table
    events: tuple[RowEvent, ...]
    rule: SplitRule


def of_diff(transaction: Transaction) -> list[RowEvent]:
    """The changes as a diff finds them: an UPDATE of the handle key, or of a row without one, is a row that went and a
    row that came."""
    found = []
    for event in transaction.events:
        before, after = event.before, event.after
        if before is None or after is None or same_key(transaction.table, before, after):
            found.append(event)
        else:
            found += [RowEvent(DELETE, before, None), RowEvent(INSERT, None, after)]
    return found


def same_key(table: Table, before: Row, after: Row) -> bool:
    old, new = key_bytes.handle(table, cells.columns([before, after])).to_pylist()
    return bool(handle_key(table)) and old == new


def plain(transaction: Transaction) -> list[RowEvent]:
    """What the functions for one transaction make of the changes of a diff, with their whole old rows, as rows in a run
    have them."""
    found = sent(transaction.table, of_diff(transaction), replace(transaction.rule, old_value=True))
    return [replace(event, half=False) for event in found]


def by_batch(transaction: Transaction) -> list[RowEvent]:
    """What a run makes of them."""
    table, rule, events = transaction.table, transaction.rule, of_diff(transaction)
    if not events:
        return []
    changes = pa.record_batch({
        "commit_ts": pa.array([7] * len(events), pa.int64()),
        "table": pa.array([0] * len(events), pa.int32()),
        "handle": pa.array([b"%04d" % number for number in range(len(events))], pa.binary()),
        "before": packed(table, [event.before for event in events]),
        "after": packed(table, [event.after for event in events]),
    })
    placed = ranked(changes, rule)
    if splits([table], rule):
        is_split = np.zeros(len(events), np.bool_)
        updates = [number for number, event in enumerate(events) if event.before and event.after]
        if updates:
            before, after = (cells.columns([row for number in updates if (row := getattr(events[number], side))])
                             for side in ("before", "after"))
            is_split[updates] = keys_changed(table, before, after, rule)
        placed = halves(changes, is_split & beside(changes) if rule.several else is_split, rule)
    rows = pa.Table.from_batches([placed]).sort_by([
        (name, "ascending") for name in ORDER]).to_pylist()
    return [RowEvent(row["op"], unpacked(table, row["before"]), unpacked(table, row["after"])) for row in rows]


def packed(table: Table, rows: Sequence[Row | None]) -> pa.Array:
    """Images of rows."""
    images = (None if row is None else row_image.pack(list(cells.columns([row]).values())) for row in rows)
    return pa.concat_arrays([pa.nulls(1, pa.binary()) if image is None else image for image in images])


def unpacked(table: Table, image: bytes | None) -> Row | None:
    if image is None:
        return None
    names = [column.name for column in visible_columns(table)]
    return {name: None if cell == b"\xfe" else cell.decode()
            for name, cell in zip(names, image.split(b"\xff"), strict=True)}
