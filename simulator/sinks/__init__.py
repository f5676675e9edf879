"""The sinks: where Kafka records are sent.

`SINKS[name](settings, topics)` returns a sink from its own settings and the run's topics in index order. A third
argument, `records.WaitListener`, is called while the sink waits. A sink's module is imported when it is chosen, so that
a run into files needs no Kafka library.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.registry import Registry
from simulator.sinks.records import Sink

SINKS = Registry[Callable[..., Sink]](
    {
        "kafka": "simulator.sinks.kafka.sink:KafkaSink",
        "jsonl": "simulator.sinks.files:JsonLines",
        "parquet": "simulator.sinks.files:ParquetFiles",
        "console": "simulator.sinks.console:ConsoleSink",
        "storage": "simulator.sinks.storage:StorageSink",
        "memory": "simulator.sinks.memory:MemorySink",
        "counting": "simulator.sinks.memory:CountingSink",
    }
)

WAITING = ("kafka", "storage")
"""Sinks with barriers: DDL and checkpoints come after all older rows are delivered."""

ENDED_AT_WATERMARK = ("kafka", "storage", "console")
"""Sinks whose records outlive a stopped run: it ends complete up to a watermark."""
