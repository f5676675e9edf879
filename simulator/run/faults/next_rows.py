"""Which events a fault is about that waits for the next row: those of a table, or of any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.change_frame import ROW, ints
from simulator.run.faults.keys import TABLE_KEY
from simulator.run.faults.kind import Scene
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.rules import ChangefeedRules

Mask = npt.NDArray[np.bool_]


def fitting_rows(events: pa.RecordBatch, scene: Scene) -> Mask:
    """Which of the events are rows that the fault is about: of its table, if it has one."""
    found: Mask = ints(events, "kind") == ROW
    table = scene.fault.values.get(TABLE_KEY.field)
    if table is not None:
        stored = (physical.table for physical in scene.job.tables)
        fits = np.array([(each.schema.lower(), each.name.lower()) == table for each in stored] + [False])
        found &= fits[np.where(found, ints(events, "table"), -1)]
    return found


def next_row(events: pa.RecordBatch, scene: Scene) -> int | None:
    """Where the first of them stands."""
    found = np.flatnonzero(fitting_rows(events, scene))
    return int(found[0]) if len(found) else None


def spoken(rules: ChangefeedRules) -> str:
    """Release and protocol, for people."""
    return f"TiCDC {rules.release.name} with {CODECS[rules.changefeed.codec.protocol].protocol.title}"


def without_watermarks(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    """Why there is no fault of watermarks; empty where they are sent."""
    return "" if has_watermarks(rules) else (
        f"{spoken(rules)} sends no watermarks here: enable-tidb-extension=true is needed")


def has_watermarks(rules: ChangefeedRules) -> bool:
    options, release = rules.changefeed.codec, rules.release
    return CODECS[options.protocol].has_watermarks(options, release)


def on_one_partition(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    """Why no row can be in a wrong partition; empty where it can."""
    count = rules.changefeed.kafka.partition_num
    return "the topic has one partition: partition-num=2 or more is accepted" if count == 1 else ""
