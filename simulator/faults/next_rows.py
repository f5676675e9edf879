"""The rows that a fault is about: those of its table, or all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.change_frame import ROW, ints
from simulator.faults.active import FaultContext
from simulator.faults.keys import TABLE_KEY

Mask = npt.NDArray[np.bool_]


def matching_rows(events: pa.RecordBatch, context: FaultContext) -> Mask:
    """Return which of the events are rows that the fault is about."""
    matches: Mask = ints(events, "kind") == ROW
    table = context.fault.values.get(TABLE_KEY.field)
    if table is not None:
        stored = (physical.table for physical in context.spec.tables)
        fits = np.array([(each.schema.lower(), each.name.lower()) == table for each in stored] + [False])
        matches &= fits[np.where(matches, ints(events, "table"), -1)]
    return matches


def find_next_row(events: pa.RecordBatch, context: FaultContext) -> int | None:
    """Return the index of the first matching row."""
    matches = np.flatnonzero(matching_rows(events, context))
    return int(matches[0]) if len(matches) else None


def without_event(events: pa.RecordBatch, place: int) -> pa.RecordBatch:
    """Return all events but one."""
    return pa.concat_batches([events.slice(0, place), events.slice(place + 1)])
