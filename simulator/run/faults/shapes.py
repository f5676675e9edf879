"""Which rows share a message, and which are taken for too large, on flushes: all of it TiCDC's own doing.

One law: rows keep their order, and no message holds rows that the worker would not have put together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simulator.run.faults.next_rows import Mask
from simulator.run.flush import Flush


def batched(flush: Flush, chosen: Mask, events: int) -> Flush:
    """The chosen rows at most so many to a message, as where the worker's clock ticks behind every so many rows
    (tiflow v8.5.3: cdc/sink/dmlsink/mq/worker.go batchEncodeRun, 15 ms)."""
    starts = np.append(True, (np.diff(flush.group) != 0) | (np.diff(chosen.astype(np.int8)) != 0))[: len(flush.group)]
    places = np.arange(len(starts))
    behind = places - np.maximum.accumulate(np.where(starts, places, 0))
    return replace(flush, group=np.cumsum(starts | chosen & (behind % events == 0)))


def large(flush: Flush, chosen: Mask) -> Flush:
    """The chosen rows as if they were above max-message-bytes."""
    return replace(flush, large=chosen if flush.large is None else flush.large | chosen)
