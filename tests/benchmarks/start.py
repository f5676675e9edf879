"""How long a diff takes from the shell, in process and on Spark, with and without an archive of Spark's classes.

    python tests/benchmarks/start.py
    python tests/benchmarks/start.py --rows 50000 200000 400000 --format csv

The first compares the shipped airports, the second generated snapshots of so many rows (`snapshots.py`). Wall seconds
end with the command; CPU seconds are those of all its processes, also of the Java that it leaves behind; memory is that
of the largest process. Cases take turns; medians are printed.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

from measuring import in_turn, options
from snapshots import make

ROOT = Path(__file__).parent.parent.parent
AIRPORTS = tuple(ROOT / "scenarios" / "data" / f"airports-{day}" for day in ("20250224", "20260905"))
URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol"
DIFF = [sys.executable, "-c", "from simulator.cli import main; main()", "diff"]

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER: a process whose parent has ended becomes a child of this one."""


def run(command: list[str], cache: str) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and megabytes of a command, in a process of its own that waits for all below it."""
    own = [sys.executable, __file__, "--one", *command]
    done = subprocess.run(own, env={**os.environ, "XDG_CACHE_HOME": cache}, stdout=subprocess.PIPE, check=True)
    wall, cpu, megabytes = map(float, done.stdout.split())
    return wall, cpu, megabytes


def one(command: list[str]) -> None:
    """Run the command and print its figures."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall = time.monotonic() - began
    try:
        while True:
            os.wait()
    except ChildProcessError:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3)


def compare(name: str, snapshots: tuple[Path, ...], rounds: int, cache: str) -> None:
    """Print the figures of two snapshots."""
    size = sum(file.stat().st_size for directory in snapshots for file in directory.iterdir())
    cases = {
        "in process": ("none", cache),
        "Spark, no archive": ("local[*]", os.devnull),
        "Spark, archive": ("local[*]", cache),
    }

    def diff(master: str, place: str) -> tuple[float, float, float]:
        with tempfile.TemporaryDirectory() as out:
            command = [*DIFF, *map(str, snapshots), "--sink-uri", URI, "--fixtures", f"{out}/f", "--master", master]
            return run(command, place)

    figures = in_turn({case: partial(diff, *how) for case, how in cases.items()}, rounds, warm=0)
    for case, found in figures.items():
        wall, cpu, megabytes = map(median, zip(*found, strict=True))
        print(
            f"{name}, {size / 1e6:,.1f} MB  {case:18} {wall:6.1f} s  CPU {cpu:6.1f} s  {megabytes:6,.0f} MB", flush=True
        )


def main() -> None:
    asked = options(__doc__, {"format": ("csv", "sql", "parquet")}, rows=(0,), format="csv", rounds=3)
    with tempfile.TemporaryDirectory() as directory:
        written = run(
            [*DIFF, *map(str, AIRPORTS), "--sink-uri", URI, "--fixtures", f"{directory}/f", "--master", "local[*]"],
            directory,
        )
        print(f"the run that writes the archive: {written[0]:.1f} s, CPU {written[1]:.1f} s, the archive's included")
        for rows in asked.rows:
            made = make(Path(directory) / str(rows), rows, asked.format) if rows else None
            sides = (made.before, made.after) if made else AIRPORTS
            compare(f"{rows:,} rows of {asked.format}" if made else "airports", sides, asked.rounds, directory)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2:])
    else:
        main()
