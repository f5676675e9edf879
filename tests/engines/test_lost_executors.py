"""An executor of a cluster that is killed: what was open is sent again, and what was being verified is read again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.load_told import BY_KEY, DDL, OPTIONS, assert_nothing_is_lost, of, repeated_above
from support.loads import PLAN
from support.playing import play
from support.processes import children, errors, kill, members, started, wait_until
from support.spark_cluster import Cluster, executors, running

from simulator import tso

WINDOW = 2
"""Seconds between two statements, and between two watermarks."""

STILL = 3.0
"""Seconds after which a window that was not acknowledged waits for somebody."""


@pytest.fixture
def load(tmp_path: Path) -> tuple[object, ...]:
    """The command."""
    (tmp_path / "plan.toml").write_text(PLAN + DDL.replace("700ms", f"{WINDOW}s"))
    (tmp_path / "changefeed.toml").write_text(BY_KEY)
    return (
        "load",
        tmp_path / "plan.toml",
        "--config",
        tmp_path / "changefeed.toml",
        "--rate",
        500,
        "--resolved-interval",
        f"{WINDOW}s",
    )


@pytest.mark.kafka
def test_the_window_that_is_open_when_an_executor_is_killed_is_sent_again(
    cluster: Cluster, kafka: str, load: tuple[object, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It alone: what lies below its watermark is there once, and the topic leads to the rows of the truth.

    The executor's Python processes are held up until others have sent their part, and outlive its Java for a moment.
    """
    topic, truth, stands = f"kafka://{kafka}/executor-killed", tmp_path / "truth", tmp_path / "stands"

    def stands_at() -> dict[str, int]:
        file = stands / "checkpoint.json"
        return {"acknowledged_ms": 0} | (json.loads(file.read_text()) if file.exists() else {})

    def watermark() -> int:
        return tso.compose(stands_at()["start_ms"] + stands_at()["acknowledged_ms"])

    def half_sent() -> bool:
        before, newest = watermark(), max(each.commit_ts for each in of(topic) if each.kind == "row")
        time.sleep(STILL)
        return newest > before == watermark()

    command = *load, "--sink-uri", f"{topic}?{OPTIONS}", "--checkpoint", stands
    with started(*command, "--master", cluster.url, stdout=subprocess.DEVNULL) as process:
        wait_until(process, lambda: stands_at()["acknowledged_ms"] > 0 and len(senders(cluster)) == 2)
        assert process.poll() is None, errors(process)
        executor, held_up = senders(cluster).popitem()
        for each in held_up:
            os.kill(each, signal.SIGSTOP)
        wait_until(process, half_sent)
        open_above = watermark()
        os.kill(executor, signal.SIGKILL)
        for each in held_up:
            os.kill(each, signal.SIGCONT)
        wait_until(process, lambda: watermark() > open_above)
        wait_until(process, lambda: len(senders(cluster)) == 2)  # the window goes to one task, later ones to two again
        assert process.poll() is None, errors(process)
        process.send_signal(signal.SIGINT)
        said = errors(process)

    assert process.returncode == 130, said
    assert [line for line in said if "what was not acknowledged is sent again" in line] != []
    lasted, uri = f"{stands_at()['acknowledged_ms']}ms", ("--sink-uri", f"{topic}?{OPTIONS}")
    assert play(*load, *uri, "--fixtures", tmp_path / "whole", "--duration", lasted, "--master", "none") == 0
    assert play(*load, *uri, "--truth", truth, "--at", watermark()) == 0
    (again_above,) = repeated_above(of(topic))
    assert again_above >= open_above, "the processes that outlive their Java may complete the window"
    assert_nothing_is_lost(of(topic), of(str(tmp_path / "whole")), [again_above])
    capsys.readouterr()
    assert play("verify", topic, "--truth", truth, "--json") == 0
    assert sum(each["repeated"] for each in json.loads(capsys.readouterr().out)["partitions"]) > 0


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that lacks a row change, and in it its truth."""
    found = tmp_path_factory.mktemp("verified") / "stream"
    (found.parent / "changefeed.toml").write_text(BY_KEY)
    assert (
        play(
            "load",
            "--preset",
            "bank",
            "--rate",
            10000,
            "--duration",
            "4s",
            "--fixtures",
            found,
            "--sink-uri",
            "kafka://127.0.0.1:1/read?protocol=open-protocol&partition-num=2",
            "--config",
            found.parent / "changefeed.toml",
            "--truth",
            found.with_name("truth"),
            "--master",
            "none",
        )
        == 0
    )
    file = max(found.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    lines = file.read_text().splitlines(True)
    file.write_text("".join(lines[:5000] + lines[5001:]))
    return found


def test_a_verification_that_loses_executors_says_what_it_says_without_spark(
    cluster: Cluster, stream: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a stream that lacks a row change: one executor while it reads a partition, the other when it has read."""
    command = "verify", stream, "--truth", stream.with_name("truth"), "--json"
    capsys.readouterr()
    assert play(*command, "--master", "none") == 1
    expected = verdict(capsys.readouterr().out)

    gone = {executor for worker in cluster.workers for executor in executors(worker)}
    with started(*command, "--master", cluster.url) as process:
        wait_until(process, lambda: all({*executors(worker)} - gone for worker in cluster.workers))
        reading, read = ({*executors(worker)} - gone for worker in cluster.workers)
        for victim, has_read in ((reading.pop(), False), (read.pop(), True)):
            wait_until(process, lambda: reads(victim, stream), 0.01)
            if has_read:
                wait_until(process, lambda: not reads(victim, stream), 0.01)
            with suppress(ProcessLookupError):  # the verification may be over when all is read
                os.kill(victim, signal.SIGKILL)
        found, said = process.communicate()

    assert (process.returncode, verdict(found)) == (1, expected), said
    assert expected["failures"]


@pytest.mark.slow
def test_a_run_that_has_lost_all_executors_says_so_after_a_while(stream: Path, tmp_path: Path) -> None:
    """Spark itself would wait for others for ever; the run waits a second in place of a minute."""
    first = "from simulator.engines.spark import executors\nexecutors.LOST_TIMEOUT = 1"
    with running(tmp_path, ["only"]) as small:
        command = "verify", stream, "--truth", stream.with_name("truth"), "--master", small.url
        with started(*command, first=first, stdout=subprocess.DEVNULL) as process:
            wait_until(process, lambda: any(reads(each, stream) for each in executors(small.workers[0])), 0.01)
            kill(members(small.sessions[0]))
            said = errors(process)

    expected = (
        "Spark has lost executors and got no others for a minute: its workers are gone, or have no free cores or memory"
    )
    assert (process.returncode, said) == (3, [f"ticdc-sim: {expected}"])


def senders(cluster: Cluster) -> dict[int, list[int]]:
    """The Python processes of each executor that sends."""
    found = {executor: children(executor) for worker in cluster.workers for executor in executors(worker)}
    return {executor: pids for executor, pids in found.items() if any(map(is_sender, pids))}


def is_sender(pid: int) -> bool:
    """Whether Spark keeps it for the sink."""
    with suppress(OSError):  # it may have ended
        return b"=simulator.load.on_spark.sending_task\0" in Path(f"/proc/{pid}/environ").read_bytes()
    return False


def reads(executor: int, directory: Path) -> bool:
    """Whether one of its Python processes has a file below that directory open."""
    for pid in children(executor):
        with suppress(OSError):  # it may have ended
            if any(directory in Path(os.readlink(fd)).parents for fd in Path(f"/proc/{pid}/fd").iterdir()):
                return True
    return False


def verdict(text: str) -> dict[str, Any]:
    """What a verification found, without how it was done."""
    found: dict[str, Any] = json.loads(text)
    return {name: value for name, value in found.items() if name not in ("engine", "started", "seconds")}
