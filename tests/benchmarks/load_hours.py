"""What hours of `ticdc-sim load` do to memory, rate and latency: one run against a Kafka of its own, looked at all the
while, its quarters beside each other.

    python tests/benchmarks/load_hours.py [--duration 2h] [--rate 60000] [--log hours.jsonl]
    python tests/benchmarks/load_hours.py --table hours.jsonl

The second prints the table of a log again, or of a run that goes on. Each line of the log is a look: RSS of each
process, and after every `--collect` seconds what Java has in its heap once it has collected. Rates and latencies of
minutes come from the run's own summary, in the last line.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measuring import KEPT, PROGRAM, SIX, SPREAD, Look, kafka, options, ran, uri

from simulator.broker.java import free_port

LOOK = 5.0
"""Seconds between two looks."""

QUARTERS = 4
STARTING = 60.0
"""Seconds behind the first rows that are in no quarter: Java compiles, and windows find their length."""

MINUTE = 60.0
MEGABYTE = 1e6


def main() -> None:
    """Run and look, or read a log; print the table."""
    where = {"master": "local[2]", "log": Path("hours.jsonl"), "table": Path}
    chosen = options(__doc__, None, duration="2h", rate="60000", collect=300.0, **where)
    if chosen.table is None:
        with tempfile.TemporaryDirectory(prefix="bench-hours-") as name, kafka(KEPT) as broker:
            run(chosen, Path(name), broker.address)
    log = chosen.table or chosen.log
    print(*table([json.loads(line) for line in log.read_text("utf-8").splitlines()]), sep="\n")


def run(chosen: argparse.Namespace, directory: Path, address: str) -> None:
    """Run `load`, and write a line of the log for each look."""
    config, summary, report = (directory / name for name in ("changefeed.toml", "summary.json", "report.html"))
    config.write_text(SPREAD, "utf-8")
    port, collected = free_port(), time.monotonic()
    command: list[object] = [*PROGRAM, "load", SIX, "--sink-uri", uri(address, "hours"), "--config", config]
    command += ["--rate", chosen.rate, "--duration", chosen.duration, "--master", chosen.master, "--summary", summary]
    command += ["--checkpoint", directory / "checkpoint", "--report", report, "--metrics-port", port]
    with open(chosen.log, "w", encoding="utf-8") as log:

        def seen(_: int, look: Look) -> None:
            nonlocal collected
            found = told(look) | scraped(port)
            java = next((pid for pid, each in look.processes.items() if each.role == "Java"), None)
            if java and time.monotonic() - collected >= chosen.collect:
                collected = time.monotonic()
                found["heap"] = heap(java)
            print(json.dumps(found), file=log, flush=True)

        ran(*command, every=LOOK, seen=seen)
        end = minutes(json.loads(summary.read_text("utf-8")))
        sizes = {"summary_bytes": summary.stat().st_size, "report_bytes": report.stat().st_size}
        print(json.dumps({"command": list(map(str, command)), "end": end | sizes}), file=log)


def told(look: Look) -> dict[str, Any]:
    """Return RSS by role, and the CPU seconds of all."""
    sizes: dict[str, int] = {}
    for each in look.processes.values():
        sizes[each.role] = sizes.get(each.role, 0) + each.rss
    return {"second": round(look.second, 1), "rss": sizes, "cpu": round(look.cpu, 2)}


def scraped(port: int) -> dict[str, Any]:
    """Return what the run's metrics say, with the time that takes."""
    began = time.monotonic()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    except OSError:
        return {}
    return {
        "scrape": {"ms": round(1000 * (time.monotonic() - began), 1), "bytes": len(text)},
        "rows": sum(float(value) for value in re.findall(r"^ticdc_load_rows_total\{.*\} (\S+)$", text, re.M)),
        **{name: float(value) for name, value in re.findall(r"^ticdc_load_(behind_seconds) (\S+)$", text, re.M)},
    }


def heap(java: int) -> dict[str, float]:
    """Return what Java holds after a full collection: bytes of its heap, and of its classes (metaspace)."""
    subprocess.run(["jcmd", str(java), "GC.run"], check=True, capture_output=True, timeout=60)
    told = subprocess.run(["jcmd", str(java), "GC.heap_info"], check=True, capture_output=True, text=True, timeout=60)
    used = {
        name.strip(): int(value) << 10
        for name, value in re.findall(r"^\s*(\S[^,\n]*?)\s+(?:total \d+K, )?used (\d+)K", told.stdout, re.M)
    }
    metaspace = used.pop("Metaspace")
    used.pop("class space", None)
    return {"used": sum(used.values()), "metaspace": metaspace}


def minutes(summary: dict[str, Any]) -> dict[str, Any]:
    """Return rate and latency of each whole minute of a run."""
    points = pd.DataFrame(summary["series"])
    points["minute"] = points.second // MINUTE
    whole = points[points.minute.between(1, points.minute.max() - 1)]
    asked = whole[whole.asked_rows_per_second > 0].groupby("minute")
    of_asked = asked.rows_per_second.sum() / asked.asked_rows_per_second.sum()
    by_minute = whole.groupby("minute")
    return {
        "rows_per_second": by_minute.rows_per_second.mean().to_dict(),
        "of_asked": of_asked.to_dict(),
        "p99_ms": by_minute.latency_p99_ms.median().to_dict(),
        "points": len(points),
        **{name: summary[name] for name in ("rows", "windows", "rate", "latency", "seconds")},
    }


FIGURES = {
    "heap.used": ("Java's heap after a collection, MB", MEGABYTE),
    "heap.metaspace": ("Java's classes (metaspace), MB", MEGABYTE),
    "scrape.ms": ("a scrape of the metrics, ms", 1.0),
    "scrape.bytes": ("its bytes", 1.0),
}


def table(lines: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table of the log's quarters, in Markdown."""
    looks = pd.json_normalize([line for line in lines if line.get("rows")])
    if looks.empty or len(looks := looks[looks.second >= looks.second.iloc[0] + STARTING]) < QUARTERS:
        yield "too few looks for quarters"
        return
    looks = looks.set_index("second")
    of_all = looks.filter(like="rss.").sum(axis=1)
    yield f"| {looks.index[-1] / 60:.0f} minutes, by quarters | first | second | third | last | last : second |"
    yield "|---|---|---|---|---|---|"
    for name in sorted(map(str, looks.filter(like="rss.").columns)):
        yield _row(f"RSS of {name.removeprefix('rss.')}, MB", looks[name].fillna(0) / MEGABYTE)
    yield _row("RSS of all, MB", of_all / MEGABYTE)
    for name, (said, size) in FIGURES.items():
        if name in looks:
            yield _row(said, looks[name] / size)
    if (end := next((line["end"] for line in lines if "end" in line), None)) is None:
        return
    rates, p99, held = (_by_minute(end[name]) for name in ("rows_per_second", "p99_ms", "of_asked"))
    if len(rates) >= QUARTERS:
        yield _row("rows/s", rates)
        yield _row("p99 until acknowledged, ms (median of seconds)", p99)
    yield ""
    yield f"{end['rows']:,} rows in {end['windows']:,} windows, {end['seconds']:,.0f} s; {end['latency']}"
    if len(held):
        short = [f"minute {minute:.0f}: {share:.4f}" for minute, share in held.items() if abs(share - 1) > 0.01]
        yield f"asked rate in {len(held)} whole minutes: {held.min():.4f} to {held.max():.4f} of it; outside of 1 %: "
        yield f"{len(short)} {short[:10]}"
    yield f"report: {end['points']} points, {end['report_bytes']:,} B; summary {end['summary_bytes']:,} B"


def _by_minute(values: dict[str, float]) -> pd.Series:
    return pd.Series(values, dtype=float).rename(float)


def _row(told: str, values: pd.Series) -> str:
    medians = values.groupby(pd.cut(values.index, QUARTERS, labels=False)).median().reindex(range(QUARTERS))
    cells = ["" if np.isnan(value) else f"{value:,.1f}" for value in medians]
    beside = medians[QUARTERS - 1] / medians[1]
    return f"| {told} | {' | '.join(cells)} | {f'{beside:.3f}' if np.isfinite(beside) else ''} |"


if __name__ == "__main__":
    main()
