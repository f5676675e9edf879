"""The index of tests/support."""

from __future__ import annotations

import re
from pathlib import Path

SUPPORT = Path(__file__).parent.parent / "support"
HIDDEN = {"__init__.py", "__pycache__/", "interop/", "README.md"}


def test_the_index_lists_every_module_once() -> None:
    listed = re.findall(r"^\| `(.*?)` \|", (SUPPORT / "README.md").read_text("utf-8"), re.MULTILINE)
    there = {f"{path.name}/" if path.is_dir() else path.name for path in SUPPORT.iterdir()} - HIDDEN

    assert sorted(there) == sorted(listed)
