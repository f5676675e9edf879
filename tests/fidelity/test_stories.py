"""Every story of a directory (`--stories DIR`, by default tests/stories), one test each.

Its row changes, transaction by transaction, are those that a real server logged.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.story import DEFAULT, differences, expected, happened, stories


NULL_OVER_NULL = (
    "MariaDB takes a NULL that is written over NULL for a change where the column's default is not NULL, and renews the"
    " row's ON UPDATE CURRENT_TIMESTAMP; TiDB compares values (tidb v8.5 pkg/executor/write.go, updateRecord)")

OTHERWISE = {"2038": NULL_OVER_NULL, "2041": NULL_OVER_NULL}
"""Stories in which the server did what TiDB does not, and why."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a story, named by its file."""
    if "story" not in metafunc.fixturenames:
        return
    directory = Path(metafunc.config.getoption("--stories") or DEFAULT)
    found = stories(directory)
    if not found:
        raise pytest.UsageError(f"no stories in {directory}")
    metafunc.parametrize("story", [pytest.param(path, id=path.stem, marks=marks(path)) for path in found])


def marks(story: Path) -> list[pytest.MarkDecorator]:
    """That a story is known to differ."""
    why = OTHERWISE.get(story.stem, "") if story.parent == DEFAULT else ""
    return [pytest.mark.xfail(reason=why, strict=True)] if why else []


def test_a_story_changes_the_rows_that_a_server_changed(story: Path) -> None:
    """Order of transactions and DDL, net change of every key, every value, numbers of refusals, rows in the end."""
    assert [] == differences(expected(story), happened(story))
