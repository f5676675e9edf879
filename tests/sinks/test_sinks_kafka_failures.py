"""The Kafka sink where batches fail: whatever goes wrong, and when, what a partition's log shows first comes in order.

So a watermark, too, never stands before the first emission of a row that it covers: both are records in one order.
"""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections import deque
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.errors import KafkaError
from support.scripted_servers import OUT_OF_ORDER_SEQUENCE, TOPIC, UNKNOWN_TOPIC, Outcome, ScriptedKafka

from simulator.errors import ChangefeedError, DeliveryError, UserError
from simulator.sinks import SINKS
from simulator.sinks.kafka import KafkaSettings, admin
from simulator.sinks.kafka import sink as kafka_sink
from simulator.sinks.kafka.library import KafkaConnectionError, NodeNotReadyError
from simulator.sinks.kafka.producers import PreparedProducer, producer
from simulator.sinks.kafka.sink import KafkaSink
from simulator.sinks.records import Records

OK, REFUSED = Outcome(), Outcome(OUT_OF_ORDER_SEQUENCE, writes=False)

OUTCOMES = [
    OK,
    REFUSED,
    Outcome(47, writes=False),  # INVALID_PRODUCER_EPOCH
    Outcome(-1, writes=False),  # UNKNOWN_SERVER_ERROR, which is not sent again by kafka-python
    Outcome(-1),
    Outcome(19, writes=False),  # NOT_ENOUGH_REPLICAS, which is
    Outcome(20),  # NOT_ENOUGH_REPLICAS_AFTER_APPEND
    Outcome(6, writes=False),  # NOT_LEADER_OR_FOLLOWER
    Outcome(32, writes=False),  # INVALID_TIMESTAMP, which ends the partition
    Outcome(hangs_up=True),
    Outcome(hangs_up=True, writes=False),
]


def numbered(partition: int, start: int, count: int) -> Records:
    """Records of one partition whose values are their numbers."""
    numbers = range(start, start + count)
    return Records(
        pa.array([0] * count, pa.int32()),
        pa.array([partition] * count, pa.int32()),
        pa.array([b"k"] * count, pa.binary()),
        pa.array([b"%d" % number for number in numbers], pa.binary()),
        pa.array([number + 1 for number in numbers], pa.int64()),
    )


def first_seen(log: list[bytes]) -> list[int]:
    return [int(value) for value in dict.fromkeys(log)]


@pytest.mark.slow
def test_nothing_overtakes_a_batch_that_failed_while_an_older_one_is_waited_for() -> None:
    """A broker holds partition 1 back; meanwhile a batch of partition 0 fails, and more is written."""
    held, rows = threading.Event(), 40
    with ScriptedKafka(partitions=2, nodes=2) as kafka:
        kafka.state.by_partition = {0: deque([REFUSED]), 1: deque([Outcome(after=held)])}
        chosen = KafkaSettings((kafka.address,), batch_bytes=300)
        sink = SINKS["kafka"](chosen, [TOPIC])
        sink.write(numbered(1, 0, 1))
        for start in range(rows):
            sink.write(numbered(0, start, 1))
        kafka.wait_for(0, rows)
        held.set()
        accounts = sink.close()

    assert [(rows, None), (1, None)] == [(account.records, account.error) for account in accounts]
    assert list(range(rows)) == first_seen(kafka.state.log[0])


@pytest.mark.slow
@settings(max_examples=8)
@given(
    script=st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=6),
    writes=st.lists(st.tuples(st.integers(0, 1), st.integers(1, 30)), min_size=2, max_size=12),
    acks=st.sampled_from([-1, 1]),
)
def test_whatever_fails_first_emissions_are_in_order(
    script: list[Outcome], writes: list[tuple[int, int]], acks: int
) -> None:
    """And what is in the log is all up to some record, at least up to where the account says."""
    given_to = [0, 0]
    with ScriptedKafka(partitions=2, script=script) as kafka:
        chosen = KafkaSettings((kafka.address,), required_acks=acks)
        sink = SINKS["kafka"](replace(chosen, batch_bytes=300), [TOPIC])
        for partition, count in writes:
            sink.write(numbered(partition, given_to[partition], count))
            given_to[partition] += count
        accounts = sink.close()

    for account in accounts:
        found = first_seen(kafka.state.log.get(account.partition, []))
        assert list(range(len(found))) == found
        assert account.records <= len(found)
        assert account.error is not None or (account.records == len(found) == given_to[account.partition])


@pytest.mark.slow
def test_no_record_of_a_batch_is_sent_before_all_that_stand_before_it() -> None:
    """Unless all replicas acknowledge, a batch is one request, however slow its producer is at first: of two the second may
    be written after the first has failed."""
    with ScriptedKafka() as kafka:
        for start in range(0, 400, 40):
            sink = SINKS["kafka"](KafkaSettings((kafka.address,), required_acks=1), [TOPIC])
            sink.write(numbered(0, start, 40))
            sink.close()

    assert [b"%d" % start for start in range(0, 400, 40)] == kafka.state.seen[0]


@pytest.mark.slow
def test_a_batch_that_fails_for_ever_ends_its_partition_after_the_silence() -> None:
    """It is not tried without a pause, and the other partition gets all of its records."""
    with ScriptedKafka(partitions=2) as kafka:
        kafka.state.by_partition = {0: deque([Outcome(-1, writes=False)] * 1000)}
        chosen = KafkaSettings((kafka.address,), silence=2.0, batch_bytes=300)
        sink = SINKS["kafka"](chosen, [TOPIC])
        for start in range(0, 100, 10):
            sink.write(numbered(0, start, 10))
            sink.write(numbered(1, start, 10))
        lost, kept = sink.close()

    assert (100, None) == (kept.records, kept.error)
    assert list(range(100)) == first_seen(kafka.state.log[1])
    assert lost.error == (
        f"topic {TOPIC} partition 0: not delivered from its first record on, commit_ts 1: "
        f"Kafka at {kafka.address} has acknowledged nothing for 2 s (An unexpected server error.)"
    )
    assert len(kafka.state.seen[0]) < 20


@pytest.mark.slow
def test_a_partition_ends_at_its_first_record_even_if_the_silence_ends_while_its_batches_are_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A producer that takes its time: each batch that is sent again takes two thirds of the silence."""
    passed = 0.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed, sleep=time.sleep, time=time.time)
    monkeypatch.setattr(kafka_sink, "time", clock)

    class Slow(PreparedProducer):
        def send(self, *batch: Any) -> Any:
            nonlocal passed
            passed += 20.0 if sink.resent else 0.0
            return super().send(*batch)

    monkeypatch.setattr(kafka_sink, "PreparedProducer", Slow)
    with ScriptedKafka() as kafka:
        kafka.state.by_partition = {0: deque([Outcome(-1, writes=False)] * 1000)}
        sink = KafkaSink(KafkaSettings((kafka.address,), silence=30.0, batch_bytes=300), [TOPIC])
        for start in range(0, 100, 10):
            sink.write(numbered(0, start, 10))
        (lost,) = sink.close()

    assert lost.error is not None
    assert "not delivered from its first record on, commit_ts 1:" in lost.error


@pytest.mark.slow
def test_whoever_watches_is_told_since_when_kafka_is_silent_and_until_when_it_is_waited_for() -> None:
    """Again and again, until it answers."""
    answered, waits = threading.Event(), []

    def waiting(since: float, until: float) -> None:
        waits.append((since, until))
        if len(waits) == 3:
            answered.set()

    with ScriptedKafka(script=[Outcome(after=answered)]) as kafka:
        sink = SINKS["kafka"](KafkaSettings((kafka.address,), silence=50.0), [TOPIC], waiting)
        begun = time.time()
        sink.write(numbered(0, 0, 1))
        written = time.time()
        (account,) = sink.close()

    assert (1, None) == (account.records, account.error)
    assert len(waits) >= 3
    for since, until in waits[1:]:
        assert begun <= since <= written + 0.1
        assert until - since == pytest.approx(50.0)


@pytest.mark.slow
def test_a_topic_that_vanishes_is_waited_for_and_may_come_back() -> None:
    """What was not acknowledged is sent to the new one."""
    with ScriptedKafka(script=[OK, Outcome(UNKNOWN_TOPIC, writes=False)]) as kafka:
        chosen = KafkaSettings((kafka.address,), stall=0.5, dial_timeout=1.0)
        sink = SINKS["kafka"](chosen, [TOPIC])
        sink.write(numbered(0, 0, 5))
        kafka.wait_for(0, 5)
        kafka.state.exists = False
        sink.write(numbered(0, 5, 5))
        back = threading.Timer(1.0, lambda: setattr(kafka.state, "exists", True))
        back.start()
        (account,) = sink.close()
        back.join()

    assert (10, None) == (account.records, account.error)
    assert list(range(10)) == first_seen(kafka.state.log[0])


@pytest.mark.slow
def test_a_producer_that_no_broker_answers_leaves_nothing_open() -> None:
    """Each try would cost some, for as long as Kafka is away. A connection that kafka-python has just begun may be left to
    the garbage collector (3.0.12)."""
    gc.collect()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        before = len(os.listdir("/proc/self/fd"))
        with pytest.raises(KafkaError, match="Unable to bootstrap"):
            producer(KafkaSettings((f"127.0.0.1:{silent.getsockname()[1]}",), dial_timeout=0.3))
        assert len(os.listdir("/proc/self/fd")) - before <= 1


@pytest.mark.parametrize(
    ("code", "message", "words"),
    [
        (44, "two replicas are policy", "PolicyViolation: two replicas are policy"),
        (44, None, "PolicyViolation: Request parameters do not satisfy the configured policy"),
        (38, None, "InvalidReplicationFactor: "),
        (29, None, "TopicAuthorizationFailed: "),
        (9999, "of a later Kafka", "error code 9999: of a later Kafka"),
    ],
)
def test_a_broker_that_creates_no_topic_says_why(code: int, message: str | None, words: str) -> None:
    """It answers, and with what is said."""
    with ScriptedKafka() as kafka:
        kafka.state.exists, kafka.state.creates = False, (code, message)
        with pytest.raises(ChangefeedError, match=f"kafka create topic failed: t, 1 partition, .* {words}"):
            admin.prepare_topics(KafkaSettings((kafka.address,)), {"t": 1})


@pytest.mark.parametrize(
    ("code", "words"), [(29, "refuses ticdc-sim: TopicAuthorizationFailed"), (72, "answers with ListenerNotFound: ")]
)
def test_a_topic_that_a_broker_does_not_show_is_not_one_that_is_missing(code: int, words: str) -> None:
    with ScriptedKafka() as kafka:
        kafka.state.exists, kafka.state.metadata_error = False, code
        with pytest.raises((UserError, DeliveryError), match=f"Kafka at {kafka.address} {words}"):
            admin.prepare_topics(KafkaSettings((kafka.address,)), {"t": 1})


@pytest.mark.parametrize(
    ("checks", "exists", "of"),
    [
        ("all", True, "topic"),
        ("all", False, "broker"),
        ("created", True, ""),
        ("created", False, "broker"),
        ("none", False, ""),
    ],
)
def test_more_replicas_than_a_topic_has_may_have_to_acknowledge(checks: str, exists: bool, of: str) -> None:
    """TiCDC refuses that, of which topics depends on the release."""
    with ScriptedKafka() as kafka:
        kafka.state.exists, kafka.state.configs = exists, {"min.insync.replicas": "2"}
        settings = KafkaSettings((kafka.address,), checks_insync_replicas=checks)
        words = f"`replication-factor` 1 is smaller than the `min.insync.replicas` 2 of {of}"
        with pytest.raises(ChangefeedError, match=words) if of else nullcontext():
            admin.prepare_topics(replace(settings, required_acks=-1), {TOPIC: 1})
        admin.prepare_topics(replace(settings, required_acks=1), {TOPIC: 1})


class BrokersWithoutSome:
    """Refuses requests as kafka-python does: the connection first, then a broker that it avoids."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.closed = list(errors), False

    def describe_topics(self, topics: list[str]) -> list[dict[str, object]]:
        if self.errors:
            raise self.errors.pop(0)
        return [{"name": name, "error_code": 0, "partitions": [{}, {}]} for name in topics]

    def close(self) -> None:
        self.closed = True


@pytest.mark.slow
def test_a_request_goes_to_the_next_broker_when_one_refuses_until_dial_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = KafkaConnectionError("111 ECONNREFUSED")
    some, none = BrokersWithoutSome(refused, NodeNotReadyError(1)), BrokersWithoutSome(*[refused] * 1000)
    monkeypatch.setattr(admin, "with_reachable_broker", lambda settings: settings)
    asked = KafkaSettings(("127.0.0.1:1",), dial_timeout=0.5)

    monkeypatch.setattr(admin, "admin_client", lambda settings: some)
    assert admin.partition_count_of(asked, "orders") == 2
    monkeypatch.setattr(admin, "admin_client", lambda settings: none)
    with pytest.raises(DeliveryError, match="Kafka at 127.0.0.1:1 does not answer: .*ECONNREFUSED"):
        admin.partition_count_of(asked, "orders")
    assert some.closed and none.closed
    assert 2 <= 1000 - len(none.errors) <= 10
