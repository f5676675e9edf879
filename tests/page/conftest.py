"""Served TiDBs with their page, and a browser that shows it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.openapi import CHROMIUM, Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Starts a TiDB with its page."""
    with ExitStack() as stack:

        def started(*arguments: Any, **options: Any) -> Served:
            served = Served(*arguments, **options)
            stack.callback(served.close)
            return served

        yield started


@pytest.fixture
def served(serve: Callable[..., Served]) -> Served:
    return serve()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium. Without it the tests are skipped; in CI they fail. While playwright is there, asyncio.run fails."""
    if CHROMIUM is None:
        text = "no chromium is installed (Debian: apt-get install chromium)"
        pytest.fail(text) if os.environ.get("CI") == "true" else pytest.skip(text)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(browser: Browser, served: Served) -> Iterator[Tab]:
    """A tab with the page, which may not say an error, and asks nobody else."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    tab, said, asked = context.new_page(), list[str](), list[str]()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.set_default_timeout(20_000)
    tab.goto(f"{served.url}/")
    tab.wait_for_selector("#lanes b")
    yield tab
    context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((f"{served.url}/", "blob:"))] == []


@pytest.fixture
def picture(tab: Tab, tmp_path: Path) -> Callable[[str], None]:
    """Keeps a picture of the page, as an artefact of the run."""

    def taken(name: str) -> None:
        tab.wait_for_timeout(100)
        tab.screenshot(path=tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000

    return taken
