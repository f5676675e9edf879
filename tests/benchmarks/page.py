"""How fast the page of `ticdc-sim playground` is in Chromium.

    python tests/benchmarks/page.py [--count 40] [--rows 10000]

*load* is from the navigation until the lanes are drawn, in a new browser for each. *seen* is from Ctrl+Enter until the
frame in which the row of an INSERT is drawn. *scroll* goes through that many messages in 200 steps, as fast as the
browser draws: the milliseconds that the script and the layout take for a step, and those between two frames.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measuring import options
from playwright.sync_api import Browser, Page, sync_playwright

MAIN = "from simulator.cli import main; main()"
URI = "kafka://127.0.0.1:9092/page?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
BULK = 1000

SEEN = """number => new Promise(done => {
    const began = performance.now(), text = `v=x${number}y`;
    const look = () => {
        const found = [...document.querySelectorAll(".card.INSERT .text")].some(each => each.textContent.endsWith(text));
        requestAnimationFrame(found ? () => done(performance.now() - began) : look);
    };
    document.getElementById("statements").value = `INSERT INTO test.seen VALUES (${number}, 'x${number}y')`;
    document.getElementById("editor").requestSubmit();
    look();
})"""
SCROLL = """() => new Promise(done => {
    const grid = document.getElementById("grid"), work = [], frames = [];
    let last = performance.now();
    const step = now => {
        frames.push(now - last);
        last = now;
        const began = performance.now();
        grid.scrollTop = grid.scrollHeight * work.length / 200;
        draw.now();
        grid.getBoundingClientRect();
        work.push(performance.now() - began);
        if (work.length < 200) requestAnimationFrame(step);
        else done([work, frames.slice(1)]);
    };
    grid.scrollTop = 0;
    requestAnimationFrame(step);
})"""


@contextmanager
def playground() -> Iterator[str]:
    """Start a playground; yield its URL."""
    with tempfile.TemporaryDirectory() as directory:
        said = Path(directory, "said.txt")
        command = [sys.executable, "-c", MAIN, "playground", "--no-browser", "--port", "0", "--sink-uri", URI]
        with said.open("wb") as out:
            process = subprocess.Popen(command, stdout=out)
        try:
            while not (url := re.search(r"page: (\S+);", said.read_text())):
                time.sleep(0.05)
            yield url[1]
        finally:
            process.kill()
            process.wait()


def opened(browser: Browser, url: str) -> Page:
    """Return the page when its lanes are drawn, in a profile of its own."""
    tab = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    tab.goto(url)
    tab.wait_for_selector("#lanes b")
    return tab


def told(name: str, values: list[float]) -> None:
    ordered = sorted(values)
    print(f"{name}: median {statistics.median(ordered):.1f} ms, 95% {ordered[int(len(ordered) * 0.95)]:.1f} ms")


def run(tab: Page, sql: str) -> None:
    before = tab.locator("#answers > li").count()
    tab.fill("#statements", sql)
    tab.press("#statements", "Control+Enter")
    tab.wait_for_selector(f"#answers > li:nth-child({before + 1})", timeout=120_000)
    tab.wait_for_selector("#editor .strong:enabled", timeout=120_000)


def main() -> None:
    """Measure all of it once."""
    asked = options(__doc__, count=40, rows=10_000)
    with playground() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = opened(browser, url)
        loads = [float(tab.evaluate("performance.now()"))]
        for _ in range(9):
            tab.context.close()
            tab = opened(browser, url)
            loads.append(float(tab.evaluate("performance.now()")))
        print(f"first load: {loads[0]:.0f} ms")
        told("load", loads[1:])

        run(tab, "CREATE TABLE test.seen (id INT PRIMARY KEY, v VARCHAR(20))")
        told("seen", [float(tab.evaluate(SEEN, number)) for number in range(asked.count)])

        for start in range(1000, 1000 + asked.rows, BULK):
            run(tab, f"INSERT INTO test.seen VALUES {', '.join(f'({start + row}, NULL)' for row in range(BULK))}")
        tab.locator(".card.INSERT", has_text=f"id={1000 + asked.rows - 1}").first.wait_for(timeout=120_000)
        tab.uncheck("#follow")
        print(f"{tab.get_attribute('#grid', 'aria-rowcount')} lines, {tab.locator('.row').count()} of them elements")
        work, frames = tab.evaluate(SCROLL)
        told("scroll, script and layout", work)
        told("scroll, between frames", frames)
        browser.close()


if __name__ == "__main__":
    main()
