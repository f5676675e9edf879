"""Makes the pictures of docs/playground.md.

python tests/page/pictures.py docs
"""

from __future__ import annotations

import sys
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import sync_playwright
from support.openapi import CHROMIUM, Served

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

SQL = """\
CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(20) UNIQUE, stock INT);
CREATE TABLE shop.sale (id INT PRIMARY KEY, item INT);
INSERT INTO shop.item VALUES (1, 'tea', 8), (2, 'jam', 5);

BEGIN;
INSERT INTO shop.sale VALUES (1, 2);
UPDATE shop.item SET stock = 4 WHERE id = 2;
COMMIT;

-- a key changes
UPDATE shop.item SET name = 'coffee' WHERE id = 1;
"""
CONFIG = "[sink]\ndispatchers = [{ matcher = ['shop.*'], partition = 'index-value' }]\n"
URI = "kafka://127.0.0.1:9092/shop?protocol={}&partition-num=3"


def main(directory: Path) -> None:
    """Write three pictures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        served = Served(sink_uri=URI.format("canal-json&enable-tidb-extension=true"), config=CONFIG)
        served.run("CREATE DATABASE shop")
        tab = browser.new_page(viewport={"width": 1180, "height": 560}, reduced_motion="reduce")
        tab.goto(f"{served.url}/")
        tab.wait_for_selector("#lanes b")
        tab.fill("#statements", SQL)
        tab.press("#statements", "Control+Enter")
        tab.locator(".card.INSERT", has_text="coffee").wait_for()
        tab.locator(".card.INSERT", has_text="coffee").click()
        taken(tab, directory / "playground.webp")

        tab.keyboard.press("Escape")
        tab.locator("[data-act=create]").first.click()
        tab.select_option("#create [name=protocol]", "open-protocol")
        tab.fill("#create [name=config]", CONFIG)
        tab.click("#create [value=create]")
        tab.locator("#lanes", has_text="open-protocol").wait_for()
        tab.click("#compare")
        tab.locator("#verdict", has_text="difference").wait_for()
        taken(tab, directory / "playground-compare.webp")

        tab.click("#compare")
        tab.fill("#statements", "INSERT INTO shop.item VALUES (3, 'rye', 0);\nCALL ticdc.fault('restart');")
        tab.press("#statements", "Control+Enter")
        tab.locator(".card.again").first.wait_for()
        taken(tab, directory / "playground-restart.webp")
        browser.close()
        served.close()


def taken(tab: Tab, file: Path) -> None:
    """Keep a picture when the page is at rest."""
    tab.wait_for_timeout(1500)
    picture = tab.context.new_cdp_session(tab).send("Page.captureScreenshot", {"format": "webp", "quality": 80})
    file.write_bytes(b64decode(picture["data"]))
    print(file, f"{file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
