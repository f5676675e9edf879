"""Whether a run on the cluster takes as long as the costs of `costs.py` predict.

    PYTHONPATH=tests:tests/benchmarks python -m cluster.scale --core-seconds 28 [--rows 1000000] [--workers 1 2]

`diff` of so many rows, and of three times as many, to a Kafka of three brokers. The difference is predicted: the rows
take their core-seconds on the workers, which have one core each, and no less than those and Kafka's on the cores of the
machine, which all share.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing
from pathlib import Path

from costs import MORE, snapshots
from measuring import SPREAD, cpu_seconds, options
from support.cut_short import OPTIONS

from cluster.machines import BROKERS, Machines
from cluster.streams import call

LASTING = {"JDK_JAVA_OPTIONS": ""}
"""Executors compile as Java does by itself; those of the tests end too soon for that."""


def seconds(machines: Machines, home: Path, rows: int) -> tuple[float, float]:
    """Return how long a diff of so many rows takes, and the core-seconds of Kafka in it."""
    config = home / "changefeed.toml"
    config.write_text(SPREAD, "utf-8")
    topic = f"scale-{machines.workers}-{rows}"
    uri = f"kafka://{machines.brokers.address}/{topic}?{OPTIONS}&replication-factor={BROKERS}"
    sides = snapshots(home, rows)
    before, began = kafka_seconds(machines), time.monotonic()
    call("diff", *sides, "--sink-uri", uri, "--config", config, "--master", machines.url)
    return time.monotonic() - began, kafka_seconds(machines) - before


def kafka_seconds(machines: Machines) -> float:
    """Return the core-seconds that the brokers have used."""
    return sum(cpu_seconds(pid) for number in range(BROKERS) for pid in machines.brokers.members(number))


def main() -> None:
    """Print a row of a table for each number of workers."""
    # core-seconds are those of a million rows
    chosen = options(__doc__, core_seconds=0.0, rows=1_000_000, workers=(1, 2))
    print("| workers | core-seconds of Kafka | seconds | predicted | off |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="ticdc-sim-scale-") as name:
        home = Path(name)
        for workers in chosen.workers:
            servers = home / f"of-{workers}"
            servers.mkdir()
            with closing(Machines(servers, workers, small_disks=False, environment=LASTING)) as machines:
                small, kafka_small = seconds(machines, home, chosen.rows)
                large, kafka_large = seconds(machines, home, MORE * chosen.rows)
            rows, kafka = (MORE - 1) * chosen.rows / 1e6 * chosen.core_seconds, kafka_large - kafka_small
            predicted = small + max(rows / workers, (rows + kafka) / (os.cpu_count() or 1))
            print(
                f"| {workers} | {kafka:.1f} | {large:.1f} | {predicted:.1f} | {large / predicted - 1:+.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
