"""Whether a run on the cluster takes as long as the costs of `costs.py` predict.

    PYTHONPATH=tests:tests/benchmarks python -m cluster.scale --core-seconds 28 [--rows 1000000] [--workers 1 --workers 2]

`diff` of so many rows, and of three times as many, to a Kafka of three brokers; what the first one takes, without what
its rows cost, is the start. Workers have one core each, and share those of the machine with Kafka and the driver.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import closing
from pathlib import Path

from costs import MORE, SPREAD, snapshots
from support.load_told import OPTIONS

from cluster.machines import BROKERS, Machines
from cluster.streams import call

LASTING = {"JDK_JAVA_OPTIONS": ""}
"""Executors compile as Java does by itself; those of the tests end too soon for that."""


def seconds(machines: Machines, home: Path, rows: int) -> float:
    """Return how long a diff of so many rows takes."""
    config = home / "changefeed.toml"
    config.write_text(SPREAD, "utf-8")
    topic = f"scale-{machines.workers}-{rows}"
    uri = f"kafka://{machines.brokers.address}/{topic}?{OPTIONS}&replication-factor={BROKERS}"
    sides = snapshots(home, rows)
    began = time.monotonic()
    call("diff", *sides, "--sink-uri", uri, "--config", config, "--master", machines.url)
    return time.monotonic() - began


def main() -> None:
    """Print a row of a table for each number of workers."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--core-seconds", type=float, required=True, help="of a million rows")
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--workers", type=int, action="append", help="may be given again (default: 1 and 2)")
    chosen = options.parse_args()
    print("| workers | seconds | predicted | off |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="ticdc-sim-scale-") as name:
        home = Path(name)
        for workers in chosen.workers or (1, 2):
            servers = home / f"of-{workers}"
            servers.mkdir()
            with closing(Machines(servers, workers, small_disks=False, environment=LASTING)) as machines:
                small = seconds(machines, home, chosen.rows)
                large = seconds(machines, home, MORE * chosen.rows)
            predicted = small + (MORE - 1) * chosen.rows / 1e6 * chosen.core_seconds / workers
            print(f"| {workers} | {large:.1f} | {predicted:.1f} | {large / predicted - 1:+.0%} |", flush=True)


if __name__ == "__main__":
    main()
