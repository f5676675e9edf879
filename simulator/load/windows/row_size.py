"""The size of a plan's rows in messages, which converts a rate in bytes to rows.

It is measured on rows of the plan, and always the same for a plan.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simulator.generate.changes.timetable import Segment
from simulator.load.epochs.epoch import Pace, Window
from simulator.load.epochs.epochs import PreparedLoad, schema_epochs
from simulator.load.windows.sending import window_messages
from simulator.run.outputs import Output

ROWS = 4096
PER_SECOND = 100_000.0


def measure_bytes_per_row(prepared: PreparedLoad) -> float:
    """Return the average size of keys and values, measured on the rows after those that tables start with."""
    prepared = prepared.at_rate((Segment(0, PER_SECOND, PER_SECOND),))
    stream = prepared.stream
    first, last = stream.milliseconds(np.array([stream.fill_transactions, stream.fill_transactions + ROWS])).tolist()
    output = Output(prepared.rules.changefeed).for_plan(prepared.plan)
    still = replace(prepared, load=replace(prepared.load, statements=(), timed=()))
    epoch = next(schema_epochs(still, output))
    end_ms = min(last, first + round(1000 * ROWS / PER_SECOND)) + 1
    window = Window(epoch, first, end_ms, Pace(0.0, 0.0))
    size = rows = 0
    for made in window_messages(window, range(output.destinations.total)):
        size += made.records.key.nbytes + made.records.value.nbytes
        rows += made.events.num_rows
    return size / rows if rows else 1.0
