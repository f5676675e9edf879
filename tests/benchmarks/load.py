"""Load in one process: rows made, rows made and encoded, and the whole loop into a sink that counts; with what is made
ahead and without it.

    python tests/benchmarks/load.py [--seconds 20] [--rounds 3] [--preset NAME=PROTOCOL ...] [--acknowledged 100]

Rounds take turns, so that all ways see the same hours of a machine; what is told is the median, with the least and the
most. Rows a second of real time, and of this process's CPU time, which other work on the machine moves less. The loop with
what is made ahead stands beside the one without.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from measuring import in_turn, options

from simulator.load import epochs, plan_file, rates
from simulator.load.epochs import Pace, SchemaEpoch, Window
from simulator.load.sender import QueueItem, WindowSender, send_window, window_messages
from simulator.load.windows import window_rows
from simulator.releases import V8_5
from simulator.run import outputs, scenario
from simulator.sinks.memory import CountingSink
from simulator.ticdc.changefeed import load

CASES = ("sysbench=canal-json", "wide-62=canal-json", "wide-62=open-protocol", "wide-124=open-protocol")

AHEAD = ", made ahead"

ROWS_A_SECOND = 20_000
"""Of simulated time; a window is a second of it."""


@dataclass(frozen=True)
class Measured:
    rows: int
    bytes: int
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds


class Slow(CountingSink):
    """Takes a while to acknowledge the end of a window, as a broker does, and a driver that plans the next one."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def drain(self) -> None:
        time.sleep(self._seconds)


def epoch(preset: str | Path, protocol: str, config: str = "") -> SchemaEpoch:
    """The stream of a preset, or of a plan's file, from its start on."""
    plan = plan_file.load_plan(preset if isinstance(preset, Path) else scenario.preset_file(preset))
    changefeed = load(f"kafka://127.0.0.1:9092/load?partition-num=4&protocol={protocol}", config, V8_5)
    prepared = epochs.prepare_load(
        plan, rates.resolve_rates(rates.parse_rate("max"), ROWS_A_SECOND).segments, changefeed, V8_5
    )
    return next(epochs.schema_epochs(prepared, outputs.Output(changefeed).for_plan(prepared.plan)))


class Course:
    """Windows behind the fill, one after the other, for some destinations or all."""

    def __init__(self, of: SchemaEpoch, owned: range | None = None) -> None:
        self._epoch = of
        self.owned = range(of.spec.destinations.total) if owned is None else owned
        self._ms = int(of.stream.milliseconds(np.array([of.stream.fill_transactions]))[0]) + 1

    def next(self) -> Window:
        self._ms += 1000
        return Window(self._epoch, self._ms - 1000, self._ms, Pace(0.0, 0.0))


def made(course: Course) -> tuple[int, int]:
    """Rows and bytes of a window: its rows alone."""
    batches: list[pa.RecordBatch] = list(window_rows(course.next(), course.owned))
    return sum(batch.num_rows for batch in batches), 0


def encoded(course: Course) -> tuple[int, int]:
    """Its messages."""
    found = [(each.events.num_rows, QueueItem(each).size) for each in window_messages(course.next(), course.owned)]
    return sum(rows for rows, _ in found), sum(size for _, size in found)


def counted(course: Course, send: Callable[[Window], object], sink: CountingSink) -> tuple[int, int]:
    """Its messages, sent."""
    before = sum(account.bytes for account in sink.accounts())
    report = send(course.next())
    rows = sum(count for *_, count in report.changes)  # type: ignore[attr-defined]
    return rows, sum(account.bytes for account in sink.accounts()) - before


def timed(window: Callable[[], tuple[int, int]], seconds: float) -> Measured:
    """As many windows as take so long, after one that is not counted."""
    window()
    began, cpu, rows, size = time.perf_counter(), time.process_time(), 0, 0
    while time.perf_counter() - began < seconds:
        more = window()
        rows, size = rows + more[0], size + more[1]
    return Measured(rows, size, time.perf_counter() - began, time.process_time() - cpu)


def ways(of: SchemaEpoch, wait: float) -> dict[str, Callable[[float], Measured]]:
    """What is measured, by name; behind the first two, a loop without what is made ahead and one with it."""
    course = Course(of)

    def loop(wait: float, ahead: bool, seconds: float) -> Measured:
        sink = Slow(wait) if wait else CountingSink()
        sender = WindowSender(sink)
        sends: dict[bool, Callable[[Window], object]] = {
            True: lambda window: sender.send(window, course.owned),
            False: lambda window: send_window(window, course.owned, sink),
        }
        try:
            return timed(lambda: counted(course, sends[ahead], sink), seconds)
        finally:
            sender.stop()

    told = f"acknowledged after {1000 * wait:.0f} ms"
    return {
        "rows alone": lambda seconds: timed(lambda: made(course), seconds),
        "encoded": lambda seconds: timed(lambda: encoded(course), seconds),
        "sent": partial(loop, 0.0, False),
        f"sent{AHEAD}": partial(loop, 0.0, True),
        told: partial(loop, wait, False),
        f"{told}{AHEAD}": partial(loop, wait, True),
    }


def beside_plain(runs: Sequence[Measured], plain: Sequence[Measured]) -> str:
    """How a loop with what is made ahead does beside the one without, in the same rounds."""
    ratios = [one.rate / other.rate for one, other in zip(runs, plain, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else 3 * ratios
    return f"  {middle:.2f} x without ({low:.2f} to {high:.2f}), better in {sum(ratio > 1 for ratio in ratios)}"


def main() -> None:
    """Prints one line a way."""
    given = options(__doc__, seconds=20.0, rounds=3, preset=CASES, acknowledged=100.0)
    for case in given.preset:
        preset, _, protocol = case.partition("=")
        print(f"{preset}, {protocol}")
        each = ways(epoch(preset, protocol), given.acknowledged / 1000)
        run = {name: partial(way, given.seconds / given.rounds) for name, way in each.items()}
        found = in_turn(run, given.rounds, warm=0)
        for name, runs in found.items():
            rates_of = [one.rate for one in runs]
            cpu = statistics.median(one.rows / one.cpu for one in runs)
            size = statistics.median(one.bytes / one.seconds for one in runs) / (1 << 20)
            plain = found[name.removesuffix(AHEAD)]
            print(
                f"  {name:42} {statistics.median(rates_of):9,.0f} rows/s ({min(rates_of):,.0f} to {max(rates_of):,.0f})"
                f" {cpu:9,.0f} rows/CPU s {size:7.1f} MiB/s{'' if plain is runs else beside_plain(runs, plain)}"
            )


if __name__ == "__main__":
    main()
