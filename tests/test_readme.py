"""README.md does what it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
MAIN = "from simulator.cli import main; main()"


def parts(block: str) -> list[str]:
    """The commands of a block, one after the other."""
    return [part.strip() for line in block.splitlines() for part in line.split("&&")]


def test_the_first_command_replays_the_shipped_airports_and_shows_messages(tmp_path: Path) -> None:
    """As a reader would type it, after the environment is set up; from a directory that has only the scenarios."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    commands = [shlex.split(part)[1:] for part in parts(BLOCKS[0]) if "ticdc-sim " in part]

    for command in commands:
        done = subprocess.run([sys.executable, "-c", MAIN, *command], cwd=tmp_path, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert (done.returncode, done.stderr if done.returncode else "") == (0, "")

    assert len(commands) == 2
    assert "airport" in done.stdout


def test_the_test_command_is_the_one_that_the_check_runs() -> None:
    """One line in README, from nothing to a test run."""
    lines = [line for line in README.splitlines() if re.search(r"pip install .*\bpytest *$", line)]

    assert [block.strip() for block in BLOCKS if "pytest" in block] == lines


def test_every_path_that_is_named_is_there() -> None:
    """Links, and names in backquotes that have a slash and no space."""
    names = [*re.findall(r"\]\(([^):#]+)\)", README), *re.findall(r"`([\w.-]+/[\w./-]*)`", README)]

    assert [name for name in names if not (ROOT / name).exists() and not name.startswith("out/")] == []
