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
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from measuring import KEPT, PROGRAM, SIX, SPREAD, Look, kafka, options, ran, uri

from simulator.broker.processes import free_port

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
    series = summary["series"]
    columns = ("second", "rows_per_second", "asked_rows_per_second", "latency_p99_ms", "latency_max_ms")
    points: dict[int, list[tuple[float, ...]]] = {}
    for point in zip(*(series[name] for name in columns), strict=True):
        points.setdefault(int(point[0] // MINUTE), []).append(point)
    whole = {minute: points[minute] for minute in range(1, max(points))}
    asked = {minute: [point for point in of if point[2]] for minute, of in whole.items()}
    return {
        "minute": list(whole),
        "rows_per_second": [statistics.fmean(point[1] for point in of) for of in whole.values()],
        "of_asked": [sum(p[1] for p in of) / sum(p[2] for p in of) if of else None for of in asked.values()],
        "p99_ms": [_median(point[3] for point in of) for of in whole.values()],
        "rows": summary["rows"],
        "windows": summary["windows"],
        "rate": summary["rate"],
        "latency": summary["latency"],
        "points": len(series["second"]),
        "seconds": summary["seconds"],
    }


def table(lines: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table of the log's quarters, in Markdown."""
    begun = next((line["second"] for line in lines if line.get("rows")), 0.0)
    looks = [line for line in lines if line.get("rows") and line["second"] >= begun + STARTING]
    if len(looks) < QUARTERS:
        yield "too few looks for quarters"
        return
    end = next((line["end"] for line in lines if "end" in line), None)
    first, last = looks[0]["second"], looks[-1]["second"]

    def quarters(of: Callable[[dict[str, Any]], float | None]) -> list[float | None]:
        found: list[list[float]] = [[] for _ in range(QUARTERS)]
        for each in looks:
            place = min(QUARTERS - 1, int(QUARTERS * (each["second"] - first) / max(last - first, 1.0)))
            if (value := of(each)) is not None:
                found[place].append(value)
        return [_median(values) for values in found]

    def of_minutes(name: str) -> list[float | None]:
        values = end[name] if end else []
        cuts = [round(len(values) * quarter / QUARTERS) for quarter in range(QUARTERS + 1)]
        return [_median(values[begin:stop]) for begin, stop in zip(cuts, cuts[1:])]

    yield f"| {last / 60:.0f} minutes, by quarters | first | second | third | last | last : second |"
    yield "|---|---|---|---|---|---|"
    for kind in sorted({kind for look in looks for kind in look["rss"]}):
        yield _row(f"RSS of {kind}, MB", quarters(lambda each: each["rss"].get(kind, 0) / MEGABYTE))
    yield _row("RSS of all, MB", quarters(lambda each: sum(each["rss"].values()) / MEGABYTE))
    for name, what in (("used", "Java's heap after a collection"), ("metaspace", "Java's classes (metaspace)")):
        yield _row(f"{what}, MB", quarters(lambda each: each["heap"][name] / MEGABYTE if "heap" in each else None))
    yield _row("a scrape of the metrics, ms", quarters(lambda each: each.get("scrape", {}).get("ms")))
    yield _row("its bytes", quarters(lambda each: each.get("scrape", {}).get("bytes")))
    yield _row("rows/s", of_minutes("rows_per_second"))
    yield _row("p99 until acknowledged, ms (median of seconds)", of_minutes("p99_ms"))
    if end:
        held = [each for each in end["of_asked"] if each is not None]
        short = [f"minute {at}: {each:.4f}" for at, each in zip(end["minute"], held) if abs(each - 1) > 0.01]
        yield ""
        yield f"{end['rows']:,} rows in {end['windows']:,} windows, {end['seconds']:,.0f} s; {end['latency']}"
        if held:
            yield f"asked rate in {len(held)} whole minutes: {min(held):.4f} to {max(held):.4f} of it; outside of 1 %: "
            yield f"{len(short)} {short[:10]}"
        yield f"report: {end['points']} points, {end['report_bytes']:,} B; summary {end['summary_bytes']:,} B"


def _row(told: str, values: Sequence[float | None]) -> str:
    cells = ["" if value is None else f"{value:,.1f}" for value in values]
    second, last = values[1], values[-1]
    return f"| {told} | {' | '.join(cells)} | {f'{last / second:.3f}' if second and last is not None else ''} |"


def _median(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


if __name__ == "__main__":
    main()
