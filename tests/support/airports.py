"""Both whole releases of airportsdata as Dumpling exports: 28 thousand airports, SQL before and CSV after.

Compared by `icao`: 689 inserted, 649 deleted, 12,704 updated. The shipped part is `scenarios/data/airports-*`. They come from
the Python package index, once, into the user's cache. Without the index a test is skipped, but fails where CI is set: there
nothing may be left out in silence.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parent.parent.parent / "scenarios" / "data"
SHIPPED = (DATA / "airports-20250224", DATA / "airports-20260905")
INSERTED, DELETED, UPDATED = 689, 649, 12_704


def make(directory: Path, *options: str) -> str:
    """Run the script that makes the data, on both releases; what it prints."""
    wheels = [str(archive("airportsdata", path.name.removeprefix("airports-"))) for path in SHIPPED]
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
