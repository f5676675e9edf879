"""An executor of a cluster that is killed: what it read of a stream is read again."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.load_told import BY_KEY
from support.playing import play
from support.processes import children, started, wait_until
from support.spark_cluster import Cluster, executors


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that lacks a row change, and in it its truth."""
    found = tmp_path_factory.mktemp("verified") / "stream"
    (found.parent / "changefeed.toml").write_text(BY_KEY)
    assert play("load", "--preset", "bank", "--rate", 10000, "--duration", "4s", "--fixtures", found, "--sink-uri",
                "kafka://127.0.0.1:1/read?protocol=open-protocol&partition-num=2", "--config",
                found.parent / "changefeed.toml", "--truth", found.with_name("truth"), "--master", "none") == 0
    file = max(found.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    lines = file.read_text().splitlines(True)
    file.write_text("".join(lines[:5000] + lines[5001:]))
    return found


@pytest.mark.parametrize("read", [False, True])
def test_a_verification_that_loses_an_executor_says_what_it_says_without_spark(
    read: bool, cluster: Cluster, stream: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a stream that lacks a row change: while the executor reads a partition, and when it has read it."""
    command = "verify", stream, "--truth", stream.with_name("truth"), "--json"
    capsys.readouterr()
    assert play(*command, "--master", "none") == 1
    expected = verdict(capsys.readouterr().out)

    gone = executors(cluster.workers[0])
    with started(*command, "--master", cluster.url) as process:
        wait_until(process, lambda: executors(cluster.workers[0]) not in ([], gone))
        executor, = {*executors(cluster.workers[0])} - {*gone}
        wait_until(process, lambda: reads(executor, stream), 0.01)
        if read:
            wait_until(process, lambda: not reads(executor, stream), 0.01)
        with suppress(ProcessLookupError):  # the verification may be over when all is read
            os.kill(executor, signal.SIGKILL)
        found, said = process.communicate()

    assert (process.returncode, verdict(found)) == (1, expected), said
    assert expected["failures"]


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
