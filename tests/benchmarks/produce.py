"""Producing ready records: prepared batches and confluent-kafka beside a plain kafka-python loop with the same tuning,
into one real Kafka.

    python tests/benchmarks/produce.py [--records 150000] [--rounds 3] [--broker HOST:PORT]

The loop is the textbook one: `send()` for each record, at most 16 MiB in flight, then `flush()`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from kafka.future import Future

from simulator.broker import server as broker
from simulator.broker.processes import free_port
from simulator.sinks.kafka import producers
from simulator.sinks.kafka.admin import prepare_topics
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.sinks.kafka.sink import KafkaSink
from simulator.sinks.records import Records, require_delivered

PARTITIONS = 4
BATCH = 16384


def records(count: int, size: int) -> list[Records]:
    """As the pipeline hands them over: Arrow batches, the partitions interleaved, keys of 40 bytes within `size`."""
    made = []
    for start in range(0, count, BATCH):
        rows = min(BATCH, count - start)
        text = np.random.default_rng(start).integers(97, 123, (rows, size), np.uint8).astype(np.uint8)
        keys, values = text[:, :40].tobytes(), text[:, 40:].tobytes()
        key, value = pa.FixedSizeBinaryArray.from_buffers, pa.py_buffer
        partition = pa.array(np.arange(rows) % PARTITIONS, pa.int32())
        made.append(
            Records(
                pa.array(np.zeros(rows), pa.int32()),
                partition,
                key(pa.binary(40), rows, [None, value(keys)]).cast(pa.binary()),
                key(pa.binary(size - 40), rows, [None, value(values)]).cast(pa.binary()),
                pa.array(np.arange(start, start + rows)),
            )
        )
    return made


def sink(settings: KafkaSettings, topic: str, batches: list[Records]) -> None:
    """Through our sink."""
    kafka = KafkaSink(settings, [topic])
    for batch in batches:
        kafka.write(batch)
    require_delivered(kafka.close())


def loop(settings: KafkaSettings, topic: str, batches: list[tuple[list[int], list[bytes], list[bytes]]]) -> None:
    """Record by record through kafka-python."""
    producer, flying = producers.producer(settings), 0
    waiting: deque[tuple[Future, int]] = deque()
    for partitions, keys, values in batches:
        for partition, key, value in zip(partitions, keys, values, strict=True):
            flying += len(value)
            waiting.append((producer.send(topic, value, key, partition=partition), len(value)))
            while flying > settings.in_flight_bytes:
                future, size = waiting.popleft()
                future.get(60)
                flying -= size
    producer.flush()
    for future, _ in waiting:
        future.get(60)
    producer.close()


def measure(name: str, settings: KafkaSettings, run: Callable[[KafkaSettings, str], None], count: int) -> float:
    """Records a second."""
    topic = f"bench-{name}-{time.time_ns()}"
    ready = prepare_topics(settings, {topic: PARTITIONS}).settings
    start = time.perf_counter()
    run(ready, topic)
    return count / (time.perf_counter() - start)


def main() -> None:
    """Prints three lines a size: the medians of each way, and how they compare with the loop."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--records", type=int, default=150_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--broker")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-kafka-") as directory:
        address = chosen.broker or broker.start(free_port(), Path(directory))
        try:
            for size in (200, 1024):
                compare(KafkaSettings((address,)), size, chosen.records, chosen.rounds)
        finally:
            broker.stop(Path(directory))


def compare(settings: KafkaSettings, size: int, count: int, rounds: int) -> None:
    """The three ways in turn, `rounds` times, so that a busy moment of the machine meets all of them."""
    batches = records(count, size)
    rows = [(b.partition.to_pylist(), b.key.to_pylist(), b.value.to_pylist()) for b in batches]
    confluent = replace(settings, driver="confluent")
    ways: dict[str, Callable[[], float]] = {
        "loop": lambda: measure("loop", settings, lambda s, t: loop(s, t, rows), count),
        "prepared": lambda: measure("prepared", settings, lambda s, t: sink(s, t, batches), count),
        "confluent": lambda: measure("confluent", confluent, lambda s, t: sink(s, t, batches), count),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            rates[name].append(way())
    slow = statistics.median(rates["loop"])
    for name, found in rates.items():
        rate = statistics.median(found)
        print(
            f"{size:5d} B: {name:9} {rate:9,.0f} records/s ({rate * size / 1e6:4.0f} MB/s; "
            f"{min(found):,.0f} to {max(found):,.0f}): {rate / slow:.1f} x"
        )


if __name__ == "__main__":
    main()
