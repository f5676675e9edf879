"""A run to Kafka that is killed, stopped or loses its broker, and one that goes on from its checkpoint.

What is killed or stopped is a process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.cut_short import RUN, assert_nothing_is_lost, held
from support.playing import error_of, play
from support.processes import errors, started, wait_until

from simulator.errors import DeliveryError
from simulator.reader.records import Record
from simulator.run import execute

pytestmark = pytest.mark.kafka


def renamed(whole: Sequence[Record], topic: str) -> list[Record]:
    return [Record(topic, each.partition, each.offset, each.timestamp, each.key, each.value) for each in whole]


def checkpoint_of(directory: Path) -> int:
    """Up to where all is acknowledged."""
    file = directory / "checkpoint.json"
    return int(json.loads(file.read_text())["commit_ts"]) if file.exists() else 0


def test_a_run_that_is_killed_goes_on_where_all_was_acknowledged(
    two_tables: tuple[str, Path, Path], whole: list[Record], kafka: str, tmp_path: Path
) -> None:
    """Between two watermarks, twice; then it goes on in this process."""
    uri, stands = f"kafka://{kafka}/killed?protocol=open-protocol&partition-num=2", tmp_path / "stands"
    command = *two_tables, *RUN, uri, "--master", "none", "--checkpoint", stands
    for resume, moment in (((), 3), (("--resume",), 5)):
        seen = {checkpoint_of(stands)}
        with started(*command, *resume, "--speed", "8", stdout=subprocess.DEVNULL) as process:

            def far_enough() -> bool:
                seen.add(checkpoint_of(stands))
                return len(seen) > moment

            wait_until(process, far_enough)
            os.killpg(process.pid, signal.SIGKILL)
            assert process.wait(60) == -signal.SIGKILL
    assert checkpoint_of(stands) > 0

    assert play(*command, "--resume", "--truth", tmp_path / "truth") == 0
    assert not stands.exists()
    assert_nothing_is_lost(held(kafka, "killed"), renamed(whole, "killed"))
    assert play("verify", f"kafka://{kafka}/killed", "--truth", tmp_path / "truth") == 0


def test_a_run_that_is_stopped_goes_on_behind_its_last_watermark(
    two_tables: tuple[str, Path, Path], whole: list[Record], kafka: str, tmp_path: Path
) -> None:
    uri = f"kafka://{kafka}/stopped?protocol=open-protocol&partition-num=2"
    command = *two_tables, *RUN, uri, "--checkpoint", tmp_path / "stands", "--master", "none"
    with started(*command, "--speed", "1") as process:
        wait_until(process, lambda: checkpoint_of(tmp_path / "stands") > 0)
        os.killpg(process.pid, signal.SIGINT)
        said = errors(process)
    assert process.returncode == 130
    assert said[-2] == f"everything up to {said[0].partition('watermark ')[2]} is acknowledged; --resume goes on there"

    assert play(*command, "--resume") == 0
    assert assert_nothing_is_lost(held(kafka, "stopped"), renamed(whole, "stopped")) == 0


def test_a_run_whose_broker_is_gone_is_not_gone_on_with_as_something_else(
    two_tables: tuple[str, Path, Path],
    kafka: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It says from where it goes on: not with another seed, nor with a snapshot whose content is another one."""

    def lost(*_: object) -> None:
        raise DeliveryError("Kafka has acknowledged nothing for 120 s")

    uri = f"kafka://{kafka}/gone?protocol=open-protocol&partition-num=2"
    command = *two_tables, *RUN, uri, "--checkpoint", tmp_path / "stands", "--master", "none"
    with monkeypatch.context() as patch:
        patch.setattr(execute.PlannedRun, "send", lost)
        assert play(*command) == 3
    start = "455000614502662144 (2025-01-01 00:00:00.001 UTC)"
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "ticdc-sim: Kafka has acknowledged nothing for 120 s",
        f"ticdc-sim: everything up to {start} is acknowledged; --resume goes on there",
    ]
    assert "did not come to its end" in error_of(*command)
    assert play(*command, "--resume", "--seed", "4", "--resolved-interval", "1s") == 2
    told = "--seed was 0, now it is 4, --resolved-interval was 500ms, now it is 1000ms"
    assert f"is of another run: {told}; --resume takes what that run was given" in capsys.readouterr().err
    file = next(two_tables[2].glob("*.csv"))
    content = file.read_text()
    try:
        file.write_text(content.replace("x", "y"))
        assert "is of another run: a snapshot is another one; " in error_of(*command, "--resume")
    finally:
        file.write_text(content)


def test_what_cannot_be_asked_together_is_told() -> None:
    for options, words in {
        "--fixtures out --checkpoint c": "--checkpoint is about Kafka and storages: --fixtures contacts none",
        "--sink-uri kafka://127.0.0.1:1/t?protocol=canal-json --resume": (
            "--resume needs --checkpoint DIR, where a run with it did not come to its end"
        ),
    }.items():
        assert error_of("run", "bank", *options.split()).splitlines()[-1] == f"ticdc-sim: {words}"


def test_faults_are_not_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "story.toml"
    file.write_text(
        'sink-uri = "kafka://127.0.0.1:1/t?protocol=canal-json"\n'
        '[[step]]\nsql = "CREATE TABLE test.t (id INT PRIMARY KEY)"\n[[step]]\nfault = "restart"\n'
    )
    assert "--checkpoint does not go with faults (the scenario has 'restart'): " in error_of(
        "run", file, "--checkpoint", tmp_path / "stands"
    )
