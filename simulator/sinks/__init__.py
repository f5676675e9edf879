"""The sinks: where Kafka records are sent.

`SINKS[name](settings, topics)` returns a sink from its own settings and the run's topics in index order. A third
argument, `records.WaitListener`, is called while the sink waits. A sink's module is imported when it is chosen, so that
a run into files needs no Kafka library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from simulator.sinks.records import Sink


@dataclass(frozen=True)
class SinkKind:
    """A kind of sink, and what a run has to know of it."""

    place: str
    """Its class, as `package.module:Name`."""

    barriers: bool = False
    """Whether DDL and checkpoints come after all older rows are delivered."""

    lasting: bool = False
    """Whether records outlive a stopped run, which then ends complete up to a watermark."""

    erasable: bool = False
    """Whether records are nowhere but in files of the run until it is complete, so that all can be sent anew."""

    decoded: bool = False
    """Whether it takes the decoded events beside their bytes."""

    def __call__(self, *arguments: Any) -> Sink:
        sink: Sink = resolve_name(self.place)(*arguments)
        return sink


SINKS: Mapping[str, SinkKind] = {
    "kafka": SinkKind("simulator.sinks.kafka.sink:KafkaSink", barriers=True, lasting=True),
    "storage": SinkKind("simulator.sinks.storage:StorageSink", barriers=True, lasting=True),
    "jsonl": SinkKind("simulator.sinks.files:JsonLines", erasable=True, decoded=True),
    "parquet": SinkKind("simulator.sinks.files:ParquetFiles", erasable=True),
    "console": SinkKind("simulator.sinks.console:ConsoleSink", lasting=True),
    "memory": SinkKind("simulator.sinks.memory:MemorySink"),
    "counting": SinkKind("simulator.sinks.memory:CountingSink"),
}
