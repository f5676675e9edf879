"""A part of a scenario: from a step, until a step."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.playing import play

from simulator.consumer.decode import Watermark, decode
from simulator.consumer.records import read_records

STEPS = """
[[step]]
sql = "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)"
[[step]]
name = "second"
sql = "CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO u VALUES (2); DELETE FROM t"
[[step]]
name = "third"
sql = "INSERT INTO t VALUES (3); INSERT INTO u VALUES (3)"
"""
URI = "kafka://127.0.0.1:9092/all?protocol=open-protocol&partition-num=1"


def events(directory: Path, *options: object) -> list[tuple[int, str]]:
    """Rows and statements, however they are batched, by commit-ts."""
    path = directory / "story.toml"
    path.write_text(STEPS)
    out = directory / "-".join(map(str, ("out", *options)))
    assert play("run", path, "--sink-uri", URI, "--fixtures", out, *options) == 0
    found = (event for record in read_records(str(out)) for event in decode(record.key, record.value))
    return sorted((event.commit_ts or 0, repr(event)) for event in found if not isinstance(event, Watermark))


@pytest.mark.parametrize("named", [("second", "third"), ("2", "3")])
def test_what_comes_before_happens_without_being_sent(tmp_path: Path, named: tuple[str, str]) -> None:
    """Times, rows and tables are those of the whole run; the parts make the whole."""
    whole = events(tmp_path)
    first = events(tmp_path, "--until", "1")
    second = events(tmp_path, "--from", named[0], "--until", named[0])
    third = events(tmp_path, "--from", named[1])
    assert first + second + third == whole
    assert min(map(len, (first, second, third))) > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--from", "secnd"), "--from 'secnd': no such step. Did you mean 'second'? Steps: 1, 2 second, 3 third"),
        (("--until", "4"), "--until '4': no such step."),
        (("--from", "3", "--until", "2"), "--until 2: this step comes before --from 3"),
    ],
)
def test_steps_that_are_not_there_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    path = tmp_path / "story.toml"
    path.write_text(STEPS)
    assert play("run", path, "--console", *options) == 2
    assert words in capsys.readouterr().err
