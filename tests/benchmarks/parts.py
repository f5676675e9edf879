"""Which parts of the code take the time of a path in one process: shares of cProfile's seconds.

    python tests/benchmarks/parts.py [--rows 200000] [--path diff --path verify]

What a library takes counts for the part that called it. A profile makes many small calls look more expensive than they
are; it is of `--master none`, so that what Spark takes is not in it (`costs.py` has that). `load` works in threads, which cProfile does not see: `load.py` has its parts.
"""

from __future__ import annotations

import pstats
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from costs import LOADED_A_SECOND
from measuring import COUNTING, SIX, SPREAD, options, uri
from snapshots import make

import simulator

ROOT = Path(simulator.__file__).parent
PARTS = {
    "sources/snapshots": "reading snapshots",
    "sources": "comparing",
    "engines/in_process.py": "comparing",
    "engines/stages.py": "filters, splits and partitions",
    "ticdc/filters": "filters, splits and partitions",
    "ticdc/dispatch": "filters, splits and partitions",
    "ticdc/split.py": "filters, splits and partitions",
    "ticdc/flush.py": "cutting flushes, order",
    "engines/tasks": "cutting flushes, order",
    "ticdc": "encoding",
    "columns": "row images and hashes",
    "sinks": "sending, without Kafka",
    "reader/decode": "decoding",
    "reader/contract": "the contract",
    "reader/replay": "replaying and comparing rows",
    "consumer": "the rest of verify",
    "cli": "starting",
}
"""By the beginning of a file's path, the first that fits."""

URI = uri("127.0.0.1:9092", "parts")

Function = tuple[str, int, str]


def part_of(function: Function) -> str | None:
    """Return the part that a function of the package is in; None for others."""
    file, _, name = function
    if not file.startswith(str(ROOT)):
        return None
    if name == "<module>":
        return "starting"
    path = Path(file).relative_to(ROOT).as_posix()
    return next((part for beginning, part in PARTS.items() if path.startswith(beginning)), "other")


def seconds_by_part(stats: Mapping[Function, Any]) -> Counter[str]:
    """Divide the own time of every function among the parts that called it, directly or through libraries."""

    @cache
    def shares(function: Function) -> Mapping[str, float]:
        part = part_of(function)
        if part is not None:
            return {part: 1.0}
        found: Counter[str] = Counter()
        callers = {caller: spent[3] for caller, spent in stats[function][4].items() if caller not in open_functions}
        if not sum(callers.values()):
            return {"starting": 1.0}
        open_functions.add(function)
        for caller, spent in callers.items():
            for name, share in shares(caller).items():
                found[name] += share * spent / sum(callers.values())
        open_functions.discard(function)
        return found

    open_functions: set[Function] = set()
    seconds: Counter[str] = Counter()
    for function, (_, _, own, _, _) in stats.items():
        for name, share in shares(function).items():
            seconds[name] += share * own
    return seconds


def diff(directory: Path, rows: int) -> list[str]:
    made = make(directory, rows)
    config = ["--config", str(directory / "changefeed.toml")]
    return ["diff", str(made.before), str(made.after), "--sink-uri", URI, *config, "--master", "none"]


def verify(directory: Path, rows: int) -> list[str]:
    to, truth = directory / "stream", directory / "truth"
    how = ["--rate", str(LOADED_A_SECOND), "--duration", f"{max(1, rows // LOADED_A_SECOND)}s"]
    where = ["--fixtures", str(to), "--fixtures-format", "parquet", "--truth", str(truth), "--master", "none"]
    write = [*COUNTING, "load", str(SIX), "--sink-uri", URI, *how, *where]
    subprocess.run([*write, "--config", str(directory / "changefeed.toml")], check=True, capture_output=True)
    return ["verify", str(to), "--truth", str(truth), "--master", "none"]


PATHS: Mapping[str, Callable[[Path, int], list[str]]] = {"diff": diff, "verify": verify}


def main() -> None:
    chosen = options(__doc__, {"path": PATHS}, rows=200_000, path=tuple(PATHS))
    for name in chosen.path:
        with tempfile.TemporaryDirectory(prefix="bench-parts-") as place:
            directory = Path(place)
            (directory / "changefeed.toml").write_text(SPREAD, "utf-8")
            arguments = PATHS[name](directory, chosen.rows)
            profile = ["-m", "cProfile", "-o", str(directory / "profile"), COUNTING[1]]
            subprocess.run([sys.executable, *profile, *arguments], check=True, capture_output=True)
            found = seconds_by_part(pstats.Stats(str(directory / "profile")).stats)  # type: ignore[attr-defined]
        found.pop("starting", None)
        print(f"{name}:", ", ".join(f"{part} {spent / found.total():.0%}" for part, spent in found.most_common()))


if __name__ == "__main__":
    main()
