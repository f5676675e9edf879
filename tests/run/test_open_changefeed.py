"""A changefeed that stays open: steps played one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.playing import play

from simulator import releases
from simulator.consumer.records import read_records
from simulator.errors import UserError
from simulator.run.open_changefeed import OpenChangefeed
from simulator.run.outputs import FixturesOutput, KafkaOutput, MemoryOutput
from simulator.run.steps.snapshot import SnapshotStep
from simulator.run.steps.wait import WaitStep
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed, load

DATA = Path(__file__).parent.parent.parent / "scenarios" / "data"
BEFORE, AFTER = DATA / "airports-20250224", DATA / "airports-20260905"
URI = "kafka://127.0.0.1:9/airports?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
SCENARIO = f"""
[[step]]
snapshot = "{BEFORE}"
[[step]]
wait = "2500ms"
[[step]]
snapshot = "{AFTER}"
over = "3s"
"""
STEPS = (SnapshotStep(BEFORE), WaitStep(2500), SnapshotStep(AFTER, 3000))
RELEASE = releases.V8_5
TOPICS = '[sink]\ndispatchers = [{matcher = ["*.*"], topic = "{schema}_{table}"}]\n'


def live(output: MemoryOutput, changefeed: Changefeed) -> OpenChangefeed:
    return OpenChangefeed(output, changefeed, RELEASE)


def played(opened: OpenChangefeed, steps: Sequence[SnapshotStep | WaitStep] = STEPS) -> OpenChangefeed:
    """Play the steps one at a time, then send a watermark."""
    for step in steps:
        opened.play(step)
    opened.resolve()
    return opened


def by_partition(messages: Sequence[Message]) -> list[tuple[object, ...]]:
    records = ((each.topic, each.partition, each.offset, each.timestamp, each.key, each.value) for each in messages)
    return sorted(records, key=lambda each: each[:3])


def test_steps_played_one_at_a_time_give_what_a_run_of_them_gives(tmp_path: Path) -> None:
    """Byte for byte, where a message is an event; protocols that batch end a batch with each step."""
    scenario, messages = tmp_path / "scenario.toml", list[Message]()
    scenario.write_text(SCENARIO)
    played(live(MemoryOutput(load(URI), messages), load(URI))).close()
    assert play("run", scenario, "--sink-uri", URI, "--master", "none", "--fixtures", tmp_path / "out") == 0
    records = read_records(str(tmp_path / "out"))
    assert by_partition(messages) == [
        (each.topic, each.partition, each.offset, each.timestamp, each.key, each.value) for each in records
    ]
    assert len(messages) > 1000


def test_messages_lie_in_order_of_time() -> None:
    """In all partitions together, no watermark comes before a row below it."""
    messages = list[Message]()
    played(live(MemoryOutput(load(URI), messages), load(URI))).close()
    watermark = 0
    for message in messages:
        if b"TIDB_WATERMARK" in (message.value or b""):
            watermark = max(watermark, message.commit_ts)
        else:
            assert message.commit_ts > watermark
    assert watermark == max(message.commit_ts for message in messages)


def test_fixtures_appear_when_it_is_closed(tmp_path: Path) -> None:
    messages, directory = list[Message](), tmp_path / "out"
    opened = played(live(FixturesOutput(load(URI), messages, directory, "jsonl"), load(URI)))
    assert not directory.exists()
    opened.close()
    assert len(list(read_records(str(directory)))) == len(messages)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_is_not_complete_leaves_no_files(tmp_path: Path) -> None:
    opened = played(live(FixturesOutput(load(URI), [], tmp_path / "out", "parquet"), load(URI)))
    opened.close(complete=False)
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_cannot_be_played_leaves_everything_as_it_was(tmp_path: Path) -> None:
    messages = list[Message]()
    opened = played(live(MemoryOutput(load(URI), messages), load(URI)), STEPS[:2])
    stood, count = opened.position, len(messages)
    with pytest.raises(UserError, match="no such directory"):
        opened.play(SnapshotStep(tmp_path / "nowhere"))
    assert (opened.position, len(messages)) == (stood, count)
    played(opened, STEPS[2:]).close()
    assert len(messages) > count


def test_a_second_watermark_at_one_time_is_not_sent() -> None:
    messages = list[Message]()
    opened = played(live(MemoryOutput(load(URI), messages), load(URI)))
    count = len(messages)
    opened.resolve()
    assert len(messages) == count
    opened.close()


@pytest.mark.kafka
def test_topics_of_kafka_come_as_they_are_met(kafka: str) -> None:
    """The messages of a step are in their topics as soon as it is played."""
    uri = f"kafka://{kafka}/live?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
    changefeed, messages = load(uri, TOPICS), list[Message]()
    opened = live(KafkaOutput(changefeed, messages), changefeed)
    opened.play(WaitStep(1000))
    assert {each.topic for each in messages} == {"live"}
    played(opened)
    topics = {each.topic for each in messages}
    assert len(topics) > 1
    for topic in topics:
        records = list(read_records(f"kafka://{kafka}/{topic}"))
        assert [(each.partition, each.offset, each.value) for each in records] == [
            (each.partition, each.offset, each.value)
            for each in sorted(messages, key=lambda each: (each.partition, each.offset))
            if each.topic == topic
        ]
    opened.close()
