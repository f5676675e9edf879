"""The record of a window that was sent. The live line, the summary, the report and the metrics come from it."""

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
    """Rows a second; 0 for as many as possible."""

    handed_out: float
    began: float
    ended: float
    """When the window was handed out, when the sink received its first record, and when its watermark was acknowledged,
    in seconds since 1970.
    """

    behind: float
    """How many seconds late it ended."""

    rows: Mapping[tuple[int, int], int]
    """(index in `Model.tables`, op) → row changes"""

    partitions: Mapping[tuple[str, int], tuple[int, int, int]]
    """(topic, partition) → rows, messages, bytes"""

    latencies: Latencies
    """From handing a record to Kafka to its acknowledgement."""

    retried: int = 0
    """How often its rows were sent again because a sending process was lost."""

    resent: int = 0
    """Records that the same process had to hand to Kafka again."""
