"""What a load run did, at its end: tables and lines for people, and a summary as JSON for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simulator import tso
from simulator.cli.load.monitor import LoadMonitor
from simulator.cli.output import write_summary
from simulator.cli.run_report import by_partition, by_table
from simulator.cli.terminal import Terminal
from simulator.cli.user_files import JSON_MARK
from simulator.limits import counted, sized
from simulator.load.series import columns
from simulator.sinks.records import Latencies

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}


def show(monitor: LoadMonitor, stderr: bool = False) -> None:
    """Print tables and closing lines on standard output, or on standard error if that is needed for messages."""
    out = Terminal(stderr=stderr)
    if monitor.account.changes and not monitor.lost:
        out.print(by_table(tables(monitor)), "")
    if monitor.account.partitions and not monitor.lost and monitor.setup.unit == "message":
        out.print(by_partition(partitions(monitor)), "")
    told = [] if monitor.lost else list(_account(monitor))  # the line of the error that ends the run comes after them
    out.print(*told, *filter(None, ["; ".join(monitor.lost)]), sep="\n", soft_wrap=True)


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


def document(monitor: LoadMonitor) -> dict[str, Any]:
    """Return the whole summary; times are in seconds unless their names give another unit."""
    setup, account, reached = monitor.setup, monitor.account, monitor.reached
    held_rows, held_seconds = account.paced
    return {
        "plan": setup.plan,
        "protocol": setup.protocol,
        "release": setup.release,
        "architecture": setup.architecture,
        "seed": setup.seed,
        "sink": setup.sink,
        "engine": setup.engine,
        "driver": setup.driver,
        "started": f"{datetime.fromtimestamp(account.began or monitor.started, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "rows": account.rows,
        "messages": account.messages,
        "bytes": account.bytes,
        "windows": account.windows,
        "seconds": round(account.seconds, 3),
        "rows_per_second": round(account.rate, 1),
        "bytes_per_second": round(account.bytes_rate),
        "rate": {
            "given": setup.rate,
            "asked_rows_per_second": round(account.target_rows / held_seconds, 1) if held_seconds else None,
            "reached_rows_per_second": round(held_rows / held_seconds, 1) if held_seconds else None,
            "seconds_not_reached": reached.seconds_below,
            "not_reached": [
                {
                    "from": shortfall.first,
                    "to": shortfall.last,
                    "seconds": shortfall.seconds,
                    "least_share": round(shortfall.least, 4),
                }
                for shortfall in reached.shortfalls
            ],
        },
        "sustained": None if monitor.verdict is None else asdict(monitor.verdict) | {"group": setup.group},
        "latency": latency(account.latencies),
        "retried_windows": account.retried,
        "resent_records": account.resent,
        "watermark": account.watermark,
        "simulated_ms": account.end_ms,
        "ended_early": monitor.ended or None,
        "lost": monitor.lost,
        "tables": {setup.tables[table]: ops for table, ops in account.rows_by_table().items()},
        "partitions": [
            {name: value for name, value in place.items() if name != "commit_ts"} for place in partitions(monitor)
        ],
        "series": series(monitor),
    }


def series(monitor: LoadMonitor) -> dict[str, Any]:
    """Return the figures over time, as lists of equal length."""
    points = monitor.series.points()
    return {"seconds_a_point": monitor.series.width} | columns(points)


def latency(latencies: Latencies) -> dict[str, float | int | None]:
    """Return the quantiles of acknowledgement latencies in milliseconds."""
    quantiles = latencies.quantiles(list(QUANTILES.values()))
    known = latencies.records > 0
    return {
        "records": latencies.records,
        **{
            f"{name}_ms": round(1000 * seconds, 3) if known else None
            for name, seconds in zip(QUANTILES, quantiles, strict=True)
        },
        "max_ms": round(1000 * latencies.longest, 3) if known else None,
    }


def write(monitor: LoadMonitor, path: Path) -> None:
    """Write the summary; raises DeliveryError."""
    with monitor.lock:
        content = document(monitor)
    lists = {name: json.dumps(values) for name, values in content.pop("series").items()}
    inner = ",\n".join(f'    "{name}": {values}' for name, values in lists.items())
    text = json.dumps(JSON_MARK | content, indent=2, ensure_ascii=False).removesuffix("\n}")
    write_summary(path, f'{text},\n  "series": {{\n{inner}\n  }}\n}}\n')
