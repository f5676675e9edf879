"""`ticdc-sim verify` on streams of `load`: rows a second and memory, beside `load` writing them and a bare read.

    python tests/benchmarks/verify.py [--rows 10000000] [--stream PRESET=PROTOCOL ...] [--source jsonl parquet kafka]
        [--master none 'local[2]'] [--asked alone truth snapshots against]

A line as soon as it is known. Asked is what `verify` gets beside the stream: nothing, `--truth`, `--before` and
`--after`, or `--truth` and a copy of it as what a consumer wrote down. Where `--master none` refuses a stream as too
large, that is said.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from measuring import KINDS, PROGRAM, SPREAD, Ran, kafka, options, ran, uri

from simulator.errors import UserError
from simulator.reader.decode import decode
from simulator.reader.partitions import partitions

ROWS_A_SECOND = 100_000
"""Of simulated time; into Kafka of real time."""

SAMPLE = 20_000
"""Records that are decoded one by one."""

REFUSED = 2


@dataclass(frozen=True)
class Stream:
    """What `load` wrote."""

    source: str
    truth: Path
    empty: Path
    """The same tables without rows: what is there before."""

    rows: int
    written: float
    """Rows a second."""


def written(preset: str, protocol: str, source: str, rows: int, place: Path, address: str) -> Stream:
    """A stream of about so many rows; a plan's file is taken, too."""
    config, right, empty = (place / name for name in ("changefeed.toml", "truth", "empty"))
    config.write_text(SPREAD, "utf-8")
    to = ["--fixtures", place / "stream", "--fixtures-format", source]
    plan = [preset] if preset.endswith(".toml") else ["--preset", preset]
    sink = uri(address, "verify", protocol)
    command: list[object] = [*PROGRAM, "load", *plan, "--sink-uri", sink, "--config", config]
    command += ["--checkpoint", place / "checkpoint"] if source == "kafka" else to
    command += ["--truth", right, "--rate", min(rows, ROWS_A_SECOND), "--duration", f"{max(1, rows // ROWS_A_SECOND)}s"]
    found = ran(*command, "--master", "none" if source == "parquet" else "local[2]")
    shutil.copytree(right, empty, ignore=shutil.ignore_patterns("*.csv", "*.parquet", "truth.json", "plan.toml"))
    line = next(line for line in found.said.splitlines() if " row changes in " in line)
    made = int(line.split()[0].replace(",", ""))
    where = str(place / "stream") if source != "kafka" else f"kafka://{address}/verify"
    return Stream(where, right, empty, made, made / found.seconds)


def bare_read(stream: Stream) -> float:
    """Rows a second of one process that reads the records and does nothing with them."""
    began = time.monotonic()
    for partition in partitions(stream.source):
        for _ in partition.batches():
            pass
    return stream.rows / (time.monotonic() - began)


def one_by_one(stream: Stream, protocol: str) -> float:
    """Rows a second of `decode`, by some of the records."""
    records = (
        row
        for partition in partitions(stream.source)
        for batch in partition.batches()
        for row in batch.select(["key", "value"]).to_pylist()
    )
    spent, rows = 0.0, 0
    for row, _ in zip(records, range(SAMPLE)):
        began = time.monotonic()
        rows += len(decode(row["key"], row["value"], protocol))
        spent += time.monotonic() - began
    return rows / spent


def told(ran: Ran, rows: int, beside: Sequence[float]) -> str:
    """The cells of a line: seconds, rows a second, ratios to others, CPU and memory."""
    if ran.code == REFUSED:
        return "too large |" + " |" * (len(beside) + 2)
    rate = rows / ran.seconds
    ratios = " | ".join(f"{rate / other:.2f}" for other in beside)
    memory = ", ".join(f"{max(look.rss(kind) for look in ran.looks) / 1e6:,.0f}" for kind in KINDS)
    return f"{ran.seconds:.1f} | {rate:,.0f} | {ratios} | {ran.cpu() / rows * 1e6:.1f} | {memory}"


def measured(stream: Stream, name: str, protocol: str, asked: Sequence[str], masters: Sequence[str]) -> None:
    """Prints the lines of one stream."""
    bare, single = bare_read(stream), one_by_one(stream, protocol)
    beside = (single, stream.written, bare)
    print(f"| {name}: `decode`, one by one | | {single:,.0f} | 1.0 | | | | |", flush=True)
    print(f"| {name}: `load` writes it | | {stream.written:,.0f} | | 1.0 | | | |", flush=True)
    print(f"| {name}: bare read | | {bare:,.0f} | | | 1.0 | | |", flush=True)
    copy = stream.truth.with_name("copy")
    shutil.copytree(stream.truth, copy)
    cases: dict[str, list[object]] = {
        "alone": [],
        "truth": ["--truth", stream.truth],
        "snapshots": ["--before", stream.empty, "--after", stream.truth],
        "against": ["--truth", stream.truth, "--against", copy],
    }
    for what in asked:
        for master in masters:
            found = ran(*PROGRAM, "verify", stream.source, *cases[what], "--master", master, codes=(0, REFUSED))
            print(f"| {name}: {what}, {master} | {told(found, stream.rows, beside)} |", flush=True)


def main() -> None:
    """Prints a table in Markdown."""
    chosen = options(
        __doc__,
        {"source": ("jsonl", "parquet", "kafka"), "asked": ("alone", "truth", "snapshots", "against")},
        rows=10_000_000,
        stream=("bank=canal-json", "shop=open-protocol", "sysbench=canal-json"),
        source=("jsonl", "parquet"),
        asked=("alone", "truth", "snapshots", "against"),
        master=("none", "local[2]"),
    )
    print("| | seconds | rows/s | × one by one | × load | × bare read | CPU µs a row | MB: " + ", ".join(KINDS) + " |")
    print("|---" * 8 + "|")
    for each in chosen.stream:
        preset, _, protocol = each.partition("=")
        for source in chosen.source:
            with ExitStack() as stack:
                place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-verify-")))
                address = stack.enter_context(kafka()).address if source == "kafka" else "127.0.0.1:9092"
                stream = written(preset, protocol, source, chosen.rows, place, address)
                name = f"{Path(preset).stem} {protocol} {source}, {stream.rows:,} rows"
                measured(stream, name, protocol, chosen.asked, chosen.master)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(str(error)) from error
