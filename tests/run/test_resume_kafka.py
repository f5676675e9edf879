"""A run to Kafka that is killed, stopped or loses its broker, and one that goes on from its checkpoint."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.cut_short import RUN, held
from support.playing import play
from support.processes import errors, started, wait_until
from support.cut_short import assert_nothing_is_lost

from simulator.consumer.records import Record
from simulator.errors import DeliveryError
from simulator.run import execute

pytestmark = pytest.mark.kafka


def renamed(whole: Sequence[Record], topic: str) -> list[Record]:
    return [Record(topic, each.partition, each.offset, each.timestamp, each.key, each.value) for each in whole]


def checkpoint_of(directory: Path) -> int:
    """Up to where all is acknowledged."""
    file = directory / "checkpoint.json"
    return int(json.loads(file.read_text())["commit_ts"]) if file.exists() else 0


@pytest.mark.parametrize(("master", "moments"), [("none", (4, 9)), ("local[2]", (6,))])
def test_a_run_that_is_killed_goes_on_where_all_was_acknowledged(
    two_tables: tuple[str, Path, Path],
    whole: list[Record],
    kafka: str,
    tmp_path: Path,
    master: str,
    moments: tuple[int, ...],
) -> None:
    """Between two watermarks; the last of them goes on in this process."""
    topic = f"killed-{master[:5]}"
    uri = f"kafka://{kafka}/{topic}?protocol=open-protocol&partition-num=2"
    command = *two_tables, *RUN, uri, "--checkpoint", tmp_path / "stands"
    for number, moment in enumerate(moments):
        begun, resume = checkpoint_of(tmp_path / "stands"), ("--resume",) if number else ()
        seen = {begun}
        with started(*command, *resume, "--speed", "8", "--master", master, stdout=subprocess.DEVNULL) as process:

            def far_enough() -> bool:
                seen.add(checkpoint_of(tmp_path / "stands"))
                return len(seen) > moment

            wait_until(process, far_enough)
            os.killpg(process.pid, signal.SIGKILL)
            assert process.wait(60) == -signal.SIGKILL
    assert checkpoint_of(tmp_path / "stands") > 0

    assert play(*command, "--resume", "--master", "none", "--truth", tmp_path / "truth") == 0
    assert not (tmp_path / "stands").exists()
    assert_nothing_is_lost(held(kafka, topic), renamed(whole, topic))
    assert play("verify", f"kafka://{kafka}/{topic}", "--truth", tmp_path / "truth") == 0


def test_a_run_that_is_stopped_goes_on_behind_its_last_watermark(
    two_tables: tuple[str, Path, Path], whole: list[Record], kafka: str, tmp_path: Path
) -> None:
    """Which is told, and sent again; nothing else is."""
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


def test_a_run_of_something_else_is_not_gone_on_with(
    two_tables: tuple[str, Path, Path], kafka: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of another seed, and of a snapshot whose content is another one."""
    uri = f"kafka://{kafka}/other?protocol=open-protocol&partition-num=2"
    command = *two_tables, *RUN, uri, "--checkpoint", tmp_path / "stands", "--master", "none"
    with started(*command, "--speed", "1", stdout=subprocess.DEVNULL) as process:
        wait_until(process, lambda: checkpoint_of(tmp_path / "stands") > 0)
        os.killpg(process.pid, signal.SIGKILL)
    assert play(*command) == 2
    assert "did not come to its end" in capsys.readouterr().err
    assert play(*command, "--resume", "--seed", "4", "--resolved-interval", "1s") == 2
    told = "--seed was 0, now it is 4, --resolved-interval was 500ms, now it is 1000ms"
    assert f"is of another run: {told}; --resume takes what that run was given" in capsys.readouterr().err
    file = next(two_tables[2].glob("*.csv"))
    content = file.read_text()
    try:
        file.write_text(content.replace("x", "y"))
        assert play(*command, "--resume") == 2
        assert "is of another run: a snapshot is another one; " in capsys.readouterr().err
    finally:
        file.write_text(content)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ("--fixtures", "out", "--checkpoint", "c"),
            "--checkpoint is about Kafka and storages: --fixtures contacts none",
        ),
        (("--console", "--resume"), "--resume is about Kafka and storages: --console contacts none"),
        (
            ("--sink-uri", "kafka://127.0.0.1:1/t?protocol=canal-json", "--resume"),
            "--resume goes on where a run with --checkpoint DIR ended: give that directory, too",
        ),
    ],
)
def test_what_cannot_be_asked_together_is_told(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    assert play("run", "bank", *options) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"ticdc-sim: {words}"


def test_a_run_whose_broker_is_gone_says_from_where_it_goes_on(
    two_tables: tuple[str, Path, Path],
    kafka: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def lost(*_: object) -> None:
        raise DeliveryError("Kafka has acknowledged nothing for 120 s")

    monkeypatch.setattr(execute, "run", lost)
    uri = f"kafka://{kafka}/gone?protocol=open-protocol&partition-num=2"
    assert play(*two_tables, *RUN, uri, "--checkpoint", tmp_path / "stands", "--master", "none") == 3
    start = "455000614502662144 (2025-01-01 00:00:00.001 UTC)"
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "ticdc-sim: Kafka has acknowledged nothing for 120 s",
        f"ticdc-sim: everything up to {start} is acknowledged; --resume goes on there",
    ]


def test_faults_are_not_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "story.toml"
    file.write_text(
        'sink-uri = "kafka://127.0.0.1:1/t?protocol=canal-json"\n'
        '[[step]]\nsql = "CREATE TABLE test.t (id INT PRIMARY KEY)"\n[[step]]\nfault = "restart"\n'
    )
    assert play("run", file, "--checkpoint", tmp_path / "stands") == 2
    assert "--checkpoint does not go with faults (the scenario has 'restart'): " in capsys.readouterr().err
