"""The sinks: where Kafka records are sent.

`SINKS[name](settings, topics)` returns a sink from its own settings and the run's topics in index order. A third
argument, `records.WaitListener`, is called while the sink waits. A sink's module is imported when it is chosen, so that
a run into files needs no Kafka library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simulator.channel import DriverAddress
from simulator.sinks.files import FileSettings
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.memory import CountingSink, MemorySink
from simulator.sinks.records import Sink, WaitListener, ignore_waiting

if TYPE_CHECKING:
    from simulator.sinks.storage import StorageSettings  # imports sqlglot


def _kafka(settings: KafkaSettings, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> Sink:
    from simulator.sinks.kafka.sink import KafkaSink

    return KafkaSink(settings, topics, waiting)


def _jsonl(settings: FileSettings, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> Sink:
    from simulator.sinks.files.formats import JsonLines

    return JsonLines(settings, topics)


def _parquet(settings: FileSettings, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> Sink:
    from simulator.sinks.files.formats import ParquetFiles

    return ParquetFiles(settings, topics)


def _console(driver: DriverAddress, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> Sink:
    from simulator.sinks.console import ConsoleSink

    return ConsoleSink(driver, topics)


def _storage(settings: StorageSettings, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> Sink:
    from simulator.sinks.storage import StorageSink

    return StorageSink(settings)


SINKS: dict[str, Callable[..., Sink]] = {
    "kafka": _kafka,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "console": _console,
    "storage": _storage,
    "memory": lambda messages, topics, waiting=ignore_waiting: MemorySink(messages, topics),
    "counting": lambda settings, topics, waiting=ignore_waiting: CountingSink(),
}

WAITING = ("kafka", "storage")
"""Sinks with barriers: DDL and checkpoints come after all older rows are delivered."""

ENDED_AT_WATERMARK = ("kafka", "storage", "console")
"""Sinks whose records outlive a stopped run: it ends complete up to a watermark."""
