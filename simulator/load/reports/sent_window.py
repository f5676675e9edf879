"""What is known of a window once it is sent: from it come the live line, the summary, the report and the metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.sinks.latencies import Latencies


@dataclass(frozen=True)
class SentWindow:
    """A window whose rows are all acknowledged, and whose watermark is sent."""

    first_ms: int
    end_ms: int
    """Simulated milliseconds since the stream's start."""

    watermark: int
    """The TSO at `end_ms`."""

    target_rate: float
    """Rows a second; 0 for as many as there can be."""

    handed_out: float
    began: float
    ended: float
    """When the window was handed out, when the first of its records was given to a sink, and when its watermark was
    acknowledged, in seconds since 1970."""

    behind: float
    """How many seconds later than asked it ended."""

    rows: Mapping[tuple[int, int], int]
    """(place in `Model.tables`, op) → row changes"""

    partitions: Mapping[tuple[str, int], tuple[int, int, int]]
    """(topic, partition) → rows, messages, bytes"""

    latencies: Latencies
    """From handing a record to Kafka to its acknowledgement."""

    retried: int = 0
    """How often its rows were sent again, as a process that sent them was lost."""

    resent: int = 0
    """Records that had to be given to Kafka again, by the process that had given them before."""
