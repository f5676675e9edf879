"""`ticdc-sim verify` on streams of `load`: rows a second and memory, beside `load` writing them and a bare read.

    python tests/benchmarks/verify.py [--rows 10000000] [--stream PRESET=PROTOCOL ...] [--source jsonl parquet kafka]
        [--master none 'local[2]'] [--asked alone truth snapshots against]

A line as soon as it is known. Asked is what `verify` gets beside the stream: nothing, `--truth`, `--before` and
`--after`, or `--truth` and a copy of it as what a consumer wrote down; for the latter `two snapshots` follow, of so
many rows and without a stream. Where `--master none` refuses a stream as too large, that is said.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from load import SPREAD
from load_runs import KINDS, Look, watched
from load_truth import AN_HOUR, URI, opened

from simulator.broker import server as broker
from simulator.broker.processes import free_port
from simulator.consumer.decode import decode
from simulator.consumer.partitions import partitions
from simulator.errors import UserError
from simulator.load import truth
from simulator.ticdc.changefeed import load

ROWS_A_SECOND = 100_000
"""Of simulated time; into Kafka of real time."""

SAMPLE = 20_000
"""Records that are decoded one by one."""

REFUSED = 2
PROGRAM = [str(Path(sys.executable).with_name("ticdc-sim"))]


@dataclass(frozen=True)
class Ran:
    """A process that has ended."""

    seconds: float
    looks: Sequence[Look]
    code: int
    said: str

    @property
    def cpu(self) -> float:
        """Seconds of all its processes, as far as they were seen."""
        return max(look.cpu for look in self.looks)

    @property
    def memory(self) -> str:
        """MB at most, by KINDS."""
        return ", ".join(f"{max(look.rss[kind] for look in self.looks) / 1e6:,.0f}" for kind in KINDS)


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


def ran(*command: str) -> Ran:
    """A run of `ticdc-sim`, watched."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([*PROGRAM, *command], stdout=said, stderr=said, stdin=subprocess.DEVNULL)
        looks = watched(process, None)
        seconds = time.monotonic() - began
        said.seek(0)
        return Ran(seconds, looks, process.returncode, said.read())


def written(preset: str, protocol: str, source: str, rows: int, place: Path, address: str) -> Stream:
    """A stream of about so many rows; a plan's file is taken, too."""
    more = "&enable-tidb-extension=true" if protocol == "canal-json" else ""
    uri = f"kafka://{address}/verify?protocol={protocol}&partition-num=4{more}"
    (place / "changefeed.toml").write_text(SPREAD, "utf-8")
    to = ["--checkpoint", str(place / "checkpoint")]
    if source != "kafka":
        to = ["--fixtures", str(place / "stream"), "--fixtures-format", source]
    plan = [preset] if preset.endswith(".toml") else ["--preset", preset]
    right = place / "truth"
    found = ran(
        "load",
        *plan,
        "--sink-uri",
        uri,
        "--config",
        str(place / "changefeed.toml"),
        *to,
        "--truth",
        str(right),
        "--rate",
        str(min(rows, ROWS_A_SECOND)),
        "--duration",
        f"{max(1, rows // ROWS_A_SECOND)}s",
        "--master",
        "none" if source == "parquet" else "local[2]",
    )
    if found.code:
        raise SystemExit(found.said)
    empty = place / "empty"
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


def cases(stream: Stream, copy: Path, asked: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """What is asked, and its options."""
    every = {
        "alone": [],
        "truth": ["--truth", str(stream.truth)],
        "snapshots": ["--before", str(stream.empty), "--after", str(stream.truth)],
        "against": ["--truth", str(stream.truth), "--against", str(copy)],
    }
    for name in asked:
        yield name, [stream.source, *every[name]]


def told(ran: Ran, rows: int, beside: Sequence[float]) -> str:
    """The cells of a line: seconds, rows a second, ratios to others, CPU and memory."""
    if ran.code == REFUSED:
        return "too large |" + " |" * (len(beside) + 2)
    if ran.code:
        raise SystemExit(ran.said)
    rate = rows / ran.seconds
    ratios = " | ".join(f"{rate / other:.2f}" for other in beside)
    return f"{ran.seconds:.1f} | {rate:,.0f} | {ratios} | {ran.cpu / rows * 1e6:.1f} | {ran.memory}"


def measured(
    preset: str,
    protocol: str,
    source: str,
    rows: int,
    asked: Sequence[str],
    masters: Sequence[str],
    place: Path,
    address: str,
) -> None:
    """Prints the lines of one stream."""
    stream = written(preset, protocol, source, rows, place, address)
    name = f"{Path(preset).stem} {protocol} {source}, {stream.rows:,} rows"
    bare, single = bare_read(stream), one_by_one(stream, protocol)
    beside = (single, stream.written, bare)
    print(f"| {name}: `decode`, one by one | | {single:,.0f} | 1.0 | | | | |", flush=True)
    print(f"| {name}: `load` writes it | | {stream.written:,.0f} | | 1.0 | | | |", flush=True)
    print(f"| {name}: bare read | | {bare:,.0f} | | | 1.0 | | |", flush=True)
    copy = place / "copy"
    shutil.copytree(stream.truth, copy)
    for what, options in cases(stream, copy, asked):
        for master in masters:
            found = ran("verify", *options, "--master", master)
            print(f"| {name}: {what}, {master} | {told(found, stream.rows, beside)} |", flush=True)


def two_snapshots(rows: int, masters: Sequence[str], place: Path) -> None:
    """Prints the lines of two equal snapshots of so many rows."""
    prepared, output = opened(rows)
    truth.write(prepared, output, load(URI), AN_HOUR, place / "csv", "csv")
    shutil.copytree(place / "csv", place / "copy")
    for master in masters:
        found = ran("verify", "--after", str(place / "csv"), "--against", str(place / "copy"), "--master", master)
        print(f"| two snapshots of {rows:,} rows, {master} | {told(found, rows, ())} |", flush=True)


def main() -> None:
    """Prints a table in Markdown."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument(
        "--stream", nargs="*", default=["bank=canal-json", "shop=open-protocol", "sysbench=canal-json"]
    )
    options.add_argument("--source", nargs="+", default=["jsonl", "parquet"], choices=["jsonl", "parquet", "kafka"])
    options.add_argument("--asked", nargs="+", default=["alone", "truth", "snapshots", "against"])
    options.add_argument("--master", nargs="+", default=["none", "local[2]"])
    chosen = options.parse_args()
    print("| | seconds | rows/s | × one by one | × load | × bare read | CPU µs a row | MB: " + ", ".join(KINDS) + " |")
    print("|---" * 8 + "|")
    for each in chosen.stream:
        preset, _, protocol = each.partition("=")
        for source in chosen.source:
            with tempfile.TemporaryDirectory(prefix="bench-verify-") as name:
                place = Path(name)
                address = broker.start(free_port(), place / "kafka") if source == "kafka" else "127.0.0.1:9092"
                try:
                    measured(preset, protocol, source, chosen.rows, chosen.asked, chosen.master, place, address)
                finally:
                    if source == "kafka":
                        broker.stop(place / "kafka")
    if "against" in chosen.asked:
        with tempfile.TemporaryDirectory(prefix="bench-verify-") as name:
            two_snapshots(chosen.rows, chosen.master, Path(name))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(str(error)) from error
