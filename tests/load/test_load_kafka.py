"""Load runs to a real Kafka: the topic holds the whole stream, and twice only what a failure left unacknowledged.

A broker and a run are processes that can be killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cut_short import DDL, OPTIONS, assert_load_is_whole, of, told_by
from support.kafka_fixture import served, start_broker
from support.loads import PLAN, Run
from support.playing import BY_KEY, play
from support.processes import started, wait_until

from simulator import broker, tso
from simulator.load.epochs import Pace, Window
from simulator.load.feed import Feed
from simulator.load.statistics import SentWindow
from simulator.reader.records import read_records
from simulator.run import outputs
from simulator.sinks import SINKS
from simulator.sinks.memory import MemorySink, Message

pytestmark = [
    pytest.mark.kafka,
    # kafka-python 3.0.12 drops the socket of a refused connection without closing it (net/inet.py).
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

AWAY = 1.0
"""Seconds in which there is no broker."""


class Bereft(Feed):
    """Loses its broker in the middle of the sixth window, which takes a second."""

    def __init__(self, *arguments: Any, directory: Path) -> None:
        self._directory, self._windows = directory, 0
        self.restarting: threading.Thread | None = None
        self.watermark = 0
        super().__init__(*arguments)

    def next(self) -> Window | None:
        window = super().next()
        self._windows += 1
        if self._windows != 6 or window is None:
            return window
        self.watermark = self.checkpoint.watermark
        self.restarting = threading.Thread(target=self._kill_and_restart)
        self.restarting.start()
        return replace(window, pace=Pace((window.end_ms - window.first_ms) / 1000, 0.0))

    def _kill_and_restart(self) -> None:
        running = broker.status(self._directory)
        assert running is not None
        time.sleep(0.5)
        os.kill(running.pid, signal.SIGKILL)
        time.sleep(AWAY)
        start_broker(self._directory)


def test_a_broker_that_is_killed_and_comes_back_has_all_of_the_stream(tmp_path: Path) -> None:
    with served(tmp_path) as directory:
        running = broker.status(directory)
        assert running is not None
        uri = f"kafka://{running.address}/broker-killed?{OPTIONS.partition('&')[2]}&protocol="
        run, messages = Run(PLAN + DDL, "canal-json", uri=uri, toml=BY_KEY), list[Message]()
        memory = MemorySink(messages, ["broker-killed"])
        calm = Feed(run.epochs(), run.control(2.0), memory, run.begun)
        calm.send_all()
        calm.close()

        run.output = outputs.KafkaOutput(run.changefeed, run.prepared.plan.topics).for_plan(run.prepared.plan)
        sink = SINKS["kafka"](run.output.settings, ["broker-killed"])
        feed = Bereft(run.epochs(), run.control(2.0), sink, run.begun, directory=directory)
        began = time.monotonic()
        feed.send_all()
        feed.close()

        assert time.monotonic() - began > AWAY and feed.restarting is not None
        feed.restarting.join()
        expected = [told_by(each.partition, each.value) for each in messages]
        assert_load_is_whole(of(f"kafka://{running.address}/broker-killed"), expected, [feed.watermark])


def test_a_run_that_was_killed_goes_on_where_all_was_acknowledged(kafka: str, tmp_path: Path) -> None:
    """In the middle of a window; it is resumed in this process."""
    (tmp_path / "plan.toml").write_text(PLAN + DDL)
    (tmp_path / "changefeed.toml").write_text(BY_KEY)
    uri, stands = f"kafka://{kafka}/driver-killed?{OPTIONS}", tmp_path / "stands"
    config = ("--config", tmp_path / "changefeed.toml", "--sink-uri", uri, "--rate", "1500", "--master", "none")
    command = ("load", tmp_path / "plan.toml", *config)

    def acknowledged_ms() -> int:
        file = stands / "checkpoint.json"
        return int(json.loads(file.read_text())["acknowledged_ms"]) if file.exists() else 0

    with started(*command, "--checkpoint", stands, "--duration", "1m", stdout=subprocess.DEVNULL) as process:
        wait_until(process, lambda: acknowledged_ms() > 1000)
        time.sleep(0.3)
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    before = json.loads((stands / "checkpoint.json").read_text())

    assert play(*command, "--checkpoint", stands, "--duration", "2s", "--resume") == 0

    found = of(f"kafka://{kafka}/driver-killed")
    last_ms = tso.physical(max(each.commit_ts for each in found if each.kind == "watermark")) - before["start_ms"]
    assert last_ms > before["acknowledged_ms"] + 1000
    assert play(*command, "--fixtures", tmp_path / "out", "--duration", f"{last_ms}ms") == 0
    again_above = tso.compose(before["start_ms"] + before["acknowledged_ms"])
    assert_load_is_whole(found, of(str(tmp_path / "out")), [again_above])


def test_kafka_gets_what_memory_gets(kafka: str) -> None:
    """Rows, statements and watermarks have the same order, and each acknowledgement is measured."""
    topic, seen, messages = "in-one-process", list[SentWindow](), list[Message]()
    uri = f"kafka://{kafka}/{topic}?partition-num=3&protocol="
    run = Run(PLAN + DDL, uri=uri)
    memory = MemorySink(messages, [topic])
    feed = Feed(run.epochs(), run.control(), memory, run.begun)
    feed.send_all()
    feed.close()
    topics = run.prepared.plan.topics
    run.output = outputs.KafkaOutput(run.changefeed, topics).for_plan(run.prepared.plan)
    sink = SINKS["kafka"](run.output.settings, [topic])
    feed = Feed(run.epochs(), run.control(), sink, run.begun, None, [seen.append])
    feed.send_all()
    feed.close()

    found = list(read_records(f"{uri}open-protocol"))
    for partition in range(3):
        assert [(each.key, each.value) for each in found if each.partition == partition] == [
            (each.key, each.value) for each in messages if each.partition == partition
        ]
    assert sum(window.latencies.records for window in seen) == sum(
        count for window in seen for _, count, _ in window.partitions.values()
    )
    assert 0 < max(window.latencies.longest for window in seen) < 60
