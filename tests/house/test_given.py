"""The given data are whole: no file is missing, altered, or unknown to the checksums (CONTRIBUTING.md renews them)."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent


@pytest.mark.parametrize("given", ["vectors", "stories", "recordings", "endtoend"])
def test_each_file_has_its_checksum(given: str) -> None:
    sums = [line.split(maxsplit=1) for line in (TESTS / f"{given}.sha256").read_text("utf-8").splitlines()]

    assert {
        path.name: sha256(path.read_bytes()).hexdigest() for path in (TESTS / given).iterdir() if path.is_file()
    } == {name.strip().removeprefix("*"): digest for digest, name in sums}
