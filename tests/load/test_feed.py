"""A load run in one process: windows and control events, the checkpoint, the end, and how a run resumes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.loads import CANAL, DDL, OPEN, PLAN, Run

from simulator import tso
from simulator.columns.hashing import sums_by_kind
from simulator.errors import DeliveryError, SimulatorError, UserError
from simulator.load.feed import Feed, LoadCheckpoint
from simulator.load.statistics import SentWindow
from simulator.reader.decode import DdlEvent, Event, RowEvent, Watermark, decode
from simulator.run import checkpoint
from simulator.run.checkpoint import CheckpointFile
from simulator.signals import StopRequest
from simulator.sinks.memory import MemorySink, Message
from simulator.sinks.records import Records


def played(
    run: Run,
    messages: list[Message],
    seconds: float = 1.0,
    directory: Path | None = None,
    resumed: bool = False,
    sink: MemorySink | None = None,
    stop_request: StopRequest | None = None,
) -> list[SentWindow]:
    """Run for some seconds of simulated time; return what observers received."""
    seen: list[SentWindow] = []
    store, start = None, LoadCheckpoint(run.identity, run.prepared.start_ms)
    if directory is not None and resumed:
        store, start = checkpoint.resume(directory, run.identity, LoadCheckpoint)
    elif directory is not None:
        store = checkpoint.begin(directory, start)
    sink = sink or MemorySink(messages, run.output.destinations.topics)
    try:
        feed = Feed(
            run.epochs(start.acknowledged_ms), run.control(seconds), sink, start, store, [seen.append], stop_request
        )
        feed.send_all()
        feed.close()
    finally:
        if store is not None:
            store.close()
    return seen


def of_all(messages: Sequence[Message]) -> list[list[Event]]:
    """The events of each partition."""
    return [
        [event for each in messages if each.partition == number for event in decode(each.key, each.value)]
        for number in range(3)
    ]


def ts_of(event: Event) -> int:
    found = event.ts if isinstance(event, Watermark) else event.commit_ts
    assert found is not None
    return found


def assert_in_order(events: Sequence[Event]) -> list[int]:
    """Watermarks never fall, and all else lies above them; return them."""
    watermarks = [0]
    for event in events:
        if isinstance(event, Watermark):
            watermarks.append(ts_of(event))
            assert watermarks[-1] >= watermarks[-2]
        else:
            assert ts_of(event) > watermarks[-1]
    return watermarks[1:]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "protocol"), [(PLAN, OPEN), (PLAN + DDL, CANAL)])
def test_a_watermark_lies_between_two_windows_and_a_statement_before_it(text: str, protocol: str) -> None:
    run, messages = Run(text, protocol), list[Message]()
    seen = played(run, messages)
    starts = tso.compose(run.prepared.start_ms)

    assert [window.watermark for window in seen] == [starts + tso.compose(window.end_ms) for window in seen]
    assert [window.first_ms for window in seen[1:]] == [window.end_ms for window in seen[:-1]]
    assert all({starts, seen[-1].watermark} <= {*assert_in_order(found)} for found in of_all(messages))
    statements = {ts_of(event) for found in of_all(messages) for event in found if isinstance(event, DdlEvent)}
    altering = {ts for ts in statements if ts > starts}
    assert altering <= {window.watermark for window in seen} and bool(altering) == (text != PLAN)


@pytest.mark.slow
def test_what_is_observed_is_what_was_sent() -> None:
    messages = list[Message]()
    seen = played(Run(), messages)
    rows = [
        [event for event in decode(message.key, message.value) if isinstance(event, RowEvent)] for message in messages
    ]
    with_rows = [message for message, held in zip(messages, rows) if held]
    size = sum(len(message.key or b"") + len(message.value or b"") for message in with_rows)

    assert sum(sum(window.rows.values()) for window in seen) == sum(map(len, rows))
    found = zip(*(counts for window in seen for counts in window.partitions.values()))
    assert [sum(counts) for counts in found] == [sum(map(len, rows)), len(with_rows), size]
    assert all(window.handed_out <= window.began <= window.ended for window in seen)


@pytest.mark.slow
def test_the_checkpoint_is_written_before_the_watermark_and_gone_at_the_end(tmp_path: Path) -> None:
    run, found = Run(PLAN + DDL), list[tuple[int, int]]()

    class Watching(MemorySink):
        def write(self, records: Records) -> None:
            stands = json.loads((tmp_path / "checkpoint.json").read_text())
            found.append((tso.compose(stands["start_ms"] + stands["acknowledged_ms"]), records.commit_ts[0].as_py()))
            super().write(records)

    seen = played(run, [], directory=tmp_path, sink=Watching([], ["load"]))

    assert {window.watermark for window in seen} <= {sent for stands, sent in found if stands == sent}
    assert all(sent > stands for stands, sent in found if tso.physical(sent) > tso.physical(stands))
    assert not (tmp_path / "checkpoint.json").exists()


class Failing(MemorySink):
    """Refuses what follows a TSO, or stops the process there."""

    def __init__(self, messages: list[Message], behind: int, kills: bool = False) -> None:
        super().__init__(messages, ["load"])
        self.behind, self.kills = behind, kills

    def write(self, records: Records) -> None:
        if max(records.commit_ts.to_pylist()) >= self.behind:
            if self.kills:
                raise KeyboardInterrupt
            self._counters[0, 0].error = "topic load partition 0: refused"
        else:
            super().write(records)


def test_what_was_not_delivered_ends_the_run_with_what_was(tmp_path: Path) -> None:
    run = Run()
    behind = tso.compose(run.prepared.start_ms + 450)
    with pytest.raises(DeliveryError) as error:
        played(run, [], directory=tmp_path, sink=Failing([], behind))

    assert error.value.args == (
        "topic load partition 0: refused",
        f"everything up to {tso.describe(tso.compose(run.prepared.start_ms + 400))} is acknowledged; "
        "--resume goes on there",
    )


@pytest.mark.slow
@pytest.mark.parametrize("at_ms", [0, 1, 250, 300])
def test_a_run_that_is_killed_goes_on_where_it_stood(tmp_path: Path, at_ms: int) -> None:
    """Only what follows the last watermark is sent again. A recorded statement is not sent again."""
    run, whole, messages = Run(PLAN + DDL), list[Message](), list[Message]()
    played(run, whole, 0.7)
    with pytest.raises(KeyboardInterrupt):
        killed = Failing(messages, tso.compose(run.prepared.start_ms + at_ms), kills=True)
        played(run, messages, directory=tmp_path, sink=killed)
    stands = json.loads((tmp_path / "checkpoint.json").read_text())["acknowledged_ms"]
    played(run, messages, 0.7 - stands / 1000, tmp_path, resumed=True)

    for expected, found in zip(of_all(whole), of_all(messages), strict=True):
        assert_in_order(found)
        assert list(dict.fromkeys(map(repr, found))) == list(map(repr, expected))


@pytest.mark.slow
def test_an_end_that_is_asked_for_comes_behind_a_watermark(tmp_path: Path) -> None:
    run, messages, stop_request = Run(), list[Message](), StopRequest()

    class Interrupted(MemorySink):
        def write(self, records: Records) -> None:
            if tso.physical(records.commit_ts[0].as_py()) - run.prepared.start_ms > 350:
                stop_request.number = 2
            super().write(records)

    seen = played(run, messages, directory=tmp_path, sink=Interrupted(messages, ["load"]), stop_request=stop_request)

    assert seen[-1].end_ms == 400
    assert all(
        isinstance(found[-1], Watermark) and ts_of(found[-1]) == seen[-1].watermark for found in of_all(messages)
    )
    played(run, messages, 0.6, tmp_path, resumed=True)
    whole: list[Message] = []
    played(run, whole)
    assert [len(found) for found in of_all(messages)] == [len(found) + 1 for found in of_all(whole)]


def test_a_run_begins_anew_only_where_none_is_left_and_no_other_run_resumes_it(tmp_path: Path) -> None:
    run = Run()
    checkpoint.begin(tmp_path, run.begun).close()

    with pytest.raises(UserError, match="did not come to its end .*: --resume goes on with it"):
        checkpoint.begin(tmp_path, run.begun)
    with pytest.raises(UserError, match=r"nothing to --resume: there is no .*/other/checkpoint\.json"):
        checkpoint.resume(tmp_path / "other", run.identity, LoadCheckpoint)
    with pytest.raises(UserError) as error:
        checkpoint.resume(
            tmp_path, {**run.identity, "plan": "0123456789abcdef", "--seed": "8", "topic": "x"}, LoadCheckpoint
        )
    told = "plan is another one, --seed was 7, now it is 8, topic was load, now it is x"
    assert str(error.value) == (
        f"{tmp_path}/checkpoint.json is of another run: {told}; --resume takes what that run was given"
    )


def test_the_identity_of_a_run_is_what_decides_its_bytes() -> None:
    run, other = Run(), Run(PLAN.replace("seed = 7", "seed = 8"))

    assert {name for name, value in run.identity.items() if other.identity[name] != value} == {"plan", "--seed"}
    assert run.identity["--rate"] == "2000 rows/s"
    assert "127.0.0.1" not in str(run.identity)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1}', '{"format": 9}', "\udcff"])
def test_what_is_no_checkpoint_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "checkpoint.json").write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(SimulatorError) as error:
        checkpoint.resume(tmp_path, {}, LoadCheckpoint)
    assert "checkpoint.json" in str(error.value) and len(error.value.args) == 1


def test_a_directory_belongs_to_one_run_that_can_write_it(tmp_path: Path) -> None:
    store = CheckpointFile(tmp_path)
    with pytest.raises(UserError, match="is in use by another run: give each its own"):
        CheckpointFile(tmp_path)
    store.close()
    CheckpointFile(tmp_path).close()
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="--checkpoint .*/file: File exists"):
        CheckpointFile(tmp_path / "file")


@pytest.mark.slow
def test_a_load_that_goes_on_has_the_sums_of_all_row_changes(tmp_path: Path) -> None:
    run = Run(PLAN + DDL)

    def summed(start: LoadCheckpoint, seconds: float) -> Feed:
        epochs = (replace(epoch, spec=replace(epoch.spec, sums=True)) for epoch in run.epochs(start.acknowledged_ms))
        sink = MemorySink([], run.output.destinations.topics)
        feed = Feed(epochs, run.control(seconds), sink, start, store)
        feed.send_all()
        return feed

    first = LoadCheckpoint(run.identity, run.prepared.start_ms, sums=sums_by_kind({}))
    store = checkpoint.begin(tmp_path, first)
    summed(first, 0.4)
    half = LoadCheckpoint.from_json(json.loads((tmp_path / "checkpoint.json").read_text()))
    assert half.acknowledged_ms == 400
    rest, whole = summed(half, 0.6), summed(first, 1.0)
    store.close()

    assert whole.sums and rest.sums == whole.sums
