"""The Kafka sink against a real Apache Kafka: every record once and in order; what breaks is said in one line."""

from __future__ import annotations

import gc
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from kafka import KafkaConsumer
from kafka.admin import KafkaAdminClient
from kafka.structs import OffsetAndMetadata, TopicPartition
from support.kafka_fixture import served, start_broker
from support.playing import play

from simulator import broker
from simulator.broker.java import free_port
from simulator.errors import ChangefeedError, DeliveryError, UserError
from simulator.sinks import SINKS
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.kafka.admin import PreparedTopics, is_answering, partition_count_of, prepare_topics
from simulator.sinks.kafka.read import GroupOffsets, Offsets, read_partition, read_topic
from simulator.sinks.records import DeliveryReport, Record, Records, require_delivered

pytestmark = [
    pytest.mark.kafka,
    # kafka-python 3.0.12 drops the socket of a refused connection without closing it (net/inet.py).
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

TOPICS = count()


@pytest.fixture
def topic() -> str:
    return new_topic()


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


def one(text: bytes, commit_ts: int = 77, partition: int = 0) -> Records:
    places = pa.array([0], pa.int32()), pa.array([partition], pa.int32())
    return Records(*places, pa.array([b"k"]), pa.array([text]), pa.array([commit_ts]))


def sent(settings: KafkaSettings, topic: str, *batches: Records) -> list[DeliveryReport]:
    sink = SINKS["kafka"](settings, [topic])
    for batch in batches:
        sink.write(batch)
    return sink.close()


def numbers(records: Iterable[Record]) -> dict[int, list[int]]:
    """The numbers of the records that were read, by partition."""
    found: dict[int, list[int]] = {}
    for record in records:
        assert record.value is not None
        number = int(record.value.split()[0])
        assert record.key == (None if number % 7 == 0 else b"key %d" % number)
        found.setdefault(record.partition, []).append(number)
    return found


def first_seen(settings: KafkaSettings, topic: str) -> dict[int, list[int]]:
    """The same without repetitions."""
    return {place: list(dict.fromkeys(found)) for place, found in numbers(read_topic(settings, topic)).items()}


def dealt(rows: int, partitions: int) -> dict[int, list[int]]:
    return {partition: list(range(partition, rows, partitions)) for partition in range(partitions)}


@pytest.mark.parametrize(
    ("acks", "compression"), [(1, "none"), *((-1, name) for name in ("none", "gzip", "snappy", "lz4", "zstd"))]
)
def test_every_record_arrives_once_and_in_order(
    settings: KafkaSettings, topic: str, acks: int, compression: str
) -> None:
    """The same keys and values, compressed as asked, and an account of each partition."""
    started = int(time.time() * 1000)
    chosen = replace(settings, required_acks=acks, compression=compression, batch_bytes=9000)
    sink = SINKS["kafka"](prepare_topics(chosen, {topic: 3}).settings, [topic])
    for start in (0, 1000, 2000):
        sink.write(numbered(start, 1000, 3))
    accounts, waited = sink.close(), sink.latencies()

    assert not sink.failed
    assert (waited.records, sink.in_flight, sink.resent) == (3000, 0, 0)
    assert 0.0 < waited.quantile(0.5) <= waited.longest < time.time() - started / 1000
    assert [(a.partition, a.records, a.first_offset, (a.commit_ts or 0) >> 18) for a in accounts] == [
        (0, 1000, 0, 2998),
        (1, 1000, 0, 2999),
        (2, 1000, 0, 3000),
    ]
    read = list(read_topic(settings, topic))
    assert numbers(read) == dealt(3000, 3)
    assert all(started <= record.timestamp <= time.time() * 1000 for record in read)
    assert [record.offset for record in read if record.partition == 1] == list(range(1000))
    assert (compression != "none") == (bytes_kept(settings, topic) < sum(account.bytes for account in accounts))


def admin_of(settings: KafkaSettings) -> Any:
    return closing(KafkaAdminClient(bootstrap_servers=settings.address))


def bytes_kept(settings: KafkaSettings, topic: str) -> int:
    """The size of the topic's log."""
    with admin_of(settings) as admin:
        (node,) = admin.describe_log_dirs({topic: [0, 1, 2]})
    found = [topic for directory in node["log_dirs"] for topic in directory["topics"]]
    return sum(log["partition_size"] for topic in found for log in topic["partitions"])


def test_without_acknowledgements_everything_is_sent_nevertheless(settings: KafkaSettings, topic: str) -> None:
    """required-acks=0: no offsets are known."""
    sink = SINKS["kafka"](prepare_topics(replace(settings, required_acks=0), {topic: 2}).settings, [topic])
    sink.write(numbered(0, 2000, 2))
    accounts = sink.close()

    assert sink.latencies().records == 0
    assert [(a.records, a.first_offset, a.error) for a in accounts] == [(1000, None, None)] * 2
    until = time.monotonic() + 5
    while numbers(read_topic(settings, topic)) != dealt(2000, 2):
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_message_too_large_fails_its_partition_only(settings: KafkaSettings, topic: str) -> None:
    """Said with topic, partition, size, limit and TSO; what came before it and the other partition arrive."""
    ready = prepare_topics(settings, {topic: 2}).settings
    large = one(b"y" * 1_100_000, commit_ts=4242)
    lost, kept = sent(ready, topic, numbered(0, 1000, 2), large, numbered(1000, 1000, 2))

    assert lost.error == (
        f"topic {topic} partition 0: not delivered from offset 500 on, commit_ts 4242: a message of 1,100,001 bytes, "
        "and 61 or more around it, is larger than the 1,048,588 bytes that Kafka takes (max.message.bytes of the topic)"
    )
    assert (lost.records, lost.commit_ts) == (500, 999 << 18)
    assert (kept.error, kept.records) == (None, 1000)
    assert first_seen(settings, topic) == {0: list(range(0, 1000, 2)), 1: list(range(1, 2000, 2))}


def test_batches_are_cut_again_where_the_topic_takes_less_than_was_known(settings: KafkaSettings, topic: str) -> None:
    """A limit that fell after the start costs a new producer, no record."""
    prepare_topics(settings, {topic: 1})
    (account,) = sent(replace(settings, batch_bytes=4 << 20), topic, numbered(0, 20000, 1, size=300))

    assert (account.error, account.records) == (None, 20000)
    assert first_seen(settings, topic) == dealt(20000, 1)


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, broker.Server]]:
    """A broker that the tests may kill, and its directory; the last one leaves it dead."""
    with served(tmp_path_factory.mktemp("mortal")) as directory:
        running = broker.status(directory)
        assert running is not None
        yield directory, running


def test_a_broker_that_is_killed_and_restarted_loses_nothing(mortal: tuple[Path, broker.Server], topic: str) -> None:
    """Each partition's records arrive in order, again at most what was not acknowledged."""
    directory, running = mortal

    def kill_and_restart() -> None:
        os.kill(running.pid, signal.SIGKILL)
        time.sleep(0.5)
        assert running.address == start_broker(directory)

    ready = prepare_topics(KafkaSettings((running.address,), in_flight_bytes=1 << 20), {topic: 2}).settings
    sink = SINKS["kafka"](replace(ready, batch_bytes=50_000, stall=3.0), [topic])
    killer = threading.Thread(target=kill_and_restart)
    for start in range(0, 60_000, 2000):
        if start == 20_000:
            killer.start()
        sink.write(numbered(start, 2000, 2))
    require_delivered(sink.close())
    killer.join()

    assert first_seen(ready, topic) == dealt(60_000, 2)


def test_a_broker_that_is_stopped_is_gone_and_ends_the_run_which_says_where(
    mortal: tuple[Path, broker.Server], topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the silence that was agreed, with the first offset and TSO that are missing, per partition."""
    directory, running = mortal
    ready = prepare_topics(KafkaSettings((running.address,), silence=2.0), {topic: 2}).settings
    require_delivered(sent(ready, topic, numbered(0, 1000, 2)))
    sink = SINKS["kafka"](ready, [topic])
    for _ in range(2):
        assert play("broker", "stop", "--directory", directory) == 0
        assert broker.status(directory) is None and not is_answering(running.address)
    assert capsys.readouterr().out == "stopped\nno broker was running\n"
    started = time.monotonic()
    sink.write(numbered(1000, 1000, 2))
    accounts = sink.close()

    assert 1.5 < time.monotonic() - started < 20
    assert str(accounts[0].error).startswith(
        f"topic {topic} partition 0: not delivered from its first record on, commit_ts {1001 << 18}: "
        f"Kafka at {running.address} has acknowledged nothing for 2 s ("
    )
    with pytest.raises(DeliveryError) as error:
        require_delivered(accounts)
    assert [account.error for account in accounts] == str(error.value).splitlines()


def test_a_topic_that_is_deleted_ends_the_run_after_the_silence(settings: KafkaSettings) -> None:
    """However many pieces wait for it; another topic gets all that was written."""
    gone, kept = new_topic(), new_topic()
    chosen = replace(settings, silence=3.0, stall=1.0, dial_timeout=1.0)
    ready = prepare_topics(chosen, {gone: 2, kept: 2}).settings
    sink = SINKS["kafka"](replace(ready, batch_bytes=1000), [gone, kept])
    sink.write(numbered(0, 1000, 2))
    with admin_of(settings) as admin:
        admin.delete_topics([gone])
    started = time.monotonic()
    for start in range(1000, 3000, 200):
        sink.write(numbered(start, 200, 2))
        sink.write(replace(numbered(start - 1000, 200, 2), topic=pa.array([1] * 200, pa.int32())))
    accounts = sink.close()

    assert time.monotonic() - started < 20
    lost = [str(account.error) for account in accounts if account.topic == 0]
    assert [re.split("its first record|offset", error)[0] for error in lost] == [
        f"topic {gone} partition {partition}: not delivered from " for partition in (0, 1)
    ]
    why = f"Kafka at {settings.address} has acknowledged nothing for 3 s (there is no topic {gone})"
    assert [error.partition(": ")[2].partition(": ")[2] for error in lost] == [why, why]
    assert [(account.records, account.error) for account in accounts if account.topic == 1] == [(1000, None)] * 2
    assert first_seen(settings, kept) == dealt(2000, 2)


def test_no_broker_is_said_at_once_and_a_silent_port_after_the_dial_timeout() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(DeliveryError, match=f"^Kafka at {address} does not answer: Connection refused$"):
        prepare_topics(KafkaSettings((address,)), {"t": None})
    with socket.create_server(("127.0.0.1", 0)) as server:
        address, started = f"127.0.0.1:{server.getsockname()[1]}", time.monotonic()
        with pytest.raises(DeliveryError, match=f"^Kafka at {address} does not answer: "):
            prepare_topics(KafkaSettings((address,), dial_timeout=1.0), {"t": None})
    waited = time.monotonic() - started
    gc.collect()

    assert 1.0 <= waited < KafkaSettings.dial_timeout


def test_a_missing_topic_is_created_as_asked(settings: KafkaSettings) -> None:
    """Three partitions by default, in old releases four; partition-num where it is given; other topics take the default
    topic's."""
    first, second, third, old = (new_topic() for _ in range(4))

    assert prepare_topics(settings, {first: None}).partitions == {first: 3}
    assert prepare_topics(settings, {second: 5, third: None}).partitions == {second: 5, third: 5}
    assert prepare_topics(replace(settings, new_topic_partitions=4), {old: None}).partitions == {old: 4}
    assert [partition_count_of(settings, topic) for topic in (first, second, third, old)] == [3, 5, 5, 4]


def test_an_existing_topic_keeps_its_partitions(settings: KafkaSettings, topic: str) -> None:
    """All of them without partition-num; the first ones with a smaller partition-num; a larger one is TiCDC's error."""
    other = new_topic()
    prepare_topics(settings, {topic: 4, other: 2})

    assert prepare_topics(settings, {topic: None}).partitions == {topic: 4}
    fewer = prepare_topics(settings, {topic: 3, other: None})
    assert fewer.partitions == {topic: 3, other: 2}
    assert any(f"topic {topic} has 4 partitions, only the first 3 are used" in note for note in fewer.notes)
    unlimited = prepare_topics(replace(settings, partition_num_limits=False), {topic: 3, new_topic(): None})
    assert [*unlimited.partitions.values()] == [4, 3]  # a topic that TiCDC creates has partition-num
    with pytest.raises(ChangefeedError) as error:
        prepare_topics(settings, {topic: 5})
    assert error.value.code == "CDC:ErrKafkaInvalidPartitionNum"
    assert "the number of partition (5) specified in sink-uri is more than that of actual topic (4)" in str(error.value)


def test_a_missing_topic_that_must_not_be_created_is_ticdcs_error(settings: KafkaSettings, topic: str) -> None:
    """auto-create-topic=false."""
    with pytest.raises(ChangefeedError, match=f"`auto-create-topic` is false, and {topic} not found") as error:
        prepare_topics(replace(settings, auto_create_topic=False), {topic: None})
    assert error.value.code == "CDC:ErrKafkaInvalidConfig"


@pytest.mark.parametrize(
    ("name", "factor", "words"), [("no such name!", 1, "kafka create topic failed"), ("one-replica", 3, "factor 3")]
)
def test_a_topic_that_kafka_refuses_is_one_line(settings: KafkaSettings, name: str, factor: int, words: str) -> None:
    """With what was asked for."""
    with pytest.raises(ChangefeedError, match=words) as error:
        prepare_topics(replace(settings, replication_factor=factor), {name: None})
    assert "\n" not in str(error.value)


def test_the_largest_message_is_what_option_and_topic_allow(settings: KafkaSettings, topic: str) -> None:
    """The topic's limit less 128, as TiCDC has it from 7.4 on; the limit itself before, and nothing at all up to 5.3.0."""

    def largest(asked: int, **release: Any) -> PreparedTopics:
        return prepare_topics(replace(settings, max_message_bytes=asked, **release), {topic: 1})

    assert [largest(asked).max_message_bytes for asked in (10485760, 10485760, 1000)] == [1048460, 1048460, 1000]
    assert largest(1000).settings.message_limit == 1048588
    assert largest(10485760, topic_limit="lowers", topic_limit_margin=0).max_message_bytes == 1048588
    assert largest(10485760, topic_limit="ignored", topic_limit_margin=0).max_message_bytes == 10485760
    with pytest.raises(ChangefeedError, match=r"max.message.bytes\(1048588\) less than max-message-bytes\(10485760\)"):
        largest(10485760, topic_limit="refuses")  # 4.0.16


def test_a_topic_that_is_not_there_cannot_be_read(settings: KafkaSettings) -> None:
    """And is not created by asking."""
    for _ in range(2):
        with pytest.raises(UserError, match="there is no topic 'nothing-here'"):
            list(read_topic(settings, "nothing-here"))


def test_a_piece_of_a_partition_is_read_and_nothing_beside_it(settings: KafkaSettings, topic: str) -> None:
    """The end of a piece may be the last record of what Kafka sends at once."""
    ready = prepare_topics(settings, {topic: 1}).settings
    require_delivered(sent(ready, topic, numbered(0, 100, 1)))

    for first, end in ((3, 7), (50, 99), (50, 100)):
        fetched = [each for offsets, *_ in read_partition(ready, topic, 0, first, end) for each in offsets]
        assert fetched == list(range(first, end))


def test_following_a_topic_shows_what_comes_later(settings: KafkaSettings, topic: str) -> None:
    """After what is there, without end."""
    ready = prepare_topics(settings, {topic: 1}).settings
    sent(ready, topic, one(b"1 before"))
    later = threading.Timer(1.0, sent, (ready, topic, one(b"2 after")))
    later.start()
    records = read_topic(settings, topic, follow=True)
    seen = [(record.offset, record.value) for record in islice(records, 2)]
    records.close()  # type: ignore[attr-defined]
    later.join()

    assert seen == [(0, b"1 before"), (1, b"2 after")]


def test_a_partition_that_the_topic_does_not_have_is_said(settings: KafkaSettings, topic: str) -> None:
    """At once, not after a time-out."""
    (account,) = sent(prepare_topics(settings, {topic: 2}).settings, topic, one(b"1", partition=7))
    assert f"topic {topic} partition 7: not delivered from its first record on" in str(account.error)
    assert str(account.error).endswith("the topic has 2 partitions")


def commit(kafka: str, group: str, topic: str, offsets: dict[int, int]) -> None:
    with closing(KafkaConsumer(bootstrap_servers=kafka, group_id=group, enable_auto_commit=False)) as consumer:
        consumer.commit(
            {TopicPartition(topic, number): OffsetAndMetadata(offset, "", -1) for number, offset in offsets.items()}
        )


def test_a_group_s_lag_is_what_it_has_not_committed(kafka: str, settings: KafkaSettings, topic: str) -> None:
    """Of the partitions that are written to; one that the group has not come to counts whole."""
    ready, group = prepare_topics(settings, {topic: 2}).settings, f"group-of-{topic}"
    with closing(GroupOffsets(ready, group, {topic: 2})) as offsets:
        found = None
        for _ in range(100):  # the first that asks a new Kafka has it make its topic of offsets
            found = found or offsets.ask()
        assert found == Offsets(0, None)
        require_delivered(sent(ready, topic, numbered(0, 100, 2)))
        assert offsets.ask() == Offsets(100, None)
        commit(kafka, group, topic, {0: 30})
        assert offsets.ask() == Offsets(100, 30)
        commit(kafka, group, topic, {0: 50, 1: 45})
        require_delivered(sent(ready, topic, numbered(0, 20, 2)))
        assert offsets.ask() == Offsets(120, 95)


def test_a_kafka_that_does_not_answer_gives_no_lag() -> None:
    """And no error: the run goes on."""
    gone = KafkaSettings((f"127.0.0.1:{free_port()}",), dial_timeout=0.3)
    assert GroupOffsets(gone, "g", {"t": 1}).ask() is None
