"""Topics that get more partitions while a changefeed runs."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.contract_checks import find_violations, with_definitions
from support.replaying import replayed

from simulator import Message, TiCDC
from simulator.api.session import records
from simulator.cli import run
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
    (directory / "by-key.toml").write_text(BY_KEY, "utf-8")
    file = directory / "growing.toml"
    file.write_text(
        f"""
sink-uri = "{sink_uri}"
config = "by-key.toml"
release = "{RELEASE}"
[[step]]
sql = "{BEFORE}"
[[step]]
wait = "2s"
[[step]]
fault = "add-partitions"
partitions = 3
[[step]]
sql = "UPDATE shop.item SET stock = stock * 2"
[[step]]
wait = "1500ms"
[[step]]
fault = "add-partitions"
partitions = 5
[[step]]
sql = "{AFTER}"
""",
        "utf-8",
    )
    return file


def breaches(stream: Sequence[Record], sink_uri: str, counts: dict[str, int]) -> list[str]:
    """Return what breaks the contract, or does not lead to the empty table."""
    release = find(RELEASE)
    spec = stream_spec_of(load(sink_uri, BY_KEY, release), (), counts, release=release)
    found = replayed(stream, spec.protocol, (), after={("shop", "item"): []}, fidelity=spec.fidelity)
    return [str(violation) for violation in (*find_violations(stream, with_definitions(spec, stream)), *found.examples)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_topic_that_grows_keeps_the_contract(protocol: str, tmp_path: Path) -> None:
    file = scenario(tmp_path, uri(protocol))

    assert run(["run", str(file), "--fixtures", str(tmp_path / "out")]) == 0

    stream = list(read_records(str(tmp_path / "out")))
    assert [] == breaches(stream, uri(protocol), {"shop": 5})
    assert {0, 1, 2, 3, 4} == {record.partition for record in stream}


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

    assert {0, 1, 2} == {
        message.partition for message, event in events if isinstance(event, Watermark) and event.ts == grown
    }
    assert {0, 1} == where(messages, RowEvent, 0, grown)
    assert {0, 1, 2} == where(messages, RowEvent, grown, 1 << 62)
    if protocol == "open-protocol":
        assert {0, 1, 2} == where(messages, DdlEvent, grown, 1 << 62)


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
        assert [] == breaches([*records(ticdc.messages())], uri("canal-json"), {"shop": 2})


@pytest.mark.parametrize("more", [[], ["--driver", "confluent"]], ids=["kafka-python", "confluent"])
def test_a_topic_on_kafka_really_grows(kafka: str, more: list[str], tmp_path: Path) -> None:
    topic = f"grows-{uuid.uuid4().hex[:8]}"
    file = scenario(tmp_path, uri("open-protocol", kafka, topic))

    assert run(["run", str(file), *more]) == 0

    assert 5 == partition_count_of(KafkaSettings((kafka,)), topic)
    stream = list(read_records(f"kafka://{kafka}/{topic}"))
    assert [] == breaches(stream, uri("open-protocol", kafka, topic), {topic: 5})
    assert run(["run", str(scenario(tmp_path, uri("open-protocol"))), "--fixtures", str(tmp_path / "out")]) == 0
    assert [(record.partition, record.value) for record in sorted(stream, key=place)] == [
        (record.partition, record.value) for record in sorted(read_records(str(tmp_path / "out")), key=place)
    ]


def place(record: Record) -> tuple[int, int]:
    return record.partition, record.offset


def test_a_changefeed_that_stays_open_lets_a_topic_on_kafka_grow(kafka: str) -> None:
    topic = f"open-{uuid.uuid4().hex[:8]}"
    with TiCDC(RELEASE, sink_uri=uri("open-protocol", kafka, topic), config=BY_KEY, send=True) as ticdc:
        ticdc.execute(BEFORE)
        ticdc.fault("add-partitions", partitions=4)
        assert 4 == partition_count_of(KafkaSettings((kafka,)), topic)
        ticdc.execute(AFTER)
    stream = list(read_records(f"kafka://{kafka}/{topic}"))

    assert [] == breaches(stream, uri("open-protocol", kafka, topic), {topic: 4})
    assert {0, 1, 2, 3} == {record.partition for record in stream}
