"""A run that ends before its end, at any moment and in any way, and one that goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from support.cut_short import Killed, StopAfter, assert_nothing_is_lost
from support.playing import BY_KEY

from simulator import releases
from simulator.engines import in_process
from simulator.engines.tasks.progress import EarlyEnd, Reporter
from simulator.engines.work import Work
from simulator.errors import DeliveryError, UserError
from simulator.run import checkpoint, execute, outputs, plan, scenario
from simulator.run.checkpoint import CheckpointWriter
from simulator.run.execute import PlannedRun
from simulator.run.outputs import Output
from simulator.run.plan import Plan
from simulator.settings import Settings
from simulator.signals import StopRequest
from simulator.sinks.memory import MemorySink, Message, SynchronousSink
from simulator.sinks.records import Records, part
from simulator.ticdc.changefeed import Changefeed, load

STORY = """
CREATE DATABASE shop;
CREATE TABLE shop.item (id BIGINT PRIMARY KEY, stock INT);
CREATE TABLE shop.sale (id BIGINT PRIMARY KEY, item BIGINT);
INSERT INTO shop.item VALUES (1, 5), (2, 6), (3, 7), (4, 8);
INSERT INTO shop.sale VALUES (1, 3), (2, 3);
UPDATE shop.item SET stock = stock - 1;
ALTER TABLE shop.item ADD COLUMN price INT DEFAULT 3;
UPDATE shop.item SET price = 4 WHERE id < 3;
DELETE FROM shop.sale WHERE id = 2;
TRUNCATE TABLE shop.sale;
INSERT INTO shop.sale VALUES (5, 1), (6, 1), (7, 2);
UPDATE shop.item SET id = id + 10 WHERE id = 2;
"""
URI = "kafka://127.0.0.1:1/story?partition-num=2&protocol="
PROTOCOLS = ("open-protocol", "canal-json&enable-tidb-extension=true")


class Cut(MemorySink):
    """Takes so many records, the last of them out of a write's midst, and is no more."""

    def __init__(self, messages: list[Message], topics: Sequence[str], left: int) -> None:
        super().__init__(messages, topics)
        self._left = left

    def write(self, records: Records) -> None:
        count = len(records.value)
        if count > self._left:
            super().write(part(records, 0, self._left))
            raise Killed
        self._left -= count
        super().write(records)


class Story:
    """Of one protocol and release, played again and again."""

    def __init__(self, directory: Path, protocol: str, release: str = "v8.5.3") -> None:
        name, _, architecture = release.partition(" ")
        self.directory, self.release = directory, releases.find(name, architecture or None)
        self.changefeed: Changefeed = load(URI + protocol, BY_KEY, self.release)
        file = directory / "story.sql"
        file.write_text(STORY)
        script = scenario.load(file).run_spec(Settings(resolved_interval_ms=10))
        self.plan: Plan = plan.plan(script, self.changefeed, self.release)

    def play(
        self,
        writer: CheckpointWriter | None = None,
        sink: SynchronousSink | None = None,
        early_end: EarlyEnd | None = None,
    ) -> list[Message]:
        """What arrived of it in memory, unless it goes to another sink."""
        messages: list[Message] = []
        output, work = self.output, self.work
        if writer is not None:
            work = execute.with_checkpoint(work, writer)
        to = sink or MemorySink(messages, output.destinations.topics)
        task = replace(in_process.ordered_task(work, True), early_end=early_end or EarlyEnd(StopRequest()))
        task.into(to, Reporter(None))
        return messages

    def play_killed(self, writer: CheckpointWriter, records: int) -> list[Message]:
        """What arrived of it until the process is killed behind so many records."""
        messages: list[Message] = []
        with suppress(Killed):
            self.play(writer, Cut(messages, self.output.destinations.topics, records))
        return messages

    @property
    def output(self) -> Output:
        return outputs.MemoryOutput(self.changefeed, []).for_plan(self.plan)

    @property
    def work(self) -> Work:
        return PlannedRun(self.plan, self.output, self.release).work()

    @contextmanager
    def checkpoint_writer(self, resume: bool = False) -> Iterator[CheckpointWriter]:
        run = checkpoint.identity(self.plan, 0, self.release, self.changefeed, self.output.destinations)
        writer = CheckpointWriter.open(self.directory / "stands", run, self.plan, resume)
        try:
            yield writer
        finally:
            writer.file.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "release"), [(PROTOCOLS[0], "v6.5.6"), (PROTOCOLS[1], "v8.5.3"), (PROTOCOLS[0], "v8.5.4 new")]
)
def test_a_run_that_is_killed_behind_any_record_loses_nothing(tmp_path: Path, protocol: str, release: str) -> None:
    """Killed twice: a run that went on is killed as well."""
    story = Story(tmp_path, protocol, release)
    whole = story.play()
    again = 0
    for records in range(0, len(whole), 3):
        with story.checkpoint_writer() as writer:
            found = story.play_killed(writer, records)
        with story.checkpoint_writer(resume=True) as writer:
            found += story.play_killed(writer, records % 7)
        with story.checkpoint_writer(resume=True) as writer:
            found += story.play(writer)
            writer.file.end()
        again += assert_nothing_is_lost(found, whole)
    assert again


@pytest.mark.parametrize(("release", "again"), [("v8.5.3", 2), ("v8.5.4 new", 0)])
def test_a_run_that_goes_on_sends_the_statement_at_its_start_again(tmp_path: Path, release: str, again: int) -> None:
    """Classic TiCDC does so, and behind the watermark of the checkpoint, as the fault `restart` has it."""
    story = Story(tmp_path, PROTOCOLS[1], release)
    added = [each for each in story.play() if b"ADD COLUMN" in (each.value or b"")]
    with story.checkpoint_writer() as writer:
        writer.advance(added[0].commit_ts)
    with story.checkpoint_writer(resume=True) as writer:
        found = story.play(writer)

    assert [json.loads(each.value or b"")["_tidb"] for each in found[:2]] == [{"watermarkTs": added[0].commit_ts}] * 2
    altering = [each.value for each in found if b"ADD COLUMN" in (each.value or b"")]
    assert altering == [each.value for each in added][:again]
    assert again == 0 or found[2].value == added[0].value


def test_no_watermark_is_sent_above_what_is_written_down(tmp_path: Path) -> None:
    story, stands = Story(tmp_path, PROTOCOLS[1]), tmp_path / "stands" / "checkpoint.json"
    watermarks: list[int] = []

    class Watching(MemorySink):
        def write(self, records: Records) -> None:
            for value in records.value.to_pylist():
                if b"TIDB_WATERMARK" in value:
                    watermarks.append(json.loads(value)["_tidb"]["watermarkTs"])
                    assert watermarks[-1] <= json.loads(stands.read_text())["commit_ts"]

    with story.checkpoint_writer() as writer:
        story.play(writer, Watching([], ["story"]))
    assert len(watermarks) > 10 and watermarks == sorted(watermarks)
    assert json.loads(stands.read_text())["commit_ts"] == watermarks[-1]


@pytest.mark.parametrize("protocol", [*PROTOCOLS, "canal-json"])
def test_a_run_that_is_stopped_says_the_watermark_that_is_written_down(tmp_path: Path, protocol: str) -> None:
    """At whatever moment the signal comes: also where no row is left before the next watermark."""
    story, stands, ends = Story(tmp_path, protocol), tmp_path / "stands" / "checkpoint.json", set()
    for looks in range(12):
        early_end = EarlyEnd(StopAfter(looks))
        with story.checkpoint_writer() as writer:
            messages = story.play(writer, early_end=early_end)
            assert early_end.last == json.loads(stands.read_text())["commit_ts"]
            writer.file.end()
        assert max((each.commit_ts for each in messages), default=0) <= early_end.last
        ends.add(early_end.last)
    assert len(ends) > 5


def test_without_watermarks_it_is_written_down_as_often(tmp_path: Path) -> None:
    story, other = (Story(tmp_path, protocol) for protocol in ("canal-json", PROTOCOLS[1]))
    with story.checkpoint_writer() as writer:
        barriers = execute.with_checkpoint(story.work, writer).spec.barriers
    assert barriers == tuple(other.work.spec.control_events.times().tolist())


def test_another_run_is_not_gone_on_with(tmp_path: Path) -> None:
    story, other = Story(tmp_path, PROTOCOLS[0]), Story(tmp_path, PROTOCOLS[1], "v6.5.6")
    told = "--release was classic:v8.5.3, now it is classic:v6.5.6, protocol was open-protocol, now it is "
    with story.checkpoint_writer():
        pass
    with pytest.raises(UserError, match=told), other.checkpoint_writer(resume=True):
        pass


@pytest.mark.parametrize(
    "change", [{"commit_ts": 5}, {"commit_ts": -1}, {"start_ts": "x"}, {"run": []}, {"commit_ts": 1 << 70}]
)
def test_numbers_that_no_run_has_written_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    story, stands = Story(tmp_path, PROTOCOLS[0]), tmp_path / "stands" / "checkpoint.json"
    with story.checkpoint_writer():
        pass
    stands.write_text(json.dumps({**json.loads(stands.read_text()), **change}))
    with pytest.raises(UserError, match="is no checkpoint of such a run"), story.checkpoint_writer(resume=True):
        pass


def test_a_checkpoint_that_cannot_be_written_ends_the_run_in_words(tmp_path: Path) -> None:
    story = Story(tmp_path, PROTOCOLS[0])
    with story.checkpoint_writer() as writer:
        (tmp_path / "stands" / ".checkpoint.json.new").mkdir()
        with pytest.raises(DeliveryError, match=r"cannot write .*checkpoint\.json: Is a directory"):
            story.play(writer)
        start = "455000614502662144 (2025-01-01 00:00:00.001 UTC)"
        assert writer.resume_hint == f"everything up to {start} is acknowledged; --resume goes on there"
