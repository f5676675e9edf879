"""A run that ends before its end, at any moment and in any way, and one that goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.cut_short import assert_nothing_is_lost

from simulator import releases
from simulator.engines import in_process
from simulator.engines.tasks import send
from simulator.engines.tasks.progress import Reporter
from simulator.errors import DeliveryError, UserError
from simulator.run import checkpoint, execute, outputs, plan, scenario
from simulator.run.checkpoint import CheckpointWriter
from simulator.run.plan import Plan
from simulator.settings import Settings
from simulator.signals import StopRequest
from simulator.sinks.memory import MemorySink, Message
from simulator.sinks.records import Records, part
from simulator.sinks.synchronous import SynchronousSink
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
BY_KEY = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'
URI = "kafka://127.0.0.1:1/story?partition-num=2&protocol="
PROTOCOLS = ("open-protocol", "canal-json&enable-tidb-extension=true")
RELEASES = ("v6.5.6", "v8.5.3", "v8.5.4 new")


class Killed(BaseException):
    """The process is gone."""


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

    def __init__(self, directory: Path, protocol: str, release: str) -> None:
        name, _, architecture = release.partition(" ")
        self.directory, self.release = directory, releases.find(name, architecture or None)
        self.changefeed: Changefeed = load(URI + protocol, BY_KEY, self.release)
        file = directory / "story.sql"
        file.write_text(STORY)
        script = scenario.load(file).run_spec(Settings(resolved_interval_ms=10))
        self.plan: Plan = plan.plan(script, self.changefeed, self.release)

    def play(
        self, checkpoint_writer: CheckpointWriter | None, records: int = 1 << 30, asked: StopRequest | None = None
    ) -> list[Message]:
        """What arrived of it."""
        messages: list[Message] = []
        output = outputs.MemoryOutput(self.changefeed, messages).for_plan(self.plan)
        work = execute.work_of(self.plan, output, self.release, 0, 0.0, None)
        if checkpoint_writer is not None:
            work = execute.with_checkpoint(work, checkpoint_writer)
        rows, owned, spec = in_process.ordered_rows(work, True)
        sink: SynchronousSink = Cut(messages, output.destinations.topics, records)
        try:
            send.feed(
                rows,
                owned,
                spec,
                sink,
                lambda: True,
                Reporter(None),
                send.EarlyEnd(asked or StopRequest()),
                on_complete=work.on_complete,
            )
        except Killed:
            pass
        return messages

    def checkpoint_writer(self, resume: bool = False) -> CheckpointWriter:
        output = outputs.MemoryOutput(self.changefeed, []).for_plan(self.plan)
        run = checkpoint.identity(self.plan, 0, self.release, self.changefeed, output.destinations)
        directory = self.directory / "stands"
        return CheckpointWriter.open(directory, run, self.plan, resume)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("release", RELEASES)
def test_a_run_that_is_killed_behind_any_record_goes_on_without_a_loss(
    tmp_path: Path, protocol: str, release: str
) -> None:
    """Killed twice: a run that went on is killed as well."""
    story = Story(tmp_path, protocol, release)
    whole = story.play(None)
    again = 0
    for records in range(0, len(whole), 3):
        checkpoint_writer = story.checkpoint_writer()
        found = story.play(checkpoint_writer, records)
        for more in (records % 7, 1 << 30):
            checkpoint_writer.file.close()
            checkpoint_writer = story.checkpoint_writer(resume=True)
            found += story.play(checkpoint_writer, more)
        again += assert_nothing_is_lost(found, whole)
        checkpoint_writer.file.end()
        checkpoint_writer.file.close()
    assert again


@pytest.mark.parametrize(("release", "again"), [("v8.5.3", 2), ("v8.5.4 new", 0)])
def test_a_run_that_goes_on_sends_the_statement_at_its_checkpoint_again(
    tmp_path: Path, release: str, again: int
) -> None:
    """Classic TiCDC does so, and behind the watermark of the checkpoint, as the fault `restart` has it."""
    story = Story(tmp_path, PROTOCOLS[1], release)
    whole = story.play(None)
    added = [each for each in whole if b"ADD COLUMN" in (each.value or b"")]
    checkpoint_writer = story.checkpoint_writer()
    checkpoint_writer.advance(added[0].commit_ts)
    checkpoint_writer.file.close()

    checkpoint_writer = story.checkpoint_writer(resume=True)
    found = story.play(checkpoint_writer)
    assert [json.loads(each.value or b"")["_tidb"] for each in found[:2]] == [{"watermarkTs": added[0].commit_ts}] * 2
    assert [each.value for each in found if b"ADD COLUMN" in (each.value or b"")] == [each.value for each in added][
        :again
    ]
    assert again == 0 or found[2].value == added[0].value
    checkpoint_writer.file.close()


def test_no_watermark_is_sent_above_what_is_written_down(tmp_path: Path) -> None:
    story = Story(tmp_path, PROTOCOLS[1], "v8.5.3")
    checkpoint_writer = story.checkpoint_writer()
    stands = tmp_path / "stands" / "checkpoint.json"

    class Watching(MemorySink):
        def write(self, records: Records) -> None:
            for value in records.value.to_pylist():
                if b"TIDB_WATERMARK" in value:
                    watermarks.append(json.loads(value)["_tidb"]["watermarkTs"])
                    assert watermarks[-1] <= json.loads(stands.read_text())["commit_ts"]

    watermarks: list[int] = []
    output = outputs.MemoryOutput(story.changefeed, []).for_plan(story.plan)
    work = execute.with_checkpoint(execute.work_of(story.plan, output, story.release, 0, 0.0, None), checkpoint_writer)
    rows, owned, spec = in_process.ordered_rows(work, True)
    send.feed(rows, owned, spec, Watching([], ["story"]), lambda: True, Reporter(None), on_complete=work.on_complete)

    assert len(watermarks) > 10 and watermarks == sorted(watermarks)
    assert json.loads(stands.read_text())["commit_ts"] == watermarks[-1]
    checkpoint_writer.file.close()


def test_without_watermarks_it_is_written_down_as_often(tmp_path: Path) -> None:
    story, other = (Story(tmp_path, protocol, "v8.5.3") for protocol in ("canal-json", PROTOCOLS[1]))
    assert execute.with_checkpoint(
        execute.work_of(
            story.plan, outputs.MemoryOutput(story.changefeed, []).for_plan(story.plan), story.release, 0, 0.0, None
        ),
        story.checkpoint_writer(),
    ).spec.barriers == tuple(
        execute.work_of(
            other.plan, outputs.MemoryOutput(other.changefeed, []).for_plan(other.plan), other.release, 0, 0.0, None
        )
        .spec.control_events.times()
        .tolist()
    )


def test_another_run_is_not_gone_on_with(tmp_path: Path) -> None:
    story, other = Story(tmp_path, PROTOCOLS[0], "v8.5.3"), Story(tmp_path, PROTOCOLS[1], "v6.5.6")
    story.checkpoint_writer().file.close()
    with pytest.raises(UserError) as error:
        other.checkpoint_writer(resume=True)
    assert "--release was classic:v8.5.3, now it is classic:v6.5.6, protocol was open-protocol, now it is " in str(
        error.value
    )
    with pytest.raises(UserError, match="did not come to its end .*: --resume goes on with it"):
        story.checkpoint_writer()


@pytest.mark.parametrize(
    "change", [{"commit_ts": 5}, {"commit_ts": -1}, {"start_ts": "x"}, {"run": []}, {"commit_ts": 1 << 70}]
)
def test_numbers_that_no_run_has_written_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    story, stands = Story(tmp_path, PROTOCOLS[0], "v8.5.3"), tmp_path / "stands" / "checkpoint.json"
    story.checkpoint_writer().file.close()
    stands.write_text(json.dumps({**json.loads(stands.read_text()), **change}))
    with pytest.raises(UserError, match="is no checkpoint of such a run"):
        story.checkpoint_writer(resume=True)


def test_a_checkpoint_that_cannot_be_written_ends_the_run_in_words(tmp_path: Path) -> None:
    story = Story(tmp_path, PROTOCOLS[0], "v8.5.3")
    checkpoint_writer = story.checkpoint_writer()
    (tmp_path / "stands" / ".checkpoint.json.new").mkdir()
    with pytest.raises(DeliveryError, match=r"cannot write .*checkpoint\.json: Is a directory"):
        story.play(checkpoint_writer)
    start = "455000614502662144 (2025-01-01 00:00:00.001 UTC)"
    assert checkpoint_writer.resume_hint == f"everything up to {start} is acknowledged; --resume goes on there"
    checkpoint_writer.file.close()
