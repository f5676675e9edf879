"""Which rows change, alone, on one core: `python tests/benchmarks/stream.py [--rows N]`.

What a stream of changes costs before anything is encoded, per CPU second, median of 9 windows. Keys: which rows change,
and from which version to which. Moments: the transaction in which each row got its version.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from simulator.sources.generate.changes.stream import Stream
from simulator.sources.generate.changes.timetable import Segment
from simulator.sources.generate.model import HotSet, Mix, Model, Skew, TableModel, Uniform, Zipf

BEGIN = 10**9
"""The first transaction of what is timed: ten thousand million rows from the start."""

PASSES = 9

SKEWS: dict[str, Skew] = {"uniform": Uniform(), "hot set": HotSet(0.01, 0.9), "zipf": Zipf(1.1)}


def stream(tables: int, rows: int, skew: Skew) -> Stream:
    """Of tables with weights 1, 2, 3 …, 20 inserts, 70 updates and 10 deletes, 10 rows a transaction."""
    models = tuple(TableModel("shop", f"t{each}", rows, each + 1, Mix(20, 70, 10), skew) for each in range(tables))
    return Stream(Model(7, models, (1, 19), min(2, tables), True), (Segment(0, 60_000, 60_000),))


def timed(work: Callable[[int], int]) -> float:
    """Rows a CPU second, the first pass not counted."""
    rates = []
    for number in range(PASSES + 1):
        begin = time.process_time()
        rows = work(number)
        rates.append(rows / (time.process_time() - begin))
    return statistics.median(rates[1:])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=60_000, help="changes of a window")
    count = options.parse_args().rows // 10
    print("| | tables | rows of each | keys: rows/s | ns a row | commit-ts: rows/s | moments: rows/s |")
    print("|---|---|---|---|---|---|---|")
    for name, skew in SKEWS.items():
        for tables, rows in ((1, 1), (1, 100_000), (1, 100_000_000), (5, 100_000), (20, 100_000)):
            if rows > 1 or name == "uniform":
                asked = stream(tables, rows, skew)
                keys, commits, moments = (timed(work) for work in works(asked, count))
                print(
                    f"| {name} | {tables} | {rows:,} | {keys:,.0f} | {1e9 / keys:,.0f} | {commits:,.0f} | "
                    f"{moments:,.0f} |"
                )


def works(asked: Stream, count: int) -> tuple[Callable[[int], int], ...]:
    """What is timed, each with the number of a window: it says how many rows it had."""
    since = [0] * len(asked.model.tables)
    windows = [asked.window(BEGIN + each * count, BEGIN + (each + 1) * count, since) for each in range(PASSES + 1)]

    def keys(number: int) -> int:
        first = BEGIN + (PASSES + 1 + number) * count
        return len(asked.window(first, first + count, since).key)

    def commits(number: int) -> int:
        transactions = windows[number].transaction
        asked.timetable.logical(transactions)
        asked.milliseconds(transactions)
        return len(transactions)

    def moments(number: int) -> int:
        window = windows[number]
        for table in range(len(since)):
            places = np.flatnonzero((window.table == table) & (window.after >= 0))
            asked.changed(table, window.key[places], window.after[places], 0)
        return len(window.key)

    return keys, commits, moments


if __name__ == "__main__":
    main()
