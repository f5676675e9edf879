"""Whatever is wrong with a command line and the files it names, it ends in an exit code and one message about it.

`damage.py` makes the inputs. No Java is on PATH, so that a run whose input is good ends before it starts Spark.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from damage import Line, bad, good

from simulator.cli import run

BATCHES = 20
RUNS = 1000
"""Runs of a batch."""

SECONDS = 20
"""None may take longer; most take two milliseconds."""


class Folder:
    """A working directory, in which a line's files are written where they are not there yet."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def run(self, line: Line) -> tuple[object, str, str]:
        """Exit code, standard output and standard error."""
        for name, text in line.files.items():
            if self._held.get(name) != text:
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_bytes(text.encode("utf-8", "surrogatepass"))
                self._held[name] = text
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err, in_time():
            code = run(line.arguments)
        return code, out.getvalue(), err.getvalue()


@contextmanager
def in_time() -> Iterator[None]:
    """Ends what hangs, with a defect's exit code."""
    def hangs(number: int, frame: object) -> None:
        raise TimeoutError(f"no end within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """With nothing of this machine in reach: no Java, no broker of its user."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "programs").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return Folder()


def wrong(code: object, out: str, err: str) -> str:
    """What is wrong with an end; empty for a good one."""
    said, shown = err.split("\n"), out.split("\n")
    message = [line for line in said if line.startswith("ticdc-sim: ")]
    if code not in (0, 2, 3):
        return f"exit code {code}"
    if bool(message) != bool(code) or len(message) > 12:
        return f"exit code {code} and {len(message)} lines of message"
    if message and said[-len(message) - 1:] != [*message, ""]:
        return "the message is not the last thing that is said"
    if not all(line.isprintable() for line in (*said, *shown)):
        return "a terminal would act on what is shown"
    return "" if "Traceback" not in err else "a traceback"


@pytest.mark.parametrize("seed", range(BATCHES))
def test_a_damaged_command_line_ends_in_one_message(seed: int, folder: Folder) -> None:
    """Twenty thousand in all: good ones of every command with one or two arguments or files damaged."""
    ends = ((line, *folder.run(line)) for line in bad(seed, RUNS))
    found = [(what, line, err[-2000:]) for line, code, out, err in ends if (what := wrong(code, out, err))]
    assert found[:3] == []
    assert not os.path.exists("out")


def test_every_command_line_that_is_damaged_here_was_good(folder: Folder) -> None:
    """Each does what it is for, or ends where Java, or a broker, would be needed."""
    for line in good(0, 300):
        code, _, err = folder.run(line)
        needs = "no Java found" in err or "no broker is running" in err
        assert (code, needs) in ((0, False), (2, True)), (line.arguments, err)
