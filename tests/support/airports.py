"""Both whole releases of airportsdata as Dumpling exports: 28 thousand airports, SQL before and CSV after.

Compared by `icao`: 689 inserted, 649 deleted, 12,704 updated. The shipped part is `scenarios/data/airports-*`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.package_index import archive

DATA = Path(__file__).parent.parent.parent / "scenarios" / "data"
SHIPPED = (DATA / "airports-20250224", DATA / "airports-20260905")
INSERTED, DELETED, UPDATED = 689, 649, 12_704
SPLIT = 111
"""Of the updated ones, those with another IATA code, which is unique."""


def full(directory: Path) -> tuple[Path, Path]:
    """Both exports, made below `directory`: (before, after)."""
    make(directory, "--whole", "--rows", "10000")
    return directory / SHIPPED[0].name, directory / SHIPPED[1].name


def make(directory: Path, *options: str) -> str:
    """Run the script that makes the data, on both releases; what it prints."""
    wheels = [str(archive("airportsdata", path.name.removeprefix("airports-"))) for path in SHIPPED]
    command = [sys.executable, str(DATA / "make_airports.py"), *wheels, "--to", str(directory), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
