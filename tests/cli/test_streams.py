"""Standard output and standard error that are closed, full, or without a reader: there is no traceback, and exit codes stay the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO

import pytest
from support.playing import play, said
from support.processes import errors, started

from simulator.cli.page import PLOTLY

MAIN = "from simulator.cli import main; main()"
PLAN = '[[table]]\ndefinition = "CREATE TABLE a.t (id INT PRIMARY KEY, v INT)"\nrows = 20\n'
NOT_SHOWN = "ticdc-sim: No space left on device"
RUN = ("run", "story.sql", "--console")
VERIFY = ("verify", "out", "--truth", "truth")
LOAD = ("load", "plan.toml", "--master", "none", "--duration", "1ms")


@pytest.fixture(autouse=True, scope="module")
def _directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A story, its stream, and a truth that is another's."""
    directory = tmp_path_factory.mktemp("streams")
    (directory / "story.sql").write_text(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT);\nINSERT INTO t VALUES (1, 2), (2, 3);\n"
    )
    (directory / "plan.toml").write_text(PLAN)
    assert play("run", directory / "story.sql", "--fixtures", directory / "out", "--truth", directory / "truth") == 0
    rows = directory / "truth" / "test.t.csv"
    rows.write_text(rows.read_text().replace("3", "4"))
    return directory


@pytest.fixture(autouse=True)
def directory(_directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(_directory)
    return _directory


def redirected(redirection: str, *arguments: str) -> tuple[int, str, list[str]]:
    """Exit code, standard output and error of a command as a shell starts it: a process that never had the streams."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", MAIN, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=dict(os.environ))
    return done.returncode, done.stdout, [line for line in done.stderr.splitlines() if not line.endswith(" …")]


@contextmanager
def full() -> Iterator[TextIO]:
    """A stream onto a device that is full; what could not be written is forgotten in the end."""
    with open("/dev/full", "w", encoding="utf-8") as stream, open(os.devnull, "wb") as nowhere:
        yield stream
        os.dup2(nowhere.fileno(), stream.fileno())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("redirection", "command", "code", "words"),
    [
        (">&- </dev/null", VERIFY, 1, []),
        (">&- </dev/null", RUN, 0, []),
        (">/dev/full", (*LOAD, "--console"), 3, [NOT_SHOWN]),
        ("<&- 2>&-", VERIFY, 1, []),
        ("<&- 2>&-", ("run", "nothing.sql"), 2, []),
        ("2>/dev/full", ("run", "nothing.sql"), 2, []),
    ],
)
def test_a_stream_that_is_closed_or_full_changes_no_more_than_the_exit_code(
    redirection: str, command: tuple[str, ...], code: int, words: list[str]
) -> None:
    """A closed one counts as /dev/null, from the start; that standard output is full is told in one line."""
    ended, _, lines = redirected(redirection, *command)
    assert (ended, [line for line in lines if "ticdc-sim" in line]) == (code, words) and "Traceback" not in lines


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [RUN, ("load", "plan.toml", "--print-plan"), VERIFY, ("inspect", "out"), ("scenarios", "--json")],
    ids=" ".join,
)
def test_a_full_standard_output_is_told(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with full() as stdout, redirect_stdout(stdout):
        assert play(*command) == 3
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" …")]
    assert lines[-1] == NOT_SHOWN and "Traceback" not in "".join(lines)


def test_a_full_standard_error_stops_nothing() -> None:
    with full() as stderr, redirect_stderr(stderr):
        assert play("run", "story.sql", "--fixtures", "silent") == 0
    assert Path("silent/ticdc/0.jsonl").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code"),
    [(VERIFY, 1), ((*LOAD, "--fixtures", "seen", "--summary", "s.json"), 0)],
    ids=["verify", "load"],
)
def test_a_reader_that_is_gone_changes_no_verdict(command: tuple[str, ...], code: int) -> None:
    """As behind `| head -1`, of a process: what a command was to leave is there all the same."""
    with started(*command) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert errors(process) == []
    assert process.returncode == code
    assert code or (Path("seen").is_dir() and Path("s.json").exists())


@pytest.mark.slow
def test_a_verdict_is_shown_before_the_disk_is_found_full(directory: Path, full_disk: None) -> None:
    yesterday = '<meta name="generator" content="ticdc-sim 0.1.0">'
    Path("report.html").write_text(yesterday)
    code, shown, lines = said(*VERIFY, "--report", "report.html")
    script = directory.resolve() / PLOTLY
    assert lines[-1] == f"ticdc-sim: cannot write the report's script {script}: File too large"
    assert (code, shown[:5], Path("report.html").read_text()) == (3, "WRONG", yesterday)
    assert not list(Path().glob(".*")) and not script.exists()


@pytest.mark.slow
def test_a_report_may_go_to_standard_output() -> None:
    """It is a pipe here, of a process, which has no directory for the page's script."""
    code, shown, lines = redirected("", "verify", "out", "--report", "/dev/stdout")
    assert (code, lines) == (0, [])
    assert shown.startswith("RIGHT") and "<!DOCTYPE html>\n" in shown and shown.endswith("</html>\n")


@pytest.mark.slow
def test_a_report_may_go_to_a_device() -> None:
    """Which is written to, and not replaced; a full one is told."""
    assert said("verify", "out", "--report", "/dev/null").code == 0
    code, shown, lines = said("verify", "out", "--report", "/dev/full")
    assert (code, lines) == (3, ["ticdc-sim: cannot write the report /dev/full: No space left on device"])
    assert shown.startswith("RIGHT")


@pytest.mark.parametrize(
    "command", [("run", "story.sql", "--fixtures", "told", "--summary"), (*LOAD, "--fixtures", "told", "--report")]
)
def test_a_run_whose_figures_cannot_be_written_has_shown_them(command: tuple[str, ...]) -> None:
    code, shown, lines = said(*command, "/dev/full")
    assert (code, lines[-1][-23:]) == (3, "No space left on device")
    assert "row changes in" in shown and Path("told").is_dir()
