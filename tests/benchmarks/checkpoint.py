"""What a checkpoint costs on Kafka: a diff with so many watermarks, in this process and on Spark, with and without one.

python tests/benchmarks/checkpoint.py [--watermarks 60 600] [--rows 100000] [--repeat 3]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from simulator import releases
from simulator.broker import server as broker
from simulator.broker.processes import free_port
from simulator.engines import in_process, on_spark
from simulator.engines.spark.session import session
from simulator.engines.work import Engine
from simulator.run import checkpoint, execute, outputs, plan, scenario
from simulator.run.steps.derivation import SchemaChangeOptions
from simulator.settings import Settings
from simulator.ticdc.changefeed import load


def snapshot(directory: Path, rows: int) -> Path:
    directory.mkdir()
    (directory / "bench.t-schema.sql").write_text("CREATE TABLE t (id int primary key, n int);\n")
    (directory / "bench.t.csv").write_text("".join(f"{number},{number}\n" for number in range(rows)))
    return directory


def seconds(engine: Engine, snapshots: Sequence[Path], watermarks: int, address: str, directory: Path | None) -> float:
    """From the plan to the last acknowledgement."""
    topic = f"bench-{os.getpid()}-{time.monotonic_ns()}"
    changefeed = load(
        f"kafka://{address}/{topic}?protocol=canal-json&enable-tidb-extension=true&partition-num=2",
        '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]',
    )
    before, after = snapshots
    script = scenario.diff(before, after, SchemaChangeOptions()).run_spec(Settings(over_ms=1000 * watermarks))
    planned = plan.plan(script, changefeed, releases.V8_5)
    output = outputs.to_kafka(planned, changefeed)
    began = time.perf_counter()
    checkpoint_writer = None
    if directory is not None:
        run = checkpoint.identity(planned, 0, releases.V8_5, changefeed, output.destinations)
        checkpoint_writer = checkpoint.CheckpointWriter.open(directory, run, planned, False)
    account = execute.run(engine, planned, output, releases.V8_5, 0, 0.0, None, checkpoint_writer)
    assert not any(partition.error for partition in account.delivered)
    if checkpoint_writer is not None:
        checkpoint_writer.file.end()
        checkpoint_writer.file.close()
    return time.perf_counter() - began


def main() -> None:
    """Prints one line for each engine and number of watermarks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--watermarks", type=int, nargs="+", default=[60, 600])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    spark = session("local[2]")
    engines: dict[str, Engine] = {"in process": in_process.run, "Spark": partial(on_spark.run, spark)}
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        snapshots = snapshot(home / "before", 0), snapshot(home / "after", arguments.rows)
        address = broker.start(free_port(), home / "kafka")
        try:
            for name, engine in engines.items():
                for watermarks in arguments.watermarks:
                    found: dict[Path | None, list[float]] = {None: [], home / "stands": []}
                    for _ in range(arguments.repeat):
                        for directory, times in found.items():
                            times.append(seconds(engine, snapshots, watermarks, address, directory))
                    without, with_one = (median(times) for times in found.values())
                    print(
                        f"{name:10} {watermarks:5} watermarks: {without:6.2f} s, with a checkpoint {with_one:6.2f} s, "
                        f"{(with_one - without) / watermarks * 1000:5.1f} ms a watermark",
                        flush=True,
                    )
        finally:
            broker.stop(home / "kafka")
    spark.stop()


if __name__ == "__main__":
    main()
