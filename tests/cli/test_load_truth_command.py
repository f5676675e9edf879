"""`ticdc-sim load --truth DIR --at WHEN`: the truth of a stream that is not sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.playing import play, state

from simulator.consumer.truth_metadata import FILE, read

PLAN = """\
name = "fair"
rows-per-second = 400
initial = "present"

[[table]]
definition = "CREATE TABLE fair.visitor (id INT PRIMARY KEY, name VARCHAR(80), points INT)"
rows = 50

[[ddl]]
every = "700ms"
kinds = ["add-column", "truncate"]
"""
URI = "kafka://127.0.0.1:9/load?protocol=open-protocol"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    return file


def contents(directory: Path) -> dict[str, bytes]:
    """All but what says where the stream goes."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != FILE}


def test_it_is_the_truth_that_a_run_to_there_leaves(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the time since the start, or by the watermark; without a word of where it would be sent."""
    ran, asked, again = (tmp_path / name for name in ("ran", "asked", "again"))
    options = ("--sink-uri", URI, "--master", "none", "--fixtures", tmp_path / "out", "--duration", "2s")
    assert play("load", plan, *options, "--truth", ran) == 0
    capsys.readouterr()
    assert play("load", plan, "--truth", asked, "--at", "2s") == 0
    told = capsys.readouterr().out
    rows = len(state(asked)["fair", "visitor"])
    assert told.startswith("fair.visitor") and f"{rows:,} rows" in told
    (watermark,) = (word for line in told.splitlines() for word in line.split() if len(word) == 18 and word.isdigit())
    assert play("load", plan, "--truth", again, "--at", watermark) == 0
    assert contents(ran) == contents(asked) == contents(again)
    assert rows > 50
    about = read(ran)
    assert (about.command, about.played, about.topics, about.watermark) == ("load", "fair", {"load": 3}, int(watermark))
    assert about.empty == ()


def test_what_is_there_from_the_start_can_be_had(plan: Path, tmp_path: Path) -> None:
    """So that a consumer's tables can be filled with it."""
    assert play("load", plan, "--truth", tmp_path / "truth", "--at", "0s") == 0
    assert len(state(tmp_path / "truth")["fair", "visitor"]) == 50
    assert read(tmp_path / "truth").empty == ()


def test_what_is_not_there_from_the_start_is_called_empty(plan: Path, tmp_path: Path) -> None:
    plan.write_text(PLAN.replace("rows = 50", "rows = 0\nmix = {inserts = 1}"))
    assert play("load", plan, "--truth", tmp_path / "truth", "--truth-format", "parquet", "--at", "1s") == 0
    assert read(tmp_path / "truth").empty == ("fair.visitor",)
    assert len(list((tmp_path / "truth").glob("*.parquet"))) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--at", "2s"), "--at says of when the truth is; --truth DIR says where it goes"),
        (("--truth", "T", "--at", "noon"), "--at 'noon': expected a watermark, as a TSO such as 4550006"),
        (("--truth", "T", "--at", "1"), "--at '1': expected a watermark"),
        (("--truth", "T", "--at", "400000000000000000"), "--at 400000000000000000: the stream starts at 4550006"),
        (("--truth", "T", "--at", "455000630232612865"), "lies between two milliseconds, such as 455000630232612864"),
        (("--truth", "plan.toml", "--at", "1s"), "--truth plan.toml is a file: give a new or empty directory"),
        (("--truth", ".", "--at", "1s"), "--truth . holds something else: give a new or empty directory"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(
    plan: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert play("load", plan, *options) == 2
    assert words in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]
