"""The end of a stream at an event that TiCDC cannot encode: what commits before it is sent, and nothing else.

TiCDC's workers encode and send side by side, so that of what commits with the event, or later, it may have sent more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import ints
from simulator.engines.tasks.messages import FlushMessages
from simulator.errors import EncodeError
from simulator.ticdc.flush import Flush
from simulator.tso import FOREVER

Encode = Callable[[Flush], Iterable[FlushMessages]]


@dataclass
class EncoderStop:
    """The first event that cannot be encoded."""

    error: EncodeError | None = None
    """None as long as everything was encoded."""

    commit_ts: int = FOREVER
    """Only events below are encoded."""

    def events(self, events: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield events until one cannot be encoded."""
        for batch in events:
            if batch.num_rows and ints(batch, "commit_ts")[0] >= self.commit_ts:
                return
            yield batch
            if self.error is not None:
                return

    def encoded(self, flush: Flush, encode: Encode) -> Iterator[FlushMessages]:
        """Yield the messages of a flush, of events before that one."""
        flush = _below(flush, self.commit_ts)
        if not flush.events.num_rows:
            return
        try:
            yield from encode(flush)
        except EncodeError as error:
            self.commit_ts, self.error = _first_refused(flush, encode, error)
            yield from self.encoded(flush, encode)


def _below(flush: Flush, commit_ts: int) -> Flush:
    """Return the events below a commit-ts."""
    below = ints(flush.events, "commit_ts") < commit_ts
    if below.all():
        return flush
    large = None if flush.large is None else flush.large[below]
    return Flush(flush.events.filter(pa.array(below)), flush.group[below], large)


def _first_refused(flush: Flush, encode: Encode, error: EncodeError) -> tuple[int, EncodeError]:
    """Return the commit-ts of the first event that cannot be encoded, and its error; that of all events is given."""
    times = np.unique(ints(flush.events, "commit_ts"))
    possible, refused = 0, len(times) - 1
    while possible < refused:
        middle = (possible + refused) // 2
        try:
            list(encode(_below(flush, int(times[middle]) + 1)))
            possible = middle + 1
        except EncodeError as first:
            refused, error = middle, first
    return int(times[refused]), error
