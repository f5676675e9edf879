"""Faults of the files that a storage sink writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Mask
from simulator.columns.change_frame import DDL, WATERMARK
from simulator.engines.tasks.messages import FlushMessages
from simulator.faults.active import ActiveFault, EventPiece, FaultContext, matching_rows
from simulator.faults.fault import FOR_KEY
from simulator.faults.kind import OF_TABLE, STORAGE, FaultKind, illegal_fault, release_and_protocol
from simulator.sinks.records import CUT_SHORT, INDEX_ONLY
from simulator.ticdc.rules import ChangefeedRules


class IndexBeforeData(ActiveFault):
    """Marks rows, so that the sink holds back their files, and suppresses checkpoints, the last one of the run, too."""

    def __init__(self, context: FaultContext) -> None:
        super().__init__(context)
        self.awaits = True
        self._standstill = context.fault.at_ts, context.fault.until_ts - 1

    def begin(self) -> Iterator[EventPiece]:
        self.context.history.hold(*self._standstill)
        yield from ()

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        self.awaits = self.awaits and not matching_rows(piece.events, self.context).any()
        if piece.kind == DDL and not self.over:
            self.over = True
            self.context.history.release(*self._standstill)
        if piece.kind != WATERMARK:
            yield piece

    def messages(self, made: FlushMessages) -> Iterator[FlushMessages]:
        yield _with_file_fault(made, matching_rows(made.events, self.context), INDEX_ONLY)


class TruncatedFile(ActiveFault):
    awaits = True

    def messages(self, made: FlushMessages) -> Iterator[FlushMessages]:
        matching = matching_rows(made.events, self.context)
        if self.over or not matching.any():
            yield made
            return
        self.over = True
        yield _with_file_fault(made, np.arange(len(matching)) == np.argmax(matching), CUT_SHORT)


def _with_file_fault(made: FlushMessages, rows: Mask, fault: int) -> FlushMessages:
    """Return the messages with a fault of the files of some rows; a message has one event."""
    known = made.records.file_fault
    faults = np.zeros(len(rows), np.int8) if known is None else np.asarray(known).copy()
    faults[rows] = fault
    return replace(made, records=replace(made.records, file_fault=pa.array(faults, pa.int8())))


def _refuse_index_last(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if rules.release.storage_index == "last":
        return f"{release_and_protocol(rules)} writes the index after the file that it names"
    return "" if rules.release.storage_index != "none" else f"{release_and_protocol(rules)} writes no index"


INDEX_BEFORE_DATA = FaultKind(
    says="TiCDC hangs when it has written an index: the file of rows that it names is not there, and the checkpoint "
    "stands still. A statement ends it.",
    source="ticdc#3784; tiflow v8.0.0: cdc/sink/dmlsink/cloudstorage/dml_worker.go flushMessages",
    active=IndexBeforeData,
    keys={**OF_TABLE, "for": FOR_KEY},
    refuse=_refuse_index_last,
    sinks=(STORAGE,),
)
TRUNCATED_FILE = illegal_fault(
    says="The next file of rows ends in the middle of its last row.",
    source="ticdc#3784, where a consumer read files that were not complete",
    active=TruncatedFile,
    sinks=(STORAGE,),
)
