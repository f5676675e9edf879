"""What a million rows cost, in seconds of one core, and how long a run takes by that.

    python tests/benchmarks/costs.py [--rows 1000000] [--path diff --path load …] [--check]

Each path is run twice on `local[2]`, with the rows and with three times as many: the difference is what rows cost, the
rest is what a start costs. `--check` runs the larger one on one core, too, and compares the seconds that both take with
those that the costs predict; Kafka shares the cores.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from measuring import COUNTING, KEPT, PROGRAM, SIX, SPREAD, cpu_seconds, kafka, options, ran, uri
from snapshots import make

from simulator.settings import IN_PROCESS

LOOK = 0.1
"""Seconds between two looks at the processes."""

MORE = 3
"""How many times as many rows the second run has."""

ROLES = ("Java", "Python worker", "driver", "Kafka")
LOADED_A_SECOND = 100_000


@dataclass(frozen=True)
class Run:
    rows: int
    seconds: float
    cpu: Mapping[str, float]
    """Seconds by ROLES."""


@dataclass(frozen=True)
class Place:
    """A directory, a Kafka, and the cores that both and `ticdc-sim` may use."""

    directory: Path
    address: str
    kafka: int
    """The process of Kafka."""

    cores: int = 2

    def uri(self, topic: str) -> str:
        return uri(self.address, topic)

    @property
    def config(self) -> tuple[str, str]:
        path = self.directory / "changefeed.toml"
        path.write_text(SPREAD, "utf-8")
        return "--config", str(path)

    def run(self, rows: int, program: tuple[str, ...], *arguments: str, master: str = "") -> Run:
        pinned = ["taskset", "-c", f"0-{self.cores - 1}"]
        subprocess.run([*pinned[:1], "-a", "-p", *pinned[1:], str(self.kafka)], check=True, capture_output=True)
        before = cpu_seconds(self.kafka)
        found = ran(*pinned, *program, *arguments, "--master", master or f"local[{self.cores}]", every=LOOK)
        cpu = {role: found.cpu(role) for role in ROLES}
        return Run(rows, found.seconds, cpu | {"Kafka": cpu_seconds(self.kafka) - before})


@cache
def snapshots(directory: Path, rows: int) -> tuple[str, str]:
    made = make(directory / f"snapshots-{rows}", rows)
    return str(made.before), str(made.after)


def diff(place: Place, rows: int, program: tuple[str, ...] = COUNTING) -> Run:
    sides = snapshots(place.directory, rows)
    return place.run(rows, program, "diff", *sides, "--sink-uri", place.uri(f"diff-{rows}"), *place.config)


def load(place: Place, rows: int, program: tuple[str, ...] = COUNTING) -> Run:
    """For as long as it takes at LOADED_A_SECOND, but as fast as it can."""
    summary = place.directory / "summary.json"
    went = ["--rate", "max", "--duration", f"{rows // LOADED_A_SECOND}s", "--summary", str(summary)]
    checkpoint = ["--checkpoint", tempfile.mkdtemp(dir=place.directory)]
    to = ["--sink-uri", place.uri(f"load-{rows}")]
    run = place.run(rows, program, "load", str(SIX), *to, *went, *checkpoint, *place.config)
    return replace(run, rows=json.loads(summary.read_text("utf-8"))["rows"])


@cache
def stream(place: Place, rows: int) -> tuple[str, str]:
    """Write a stream and its truth."""
    to, truth = place.directory / f"stream-{rows}", place.directory / f"truth-{rows}"
    how = ["--rate", str(LOADED_A_SECOND), "--duration", f"{rows // LOADED_A_SECOND}s", "--fixtures", str(to)]
    more = ["--fixtures-format", "parquet", "--truth", str(truth), "--truth-format", "parquet"]
    command = ["load", str(SIX), "--sink-uri", place.uri("written"), *how, *more, *place.config]
    place.run(rows, PROGRAM, *command, master=IN_PROCESS)
    return str(to), str(truth)


def verify(place: Place, rows: int) -> Run:
    source, truth = stream(replace(place, cores=2), rows)
    return place.run(rows, PROGRAM, "verify", source, "--truth", truth)


PATHS: Mapping[str, Callable[[Place, int], Run]] = {
    "diff": diff,
    "diff to Kafka": lambda place, rows: diff(place, rows, PROGRAM),
    "load": load,
    "load to Kafka": lambda place, rows: load(place, rows, PROGRAM),
    "verify --truth": verify,
}


def compare(path: Callable[[Place, int], Run], name: str, place: Place, rows: int, check: bool) -> None:
    """Print a row of the table."""
    small, large = path(place, rows), path(place, MORE * rows)
    millions = (large.rows - small.rows) / 1e6
    cost = {kind: (large.cpu[kind] - small.cpu[kind]) / millions for kind in ROLES}
    total = sum(cost.values())
    start = sum(small.cpu.values()) - total * small.rows / 1e6
    idle = small.seconds - total * small.rows / 1e6 / place.cores
    parts = " | ".join(f"{cost[kind]:.2f}" for kind in ROLES)
    print(f"| {name} | {parts} | {total:.2f} | {1e6 / total:,.0f} | {start:.1f} | {idle:.1f} |", flush=True)
    if check:
        for cores in (1, 2):
            run = path(replace(place, cores=cores), MORE * rows)
            expected = idle + run.rows / 1e6 * total / cores
            off = run.seconds / expected - 1
            print(f"  {cores} cores: {run.seconds:.1f} s, predicted {expected:.1f} s ({off:+.0%})", flush=True)


def main() -> None:
    chosen = options(__doc__, {"path": PATHS}, rows=1_000_000, path=tuple(PATHS), check=False)
    with tempfile.TemporaryDirectory(prefix="bench-costs-") as name, kafka(KEPT) as broker:
        place = Place(Path(name), broker.address, broker.pid)
        print("| core-seconds of a million rows | Java | Python | driver | Kafka | all | rows/s a core |", end="")
        print(" start, core-seconds | start, s |\n|---|---|---|---|---|---|---|---|---|")
        for path in chosen.path:
            compare(PATHS[path], path, place, chosen.rows, chosen.check)


if __name__ == "__main__":
    main()
