"""The command: `PYTHONPATH=tests:tests/benchmarks python -m cluster --help`."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from measuring import options

from cluster import results
from cluster.faults import FAULTS
from cluster.machines import Machines, no_mounts
from cluster.runs import Run
from cluster.streams import Read, Sent, compared, loaded

COMMANDS: Mapping[str, Callable[[Path, str], Sent | Read]] = {"diff": compared, "load": loaded, "verify": Read}


def main() -> int:
    """Play runs; the exit code is 1 if anything is wrong with one of them."""
    asked = options(
        __doc__,
        {"command": COMMANDS, "kill": FAULTS},
        seed=1,  # draws victims and moments
        runs=1,  # of each command and fault
        command=tuple(COMMANDS),
        kill=tuple(kind for kind in FAULTS if kind != "none"),
        workers=2,  # of the cluster, one core each
        minutes=1440.0,  # no run begins after these
        results=Path,  # a file of JSON lines; the runs that it has are not played again
    )
    kinds = list(asked.kill)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # all processes are ended on the way out
    home = Path(tempfile.mkdtemp(prefix="ticdc-sim-cluster-"))
    file: Path = asked.results or home / "results.jsonl"
    if "disk" in kinds and (why := no_mounts(home)):
        print(f"--kill disk needs a small file system: {why}", file=sys.stderr)
        kinds.remove("disk")
    played = Counter((each.kill, each.command, each.workers, each.seed) for each in results.read(file))

    def missing() -> Iterator[tuple[str, str, int]]:
        for number in range(asked.runs):
            for kind in kinds:
                for command in asked.command:
                    if played[kind, command, asked.workers, asked.seed] <= number:
                        yield kind, command, number

    until = time.monotonic() + 60 * asked.minutes
    if runs := list(missing()):
        play(runs, home, asked.workers, asked.seed, file, until)
    outcomes = results.read(file)
    for line in results.table(outcomes):
        print(line)
    wrong = [each for each in outcomes if each.wrong]
    if not wrong and asked.results:
        shutil.rmtree(home)
    return int(bool(wrong))


def play(runs: Sequence[tuple[str, str, int]], home: Path, workers: int, seed: int, file: Path, until: float) -> None:
    """Play runs (fault, command, number) on one cluster, and keep their outcomes."""
    small_disks = any(kind == "disk" for kind, *_ in runs)
    with closing(Machines(home, workers, small_disks)) as machines:
        print(f"{workers} workers at {machines.url}, Kafka at {machines.brokers.address}, files in {home}", flush=True)
        streams: dict[str, Sent | Read] = {
            name: COMMANDS[name](home, machines.brokers.address) for name in {command for _, command, _ in runs}
        }
        for kind, command, number in runs:
            if time.monotonic() > until:
                break
            random = Random(f"{seed} {kind} {command} {workers} {number}")
            run = Run(machines, streams[command], f"{command}-{kind}-{number}", number, random)
            outcome = run.play(kind)
            outcome.command, outcome.kill, outcome.workers = command, kind, workers
            outcome.seed, outcome.number = seed, number
            results.keep(file, outcome)
            told = f"{command} {number}: {outcome.what} at {outcome.at} s, {outcome.recovered} s to recover"
            print(
                f"{told}, {outcome.seconds} s, {outcome.counts}{outcome.wrong and f': WRONG: {outcome.wrong}'}",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
