"""The Kafka sink against a real Apache Kafka: every record once and in order; what breaks is said in one line."""

from __future__ import annotations

import gc
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from kafka.admin import KafkaAdminClient
from support.kafka_fixture import served

from simulator.broker import server as broker
from simulator.broker.processes import free_port
from simulator.errors import ChangefeedError, DeliveryError, UserError
from simulator.sinks import SINKS
from simulator.sinks.kafka.admin import PreparedTopics, partition_count_of, prepare_topics
from simulator.sinks.kafka.read import KafkaRecord, read_topic
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.sinks.records import DeliveryReport, Records, require_delivered

pytestmark = [
    pytest.mark.kafka,
    # kafka-python 3.0.12 drops the socket of a refused connection without closing it (net/inet.py).
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

TOPICS = count()

BOTH_PATHS = pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "plain"])


def new_topic() -> str:
    return f"sink-test-{os.getpid()}-{next(TOPICS)}"


@pytest.fixture
def settings(kafka: str) -> KafkaSettings:
    return KafkaSettings((kafka,))


def numbered(start: int, rows: int, partitions: int, size: int = 100) -> Records:
    """Records numbered in their values, every seventh without key, dealt out to the partitions in turn."""
    numbers = range(start, start + rows)
    return Records(
        pa.array(np.zeros(rows), pa.int32()),
        pa.array([n % partitions for n in numbers], pa.int32()),
        pa.array([None if n % 7 == 0 else b"key %d" % n for n in numbers], pa.binary()),
        pa.array([b"%d " % n + b"x" * (n % size) for n in numbers], pa.binary()),
        pa.array([(n + 1) << 18 for n in numbers], pa.int64()),
    )


def numbers(records: Iterator[KafkaRecord]) -> dict[int, list[int]]:
    """The numbers of the records that were read, by partition."""
    found: dict[int, list[int]] = {}
    for record in records:
        assert record.value is not None
        number = int(record.value.split()[0])
        assert record.key == (None if number % 7 == 0 else b"key %d" % number)
        found.setdefault(record.partition, []).append(number)
    return found


def dealt(rows: int, partitions: int) -> dict[int, list[int]]:
    return {partition: list(range(partition, rows, partitions)) for partition in range(partitions)}


def value(text: bytes, commit_ts: int = 77, partition: int = 0) -> Records:
    """One record."""
    places = pa.array([0], pa.int32()), pa.array([partition], pa.int32())
    return Records(*places, pa.array([b"k"]), pa.array([text]), pa.array([commit_ts]))


@BOTH_PATHS
@pytest.mark.parametrize(
    ("acks", "compression"), [(1, "none"), *((-1, name) for name in ("none", "gzip", "snappy", "lz4", "zstd"))]
)
def test_every_record_arrives_once_and_in_order(
    settings: KafkaSettings, prepared: bool, acks: int, compression: str
) -> None:
    """Through both paths: the same keys and values, compressed as asked, and an account of each partition."""
    topic, started = new_topic(), int(time.time() * 1000)
    chosen = replace(settings, prepared_batches=prepared, required_acks=acks, compression=compression, batch_bytes=9000)
    ready = prepare_topics(chosen, {topic: 3}).settings
    sink = SINKS["kafka"](ready, [topic])
    for start in (0, 1000, 2000):
        sink.write(numbered(start, 1000, 3))
    accounts = sink.close()
    waited = sink.latencies()

    assert not sink.failed
    assert (3000, 0, 0) == (waited.records, sink.in_flight, sink.resent)
    assert 0.0 < waited.quantile(0.5) <= waited.longest < time.time() - started / 1000
    assert [(0, 1000, 0, 2998), (1, 1000, 0, 2999), (2, 1000, 0, 3000)] == [
        (a.partition, a.records, a.first_offset, (a.commit_ts or 0) >> 18) for a in accounts
    ]
    read = list(read_topic(settings, topic))
    assert dealt(3000, 3) == numbers(iter(read))
    assert all(started <= record.timestamp <= time.time() * 1000 for record in read)
    assert list(range(1000)) == [record.offset for record in read if record.partition == 1]
    assert (compression != "none") == (bytes_kept(settings, topic) < sum(account.bytes for account in accounts))


def bytes_kept(settings: KafkaSettings, topic: str) -> int:
    """The size of the topic's log."""
    admin = KafkaAdminClient(bootstrap_servers=settings.address)
    try:
        (node,) = admin.describe_log_dirs({topic: [0, 1, 2]})
    finally:
        admin.close()
    found = [topic for directory in node["log_dirs"] for topic in directory["topics"]]
    return sum(log["partition_size"] for topic in found for log in topic["partitions"])


def test_without_acknowledgements_everything_is_sent_nevertheless(settings: KafkaSettings) -> None:
    """required-acks=0: no offsets are known."""
    topic = new_topic()
    ready = prepare_topics(replace(settings, required_acks=0), {topic: 2}).settings
    sink = SINKS["kafka"](ready, [topic])
    sink.write(numbered(0, 2000, 2))
    accounts = sink.close()

    assert 0 == sink.latencies().records
    assert [(1000, None, None)] * 2 == [(a.records, a.first_offset, a.error) for a in accounts]
    for _ in range(50):
        if dealt(2000, 2) == numbers(read_topic(settings, topic)):
            return
        time.sleep(0.1)
    raise AssertionError("not everything arrived in 5 s")


@BOTH_PATHS
def test_a_message_too_large_for_the_topic_fails_its_partition_only(settings: KafkaSettings, prepared: bool) -> None:
    """Said with topic, partition, size, limit and TSO; what came before it and the other partition arrive."""
    topic = new_topic()
    ready = prepare_topics(replace(settings, prepared_batches=prepared), {topic: 2}).settings
    sink = SINKS["kafka"](ready, [topic])
    sink.write(numbered(0, 1000, 2))
    sink.write(value(b"y" * 1_100_000, commit_ts=4242))
    sink.write(numbered(1000, 1000, 2))
    lost, kept = sink.close()

    assert sink.failed
    assert lost.error == (
        f"topic {topic} partition 0: not delivered from offset 500 on, commit_ts 4242: a message of 1,100,001 bytes, "
        "and 61 or more around it, is larger than the 1,048,588 bytes that Kafka takes (max.message.bytes of the topic)"
    )
    assert (500, 999 << 18) == (lost.records, lost.commit_ts)
    assert (None, 1000) == (kept.error, kept.records)
    first_seen = {p: list(dict.fromkeys(found)) for p, found in numbers(read_topic(settings, topic)).items()}
    assert {0: list(range(0, 1000, 2)), 1: list(range(1, 2000, 2))} == first_seen


def test_batches_are_cut_again_where_the_topic_takes_less_than_was_known(settings: KafkaSettings) -> None:
    """A limit that fell after the start costs a new producer, no record."""
    topic = new_topic()
    prepare_topics(settings, {topic: 1})
    sink = SINKS["kafka"](replace(settings, batch_bytes=4 << 20), [topic])
    records = numbered(0, 20000, 1, size=300)
    sink.write(records)
    (account,) = sink.close()

    assert (None, 20000) == (account.error, account.records)
    assert dealt(20000, 1) == {0: list(dict.fromkeys(numbers(read_topic(settings, topic))[0]))}


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory whose broker the tests may kill; the last one leaves it dead."""
    with served(tmp_path_factory.mktemp("mortal")) as directory:
        yield directory


def test_a_broker_that_is_killed_and_restarted_loses_nothing(mortal: Path) -> None:
    """Each partition's records arrive in order, again at most what was not acknowledged."""
    running = broker.status(mortal)
    assert running is not None
    topic, rows = new_topic(), 60_000
    ready = prepare_topics(KafkaSettings((running.address,), in_flight_bytes=1 << 20), {topic: 2}).settings
    sink = SINKS["kafka"](replace(ready, batch_bytes=50_000, stall=3.0), [topic])
    killer = threading.Thread(target=kill_and_restart, args=(running, mortal))
    for start in range(0, rows, 2000):
        if start == 20_000:
            killer.start()
        sink.write(numbered(start, 2000, 2))
    require_delivered(sink.close())
    killer.join()

    found = numbers(read_topic(ready, topic))
    assert dealt(rows, 2) == {partition: list(dict.fromkeys(found[partition])) for partition in found}


def kill_and_restart(running: broker.Broker, directory: Path) -> None:
    os.kill(running.pid, signal.SIGKILL)
    time.sleep(0.5)
    assert running.address == broker.start(directory=directory)


def test_a_broker_that_stays_away_ends_the_run_and_says_where(mortal: Path) -> None:
    """After the silence that was agreed, with the first offset and TSO that are missing, per partition."""
    running = broker.status(mortal)
    assert running is not None
    topic = new_topic()
    ready = prepare_topics(KafkaSettings((running.address,), silence=3.0), {topic: 2}).settings
    sink = SINKS["kafka"](ready, [topic])
    sink.write(numbered(0, 1000, 2))
    require_delivered(sink.close())
    sink = SINKS["kafka"](ready, [topic])
    started = time.monotonic()
    os.kill(running.pid, signal.SIGKILL)
    sink.write(numbered(1000, 1000, 2))
    accounts = sink.close()

    assert 2.5 < time.monotonic() - started < 20
    assert str(accounts[0].error).startswith(
        f"topic {topic} partition 0: not delivered from its first record on, commit_ts {1001 << 18}: "
        f"Kafka at {running.address} has acknowledged nothing for 3 s ("
    )
    with pytest.raises(DeliveryError) as error:
        require_delivered(accounts)
    assert [account.error for account in accounts] == str(error.value).splitlines()


@BOTH_PATHS
def test_a_topic_that_is_deleted_ends_the_run_after_the_silence_and_is_named(
    settings: KafkaSettings, prepared: bool
) -> None:
    """However many pieces wait for it; another topic gets all that was written."""
    gone, kept = new_topic(), new_topic()
    chosen = replace(settings, silence=4.0, stall=1.0, dial_timeout=1.0, prepared_batches=prepared)
    ready = prepare_topics(chosen, {gone: 2, kept: 2}).settings
    sink = SINKS["kafka"](replace(ready, batch_bytes=1000), [gone, kept])
    sink.write(numbered(0, 1000, 2))
    delete(settings, gone)
    started = time.monotonic()
    for start in range(1000, 3000, 200):
        sink.write(numbered(start, 200, 2))
        sink.write(replace(numbered(start - 1000, 200, 2), topic=pa.array([1] * 200, pa.int32())))
    accounts = sink.close()

    assert time.monotonic() - started < 20
    lost = [account for account in accounts if account.topic == 0]
    assert [f"topic {gone} partition {partition}: not delivered from " for partition in (0, 1)] == [
        re.split("its first record|offset", str(account.error))[0] for account in lost
    ]
    why = f"Kafka at {settings.address} has acknowledged nothing for 4 s (there is no topic {gone})"
    assert [why, why] == [str(account.error).partition(": ")[2].partition(": ")[2] for account in lost]
    assert [(1000, None)] * 2 == [(account.records, account.error) for account in accounts if account.topic == 1]
    found = numbers(read_topic(settings, kept))
    assert dealt(2000, 2) == {partition: list(dict.fromkeys(found[partition])) for partition in found}


def delete(settings: KafkaSettings, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=settings.address)
    try:
        admin.delete_topics([topic])
    finally:
        admin.close()


def test_no_broker_is_said_at_once() -> None:
    """With its address."""
    address = f"127.0.0.1:{free_port()}"

    with pytest.raises(DeliveryError, match=f"^Kafka at {address} does not answer: Connection refused$"):
        prepare_topics(KafkaSettings((address,)), {"t": None})


def test_a_port_that_is_silent_is_given_up_in_the_dial_timeout() -> None:
    """Something listens, but it is no Kafka."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(DeliveryError, match=f"^Kafka at {address} does not answer: "):
            prepare_topics(KafkaSettings((address,), dial_timeout=2.0), {"t": None})
    gc.collect()

    assert time.monotonic() - started < 6


def test_a_missing_topic_is_created_as_asked(settings: KafkaSettings) -> None:
    """Three partitions by default, partition-num where it is given; other topics take the default topic's."""
    first, second, third = new_topic(), new_topic(), new_topic()

    assert {first: 3} == prepare_topics(settings, {first: None}).partitions
    assert {second: 5, third: 5} == prepare_topics(settings, {second: 5, third: None}).partitions
    assert [3, 5, 5] == [partition_count_of(settings, topic) for topic in (first, second, third)]


def test_an_existing_topic_keeps_its_partitions(settings: KafkaSettings) -> None:
    """All of them without partition-num; the first ones with a smaller partition-num; a larger one is TiCDC's error."""
    topic, other = new_topic(), new_topic()
    prepare_topics(settings, {topic: 4, other: 2})

    assert {topic: 4} == prepare_topics(settings, {topic: None}).partitions
    fewer = prepare_topics(settings, {topic: 3, other: None})
    assert {topic: 3, other: 2} == fewer.partitions
    assert any(f"topic {topic} has 4 partitions, only the first 3 are used" in note for note in fewer.notes)
    with pytest.raises(ChangefeedError) as error:
        prepare_topics(settings, {topic: 5})
    assert "CDC:ErrKafkaInvalidPartitionNum" == error.value.code
    assert "the number of partition (5) specified in sink-uri is more than that of actual topic (4)" in str(error.value)


def test_a_missing_topic_that_must_not_be_created_is_ticdcs_error(settings: KafkaSettings) -> None:
    """auto-create-topic=false."""
    topic = new_topic()

    with pytest.raises(ChangefeedError, match=f"`auto-create-topic` is false, and {topic} not found") as error:
        prepare_topics(replace(settings, auto_create_topic=False), {topic: None})
    assert "CDC:ErrKafkaInvalidConfig" == error.value.code


@pytest.mark.parametrize(
    ("topic", "changed", "words"),
    [("no such name!", {}, "kafka create topic failed"), ("one-replica", {"replication_factor": 3}, "factor 3")],
)
def test_a_topic_that_kafka_refuses_to_create_is_said_in_one_line(
    settings: KafkaSettings, topic: str, changed: dict[str, int], words: str
) -> None:
    """With what was asked for."""
    with pytest.raises(ChangefeedError, match=words) as error:
        prepare_topics(replace(settings, **changed), {topic: None})  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_the_largest_message_is_what_option_and_topic_allow(settings: KafkaSettings) -> None:
    """The topic's limit less 128, as TiCDC has it from 7.4 on."""
    topic = new_topic()

    def largest(asked: int) -> PreparedTopics:
        return prepare_topics(replace(settings, max_message_bytes=asked), {topic: 1})

    assert [1048460, 1048460, 1000] == [largest(asked).max_message_bytes for asked in (10485760, 10485760, 1000)]
    assert 1048588 == largest(1000).settings.message_limit


@pytest.mark.parametrize(
    ("topic_limit", "margin", "bytes"), [("lowers", 128, 1048460), ("lowers", 0, 1048588), ("ignored", 0, 10485760)]
)
def test_a_release_minds_the_topics_limit_in_its_own_way(
    settings: KafkaSettings, topic_limit: str, margin: int, bytes: int
) -> None:
    """128 less from 7.4 on, the limit itself before, and nothing at all up to 5.3.0."""
    asked = replace(settings, topic_limit=topic_limit, topic_limit_margin=margin)
    assert bytes == prepare_topics(asked, {new_topic(): 1}).max_message_bytes


def test_4_0_16_refuses_a_max_message_bytes_that_the_topic_does_not_take(settings: KafkaSettings) -> None:
    """And other old releases create four partitions."""
    with pytest.raises(ChangefeedError, match=r"max.message.bytes\(1048588\) less than max-message-bytes\(10485760\)"):
        prepare_topics(replace(settings, topic_limit="refuses"), {new_topic(): 1})
    topic = new_topic()
    assert {topic: 4} == prepare_topics(replace(settings, new_topic_partitions=4), {topic: None}).partitions


def test_a_topic_that_is_not_there_cannot_be_read(settings: KafkaSettings) -> None:
    """And is not created by asking."""
    for _ in range(2):
        with pytest.raises(UserError, match="there is no topic 'nothing-here'"):
            list(read_topic(settings, "nothing-here"))


def test_following_a_topic_shows_what_comes_later(settings: KafkaSettings) -> None:
    """From its end, without end."""
    topic = new_topic()
    ready = prepare_topics(settings, {topic: 1}).settings
    sink = SINKS["kafka"](ready, [topic])
    sink.write(value(b"1 before"))
    sink.close()
    later = threading.Timer(1.0, lambda: write_once(ready, topic, value(b"2 after")))
    later.start()
    records = read_topic(settings, topic, follow=True, from_beginning=False)
    seen = next(records)
    records.close()  # type: ignore[attr-defined]
    later.join()

    assert (1, b"2 after") == (seen.offset, seen.value)


def write_once(settings: KafkaSettings, topic: str, records: Records) -> list[DeliveryReport]:
    sink = SINKS["kafka"](settings, [topic])
    sink.write(records)
    return sink.close()


def test_a_partition_that_the_topic_does_not_have_is_said(settings: KafkaSettings) -> None:
    """At once, not after a time-out."""
    topic = new_topic()
    ready = prepare_topics(settings, {topic: 2}).settings

    (account,) = write_once(ready, topic, value(b"1", partition=7))
    assert f"topic {topic} partition 7: not delivered from its first record on" in str(account.error)
    assert str(account.error).endswith("the topic has 2 partitions")
