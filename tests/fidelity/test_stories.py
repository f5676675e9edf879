"""Every story of a directory (`--stories DIR`, by default tests/stories), one test each.

Its row changes, transaction by transaction, are those that a real server logged.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.null_over_null import without_null_over_null
from support.story import DEFAULT, differences, expected, happened, stories


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a story, named by its file."""
    if "story" not in metafunc.fixturenames:
        return
    directory = Path(metafunc.config.getoption("--stories") or DEFAULT)
    found = stories(directory)
    if not found:
        raise pytest.UsageError(f"no stories in {directory}")
    metafunc.parametrize("story", [pytest.param(path, id=path.stem) for path in found])


def test_a_story_changes_the_rows_that_a_server_changed(story: Path) -> None:
    """Order of transactions and DDL, net change of every key, every value, numbers of refusals, rows in the end."""
    assert [] == differences(*without_null_over_null(expected(story), happened(story)))
