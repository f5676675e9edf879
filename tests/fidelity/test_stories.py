"""Every story of a directory (`--stories DIR`, by default tests/stories), one test each.

Its row changes, transaction by transaction, are those that a real server logged.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support import given_cases
from support.null_over_null import without_null_over_null
from support.story import DEFAULT, differences, expected, happened, stories

FAST = "2027|2047|2054"
"""Stories that are not marked slow: short ones."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given_cases.parametrize(metafunc, "story", DEFAULT, stories, lambda path: path.stem, FAST)


def test_a_story_changes_the_rows_that_a_server_changed(story: Path) -> None:
    """Order of transactions and DDL, net change of every key, every value, numbers of refusals, rows in the end."""
    assert [] == differences(*without_null_over_null(expected(story), happened(story)))
