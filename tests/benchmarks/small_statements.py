"""CPU time of small statements, one after another as a client sends them.

    python tests/benchmarks/small_statements.py [--rows 0 --rows 100000] [--count 500] [--table item] [--profile update]

Every statement names one row by its primary key and has a text of its own; `prepared` ones are EXECUTE with
variables that SET gives other values each time, SET included. *Engine* is SQL alone. *At once* is `TiCDC.execute`,
which encodes each statement's messages and delivers them into memory before the next. *Together* lets the messages of
up to 256 statements wait for each other.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from simulator import TiCDC
from simulator.run.steps import sql
from simulator.tidb.sql_engine.storage.state import FailedStatement

URI = "kafka://127.0.0.1:9092/shop?protocol=canal-json&partition-num=4"
BULK = 1_000
"""Rows of a bulk INSERT."""

SLICES = 5
"""Parts of a case, of which the quickest counts."""

TABLES = MappingProxyType(
    {
        "item": (
            "(id BIGINT PRIMARY KEY, name VARCHAR(20), stock INT DEFAULT 0, price DECIMAL(10,2),"
            " at TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)"
        ),
        "unique": (
            "(id BIGINT PRIMARY KEY, name VARCHAR(20), stock INT DEFAULT 0, price DECIMAL(10,2),"
            " at TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, UNIQUE KEY by_name (name))"
        ),
    }
)


@dataclass(frozen=True)
class Case:
    name: str
    statements: Callable[[int], Sequence[str]]
    """The statements of one operation, by its number."""

    rows: int = 1
    """The rows of an operation."""


def _row(number: int) -> str:
    return f"({number}, 'pen {number}', {number % 97}, {number % 1000}.25)"


def _insert(*numbers: int) -> str:
    return f"INSERT INTO item (id, name, stock, price) VALUES {', '.join(map(_row, numbers))}"


def cases(rows: int, count: int) -> Iterator[Case]:
    """Yield the cases, in an order in which each finds its rows."""
    first, step = 2 * max(rows, count) + 2, max(rows // count, 1)
    yield Case("INSERT behind", lambda number: [_insert(first + number)])
    yield Case("INSERT between", lambda number: [_insert(2 * (number * step) + 1)])
    yield Case(
        "INSERT prepared",
        lambda number: [
            f"SET @id = {first + count + number}, @name = 'ink {number}', @stock = 7, @price = 3.25",
            "EXECUTE ins USING @id, @name, @stock, @price",
        ],
    )
    yield Case("SELECT", lambda number: [f"SELECT id, name, stock, price FROM item WHERE id = {first + number}"])
    yield Case("SELECT *", lambda number: [f"SELECT * FROM item WHERE id = {2 * number * step + 1}"])
    yield Case("SELECT prepared", lambda number: [f"SET @id = {2 * number * step + 1}", "EXECUTE sel USING @id"])
    yield Case("UPDATE", lambda number: [f"UPDATE item SET stock = {number} WHERE id = {first + number}"])
    yield Case(
        "UPDATE computed",
        lambda number: [
            f"UPDATE item SET stock = stock + {number}, price = price * 2 WHERE id = {2 * number * step + 1}"
        ],
    )
    yield Case(
        "UPDATE prepared",
        lambda number: [f"SET @id = {2 * number * step + 1}, @n = {number}", "EXECUTE upd USING @n, @id"],
    )
    yield Case(
        "BEGIN, UPDATE, COMMIT",
        lambda number: ["BEGIN", f"UPDATE item SET stock = 5 WHERE id = {first + number}", "COMMIT"],
    )
    yield Case("REPLACE", lambda number: [f"REPLACE {_insert(first + number)[7:]}"])
    yield Case(
        "ON DUPLICATE KEY UPDATE",
        lambda number: [f"{_insert(first + number)} ON DUPLICATE KEY UPDATE stock = VALUES(stock) + 1"],
    )
    yield Case("DELETE", lambda number: [f"DELETE FROM item WHERE id = {first + number}"])
    yield Case("DELETE between", lambda number: [f"DELETE FROM item WHERE id = {2 * number * step + 1}"])
    bulk = first + 10 * count
    yield Case(
        f"INSERT {BULK} rows", lambda number: [_insert(*range(bulk + number * BULK, bulk + (number + 1) * BULK))], BULK
    )


def _prepared(table: str, rows: int) -> TiCDC:
    """Return a changefeed with a table of rows with even keys."""
    ticdc = TiCDC(sink_uri=URI, databases=["shop"])
    ticdc.execute(f"USE shop; CREATE TABLE item {TABLES[table]}")
    for since in range(0, rows, 10_000):
        ticdc.execute(_insert(*range(2 * since, 2 * min(since + 10_000, rows), 2)))
    ticdc.execute("PREPARE ins FROM 'INSERT INTO item (id, name, stock, price) VALUES (?, ?, ?, ?)'")
    ticdc.execute("PREPARE sel FROM 'SELECT * FROM item WHERE id = ?'")
    ticdc.execute("PREPARE upd FROM 'UPDATE item SET stock = ? WHERE id = ?'")
    ticdc.messages()
    return ticdc


def _engine(ticdc: TiCDC) -> Callable[[str], None]:
    """Return a function that executes statements without messages."""
    live = ticdc._live
    position, context = live.position, live._context

    def execute(text: str) -> None:
        nonlocal position
        position, _, outcome = sql.execute_statement(text, position, context)
        if isinstance(outcome, FailedStatement):
            raise outcome.error

    return execute


def _measured(execute: Callable[[str], object], deliver: Callable[[], object], case: Case, count: int) -> float:
    """Return the CPU seconds of an operation in the quickest slice."""
    sql._read.cache_clear()
    texts = [case.statements(number) for number in range(count)]
    slices = [texts[part * count // SLICES : (part + 1) * count // SLICES] for part in range(SLICES)]
    found = []
    for each in slices:
        began = time.process_time()
        for statements in each:
            for text in statements:
                execute(text)
        deliver()
        found.append((time.process_time() - began) / len(each))
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--table", choices=TABLES, default="item")
    parser.add_argument("--profile", help="print the profile of the case of this name, its messages made together")
    arguments = parser.parse_args()
    print(f"{'ms':28}{'rows':>8}{'engine':>10}{'together':>10}{'at once':>10}{'rows/s':>10}")
    for rows in arguments.rows or (0, 100_000):
        ticdc, prompt = (_prepared(arguments.table, rows) for _ in range(2))
        ways = (
            (_engine(ticdc), lambda: None),
            (partial(ticdc._live.execute, prompt=False), ticdc._live.deliver),
            (prompt.execute, lambda: None),
        )
        for case in cases(rows, arguments.count):
            count = arguments.count if case.rows == 1 else SLICES
            if case.name == arguments.profile:
                profile = cProfile.Profile()
                profile.runcall(_measured, *ways[1], case, count)
                pstats.Stats(profile).sort_stats("tottime").print_stats(50)
                break
            alone, together, at_once = (_measured(execute, deliver, case, count) for execute, deliver in ways)
            print(
                f"{case.name:28}{rows:>8}{alone * 1000:>10.2f}{together * 1000:>10.2f}{at_once * 1000:>10.2f}"
                f"{case.rows / together:>10,.0f}",
                flush=True,
            )
            ticdc.messages(), prompt.messages()


if __name__ == "__main__":
    main()
