"""The rate at which an example consumer falls behind, found by `load --until-lag` against a real Kafka."""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, TopicPartition
from support.playing import Said, said

from simulator.load import lag_search
from simulator.load import lag_search as lag
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.kafka.admin import prepare_topics

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.usefixtures("here"),
    # kafka-python 3.0.12 drops the socket of a refused connection without closing it (net/inet.py).
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

FASTEST = 600
"""Messages a second that the consumer takes."""

POLLS = 40
"""A second."""


def consume(address: str, topic: str, stop: threading.Event) -> None:
    """Take so many messages a second, and commit what was taken.

    The partitions are assigned, not subscribed to: a member that joins while the topic is being created may be given
    none of them until its metadata is renewed, five minutes later.
    """
    consumer = KafkaConsumer(
        bootstrap_servers=address, group_id=f"slow-{topic}", enable_auto_commit=False, auto_offset_reset="earliest"
    )
    consumer.assign([TopicPartition(topic, number) for number in range(2)])
    while not stop.is_set():
        began = time.monotonic()
        taken = sum(map(len, consumer.poll(timeout_ms=100, max_records=FASTEST // POLLS).values()))
        if taken:
            consumer.commit()
        time.sleep(max(0.0, began + taken / FASTEST - time.monotonic()))
    consumer.close()


@pytest.fixture(name="topic")
def _topic(kafka: str) -> Iterator[str]:
    """A topic of this test alone, which group `slow-TOPIC` reads."""
    topic, stop = f"until-lag-{uuid.uuid4().hex[:8]}", threading.Event()
    prepare_topics(KafkaSettings((kafka,)), {topic: 2})
    consumer = threading.Thread(target=consume, args=(kafka, topic, stop))
    consumer.start()
    yield topic
    stop.set()
    consumer.join()


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds are less here."""
    for name, value in (("SETTLING", 0.5), ("SHORTEST", 1.5), ("PRECISION", 1.3), ("REACHED_SHARE", 0.8)):
        monkeypatch.setattr(lag, name, value)
    monkeypatch.setattr(lag_search, "INTERVAL", 0.1)


def search(kafka: str, topic: str, group: str, *more: object) -> Said:
    uri = f"kafka://{kafka}/{topic}?protocol=canal-json&enable-tidb-extension=true"
    load = ("load", "--preset", "bank", "--master", "none", "--until-lag", 150, "--rate", 300, "--sink-uri", uri)
    return said(*load, "--consumer-group", group, "--resolved-interval", "250ms", "--checkpoint", "c", *more)


def test_a_search_without_a_verdict_says_why(kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its duration is too short; a group that there is not: tests/load/test_lag.py."""
    monkeypatch.setattr(lag, "SHORTEST", 60.0)
    code, out, _ = search(kafka, topic, f"slow-{topic}", "--duration", "2s")
    words = r"^--until-lag found no verdict before the run ended: no rate was judged so far; a longer --duration"
    assert code == 0 and re.search(words, out, re.MULTILINE), out


def test_the_breaking_point_of_a_consumer_is_found(kafka: str, topic: str) -> None:
    """Below what it takes at most, by what a busy machine takes from it; what was too much is somewhat above."""
    code, out, _ = search(kafka, topic, f"slow-{topic}", "--summary", "summary.json")
    found = json.loads(Path("summary.json").read_text())["sustained"]

    assert code == 0
    assert 0.1 * FASTEST <= found["sustained"] <= 1.1 * FASTEST
    assert found["sustained"] < found["too_much"] <= 1.3 * found["sustained"]
    words = r"^sustained [\d,]+ rows/s: at [\d,]+ the lag of group slow-until-lag-\w+ grew by [\d,]+ records/s$"
    assert re.search(words, out, re.MULTILINE)
