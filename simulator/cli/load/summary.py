"""The summary of a load run as JSON, for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simulator.cli.load.end import QUANTILES, partitions
from simulator.cli.load.watch import Watch
from simulator.cli.output import write_file
from simulator.load.reports.series import columns
from simulator.sinks.latencies import Latencies


def document(watch: Watch) -> dict[str, Any]:
    """All that is known; amounts are counts and bytes, times seconds where the name does not say otherwise."""
    setup, account, reached = watch.setup, watch.account, watch.reached
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
        "started": f"{datetime.fromtimestamp(account.began or watch.started, UTC):%Y-%m-%dT%H:%M:%SZ}",
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
        "sustained": None if watch.verdict is None else asdict(watch.verdict) | {"group": setup.group},
        "latency": latency(account.latencies),
        "retried_windows": account.retried,
        "resent_records": account.resent,
        "watermark": account.watermark,
        "simulated_ms": account.end_ms,
        "ended_early": watch.ended or None,
        "lost": watch.lost,
        "tables": {setup.tables[table]: ops for table, ops in account.rows_by_table().items()},
        "partitions": [
            {name: value for name, value in place.items() if name != "commit_ts"} for place in partitions(watch)
        ],
        "series": series(watch),
    }


def series(watch: Watch) -> dict[str, Any]:
    """Over time: lists of equal length."""
    points = watch.series.points()
    return {"seconds_a_point": watch.series.width} | columns(points)


def latency(latencies: Latencies) -> dict[str, float | int | None]:
    """Of acknowledgements, in milliseconds."""
    found = latencies.quantiles(list(QUANTILES.values()))
    known = latencies.records > 0
    return {
        "records": latencies.records,
        **{
            f"{name}_ms": round(1000 * seconds, 3) if known else None
            for name, seconds in zip(QUANTILES, found, strict=True)
        },
        "max_ms": round(1000 * latencies.longest, 3) if known else None,
    }


def write(watch: Watch, path: Path) -> None:
    """Raises DeliveryError where it cannot be written."""
    with watch.lock:
        told = document(watch)
    lists = {name: json.dumps(values) for name, values in told.pop("series").items()}
    inner = ",\n".join(f'    "{name}": {values}' for name, values in lists.items())
    text = json.dumps(told, indent=2, ensure_ascii=False).removesuffix("\n}")
    write_file(path, f'{text},\n  "series": {{\n{inner}\n  }}\n}}\n', "summary")
