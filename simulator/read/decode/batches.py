"""Batches of a partition decoded: RECORDS to DECODED."""

from __future__ import annotations

import pyarrow as pa

from simulator.errors import UserError
from simulator.read.decode import protocol_of
from simulator.read.decode.row_wise import Stored, batch_of, records_of
from simulator.read.frame import Layout


class Decoding:
    """Decodes the batches of a stream, one after another, and keeps the layouts that their rows refer to.

    Without a protocol it is that of the first record that looks like one's. With `stored` the rows of claim-check are
    taken from the files that they name; where that fails, `text` of the row says why and it stays cut down.
    """

    def __init__(self, protocol: str | None = None, stored: Stored | None = None) -> None:
        self.protocol = protocol
        self.layouts: list[Layout] = []
        self._stored = stored
        self._places: dict[Layout, int] = {}

    def decoded(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """The events of RECORDS, as DECODED; `layouts` has the layouts of its rows afterwards."""
        self.protocol = self.protocol or recognised(records)
        return batch_of(records_of(records), self.protocol, self._place, self._stored)

    def _place(self, layout: Layout) -> int:
        place = self._places.setdefault(layout, len(self.layouts))
        if place == len(self.layouts):
            self.layouts.append(layout)
        return place


def recognised(records: pa.RecordBatch) -> str | None:
    """The protocol of the first record that looks like one of a protocol; None where none does."""
    for _, key, value in records_of(records):
        try:
            return protocol_of(key, value)
        except UserError:
            continue
    return None
