"""The closing output of a load run: tables, and lines about its rate, latencies and last watermark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from simulator import tso
from simulator.cli.load.monitor import LoadMonitor
from simulator.cli.run_report import by_partition, by_table
from simulator.cli.terminal import Terminal
from simulator.quantities import counted, sized

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}


def show(monitor: LoadMonitor, stderr: bool = False) -> None:
    """Print tables and closing lines on standard output, or on standard error if that is needed for messages."""
    out = Terminal(stderr=stderr)
    if monitor.account.changes and not monitor.lost:
        out.print(by_table(tables(monitor)), "")
    if monitor.account.partitions and not monitor.lost and monitor.setup.unit == "message":
        out.print(by_partition(partitions(monitor)), "")
    out.print(*closing(monitor), sep="\n", soft_wrap=True)


def tables(monitor: LoadMonitor) -> dict[str, Counter[int]]:
    """Return the rows of each table by operation."""
    rows_by_table: dict[str, Counter[int]] = {}
    for (table, op), rows in sorted(monitor.account.changes.items()):
        rows_by_table.setdefault(monitor.setup.tables[table], Counter())[op] += rows
    return rows_by_table


def partitions(monitor: LoadMonitor) -> list[dict[str, Any]]:
    """Return the counts of each partition, including partitions without rows."""
    account = monitor.account
    every = {(topic, number) for topic, count in monitor.setup.topics.items() for number in range(count)}
    counts = {place: account.partitions.get(place, (0, 0, 0)) for place in sorted(every | account.partitions.keys())}
    return [
        {
            "topic": topic,
            "partition": number,
            "rows": rows,
            "messages": messages,
            "bytes": size,
            "commit_ts": account.watermark,
        }
        for (topic, number), (rows, messages, size) in counts.items()
    ]


def closing(monitor: LoadMonitor) -> Iterator[str]:
    """Yield the closing lines; only the reason for a run that left no output."""
    if not monitor.lost:
        yield from _account(monitor)
    if monitor.ended:
        yield "; ".join((f"ended early: {monitor.ended}", *monitor.lost))


def _account(monitor: LoadMonitor) -> Iterator[str]:
    account = monitor.account
    yield (
        f"{counted(account.rows, 'row change')} in {counted(account.messages, monitor.setup.unit)}, "
        f"{sized(account.bytes)}, {account.seconds:,.1f} s ({account.rate:,.0f} rows/s, {sized(account.bytes_rate)}/s), "
        f"by {monitor.setup.driver}"
    )
    yield from _of_rate(monitor)
    if account.latencies.records:
        quantiles = ", ".join(
            f"{name} {1000 * seconds:,.0f} ms"
            for name, seconds in zip(QUANTILES, account.latencies.quantiles(list(QUANTILES.values())), strict=True)
        )
        yield f"acknowledged within: {quantiles}, at most {1000 * account.latencies.longest:,.0f} ms"
    if account.retried or account.resent:
        yield f"sent again: {counted(account.resent, 'record')}; {counted(account.retried, 'window')}, as a process was lost"
    if monitor.verdict is not None:
        yield monitor.verdict.describe(monitor.setup.group or "")
    if monitor.unfinished:
        yield monitor.unfinished
    if account.watermark:
        yield f"complete up to watermark {tso.describe(account.watermark)}"


def _of_rate(monitor: LoadMonitor) -> Iterator[str]:
    account, reached = monitor.account, monitor.reached
    if account.reached_share is None or monitor.verdict is not None:
        return
    rows, seconds = account.paced
    yield (
        f"rate: asked {account.target_rows / seconds:,.0f} rows/s on average, reached {rows / seconds:,.0f} "
        f"({100 * account.reached_share:.1f} %)"
    )
    if reached.shortfalls:
        worst = min(reached.shortfalls, key=lambda shortfall: shortfall.least)
        yield (
            f"rate not reached: over {reached.seconds_below:,} s more than 2 % below what was asked, the first time at "
            f"{_clock(reached.shortfalls[0].first)}, at worst {100 * (1 - worst.least):.0f} % below (each over a minute)"
        )


def _clock(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S} UTC"
