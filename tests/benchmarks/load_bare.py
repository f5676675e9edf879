"""Producers that do nothing but send records that are there already, beside which a load run is measured: a loop over
`send()` of kafka-python, our sink, and Kafka's own `kafka-producer-perf-test`.

Each process has the records of its share of the partitions in memory before the clock starts, and sends them again and
again. All: acks=all, idempotent, no compression, as large a batch and linger as our sink has, at most 16 MiB in flight.
"""

from __future__ import annotations

import multiprocessing
import re
import subprocess
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.synchronize import Barrier
from typing import TypeVar

from kafka.future import Future
from load import Course, epoch
from measuring import SIX, SPREAD

from simulator.broker import KAFKA
from simulator.broker.java import fetch_jars, find_java
from simulator.load.sender import window_messages
from simulator.sinks.kafka import KafkaSettings, producers
from simulator.sinks.kafka.sink import KafkaSink
from simulator.sinks.records import Records, require_delivered

RECORDS = 200_000
"""That each process has ready."""

READY_BYTES = 64 << 20
"""If these are not more."""

WARM = 2.0
"""Seconds that are not counted."""

TOOLS = f"""<ivy-module version="2.0"><info organisation="local" module="kafka-tools"/><dependencies>
<dependency org="org.apache.kafka" name="kafka-tools" rev="{KAFKA}" conf="default"/>
<dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4" conf="default"/>
</dependencies></ivy-module>
"""


@dataclass(frozen=True)
class Share:
    """What one process does."""

    loop: str
    number: int
    processes: int
    seconds: float
    settings: KafkaSettings
    topic: str


T = TypeVar("T")
Loop = Callable[[Share], Callable[[], float]]
"""Makes everything ready; what it gives then says how many records a second there are."""


def sink(share: Share) -> Callable[[], float]:
    """Our sink."""
    kafka, ready = KafkaSink(share.settings, [share.topic]), _records(share)

    def send(records: Records) -> int:
        kafka.write(records)
        return len(records.value)

    return partial(_clocked, share, ready, send, lambda: require_delivered(kafka.close()))


def kafka_python(share: Share) -> Callable[[], float]:
    """The textbook's loop."""
    producer, flying = producers.producer(share.settings), 0
    waiting: deque[tuple[Future, int]] = deque()

    def send(batch: list[tuple[int, bytes, bytes]]) -> int:
        nonlocal flying
        for partition, key, value in batch:
            flying += len(value)
            waiting.append((producer.send(share.topic, value, key, partition=partition), len(value)))
            while flying > share.settings.in_flight_bytes:
                future, size = waiting.popleft()
                future.get(60)
                flying -= size
        return len(batch)

    def end() -> None:
        producer.flush()
        for future, _ in waiting:
            future.get(60)
        producer.close()

    return partial(_clocked, share, _rows(_records(share)), send, end)


LOOPS: dict[str, Loop] = {"kafka-python": kafka_python, "sink": sink}


def rate(loop: str, processes: int, seconds: float, settings: KafkaSettings, topic: str) -> float:
    """Records a second of so many processes together, which begin when all are ready."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes)
    found: multiprocessing.SimpleQueue[float] = context.SimpleQueue()
    shares = [Share(loop, number, processes, seconds, settings, topic) for number in range(processes)]
    running = [context.Process(target=_work, args=(share, barrier, found)) for share in shares]
    for process in running:
        process.start()
    for process in running:
        process.join()
        if process.exitcode:
            raise SystemExit(f"{loop} ended with {process.exitcode}")
    return sum(found.get() for _ in running)


def _work(share: Share, barrier: Barrier, found: multiprocessing.SimpleQueue[float]) -> None:
    run = LOOPS[share.loop](share)
    barrier.wait()
    found.put(run())


def performance(settings: KafkaSettings, topic: str, record_bytes: int, seconds: float) -> float:
    """Records a second of Kafka's own tool, which makes values of that size and no keys."""
    rough = _performed(settings, topic, record_bytes, 200_000)
    return _performed(settings, topic, record_bytes, round(rough * seconds))


def _performed(settings: KafkaSettings, topic: str, record_bytes: int, records: int) -> float:
    java = find_java("Kafka")
    tools = fetch_jars(java, f"kafka-tools-{KAFKA}", f"the tools of Apache Kafka {KAFKA}", TOOLS)
    given = {
        "acks": "all",
        "enable.idempotence": "true",
        "compression.type": "none",
        "batch.size": settings.batch_bytes,
        "linger.ms": producers.LINGER_MS,
        "buffer.memory": settings.in_flight_bytes,
        "max.request.size": settings.in_flight_bytes + (1 << 20),
    }
    command = [java, "-Xmx512m", "-cp", f"{tools}/*", "org.apache.kafka.tools.ProducerPerformance", "--topic", topic]
    command += ["--bootstrap-server", settings.address, "--num-records", str(records), "--throughput", "-1"]
    command += ["--record-size", str(record_bytes), "--command-property"]
    command += [f"{name}={value}" for name, value in given.items()]
    done = subprocess.run(command, capture_output=True, text=True)
    told = re.findall(r"records sent, ([\d.]+) records/sec", done.stdout)
    if done.returncode or not told:
        raise SystemExit(f"kafka-producer-perf-test: {done.stdout[-500:]}{done.stderr[-500:]}")
    return float(told[-1])


def _records(share: Share) -> list[Records]:
    """What a process has ready."""
    of, ready = epoch(SIX, "canal-json", SPREAD), list[Records]()
    course = Course(of, range(share.number, of.spec.destinations.total, share.processes))
    while sum(len(each.value) for each in ready) < RECORDS and sum(each.value.nbytes for each in ready) < READY_BYTES:
        ready += [each.records for each in window_messages(course.next(), course.owned)]
    return ready


def _rows(ready: list[Records]) -> list[list[tuple[int, bytes, bytes]]]:
    return [
        list(zip(records.partition.to_pylist(), records.key.to_pylist(), records.value.to_pylist(), strict=True))
        for records in ready
    ]


def _clocked(share: Share, ready: list[T], send: Callable[[T], int], end: Callable[[], object]) -> float:
    """Records a second, from when the producer has been at it for a while until all is acknowledged."""
    began, sent, number = 0.0, 0, 0
    started = time.perf_counter()
    while not began or time.perf_counter() < began + share.seconds:
        sent += send(ready[number % len(ready)])
        number += 1
        if not began and time.perf_counter() > started + WARM:
            began, sent = time.perf_counter(), 0
    end()
    return sent / (time.perf_counter() - began)
