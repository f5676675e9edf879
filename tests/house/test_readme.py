"""README.md does what it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.playing import play
from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
MAIN = "from simulator.cli import main; main()"
ADDRESS = "127.0.0.1:9092"
WIDTH = "80"


def commands(block: str) -> Iterator[tuple[str, int]]:
    """The commands of a block, one after the other, each with the exit code that its comment says."""
    for line in re.split(r"\n(?! {4})", block.replace("\\\n", "").strip()):
        code = re.search(r" # exit code (\d+)$", line)
        for command in line[: code.start() if code else None].split(" && "):
            yield command.strip(), int(code[1]) if code else 0


class Reader:
    """Types what README shows into a directory that has only the scenarios; its broker is the test session's."""

    def __init__(self, directory: Path, kafka: str, broker: Path, capture: pytest.CaptureFixture[str]) -> None:
        self._directory = directory
        self._kafka = kafka
        self._broker = broker
        self._capture = capture

    def follow(self, block: str) -> str:
        """What the commands of a block print; each must end with its exit code."""
        return "".join(self._typed(command, code) for command, code in commands(block))

    def _typed(self, command: str, code: int) -> str:
        if command.startswith(".venv/bin/ticdc-sim "):
            return self._process([sys.executable, "-c", MAIN, *shlex.split(command)[1:]])
        if command.startswith("ticdc-sim "):
            return self._here(shlex.split(command)[1:], code)
        return self._process(["bash", "-c", command]) if " -m venv " not in command and "pip " not in command else ""

    def _process(self, command: list[str]) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": WIDTH}
        done = subprocess.run(command, cwd=self._directory, capture_output=True, text=True, env=environment)
        assert (done.returncode, done.stderr if done.returncode else "") == (0, "")
        return done.stdout

    def _here(self, arguments: list[str], code: int) -> str:
        """In the Spark session that is there, which has another working directory. The broker is not stopped, for other
        tests need it, too (what a stop says and does is in test_broker.py)."""
        if arguments == ["broker", "stop"]:
            return "stopped\n"
        if arguments[0] == "broker":
            arguments = [*arguments, "--directory", str(self._broker)]
        self._capture.readouterr()
        assert (play(*(self._own(argument) for argument in arguments)), arguments) == (code, arguments)
        said = "".join(self._capture.readouterr())
        return said.replace(f"{self._directory}/", "").replace(self._kafka, ADDRESS)

    def _own(self, argument: str) -> str:
        path = self._directory / argument
        return str(path) if "/" in argument and path.is_dir() else argument.replace(ADDRESS, self._kafka)


@pytest.fixture
def reader(
    tmp_path: Path, kafka: str, kafka_directory: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Reader:
    """Stands in an empty directory beside the scenarios."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    return Reader(tmp_path, kafka, kafka_directory, capfd)


def missing(shown: str, printed: str) -> list[str]:
    """Lines of README that the output does not have in that order; … stands for anything in a line, or for lines."""
    lines = iter([line.rstrip() for line in printed.splitlines()])
    wanted = [line for line in shown.splitlines() if line not in ("", "…")]
    patterns = [".*".join(map(re.escape, line.split("…"))) for line in wanted]
    return [
        line for line, pattern in zip(wanted, patterns, strict=True)
        if not any(re.fullmatch(pattern, one) for one in lines)
    ]


def test_every_command_does_what_is_shown_below_it(spark: SparkSession, reader: Reader, tmp_path: Path) -> None:
    """In README's order; the first command as a process of its own, as a reader types it."""
    printed, checked = "", 0
    for language, block in BLOCKS:
        if language == "toml":
            name = block.splitlines()[0].removeprefix("# ")
            if re.fullmatch(r"[\w.]+\.toml", name):
                (tmp_path / name).write_text(block)
        elif language == "text":
            assert (missing(block, printed), printed) == ([], printed)
            checked += 1
        elif "pytest" not in block:
            printed = reader.follow(block)

    assert checked == len([language for language, _ in BLOCKS if language == "text"]) > 0


def test_the_scenario_that_is_shown_is_the_shipped_one() -> None:
    shown = [block for language, block in BLOCKS if language == "toml" and "step" in tomllib.loads(block)]

    assert shown == [(ROOT / "scenarios" / "airports.toml").read_text("utf-8")]


def test_the_test_command_is_the_one_that_the_check_runs() -> None:
    """One line in README, from nothing to a test run."""
    lines = [line for line in README.splitlines() if re.search(r"pip install .*&& pytest\b", line)]

    assert [block.strip() for language, block in BLOCKS if language == "sh" and "pytest" in block] == lines


def test_every_path_that_is_named_is_there() -> None:
    """Links, and names in backquotes that have a slash and no space."""
    names = [*re.findall(r"\]\(([^):#]+)\)", README), *re.findall(r"`([\w.-]+/[\w./-]*)`", README)]

    assert [name for name in names if not (ROOT / name).exists() and not name.startswith("out/")] == []


def test_every_package_is_in_the_table_of_the_code() -> None:
    """Each directory of simulator/, each module beside them, and no module that is not there."""
    table = README[README.index("## The code"):]
    named = set(re.findall(r"`([\w.]+)`", table))
    package = ROOT / "simulator"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}

    assert (rooms | {path.name for path in package.glob("*.py")}) - named == {"__init__.py"}
    assert [name for name in named if not (package / name).exists() and not [*package.glob(f"*/{name}")]] == []
