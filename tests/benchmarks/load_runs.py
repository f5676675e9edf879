"""Runs of `ticdc-sim load`, watched from outside: what they sent, and what memory and CPU time their processes took."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOOK = 2.0
"""Seconds between two looks at the processes."""

SHORTEST = 4
"""Looks of which the first and the last but one are taken; in the last one processes may have ended."""

MINUTE = 60.0
SETTLING = 0.25
"""Of a run, before its rate is taken: processes start, and windows grow to their length."""

TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGESIZE")
KINDS = ("driver", "Java", "largest Python worker", "all")


@dataclass(frozen=True)
class Look:
    """At one moment."""

    second: float
    rss: dict[str, int]
    """Bytes, by KINDS."""

    cpu: float
    """Seconds so far, of the run's processes."""

    broker: float
    """And of Kafka."""


@dataclass(frozen=True)
class Loaded:
    """A run that has ended."""

    summary: dict[str, Any]
    looks: list[Look]

    @property
    def rows(self) -> float:
        """A second, once settled."""
        return self._settled("rows_per_second")

    @property
    def mib(self) -> float:
        """MiB a second, once settled."""
        return self._settled("bytes_per_second") / (1 << 20)

    @property
    def row_bytes(self) -> float:
        """Of keys and values."""
        return float(self.summary["bytes"] / self.summary["rows"])

    @property
    def busy(self) -> float:
        """Cores that its processes kept busy, once settled."""
        first, last = self._settled_looks()
        return (last.cpu - first.cpu) / (last.second - first.second)

    @property
    def broker_busy(self) -> float:
        """Cores that Kafka did."""
        first, last = self._settled_looks()
        return (last.broker - first.broker) / (last.second - first.second)

    def minute(self, last: bool) -> float:
        """Rows a second in the first or the last minute (or quarter, of a short run)."""
        series = self.summary["series"]
        seconds, rates = series["second"], series["rows_per_second"]
        length = min(MINUTE, max(seconds) / 4)
        return statistics.fmean(
            rate
            for second, rate in zip(seconds[1:-1], rates[1:-1])
            if (second >= max(seconds) - length if last else second <= length)
        )

    def memory(self, kind: str, last: bool) -> float:
        """MB, the median of the first minute in which all processes are there, or of the last."""
        whole = [look for look in self.looks if look.rss["largest Python worker"]] or self.looks
        length = min(MINUTE, (whole[-1].second - whole[0].second) / 4)
        chosen = [
            look.rss[kind]
            for look in whole
            if (look.second >= whole[-1].second - length if last else look.second <= whole[0].second + length)
        ]
        return statistics.median(chosen) / 1e6

    def _settled_looks(self) -> tuple[Look, Look]:
        whole = [look for look in self.looks if look.rss["largest Python worker"]]
        if len(whole) < SHORTEST:
            whole = self.looks
        return whole[int(SETTLING * len(whole))], whole[-2]

    def _settled(self, name: str) -> float:
        values = self.summary["series"][name][:-1]
        return statistics.fmean(values[round(SETTLING * len(values)) :])


def run(
    plan: str | Path,
    uri: str,
    seconds: float,
    master: str = "local[2]",
    broker: int | None = None,
    counting: bool = False,
    more: Sequence[str] = (),
) -> Loaded:
    """A run of so many seconds with the plan's file, or a preset of that name; `broker` is the pid of a Kafka whose CPU
    time is told, too."""
    with tempfile.TemporaryDirectory(prefix="bench-load-") as name:
        here = Path(name)
        command = (
            [str(Path(sys.executable).with_name("ticdc-sim"))]
            if not counting
            else [sys.executable, str(Path(__file__).with_name("load_into.py"))]
        )
        command += ["load", *([str(plan)] if isinstance(plan, Path) else ["--preset", plan])]
        command += ["--sink-uri", uri, "--rate", "max", "--duration", f"{seconds:.0f}s", "--master", master]
        command += ["--checkpoint", str(here / "checkpoint"), "--summary", str(here / "summary.json"), *more]
        with open(here / "said", "w", encoding="utf-8") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL)
            looks = watched(process, broker)
        if process.returncode != 0:
            told = (here / "said").read_text("utf-8")
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{told}")
        summary = json.loads((here / "summary.json").read_text("utf-8"))
    return Loaded(summary, looks)


def watched(process: subprocess.Popen[bytes], broker: int | None) -> list[Look]:
    """Looks at a process and those below it, until it ends."""
    began, looks = time.monotonic(), []
    while process.poll() is None:
        found = list(family(process.pid))
        cpu = sum(map(cpu_seconds, found))
        of_broker = cpu_seconds(broker) if broker else 0.0
        looks.append(Look(time.monotonic() - began, _memory(process.pid, found), cpu, of_broker))
        time.sleep(LOOK)
    return looks


def cpu_seconds(pid: int, ended: bool = False) -> float:
    """That a process has used, with `ended` also those below it that have ended; 0 for one that has itself."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11 : 15 if ended else 13])) / TICKS


def family(pid: int) -> Iterator[int]:
    """The process and all below it, as far as they have not ended."""
    yield pid
    children: list[str] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            children += task.read_text().split()
    for child in children:
        yield from family(int(child))


def rss(pid: int) -> int | None:
    """Bytes of memory; None of a process that has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return None


def role(pid: int, driver: int) -> str:
    """What a process of a run is: driver, Java, or Python worker."""
    if pid == driver:
        return "driver"
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        name = ""
    return "Java" if name == "java" else "Python worker"


def _memory(driver: int, found: Sequence[int]) -> dict[str, int]:
    sizes = dict.fromkeys(KINDS, 0)
    for pid in found:
        if (size := rss(pid)) is not None:
            kind = {"Python worker": "largest Python worker"}.get(told := role(pid, driver), told)
            sizes[kind] = max(sizes[kind], size)
            sizes["all"] += size
    return sizes
