"""A storage that takes no more files: one line that says where and why, and exit code 3."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.playing import play

STORY = """CREATE DATABASE shop;
CREATE TABLE shop.item (id INT PRIMARY KEY, name MEDIUMTEXT); CREATE TABLE shop.sale (id INT PRIMARY KEY);
INSERT INTO shop.item VALUES (1, REPEAT('x', 100000)); INSERT INTO shop.sale VALUES (1);
"""


@pytest.fixture
def story(tmp_path: Path) -> Path:
    (tmp_path / "story.sql").write_text(STORY)
    return tmp_path / "story.sql"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB; without the right to mount one, no test."""
    directory = tmp_path / "small"
    directory.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", directory], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted: {mounted.stderr.decode().strip()}")
    yield directory
    subprocess.run(["umount", directory], check=True)


def refused(story: Path, directory: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of the error."""
    capsys.readouterr()
    assert play("run", story, "--sink-uri", f"{directory.as_uri()}?protocol=csv", "--master", "none") == 3
    lines = capsys.readouterr().err.splitlines()
    (error,) = (line for line in lines if line.startswith("ticdc-sim: "))
    assert lines[-1] == error and not any("Traceback" in line for line in lines)
    return error.removeprefix(f"ticdc-sim: sink-uri {directory.as_uri()}")


def test_a_directory_that_cannot_be_made_is_named_before_anything_is_sent(
    story: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = story.with_name("file")
    file.touch()
    assert refused(story, file / "out", capsys) == " cannot be written to: Not a directory"


def test_the_first_file_that_cannot_be_written_ends_the_run(story: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file is in the place of the directory of a table's rows; its schema files can be written."""
    directory = story.parent / "out"
    play("run", story, "--sink-uri", f"{directory.as_uri()}?protocol=csv", "--master", "none")
    rows = next(directory.glob("shop/sale/4*"))
    for path in sorted(rows.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    rows.rmdir()
    rows.touch()

    error = refused(story, directory, capsys)
    assert error.startswith(f": shop/sale/{rows.name}/2025-01-01/meta/CDC.index cannot be ") and "irectory" in error


@pytest.mark.slow
def test_a_full_file_system_is_told(story: Path, small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(story, small, capsys)
    assert error.startswith(": shop/item/") and error.endswith(".csv cannot be written: No space left on device")
    assert not [*small.rglob(".*")], "no half file stays"
