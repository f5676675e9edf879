"""The shipped airports are what their script makes of two releases, and small.

Whole releases are 28 thousand airports each. They come from the Python package index, once, into the user's cache. Without
the index a test is skipped, but fails where CI is set: there nothing may be left out in silence.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.databases import AIRPORTS

DATA = AIRPORTS[0].parent
CHANGED = "689 inserted, 649 deleted, 12704 updated"
"""Between the whole releases, compared by `icao`."""


def make(directory: Path, *options: str) -> str:
    """Run the script that makes the data, on both releases; what it prints."""
    wheels = [str(archive("airportsdata", path.name.removeprefix("airports-"))) for path in AIRPORTS]
    command = [sys.executable, str(DATA / "make_airports.py"), *wheels, "--to", str(directory), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def archive(package: str, version: str) -> Path:
    """The wheel, or the source archive, of that release."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ticdc-simulator" / "packages"
    kept = sorted(cache.glob(f"{package}-{version}[-.]*"))
    return kept[0] if kept else download(package, version, cache)


def download(package: str, version: str, directory: Path) -> Path:
    """Fetch it with this Python's pip, or skip (in CI: fail) the test that asks."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(directory)]
    done = subprocess.run([*command, f"{package}=={version}"], capture_output=True, text=True)
    if done.returncode:
        reason = f"{package} {version} cannot be had from the package index: {done.stderr.strip()[-300:]}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return next(directory.glob(f"{package}-{version}[-.]*"))


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.registry
def test_the_script_makes_the_shipped_data_byte_for_byte(tmp_path: Path) -> None:
    """Whoever doubts the data can make it again; whole releases differ by ICAO code in known figures."""
    make(tmp_path / "part")
    for shipped in AIRPORTS:
        assert contents(shipped) == contents(tmp_path / "part" / shipped.name)
    assert CHANGED in make(tmp_path / "whole", "--whole")


def test_the_shipped_data_is_small() -> None:
    """A clone is not to grow by it."""
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 500_000
