"""What statements cost on Kafka: a small diff with so many of them, whose rows two tasks send.

python tests/benchmarks/barriers.py [--statements 0 1 10 100] [--repeat 3]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from simulator import releases
from simulator.broker import server as broker
from simulator.broker.processes import free_port
from simulator.engines import on_spark
from simulator.engines.spark.session import session
from simulator.run import execute, outputs, plan, scenario
from simulator.run.steps.derivation import SchemaChangeOptions
from simulator.ticdc.changefeed import load

ROWS = 1000


def snapshot(directory: Path, rows: int, comment: str) -> Path:
    """One table, and a comment that says how many statements made it."""
    directory.mkdir()
    (directory / "bench.t-schema.sql").write_text(f"CREATE TABLE t (id int primary key, n int) COMMENT '{comment}';\n")
    (directory / "bench.t.csv").write_text("".join(f"{number},{number}\n" for number in range(rows)))
    return directory


def seconds(spark: SparkSession, folder: Path, statements: int, address: str, topic: str) -> float:
    """From the plan to the last acknowledgement."""
    before, after = snapshot(folder / "before", 0, "0"), snapshot(folder / "after", ROWS, str(statements))
    texts = (f"ALTER TABLE bench.t COMMENT '{number + 1}';\n" for number in range(statements))
    (folder / "statements.sql").write_text("".join(texts))
    change = (
        SchemaChangeOptions(folder / "statements.sql", "middle", ())
        if statements
        else SchemaChangeOptions(None, "middle", ())
    )
    changefeed = load(
        f"kafka://{address}/{topic}?protocol=open-protocol&partition-num=2",
        '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]',
    )
    planned = plan.plan(scenario.diff(before, after, change).run_spec(), changefeed, releases.V8_5)
    output = outputs.to_kafka(planned, changefeed)
    began = time.perf_counter()
    account = execute.run(partial(on_spark.run, spark), planned, output, releases.V8_5, 0, 0.0, None)
    assert len(planned.statements) == statements and not any(partition.error for partition in account.delivered)
    return time.perf_counter() - began


def main() -> None:
    """Prints one line for each number of statements."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--statements", type=int, nargs="+", default=[0, 1, 10, 100])
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    spark = session("local[2]")
    with tempfile.TemporaryDirectory() as scratch:
        address = broker.start(free_port(), Path(scratch) / "kafka")
        try:
            for number in (0, *arguments.statements):
                found = []
                for pass_number in range(arguments.repeat):
                    folder = Path(scratch) / f"{number}-{pass_number}-{time.monotonic_ns()}"
                    folder.mkdir()
                    found.append(seconds(spark, folder, number, address, f"bench-{os.getpid()}-{folder.name}"))
                print(f"{number:4} statements {sorted(found)[len(found) // 2]:7.2f} s", flush=True)
        finally:
            broker.stop(Path(scratch) / "kafka")
    spark.stop()


if __name__ == "__main__":
    main()
