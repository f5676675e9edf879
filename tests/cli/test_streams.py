"""Standard output and standard error that are closed, full, or without a reader: there is no traceback, and exit codes stay the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.playing import play
from support.processes import errors, started

from simulator.cli.page import PLOTLY

MAIN = "from simulator.cli import main; main()"
STORY = "CREATE TABLE t (id INT PRIMARY KEY, v INT);\nINSERT INTO t VALUES (1, 2), (2, 3);\n"
PLAN = '[[table]]\ndefinition = "CREATE TABLE a.t (id INT PRIMARY KEY, v INT)"\nrows = 20\n'
NOT_SHOWN = "ticdc-sim: No space left on device\n"


@pytest.fixture(name="directory", scope="module")
def _directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A story, its stream, and a truth that is another's."""
    directory = tmp_path_factory.mktemp("streams")
    (directory / "story.sql").write_text(STORY)
    (directory / "plan.toml").write_text(PLAN)
    assert play("run", directory / "story.sql", "--fixtures", directory / "out", "--truth", directory / "truth") == 0
    rows = directory / "truth" / "test.t.csv"
    rows.write_text(rows.read_text().replace("3", "4"))
    return directory


def redirected(directory: Path, redirection: str, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error, without progress, of a command as a shell starts it."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", MAIN, *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60, env=dict(os.environ))
    said = [line for line in done.stderr.splitlines(keepends=True) if not line.endswith(" …\n")]
    return done.returncode, done.stdout, "".join(said)


COMMANDS = [
    ("run", "story.sql", "--console"),
    ("load", "plan.toml", "--console", "--duration", "1s", "--rate", "9"),
    ("load", "plan.toml", "--print-plan"),
    ("verify", "out", "--truth", "truth"),
    ("inspect", "out"),
    ("scenarios", "--json"),
]
WRONG = "verify"


@pytest.mark.slow
@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[3]], ids=" ".join)
def test_a_closed_standard_output_is_no_defect(directory: Path, command: tuple[str, ...]) -> None:
    """It counts as /dev/null, from the start, whatever the command."""
    code, _, said = redirected(directory, ">&- </dev/null", *command)
    assert code == (command[0] == WRONG), said
    assert "ticdc-sim" not in said and "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_standard_output_is_told(directory: Path, command: tuple[str, ...]) -> None:
    """In one line, whatever else a command has found."""
    code, _, said = redirected(directory, ">/dev/full", *command)
    assert (code, said.endswith(NOT_SHOWN)) == (3, True), said
    assert "Traceback" not in said and "Exception" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("redirection", "command", "code"),
    [
        ("2>/dev/full", ("run", "story.sql", "--fixtures", "silent"), 0),
        ("<&- 2>&-", ("verify", "out", "--truth", "truth"), 1),
        ("2>/dev/full", ("run", "nothing.sql"), 2),
        ("<&- 2>&-", ("run", "nothing.sql"), 2),
    ],
)
def test_standard_error_that_takes_nothing_changes_nothing(
    directory: Path, redirection: str, command: tuple[str, ...], code: int
) -> None:
    """The work goes on, and its exit code tells how it ended."""
    assert redirected(directory, redirection, *command)[0] == code
    assert (directory / "silent" / "ticdc" / "0.jsonl").exists() or command[-1] != "silent"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("verify", "out", "--truth", "truth"), 1),
        (("run", "story.sql", "--console"), 0),
        (("load", "plan.toml", "--master", "none", "--fixtures", "seen", "--duration", "1s", "--summary", "s.json"), 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_reader_that_is_gone_changes_no_verdict(
    directory: Path, command: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind `| head -1`: what a command was to leave is there all the same."""
    monkeypatch.chdir(directory)
    with started(*command) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert errors(process) == []
    assert process.returncode == code
    assert Path("seen").is_dir() or "seen" not in command
    assert Path("s.json").exists() or "s.json" not in command


@pytest.mark.slow
def test_a_verdict_is_shown_before_the_disk_is_found_full(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on the size of files stands for the full disk; the report that was there stays."""
    monkeypatch.chdir(directory)
    yesterday = '<meta name="generator" content="ticdc-sim 0.1.0">'
    Path("report.html").write_text(yesterday)
    with started("verify", "out", "--truth", "truth", "--report", "report.html", limit=400_000) as process:
        assert process.stdout is not None
        shown = process.stdout.read()
        script = directory.resolve() / PLOTLY
        assert errors(process)[-1] == f"ticdc-sim: cannot write the report's script {script}: File too large"
    assert (process.returncode, shown[:5]) == (3, "WRONG")
    assert Path("report.html").read_text() == yesterday
    assert not list(Path().glob(".*")) and not script.exists()


@pytest.mark.slow
def test_a_report_may_go_to_standard_output(directory: Path) -> None:
    """It is a pipe here, which has no directory for the page's script."""
    code, shown, said = redirected(directory, "", "verify", "out", "--report", "/dev/stdout")
    assert code == 0 and "ticdc-sim: " not in said
    assert shown.startswith("RIGHT") and "<!DOCTYPE html>\n" in shown and shown.endswith("</html>\n")


# Files, which need no process of their own

Run = Callable[..., tuple[int, str, list[str]]]


@pytest.fixture(name="run")
def _run(directory: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Returns exit code, standard output and the lines of standard error of a command in the directory."""
    monkeypatch.chdir(directory)

    def run(*arguments: str) -> tuple[int, str, list[str]]:
        code, (shown, said) = play(*arguments), capfd.readouterr()
        return code, shown, [line for line in said.splitlines() if not line.endswith(" …")]

    return run


def test_a_report_may_go_to_a_device(run: Run) -> None:
    """Which is written to, and not replaced; a full one is told."""
    assert run("verify", "out", "--report", "/dev/null")[0] == 0
    code, shown, said = run("verify", "out", "--report", "/dev/full")
    assert (code, said) == (3, ["ticdc-sim: cannot write the report /dev/full: No space left on device"])
    assert shown.startswith("RIGHT")


@pytest.mark.parametrize(
    "command",
    [
        ("run", "story.sql", "--fixtures", "told", "--summary"),
        ("load", "plan.toml", "--master", "none", "--fixtures", "told", "--duration", "1s", "--report"),
    ],
    ids=["run", "load"],
)
def test_a_run_whose_figures_cannot_be_written_has_shown_them(run: Run, command: tuple[str, ...]) -> None:
    code, shown, said = run(*command, "/dev/full")
    assert (code, said[-1][-23:]) == (3, "No space left on device")
    assert "row changes in" in shown and Path("told").is_dir()


@pytest.mark.parametrize(
    ("option", "file", "words"),
    [("--report", "out", "is a directory"), ("--report", "none/r.html", "there is no directory none")],
)
def test_a_file_that_cannot_be_is_refused_before_anything_is_read(run: Run, option: str, file: str, words: str) -> None:
    code, _, said = run("verify", "out", option, file)
    assert code == 2 and words in said[-1]
