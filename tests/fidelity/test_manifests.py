"""What was given is a whole copy: `tests/<name>.sha256` has the checksum of every file, as CONTRIBUTING.md says."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.vectors.files import DEFAULT, ENDTOEND, RECORDINGS, STORIES, files

GIVEN = (DEFAULT, STORIES, RECORDINGS, ENDTOEND)


def checksums(directory: Path) -> str:
    """A manifest of every file of a directory."""
    paths = sorted(path for path in directory.iterdir() if path.is_file())
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)


def test_every_file_is_as_its_manifest_says() -> None:
    """None is missing, altered or unknown."""
    for directory in GIVEN:
        assert checksums(directory) == directory.with_suffix(".sha256").read_text("ascii"), directory.name


@pytest.mark.slow
def test_the_manifests_are_what_the_command_in_contributing_writes() -> None:
    root = DEFAULT.parent.parent
    [command] = re.findall(
        r"^for given in .*; do \(cd tests/\$given && (.*) > \.\./\$given\.sha256\); done$",
        (root / "CONTRIBUTING.md").read_text("utf-8"),
        re.MULTILINE,
    )

    done = subprocess.run(["bash", "-c", command], cwd=DEFAULT, capture_output=True, text=True, check=True)
    assert done.stdout == DEFAULT.with_suffix(".sha256").read_text("ascii")


def test_every_vector_file_is_one_that_is_run() -> None:
    assert sorted(DEFAULT.iterdir()) == files(DEFAULT)


@pytest.mark.parametrize(
    "harm",
    [lambda path: path.unlink(), lambda path: path.write_text("{ }\n"), lambda path: path.with_name("more").touch()],
    ids=["missing", "altered", "unknown"],
)
def test_a_harm_to_a_single_file_is_seen(harm: Callable[[Path], None], tmp_path: Path) -> None:
    """By another manifest than before."""
    for name in ("rows.jsonl", "facts.jsonl.gz"):
        (tmp_path / name).write_text("{}\n")
    whole = checksums(tmp_path)

    harm(tmp_path / "rows.jsonl")
    assert checksums(tmp_path) != whole
