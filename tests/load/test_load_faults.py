"""Load runs with failures: the topic holds the whole stream, and twice only what was not acknowledged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.kafka_fixture import served
from support.load_told import BY_KEY, DDL, OPTIONS, assert_nothing_is_lost, of, told
from support.loads import PLAN, Run
from support.playing import play
from support.processes import started, wait_until

from simulator import tso
from simulator.broker import server as broker
from simulator.load.epochs.epoch import Pace, Window
from simulator.load.feed import Feed
from simulator.load.windows.sender import WindowSender
from simulator.run import outputs
from simulator.sinks import SINKS
from simulator.sinks.memory import MemorySink, Message

pytestmark = [
    pytest.mark.kafka,
    # kafka-python 3.0.12 drops the socket of a refused connection without closing it (net/inet.py).
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

AWAY = 3.0
"""Seconds in which there is no broker."""


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the directory of a broker that may be killed."""
    with served(tmp_path_factory.mktemp("mortal")) as directory:
        yield directory


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
        broker.start(directory=self._directory)


def test_a_broker_that_is_killed_and_comes_back_has_all_of_the_stream(mortal: Path) -> None:
    running = broker.status(mortal)
    assert running is not None
    uri = f"kafka://{running.address}/broker-killed?{OPTIONS.partition('&')[2]}&protocol="
    run = Run(PLAN + DDL, "canal-json", uri=uri, toml=BY_KEY)
    messages: list[Message] = []
    calm = Feed(run.epochs(), run.control(3.0), MemorySink(messages, ["broker-killed"]), run.begun)
    calm.send_all(WindowSender(MemorySink(messages, ["broker-killed"])))
    calm.close()

    run.output = outputs.to_kafka(run.prepared.plan, run.changefeed)
    sink = SINKS["kafka"](run.output.settings, ["broker-killed"])
    feed = Bereft(run.epochs(), run.control(3.0), sink, run.begun, directory=mortal)
    began = time.monotonic()
    feed.send_all(WindowSender(sink))
    feed.close()

    assert time.monotonic() - began > AWAY and feed.restarting is not None
    feed.restarting.join()
    assert_nothing_is_lost(
        of(f"kafka://{running.address}/broker-killed"),
        [told(each.partition, each.value) for each in messages],
        [feed.watermark],
    )


def test_a_run_that_was_killed_goes_on_where_all_was_acknowledged(mortal: Path, tmp_path: Path) -> None:
    """A run is killed on Spark, in the middle of a window, and resumed in one process."""
    running = broker.status(mortal)
    assert running is not None
    (tmp_path / "plan.toml").write_text(PLAN + DDL)
    (tmp_path / "changefeed.toml").write_text(BY_KEY)
    uri = f"kafka://{running.address}/driver-killed?{OPTIONS}"
    command = (
        "load",
        tmp_path / "plan.toml",
        "--config",
        tmp_path / "changefeed.toml",
        "--sink-uri",
        uri,
        "--rate",
        "1500",
    )
    checkpoint = "--checkpoint", tmp_path / "stands"

    stands = tmp_path / "stands" / "checkpoint.json"

    def acknowledged_ms() -> int:
        return int(json.loads(stands.read_text())["acknowledged_ms"]) if stands.exists() else 0

    with started(
        *command, *checkpoint, "--duration", "1m", "--master", "local[2]", stdout=subprocess.DEVNULL
    ) as process:
        wait_until(process, lambda: acknowledged_ms() > 1500)
        time.sleep(0.3)
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    before = json.loads(stands.read_text())

    assert play(*command, *checkpoint, "--duration", "2s", "--master", "none", "--resume") == 0

    found = of(f"kafka://{running.address}/driver-killed")
    last_ms = tso.physical(max(each.commit_ts for each in found if each.kind == "watermark")) - before["start_ms"]
    assert last_ms > before["acknowledged_ms"] + 1000
    assert play(*command, "--fixtures", tmp_path / "out", "--duration", f"{last_ms}ms", "--master", "none") == 0
    assert_nothing_is_lost(
        found, of(str(tmp_path / "out")), [tso.compose(before["start_ms"] + before["acknowledged_ms"])]
    )
