"""Writes a truth in this process, a batch at a time; only compared snapshots are held in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc

from simulator.engines.in_process import ROWS, differing_rows, in_order, read_side, require_small
from simulator.engines.work import RowPlacement
from simulator.errors import DeliveryError
from simulator.sources import snapshots
from simulator.truth.between_snapshots import BetweenSnapshots, rows_at
from simulator.truth.directory import write_rows
from simulator.truth.expected_rows import ExpectedRows


def write(expected: ExpectedRows, directory: Path, format: str) -> Counter[int]:
    """Implement `TruthEngine`; raises UserError if compared snapshots are too large."""
    try:
        batches = (
            batch for pieces in snapshots.divide_into_tasks(expected.scans) for batch in snapshots.state_batches(pieces)
        )
        rows = write_rows(batches, expected.tables, directory, format, lambda number: None)
        if expected.between is not None:
            rows += _compared(expected, expected.between, directory, format, frozenset(rows))
    except MemoryError as error:
        raise DeliveryError("the memory of this process is full, so that no truth was written") from error
    return rows


def _compared(
    expected: ExpectedRows, between: BetweenSnapshots, directory: Path, format: str, begun: frozenset[int]
) -> Counter[int]:
    """Write the rows computed from two snapshots; tables in `begun` already have a file."""
    require_small(between.input_bytes)
    placing = RowPlacement(between.comparison, between.rules)
    before, after = (read_side(scans, placing, None) for scans in (between.before, between.after))
    every = differing_rows(before, after, every=True)
    rows = rows_at(every, replace(between, comparison=in_order(every, between.comparison)))
    rows = rows.take(pc.sort_indices(rows["table"]))  # stable, and by handle already
    slices = (rows.slice(start, ROWS) for start in range(0, rows.num_rows, ROWS))
    return write_rows(slices, expected.tables, directory, format, lambda number: 1 if number in begun else None)
