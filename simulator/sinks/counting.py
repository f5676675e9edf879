"""A sink that only counts: what the pipeline costs before Kafka or a disk."""

from __future__ import annotations

from simulator.sinks.immediate import Immediate
from simulator.sinks.records import Run


class Counting(Immediate):
    """Counts records and bytes of each partition and forgets them."""

    def _deliver(self, run: Run, offset: int) -> None:
        pass
