"""Every recorded changefeed of a directory (`--endtoend DIR`, by default tests/endtoend), one test each."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.endtoend import DEFAULT, SHOWN, Feed, differences, feeds


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a feed, named by its case and its own name."""
    if "feed" not in metafunc.fixturenames:
        return
    directory = Path(metafunc.config.getoption("--endtoend") or DEFAULT)
    found = feeds(directory)
    if not found:
        raise pytest.UsageError(f"no recorded changefeeds in {directory}")
    metafunc.parametrize("feed", [pytest.param(feed, id=feed.id) for feed in found])


def test_sql_becomes_the_messages_that_ticdc_sent(feed: Feed, tmp_path: Path) -> None:
    """Every byte of every row and statement, and the number of every error."""
    assert [] == differences(feed, tmp_path)[:SHOWN]
