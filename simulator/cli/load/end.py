"""What is said of a load run at its end: tables, and lines about rate, latency, and up to where everything arrived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from simulator import tso
from simulator.cli.load.watch import MIB, Watch
from simulator.cli.run_report import by_partition, by_table
from simulator.cli.terminal import Terminal

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}


def show(watch: Watch, stderr: bool = False) -> None:
    """Tables and closing lines on standard output, or on standard error where that shows the messages."""
    out = Terminal(stderr=stderr)
    if watch.account.changes and not watch.lost:
        out.print(by_table(tables(watch)), "")
    if watch.account.partitions and not watch.lost:
        out.print(by_partition(partitions(watch)), "")
    out.print(*closing(watch), sep="\n", soft_wrap=True)


def tables(watch: Watch) -> dict[str, Counter[int]]:
    """Rows of each table by operation."""
    found: dict[str, Counter[int]] = {}
    for (table, op), rows in sorted(watch.account.changes.items()):
        found.setdefault(watch.setup.tables[table], Counter())[op] += rows
    return found


def partitions(watch: Watch) -> list[dict[str, Any]]:
    """What each partition got, those too that got nothing but watermarks."""
    account = watch.account
    every = {(topic, number) for topic, count in watch.setup.topics.items() for number in range(count)}
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


def closing(watch: Watch) -> Iterator[str]:
    """Lines for people; of a run that left nothing only why."""
    if not watch.lost:
        yield from _account(watch)
    if watch.ended:
        yield "; ".join((f"ended early: {watch.ended}", *watch.lost))


def _account(watch: Watch) -> Iterator[str]:
    account = watch.account
    yield (
        f"{account.rows:,} row changes in {account.messages:,} messages, {account.bytes / MIB:,.1f} MiB, "
        f"{account.seconds:,.1f} s ({account.rate:,.0f} rows/s, {account.bytes_rate / MIB:,.1f} MiB/s), "
        f"by {watch.setup.driver}"
    )
    yield from _of_rate(watch)
    if account.latencies.records:
        found = ", ".join(
            f"{name} {1000 * seconds:,.0f} ms"
            for name, seconds in zip(QUANTILES, account.latencies.quantiles(list(QUANTILES.values())), strict=True)
        )
        yield f"acknowledged within: {found}, at most {1000 * account.latencies.longest:,.0f} ms"
    if account.retried or account.resent:
        yield f"sent again: {account.resent:,} records; {account.retried:,} windows, as a process was lost"
    if watch.verdict is not None:
        yield watch.verdict.describe(watch.setup.group or "")
    if watch.unfinished:
        yield watch.unfinished
    if account.watermark:
        yield f"complete up to watermark {tso.describe(account.watermark)}"


def _of_rate(watch: Watch) -> Iterator[str]:
    account, reached = watch.account, watch.reached
    if account.reached_share is None or watch.verdict is not None:
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
