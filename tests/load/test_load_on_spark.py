"""Load on Spark sends what the engine in process sends, even if processes die."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.loads import CANAL, DDL, PLAN, Run
from support.processes import children, living

from simulator.errors import DeliveryError
from simulator.load.epochs import Pace, Window, schema_epochs
from simulator.load.feed import Feed
from simulator.load.statistics import SentWindow
from simulator.run.outputs import FilesOutput, Output
from simulator.sinks.files import FileSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOWS = 6
"""Four windows of half a second; statements cut two of them."""

Engine = Callable[[Feed, Output], None]
"""Sends what the feed gives."""


def in_process(feed: Feed, output: Output) -> None:
    feed.send_all()


def play(to: Path, engine: Engine, feed_kind: type[Feed] = Feed) -> list[SentWindow]:
    """Write two seconds of a run as fixtures; return the windows that were sent."""
    run = Run(PLAN.replace("2000", "400") + DDL.replace("300ms", "700ms"), CANAL)
    output = FilesOutput(run.changefeed, to, "jsonl", shared=True).for_plan(run.prepared.plan)
    sent: list[SentWindow] = []
    epochs = schema_epochs(run.prepared, output, 0)
    feed = feed_kind(epochs, run.control(2.0, 500), output.sink, run.begun, observers=[sent.append])
    engine(feed, output)
    feed.close()
    output.end(complete=True)
    return sent


def on_spark(spark: SparkSession, tasks: int, say: Callable[[str], None]) -> Engine:
    """Return the engine that sends in this many tasks of Spark."""
    from simulator.load.on_spark import run

    return lambda feed, _: run(spark, feed, tasks, say)


def texts(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in sorted(directory.rglob("*.jsonl"))}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return what the engine in process writes."""
    to = tmp_path_factory.mktemp("in process") / "out"
    sent = play(to, in_process)
    assert len(sent) == WINDOWS and min(map(len, texts(to).values())) > 0
    return texts(to)


def test_both_engines_write_the_same_fixtures(spark: SparkSession, expected: dict[str, bytes], tmp_path: Path) -> None:
    """Messages are equal offset by offset, for every number of tasks."""
    said: list[str] = []
    sent = play(tmp_path / "out", on_spark(spark, 1, said.append))
    assert texts(tmp_path / "out") == expected
    assert [window.retried for window in sent] == [0] * WINDOWS and said == []


class Killing(Feed):
    """Kills Spark's Python processes while they send the third window."""

    windows = 0

    def next(self) -> Window | None:
        window = super().next()
        self.windows += 1
        if self.windows != 3 or window is None:
            return window
        threading.Thread(target=kill_when_it_grows, args=(window.epoch.spec.settings,)).start()
        return replace(window, pace=Pace(0.2, 0.0))


def kill_when_it_grows(settings: FileSettings) -> None:
    files = Path(settings.staging)

    def size() -> int:
        return sum(file.stat().st_size for file in files.rglob("*.jsonl"))

    before, until = size(), time.monotonic() + 30
    while size() == before and time.monotonic() < until:
        time.sleep(0.01)
    workers = children(os.getpid(), "pyspark.worker")
    for pid, parent, _ in living():
        if pid in workers and parent in workers:
            os.kill(pid, signal.SIGKILL)


def test_a_window_whose_process_was_killed_is_sent_again_as_if_it_had_not_been_begun(
    spark: SparkSession, expected: dict[str, bytes], tmp_path: Path
) -> None:
    said: list[str] = []
    sent = play(tmp_path / "out", on_spark(spark, 4, said.append), feed_kind=Killing)
    assert texts(tmp_path / "out") == expected
    assert [window.retried for window in sent] == [int(number == 2) for number in range(WINDOWS)]
    assert [line.partition(":")[0] for line in said] == ["a Python process of Spark was killed, or crashed"]


class Refusing(Feed):
    """A sink that fails to deliver the second watermark."""

    def sent(self, window: Window, reports: Any, retried: int = 0) -> Any:
        if window.first_ms:
            raise DeliveryError("the broker is gone")
        return super().sent(window, reports, retried)


def test_what_a_feed_finds_wrong_ends_the_run_in_its_own_words(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="^the broker is gone$"):
        play(tmp_path / "out", on_spark(spark, 4, print), feed_kind=Refusing)
