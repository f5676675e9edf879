"""Faults of the shape of messages: how many rows they hold, and whether they are cut down to the handle key.

Rows keep their order, and a message holds only rows that the worker may put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simulator import limits
from simulator.columns.cells import Mask
from simulator.faults.active import ActiveFault, FaultContext, matching_rows
from simulator.faults.fault import FOR_KEY, TABLE_KEY, number_from
from simulator.faults.kind import FaultKind, release_and_protocol
from simulator.settings import Key
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.flush import Flush
from simulator.ticdc.rules import ChangefeedRules

EVENTS_KEY = Key("events", *number_from(1, limits.FAULT_ROWS), "Rows in a message at most.")
ROWS_KEY = Key("rows", *number_from(1, limits.FAULT_ROWS), "How many of the next rows; 1 where unsaid.")


class SmallBatches(ActiveFault):
    """Limits the rows of messages while it lasts."""

    def flush(self, flush: Flush) -> Flush:
        chosen = matching_rows(flush.events, self.context)
        return _limit_batches(flush, chosen, self.context.fault.values[EVENTS_KEY.field])


class LargeMessage(ActiveFault):
    """Treats some of the next rows as too large."""

    awaits = True

    def __init__(self, context: FaultContext) -> None:
        super().__init__(context)
        self._left: int = context.fault.values.get(ROWS_KEY.field, 1)

    def flush(self, flush: Flush) -> Flush:
        fitting = matching_rows(flush.events, self.context)
        chosen = fitting & (np.cumsum(fitting) <= self._left)
        self._left -= int(chosen.sum())
        self.over = not self._left
        return replace(flush, large=chosen if flush.large is None else flush.large | chosen) if chosen.any() else flush


def _limit_batches(flush: Flush, chosen: Mask, events: int) -> Flush:
    """Limit messages to so many of the chosen rows, as if the worker's clock ticked after every so many rows (tiflow
    v8.5.3: cdc/sink/dmlsink/mq/worker.go batchEncodeRun, 15 ms).
    """
    starts = np.append(True, (np.diff(flush.group) != 0) | (np.diff(chosen.astype(np.int8)) != 0))[: len(flush.group)]
    places = np.arange(len(starts))
    behind = places - np.maximum.accumulate(np.where(starts, places, 0))
    return replace(flush, group=np.cumsum(starts | chosen & (behind % events == 0)))


def _refuse_batch(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    options, release = rules.changefeed.codec, rules.release
    codec = CODECS[options.protocol]
    if not codec.batches:
        return f"{release_and_protocol(rules)} puts each row into a message of its own"
    most = codec.sizes(options, release).max_batch_size
    if values[EVENTS_KEY.field] > most:
        return f"events = {values[EVENTS_KEY.field]} is above max-batch-size = {most}"
    return ""


def _refuse_large_message(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    options, release = rules.changefeed.codec, rules.release
    if CODECS[options.protocol].large_message_option(options, release) != "none":
        return ""
    return (
        f"{release_and_protocol(rules)} has no form here for a row that is too large: "
        "[sink.kafka-config.large-message-handle] large-message-handle-option is to be handle-key-only or claim-check, "
        "in a release that has them"
    )


BATCH = FaultKind(
    says="Messages have so many rows at most, as where the clock of TiCDC's worker ends a batch.",
    source="tiflow v8.5.3: cdc/sink/dmlsink/mq/worker.go batchEncodeRun",
    active=SmallBatches,
    keys={"events": EVENTS_KEY, "table": TABLE_KEY, "for": FOR_KEY},
    needs=("events",),
    refuse=_refuse_batch,
)
LARGE_MESSAGE = FaultKind(
    says="The next rows are sent as if they were too large: cut down to the handle key, or put into a file.",
    source="tiflow#9442, tiflow#9490, tiflow PR#9376",
    active=LargeMessage,
    keys={"rows": ROWS_KEY, "table": TABLE_KEY},
    refuse=_refuse_large_message,
)
