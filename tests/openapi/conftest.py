"""Served TiDBs with the API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from support.openapi import Api, serving


@pytest.fixture
def serve() -> Iterator[Callable[..., Api]]:
    """Starts a TiDB with the API."""
    with ExitStack() as stack:

        def started(release: str = "v8.5.3", **options: Any) -> Api:
            return stack.enter_context(serving(release, **options))

        yield started


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    """One for all tests of a file."""
    with serving() as api:
        yield api
