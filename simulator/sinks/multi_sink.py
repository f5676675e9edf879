"""A sink that writes the same records to several sinks.

Reports and latencies are those of the first sink.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.sinks.latencies import Latencies
from simulator.sinks.records import DeliveryReport, Records, Sink


class MultiSink:
    """Writes all records to all of its sinks."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks

    @property
    def failed(self) -> bool:
        """Whether any of the sinks has failed."""
        return any(sink.failed for sink in self._sinks)

    @property
    def in_flight(self) -> int:
        return sum(sink.in_flight for sink in self._sinks)

    @property
    def resent(self) -> int:
        return self._sinks[0].resent

    def latencies(self) -> Latencies:
        return self._sinks[0].latencies()

    def write(self, records: Records) -> None:
        for sink in self._sinks:
            sink.write(records)

    def drain(self) -> None:
        for sink in self._sinks:
            sink.drain()

    def accounts(self) -> list[DeliveryReport]:
        return self._sinks[0].accounts()

    def close(self) -> list[DeliveryReport]:
        return [sink.close() for sink in self._sinks][0]
