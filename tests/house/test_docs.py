"""README.md, CONTRIBUTING.md and docs/ do what they say; the site of docs/ and the index of tests/support are whole."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.playing import play

from simulator.engines import in_process

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent.parent
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
}
README = PAGES["README.md"]
MAIN = "from simulator.cli import main; main()"
ADDRESS = "127.0.0.1:9092"
WIDTH = "80"
SMALL_BYTES = in_process.SMALL_BYTES
"""Readers have small snapshots compared in process, unless they say otherwise, as no other test with Spark does."""


def blocks(page: str) -> list[tuple[str, str]]:
    """The blocks between fences of a page: language and text."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def commands(block: str) -> Iterator[tuple[str, int]]:
    """The commands of a block, one after the other, each with the exit code that its comment says."""
    for line in re.split(r"\n(?! {4})", block.replace("\\\n", "").strip()):
        code = re.search(r" # exit code (\d+)$", line)
        for command in line[: code.start() if code else None].split(" && "):
            yield command.strip(), int(code[1]) if code else 0


class Reader:
    """Types what a page shows into a directory that has only the scenarios."""

    def __init__(
        self, directory: Path, capture: pytest.CaptureFixture[str], broker_directory: Path, kafka: str
    ) -> None:
        self._directory = directory
        self._capture = capture
        self._broker = broker_directory
        self._kafka = kafka

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
        """In the Spark session that is there, which has another working directory."""
        if arguments[0] == "broker":
            # The session's broker is found running, and is not stopped: others use it.
            arguments += ["--directory", str(self._broker if arguments[1] == "start" else self._directory)]
        self._capture.readouterr()
        assert (play(*(self._own(argument) for argument in arguments)), arguments) == (code, arguments)
        said = "".join(self._capture.readouterr())
        return said.replace(f"{self._directory}/", "").replace(self._kafka, ADDRESS)

    def _own(self, argument: str) -> str:
        argument = argument.replace("$PWD", str(self._directory))
        path = self._directory / argument
        return str(path) if "/" in argument and path.is_dir() else argument.replace(ADDRESS, self._kafka)


@pytest.fixture
def reader(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    kafka_directory: Path,
    kafka: str,
) -> Reader:
    """Stands in an empty directory beside the scenarios."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    monkeypatch.setattr(in_process, "SMALL_BYTES", SMALL_BYTES)
    return Reader(tmp_path, capfd, kafka_directory, kafka)


def missing(shown: str, printed: str) -> list[str]:
    """Lines of README that the output does not have in that order; … stands for anything in a line, or for lines."""
    lines = iter([line.rstrip() for line in printed.splitlines()])
    wanted = [line for line in shown.splitlines() if line not in ("", "…")]
    patterns = [".*".join(map(re.escape, line.split("…"))) for line in wanted]
    return [
        line
        for line, pattern in zip(wanted, patterns, strict=True)
        if not any(re.fullmatch(pattern, line) for line in lines)
    ]


@pytest.mark.parametrize("page", [name for name, text in PAGES.items() if "```text" in text])
def test_every_command_does_what_is_shown(page: str, spark: SparkSession, reader: Reader, tmp_path: Path) -> None:
    """In the page's order, from an empty directory; README's first command as a process of its own."""
    printed, checked, found = "", 0, blocks(PAGES[page])
    for language, block in found:
        if language in ("toml", "sql", "python"):
            if name := file_name(block):
                (tmp_path / name).write_text(block)
        elif language == "text":
            assert not printed or (missing(block, printed), printed) == ([], printed)
            checked += bool(printed)
            printed = ""
        elif language == "sh" and "pytest" not in block:
            printed = reader.follow(block)

    assert checked == len([language for language, block in found if language == "sh" and "pytest" not in block]) > 0


def file_name(block: str) -> str:
    """What the first line of a block calls the file that it is; nothing where it says no name."""
    found = re.match(r"(?:#|--) ([\w.]+\.(?:toml|sql|py))\n", block)
    return found[1] if found else ""


def test_the_scenario_that_is_shown_is_the_shipped_one() -> None:
    """Of those that are not said to be a file of the reader's."""
    shown = [
        block
        for page in PAGES.values()
        for language, block in blocks(page)
        if language == "toml" and not file_name(block) and "step" in tomllib.loads(block)
    ]

    assert shown == [(ROOT / "scenarios" / "airports.toml").read_text("utf-8")]


def test_the_test_command_is_the_one_that_the_check_runs() -> None:
    """One line in README, from nothing to a test run."""
    lines = [line for line in README.splitlines() if re.search(r"pip install .*&& pytest\b", line)]

    assert [block.strip() for language, block in blocks(README) if language == "sh" and "pytest" in block] == lines


MAPS = ("docs/code.md", "CONTRIBUTING.md")
"""Pages that name modules without their folders."""


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_is_named_is_there(page: str) -> None:
    """Links (with their headings), and names in backquotes that have a slash and no space."""
    text, beside = PAGES[page], (ROOT / page).parent
    links = [link.partition("#") for link in re.findall(r"\]\(([^):]+)\)", text)]
    names = re.findall(r"`([\w.-]+/[\w./-]*)`", text)

    assert [path for path, _, _ in links if path and not (beside / path).exists()] == []
    assert [
        (path, heading)
        for path, _, heading in links
        if heading and heading not in headings((beside / path).read_text("utf-8") if path else text)
    ] == []
    modules = {path.name for place in ("simulator", "tests", "scenarios") for path in (ROOT / place).rglob("*.py")}
    assert page not in MAPS or [name for name in re.findall(r"`([\w]+\.py)`", text) if name not in modules] == []
    places = (ROOT, ROOT / "simulator")
    assert [
        name for name in names if not name.startswith("out/") and not any((place / name).exists() for place in places)
    ] == []


def headings(page: str) -> set[str]:
    """What links call the headings of a page."""
    lines = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in lines}


def test_every_page_is_listed() -> None:
    assert [name for name in PAGES if name != "README.md" and f"]({name})" not in README] == []


def test_every_room_is_in_the_map_of_the_code() -> None:
    """Each directory of simulator/ and each module beside them."""
    named = set(re.findall(r"`([\w./]+)`", PAGES["docs/code.md"]))
    package = ROOT / "simulator"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}

    assert (rooms | {path.name for path in package.glob("*.py")}) - named == {"__init__.py"}


@pytest.mark.parametrize("page", PAGES)
def test_every_table_has_rows_as_wide_as_its_head(page: str) -> None:
    """A line of dashes under the head, once, and rows below it."""
    text = re.sub(r"^```.*?^```$", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    widths = [
        [len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) for row in table.splitlines()] for table in tables
    ]

    assert [table for table in tables if len(table.splitlines()) < 3 or table.count("\n|---") != 1] == []
    assert [table for table, rows in zip(tables, widths, strict=True) if len(set(rows)) != 1] == []


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """With the API reference, whose names have to be there, and with links between pages that lead somewhere."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "TiCDC" in (tmp_path / "site" / "reference" / "python" / "index.html").read_text("utf-8")
    assert (tmp_path / "site" / "decisions" / "rows-in-python" / "index.html").is_file()


def test_the_index_of_tests_support_lists_every_module_once() -> None:
    support = ROOT / "tests" / "support"
    listed = re.findall(r"^\| `(.*?)` \|", (support / "README.md").read_text("utf-8"), re.MULTILINE)
    there = {path.name for path in support.glob("*.py")} | {f"{path.parent.name}/" for path in support.glob("*/*.py")}

    assert sorted(there - {"__init__.py"}) == sorted(listed)
