"""Topics that get more partitions while a changefeed runs."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support import oracle
from support.contract_checks import find_violations
from support.playing import play

from simulator import Message, TiCDC
from simulator.api.session import records
from simulator.consumer.contract.stream_spec import stream_spec_of
from simulator.consumer.decode import DdlEvent, RowEvent, Watermark, decode, time_of
from simulator.consumer.records import Record, read_records
from simulator.errors import UserError
from simulator.releases import find
from simulator.sinks.kafka.admin import partition_count_of
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.ticdc.changefeed import load

RELEASE = "v8.5.3"
PROTOCOLS = {"open-protocol": "protocol=open-protocol", "canal-json": "protocol=canal-json&enable-tidb-extension=true"}
BY_KEY = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'
BEFORE = (
    "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY, stock INT); "
    f"INSERT INTO shop.item VALUES {', '.join(f'({n}, {n})' for n in range(20))}"
)
AFTER = "UPDATE shop.item SET stock = stock + 1; ALTER TABLE shop.item ADD COLUMN name INT; DELETE FROM shop.item"


def uri(protocol: str, address: str = "127.0.0.1:9092", topic: str = "shop") -> str:
    return f"kafka://{address}/{topic}?{PROTOCOLS[protocol]}&partition-num=2"


def scenario(directory: Path, sink_uri: str) -> Path:
    """A story in which the default topic grows twice."""
    (directory / "by-key.toml").write_text(BY_KEY)
    steps = (
        f'sql = "{BEFORE}"',
        'wait = "2s"',
        'fault = "add-partitions"\npartitions = 3',
        'sql = "UPDATE shop.item SET stock = stock * 2"',
        'wait = "1500ms"',
        'fault = "add-partitions"\npartitions = 5',
        f'sql = "{AFTER}"',
    )
    file, head = directory / "growing.toml", f'sink-uri = "{sink_uri}"\nconfig = "by-key.toml"\nrelease = "{RELEASE}"\n'
    file.write_text(head + "".join(f"[[step]]\n{step}\n" for step in steps))
    return file


def breaches(stream: Sequence[Record], sink_uri: str, counts: dict[str, int]) -> list[str]:
    """Return what breaks the contract, or does not lead to the empty table."""
    release = find(RELEASE)
    spec = stream_spec_of(load(sink_uri, BY_KEY, release), (), counts, release=release)
    parts = [[record for record in stream if record.partition == number] for number in range(max(counts.values()))]
    decoded = list(oracle.in_commit_order(oracle.events(part, spec) for part in parts))
    found = [*find_violations(stream, replace(spec, later=oracle.definitions(decoded, {})))]
    replayed = oracle.replay(decoded, {}, {})
    assert all(not rows for rows in replayed.state.values())
    return [str(violation) for violation in (*found, *replayed.violations)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_topic_that_grows_keeps_the_contract(protocol: str, tmp_path: Path) -> None:
    assert play("run", scenario(tmp_path, uri(protocol)), "--fixtures", tmp_path / "out") == 0

    stream = list(read_records(str(tmp_path / "out")))
    assert breaches(stream, uri(protocol), {"shop": 5}) == []
    assert {record.partition for record in stream} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_watermark_in_all_partitions_lies_between_rows_of_the_old_and_of_the_new_count(protocol: str) -> None:
    with TiCDC(RELEASE, sink_uri=uri(protocol), config=BY_KEY) as ticdc:
        ticdc.execute(BEFORE)
        messages = ticdc.messages()
        ticdc.fault("add-partitions", partitions=3)
        ticdc.execute(AFTER)
        messages += ticdc.messages()
    events = [(message, event) for message in messages for event in decode(message.key, message.value)]
    grown = min(time_of(event) for message, event in events if message.partition == 2)

    marked = {message.partition for message, event in events if isinstance(event, Watermark) and event.ts == grown}
    assert marked == {0, 1, 2}
    assert where(messages, RowEvent, 0, grown) == {0, 1}
    assert where(messages, RowEvent, grown, 1 << 62) == {0, 1, 2}
    if protocol == "open-protocol":
        assert where(messages, DdlEvent, grown, 1 << 62) == {0, 1, 2}


def where(messages: Sequence[Message], kind: type, after: int, until: int) -> set[int]:
    """Return the partitions with events of that kind between those times."""
    return {
        message.partition
        for message in messages
        for event in decode(message.key, message.value)
        if isinstance(event, kind) and after < time_of(event) <= until
    }


def test_what_is_no_growth_is_refused() -> None:
    with TiCDC(RELEASE, sink_uri=uri("canal-json"), config=BY_KEY) as ticdc:
        ticdc.execute(BEFORE)
        for keys, why in (
            ({"partitions": 2}, "topic shop has 2 partitions, which do not become 2: a larger number is accepted"),
            ({"partitions": 4, "topic": "other"}, "no topic 'other': the run has shop"),
            ({"topic": "shop"}, "partitions is missing"),
        ):
            with pytest.raises(UserError, match=re.escape(why)):
                ticdc.fault("add-partitions", **keys)
        ticdc.execute(AFTER)
        assert breaches([*records(ticdc.messages())], uri("canal-json"), {"shop": 2}) == []


@pytest.mark.parametrize("more", [[], ["--driver", "confluent"]], ids=["kafka-python", "confluent"])
def test_a_topic_on_kafka_really_grows(kafka: str, more: list[str], tmp_path: Path) -> None:
    topic = f"grows-{uuid.uuid4().hex[:8]}"
    on_kafka = uri("open-protocol", kafka, topic)

    assert play("run", scenario(tmp_path, on_kafka), *more) == 0

    assert partition_count_of(KafkaSettings((kafka,)), topic) == 5
    stream = list(read_records(f"kafka://{kafka}/{topic}"))
    assert breaches(stream, on_kafka, {topic: 5}) == []
    assert play("run", scenario(tmp_path, uri("open-protocol")), "--fixtures", tmp_path / "out") == 0
    sent, written = (
        [(record.partition, record.value) for record in sorted(found, key=lambda one: (one.partition, one.offset))]
        for found in (stream, read_records(str(tmp_path / "out")))
    )
    assert sent == written


def test_a_changefeed_that_stays_open_lets_a_topic_on_kafka_grow(kafka: str) -> None:
    topic = f"open-{uuid.uuid4().hex[:8]}"
    on_kafka = uri("open-protocol", kafka, topic)
    with TiCDC(RELEASE, sink_uri=on_kafka, config=BY_KEY, send=True) as ticdc:
        ticdc.execute(BEFORE)
        ticdc.fault("add-partitions", partitions=4)
        assert partition_count_of(KafkaSettings((kafka,)), topic) == 4
        ticdc.execute(AFTER)
    stream = list(read_records(f"kafka://{kafka}/{topic}"))

    assert breaches(stream, on_kafka, {topic: 4}) == []
    assert {record.partition for record in stream} == {0, 1, 2, 3}
