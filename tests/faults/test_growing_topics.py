"""Topics that get more partitions while a changefeed runs."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.playing import BY_KEY, play

from simulator import Message, TiCDC
from simulator.errors import UserError
from simulator.reader.decode import DdlEvent, RowEvent, Watermark, decode, time_of
from simulator.reader.records import read_records
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.kafka.admin import partition_count_of

RELEASE = "v8.5.3"
PROTOCOLS = {"open-protocol": "protocol=open-protocol", "canal-json": "protocol=canal-json&enable-tidb-extension=true"}
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


def contents(source: object) -> list[tuple[int, int, bytes | None]]:
    """Partition, offset and value of each record."""
    return sorted((record.partition, record.offset, record.value) for record in read_records(str(source)))


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_topic_that_grows_keeps_the_contract(protocol: str, tmp_path: Path) -> None:
    out, truth = tmp_path / "out", ("--truth", tmp_path / "truth")
    assert play("run", scenario(tmp_path, uri(protocol)), "--fixtures", out, *truth) == 0

    assert play("verify", out, *truth) == 0
    assert {partition for partition, *_ in contents(out)} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_watermark_in_all_partitions_lies_between_rows_of_the_old_and_of_the_new_count(protocol: str) -> None:
    with TiCDC(RELEASE, sink_uri=uri(protocol), config=BY_KEY) as ticdc:
        ticdc.execute(BEFORE)
        messages = ticdc.messages()
        ticdc.fault("add-partitions", partitions=3)
        ticdc.execute(AFTER)
        messages += ticdc.messages()
    grown = min(time_of(event) for message in messages if message.partition == 2 for event in events_of(message))

    assert where(messages, Watermark, grown - 1, grown) == {0, 1, 2}
    assert where(messages, RowEvent, 0, grown) == {0, 1}
    assert where(messages, RowEvent, grown, 1 << 62) == {0, 1, 2}
    if protocol == "open-protocol":
        assert where(messages, DdlEvent, grown, 1 << 62) == {0, 1, 2}


def events_of(message: Message) -> Sequence[DdlEvent | RowEvent | Watermark]:
    return [*decode(message.key, message.value)]


def where(messages: Sequence[Message], kind: type, after: int, until: int) -> set[int]:
    """Return the partitions with events of that kind between those times."""
    return {
        message.partition
        for message in messages
        for event in events_of(message)
        if isinstance(event, kind) and after < time_of(event) <= until
    }


@pytest.mark.slow
def test_what_is_no_growth_is_refused(tmp_path: Path) -> None:
    with TiCDC(RELEASE, sink_uri=uri("canal-json"), config=BY_KEY, fixtures=tmp_path / "out") as ticdc:
        ticdc.execute(BEFORE)
        for keys, why in (
            ({"partitions": 2}, "topic shop has 2 partitions, which do not become 2: a larger number is accepted"),
            ({"partitions": 4, "topic": "other"}, "no topic 'other': the run has shop"),
            ({"topic": "shop"}, "partitions is missing"),
        ):
            with pytest.raises(UserError, match=re.escape(why)):
                ticdc.fault("add-partitions", **keys)
        ticdc.execute(AFTER)
        ticdc.truth(tmp_path / "truth")
    assert play("verify", tmp_path / "out", "--truth", tmp_path / "truth") == 0


def test_a_topic_on_kafka_really_grows(kafka: str, tmp_path: Path) -> None:
    topic = f"grows-{uuid.uuid4().hex[:8]}"

    assert play("run", scenario(tmp_path, uri("open-protocol", kafka, topic))) == 0

    assert partition_count_of(KafkaSettings((kafka,)), topic) == 5
    assert play("run", scenario(tmp_path, uri("open-protocol")), "--fixtures", tmp_path / "out") == 0
    assert contents(f"kafka://{kafka}/{topic}") == contents(tmp_path / "out")


def test_a_changefeed_that_stays_open_lets_a_topic_on_kafka_grow(kafka: str, tmp_path: Path) -> None:
    topic = f"open-{uuid.uuid4().hex[:8]}"
    with TiCDC(RELEASE, sink_uri=uri("open-protocol", kafka, topic), config=BY_KEY, send=True) as ticdc:
        ticdc.execute(BEFORE)
        ticdc.fault("add-partitions", partitions=4)
        assert partition_count_of(KafkaSettings((kafka,)), topic) == 4
        ticdc.execute(AFTER)
        ticdc.truth(tmp_path / "truth")

    assert play("verify", f"kafka://{kafka}/{topic}", "--truth", tmp_path / "truth") == 0
    assert {partition for partition, *_ in contents(f"kafka://{kafka}/{topic}")} == {0, 1, 2, 3}
