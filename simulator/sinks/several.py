"""One stream into several sinks.

One law: the first sink is the one that counts: what it says became of a record is what is said.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.sinks.latencies import Latencies
from simulator.sinks.records import Delivered, Records, Sink


class Several:
    """Gives all of them the same records."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks

    @property
    def failed(self) -> bool:
        """Whether any of them lost its way."""
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

    def accounts(self) -> list[Delivered]:
        return self._sinks[0].accounts()

    def close(self) -> list[Delivered]:
        return [sink.close() for sink in self._sinks][0]
