"""Every recorded changefeed of a directory (`--endtoend DIR`, by default tests/endtoend), one test each."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import given_cases
from support.endtoend import DEFAULT, SHOWN, Feed, differences, feeds

FAST = r"v8\.0\.0\.(ddl-1|rows-0[0-3]|txn-1|types-1)-.*"
"""Feeds that are not marked slow: one release, statements of every kind, a part of the rows."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given_cases.parametrize(metafunc, "feed", DEFAULT, feeds, lambda feed: feed.id, FAST)


def test_sql_becomes_the_messages_that_ticdc_sent(feed: Feed, tmp_path: Path) -> None:
    """Every byte of every row and statement, and the number of every error."""
    assert [] == differences(feed, tmp_path)[:SHOWN]
