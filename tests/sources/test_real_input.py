"""The shipped airports are what their script makes of two releases, and small."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import airports


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.registry
def test_the_script_makes_the_shipped_data_byte_for_byte(tmp_path: Path) -> None:
    """Whoever doubts the data can make it again; whole releases differ by ICAO code in known figures."""
    airports.make(tmp_path / "part")
    for shipped in airports.SHIPPED:
        assert contents(shipped) == contents(tmp_path / "part" / shipped.name)

    said = airports.make(tmp_path / "whole", "--whole")
    assert f"{airports.INSERTED} inserted, {airports.DELETED} deleted, {airports.UPDATED} updated" in said


def test_the_shipped_data_is_small() -> None:
    """A clone is not to grow by it."""
    assert sum(path.stat().st_size for path in airports.DATA.rglob("*") if path.is_file()) < 500_000
