"""The summary of a load run as JSON, for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simulator.cli.load.end import QUANTILES, partitions
from simulator.cli.load.monitor import LoadMonitor
from simulator.cli.output import write_json
from simulator.cli.user_files import JSON_MARK
from simulator.load.series import columns
from simulator.sinks.latencies import Latencies


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
    write_json(path, f'{text},\n  "series": {{\n{inner}\n  }}\n}}\n', "summary")
