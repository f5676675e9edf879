"""The order of a row's changes inside one millisecond, where messages tell no more of their time.

Canal-JSON without the TiDB extension has milliseconds alone. Offsets tell the order inside a partition; between
partitions, and where changes come again after a restart, only the images do.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints, ints
from simulator.consumer.replay.frame import BEGIN, END, same_row

Change = tuple[bytes | None, bytes | None]


def order_within_milliseconds(rows: pa.RecordBatch, first: int) -> pa.RecordBatch:
    """Sorted halves, those of one row and millisecond so that each begins with what the one before left, if they can
    be put so; ones that come again are left out. Those before `first` stay."""
    goes_on, ts = same_row(rows), ints(rows, "commit_ts")
    inexact = ~rows.column("exact").to_numpy(zero_copy_only=False) & (ts != BEGIN) & (ts != END)
    at_once = goes_on & inexact & (np.diff(ts, prepend=ts[:1]) == 0)
    at_once[: first + 1] = False
    if not at_once.any():
        return rows
    return rows.take(pa.array(_order(rows, goes_on, at_once), pa.int64()))


def _order(rows: pa.RecordBatch, goes_on: Mask, at_once: Mask) -> Ints:
    order: list[int] = []
    done = 0
    starts = np.flatnonzero(at_once & ~np.append(False, at_once[:-1])) - 1
    for start in starts.tolist():
        end = start + 1
        while end < len(rows) and at_once[end]:
            end += 1
        order += range(done, start)
        changes = [
            (old, new)
            for old, new in zip(*(rows.column(name).slice(start, end - start).to_pylist() for name in ("old", "new")))
        ]
        was = rows.column("new")[order[-1]].as_py() if goes_on[start] and order else None
        order += [start + place for place in chain_changes(changes, was)]
        done = end
    return np.array([*order, *range(done, len(rows))], np.int64)


def chain_changes(changes: list[Change], was: bytes | None) -> list[int]:
    """The places of changes, each beginning with what the one before left as far as that goes; without those that are
    said again."""
    left, found, said = list(range(len(changes))), list[int](), set[Change]()
    while left:
        place = next((place for place in left if changes[place][0] == was), None)
        if place is None:
            left = [place for place in left if changes[place] not in said]
            if not left:
                break
            place = left[0]
        left.remove(place)
        found.append(place)
        said.add(changes[place])
        was = changes[place][1]
    return found
