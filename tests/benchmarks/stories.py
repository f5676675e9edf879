"""How long stories take: from the shell, statement by statement in process, and as tests of the pytest plugin.

    python tests/benchmarks/stories.py

Whole processes are timed beside the same Python that imports pyarrow and duckdb and ends, medians of five.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

TIMES = 5
URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=4"
COMMAND = [sys.executable, "-c", "from simulator.cli import main; main()"]
TEST = """
import pytest

@pytest.mark.parametrize("number", range({tests}))
def test_an_item_is_sold(ticdc, number):
    ticdc.execute("CREATE TABLE shop.item (id BIGINT PRIMARY KEY, name VARCHAR(20), stock INT)")
    ticdc.execute("INSERT INTO shop.item VALUES (1, 'pen', 5), (2, 'ink', 7)")
    ticdc.execute("UPDATE shop.item SET stock = stock - 1 WHERE id = 1")
    assert len(ticdc.messages()) > 2
    assert len(ticdc.rows("shop.item")) == 2
"""


def statements(count: int) -> Iterator[str]:
    """A story of that many statements behind those that make its table."""
    yield "CREATE DATABASE shop"
    yield "USE shop"
    yield (
        "CREATE TABLE item (id BIGINT PRIMARY KEY, name VARCHAR(20), stock INT DEFAULT 0, price DECIMAL(10,2),"
        " at TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)"
    )
    for number in range(count):
        row = number // 3
        yield (
            f"INSERT INTO item (id, name, price) VALUES ({row}, 'pen {row}', {row}.5)",
            f"UPDATE item SET stock = stock + {row}, name = CONCAT(name, '!') WHERE id = {row}",
            f"DELETE FROM item WHERE id = {row - 1}",
        )[number % 3]


def seconds(command: Sequence[str], directory: Path) -> float:
    """The median of several runs of a process, after one that is not counted."""
    found = []
    for number in range(TIMES + 1):
        began = time.perf_counter()
        arguments = [part.replace("{number}", str(number)) for part in command]
        subprocess.run(arguments, cwd=directory, check=True, capture_output=True)
        found.append(time.perf_counter() - began)
    return statistics.median(found[1:])


def in_process(count: int) -> float:
    """Seconds of a statement, its messages included."""
    from simulator import TiCDC

    with TiCDC(databases=["shop"]) as ticdc:
        texts = list(statements(count))[1:]
        ticdc.execute("; ".join(texts[:5]))
        began = time.process_time()
        for text in texts[5:]:
            ticdc.execute(text)
        return (time.process_time() - began) / len(texts[5:])


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for count in (10, 100, 1000):
            story = ";\n".join(statements(count)) + ";\n"
            (directory / f"story{count}.sql").write_text(story, "utf-8")
        (directory / "one.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);", "utf-8")
        bare = seconds([sys.executable, "-c", "import pyarrow.compute, duckdb"], directory)
        print(f"Python with pyarrow and duckdb: {bare:.2f} s")
        for count in (10, 100, 1000):
            run = [*COMMAND, "run", f"story{count}.sql", "--fixtures", f"out{count}-{{number}}", "--sink-uri", URI]
            took = seconds(run, directory)
            print(f"run, {count} statements into fixtures: {took:.2f} s, {took / bare:.1f} × that")
        shell = seconds(["sh", "-c", f"{' '.join(map(_quoted, COMMAND))} shell < one.sql"], directory)
        print(f"shell, two statements from a pipe: {shell:.2f} s")
        print(f"a statement in process: {in_process(600) * 1000:.1f} ms of CPU")
        few, many = (_tests(directory, tests) for tests in (1, 51))
        print(f"pytest: the first test {few:.2f} s, each further one {(many - few) / 50 * 1000:.0f} ms")


def _tests(directory: Path, tests: int) -> float:
    (directory / "test_item.py").write_text(TEST.format(tests=tests), "utf-8")
    return seconds([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_item.py"], directory)


def _quoted(text: str) -> str:
    return f"'{text}'"


if __name__ == "__main__":
    main()
