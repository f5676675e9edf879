"""How far a consumer group is behind, asked of a real Apache Kafka."""

from __future__ import annotations

import os
from itertools import count

import numpy as np
import pyarrow as pa
import pytest
from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata, TopicPartition

from simulator.broker.processes import free_port
from simulator.sinks import SINKS
from simulator.sinks.kafka.admin import prepare_topics
from simulator.sinks.kafka.lag import GroupOffsets, Offsets
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.sinks.records import Records

pytestmark = [
    pytest.mark.kafka,
    # kafka-python 3.0.12 drops the socket of a refused connection without closing it (net/inet.py).
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

NAMES = count()


def write(settings: KafkaSettings, topic: str, rows: int) -> None:
    """So many records, dealt out to two partitions."""
    sink = SINKS["kafka"](settings, [topic])
    values = pa.array([b"x"] * rows, pa.binary())
    places = pa.array(np.zeros(rows), pa.int32()), pa.array(np.arange(rows) % 2, pa.int32())
    sink.write(Records(*places, values, values, pa.array(np.arange(1, rows + 1))))
    assert [None, None] == [account.error for account in sink.close()]


def commit(kafka: str, group: str, topic: str, offsets: dict[int, int]) -> None:
    consumer = KafkaConsumer(bootstrap_servers=kafka, group_id=group, enable_auto_commit=False)
    try:
        consumer.commit(
            {TopicPartition(topic, number): OffsetAndMetadata(offset, "", -1) for number, offset in offsets.items()}
        )
    finally:
        consumer.close()


def test_lag_is_what_is_not_committed(kafka: str) -> None:
    """Of the partitions that are written to; one that the group has not come to counts whole."""
    topic, group = (f"lag-{os.getpid()}-{next(NAMES)}" for _ in range(2))
    settings = prepare_topics(KafkaSettings((kafka,)), {topic: 2}).settings
    offsets = GroupOffsets(settings, group, {topic: 2})
    try:
        found = None
        for _ in range(100):  # the first that asks a new Kafka has it make its topic of offsets
            found = found or offsets.ask()
        assert Offsets(0, None) == found
        write(settings, topic, 100)
        assert Offsets(100, None) == offsets.ask()
        commit(kafka, group, topic, {0: 30})
        assert Offsets(100, 30) == offsets.ask()
        commit(kafka, group, topic, {0: 50, 1: 45})
        write(settings, topic, 20)
        assert Offsets(120, 95) == offsets.ask()
    finally:
        offsets.close()


def test_a_kafka_that_does_not_answer_gives_no_lag() -> None:
    """And no error: the run goes on."""
    gone = KafkaSettings((f"127.0.0.1:{free_port()}",), dial_timeout=0.3)

    assert GroupOffsets(gone, "g", {"t": 1}).ask() is None
