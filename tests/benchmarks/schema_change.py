"""A diff whose table is altered on the way, beside the same diff of an unaltered table, both into a counting sink:
`python tests/benchmarks/schema_change.py [--rows N]`.

The second snapshot's column `customer` is longer and `amount` wider, and a key is new, so that every row is converted.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

from snapshots import CREATE_TABLE, make

from simulator import releases
from simulator.engines import on_spark
from simulator.engines.spark.session import session
from simulator.run import execute, outputs, plan, scenario
from simulator.run.steps.derivation import SchemaChangeOptions
from simulator.settings import PLACES
from simulator.ticdc.changefeed import load

URI = "kafka://127.0.0.1:9092/orders?protocol=open-protocol&partition-num=4"
BY_KEY = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'
ALTERED = (
    CREATE_TABLE.replace("varchar(40)", "varchar(60)")
    .replace("decimal(12,2)", "decimal(14,3)")
    .replace("  PRIMARY KEY", "  KEY `by_quantity` (`quantity`),\n  PRIMARY KEY")
)


def altered(after: Path, directory: Path) -> Path:
    """The same files under the other definition."""
    directory.mkdir()
    for file in after.iterdir():
        if file.name.endswith("orders-schema.sql"):
            (directory / file.name).write_text(ALTERED)
        else:
            (directory / file.name).symlink_to(file)
    return directory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    rows = parser.parse_args().rows
    changefeed, release = load(URI, BY_KEY), releases.V8_5
    with tempfile.TemporaryDirectory() as folder:
        made = make(Path(folder) / "orders", rows)
        other = altered(made.after, Path(folder) / "altered")
        spark = session("local[*]", 1 << 30)
        for what, after, place in (
            ("warm", made.after, "middle"),
            ("as it is", made.after, "middle"),
            *(("altered", other, place) for place in PLACES),
        ):
            script = scenario.diff(made.before, after, SchemaChangeOptions(at=place)).run_spec()
            planned = plan.plan(script, changefeed, release)
            began = time.monotonic()
            account = execute.run(
                partial(on_spark.run, spark), planned, outputs.to_nowhere(planned, changefeed), release, 0, 0.0, None
            )
            print(
                f"{what:10} {place:8} {time.monotonic() - began:6.1f} s, {sum(account.changes.values()):,} changes",
                flush=True,
            )


if __name__ == "__main__":
    main()
