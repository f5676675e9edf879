"""The pipeline beside the bare Spark diff of the same snapshots, in one run: ratios, peak memory, growth.

    python tests/benchmarks/pipeline.py [--rows 2000000] [--changed 50] [--kafka] [--protocol open-protocol|canal-json]
        [--format parquet|sql|csv] [--repeat 3] [--dispatcher index-value] [--cold]

1.0 is a full outer join of the typed columns by primary key, filtered to what differs, written to Spark's `noop`. On a
machine with other work look at CPU seconds, of this process and all below it, Kafka's not among them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial, reduce
from itertools import product
from pathlib import Path

from load_runs import cpu_seconds, family
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from snapshots import make

from simulator import releases
from simulator.broker import server as broker
from simulator.broker.processes import free_port
from simulator.engines import on_spark
from simulator.engines.spark.session import session
from simulator.run import execute, outputs, plan, scenario
from simulator.run.outputs import Output
from simulator.run.plan import Plan
from simulator.ticdc.changefeed import load

PROTOCOLS = ("open-protocol", "canal-json")
FORMATS = ("parquet", "sql", "csv")


def bare(spark: SparkSession, before: Path, after: Path) -> None:
    """What Spark alone needs to find the changes."""
    old, new = (spark.read.parquet(f"{path}/*.parquet").alias(name) for path, name in ((before, "old"), (after, "new")))
    key, *rest = old.columns
    differs = (~F.col(f"old.{name}").eqNullSafe(F.col(f"new.{name}")) for name in rest)
    changed: DataFrame = old.join(new, F.col(f"old.{key}") == F.col(f"new.{key}"), "full_outer").where(
        reduce(lambda left, right: left | right, differs)
    )
    changed.write.format("noop").mode("overwrite").save()


def whole(spark: SparkSession, planned: Plan, output: Output) -> int:
    """The pipeline; how many rows it sent."""
    account = execute.run(partial(on_spark.run, spark), planned, output, releases.V8_5, 0, 0.0, None)
    assert not any(partition.error for partition in account.delivered), account.delivered
    return sum(account.changes.values())


def timed(run: Callable[[], object], broker: int | None) -> tuple[float, float]:
    """Seconds, and CPU seconds."""
    began, used = time.perf_counter(), _cpu(broker)
    run()
    return time.perf_counter() - began, _cpu(broker) - used


def _cpu(broker: int | None) -> float:
    return sum(cpu_seconds(pid, ended=True) for pid in family(os.getpid()) if pid != broker)


def peak_mb() -> dict[str, int]:
    """Peak resident memory in MB of Java and of the largest Python worker, both below this process."""
    found = {"java": 0, "python worker": 0}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            command = (status.parent / "cmdline").read_bytes()
        except (OSError, ProcessLookupError):
            continue
        kind = "java" if b"SparkSubmit" in command else "python worker" if b"spark.daemon" in command else None
        if kind and "VmHWM" in fields:
            found[kind] = max(found[kind], int(fields["VmHWM"].split()[0]) // 1024)
    return found


def main() -> None:
    """Prints one line a measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--protocol", choices=PROTOCOLS, action="append")
    parser.add_argument("--changed", type=int, default=50, help="of a hundred rows")
    parser.add_argument("--format", choices=FORMATS, action="append", help="of the snapshots that the pipeline reads")
    parser.add_argument("--dispatcher", default="index-value")
    parser.add_argument("--kafka", action="store_true")
    parser.add_argument("--cold", action="store_true", help="no run before those that are measured")
    parser.add_argument("--directory", type=Path, help="where the snapshots are kept for the next time")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = (arguments.directory or Path(scratch)) / f"{arguments.rows}-{arguments.changed}"
        formats = arguments.format or ["parquet"]
        states = {
            name: make(directory / name, arguments.rows, name, arguments.changed) for name in {"parquet", *formats}
        }
        made = states["parquet"]
        spark = session("local[2]", input_bytes=sum(path.stat().st_size for path in directory.rglob("*.parquet")))
        runs: dict[str, Callable[[], object]] = {"bare diff to noop": lambda: bare(spark, made.before, made.after)}
        address = broker.start(free_port(), Path(scratch) / "kafka") if arguments.kafka else "127.0.0.1:9092"
        for protocol, name in product(arguments.protocol or PROTOCOLS, formats):
            runs |= {
                f"{name}, {what}": run
                for what, run in measured(
                    spark,
                    states[name].before,
                    states[name].after,
                    protocol,
                    arguments.dispatcher,
                    address,
                    arguments.kafka,
                ).items()
            }
        for run in () if arguments.cold else runs.values():
            run()
        served = broker.status(Path(scratch) / "kafka") if arguments.kafka else None
        kafka = served.pid if served is not None else None
        rounds = [{name: timed(run, kafka) for name, run in runs.items()} for _ in range(arguments.repeat)]
        for name in runs:
            seconds, cpu = (statistics.median(timings[name][place] for timings in rounds) for place in (0, 1))
            ratio, of_cpu = (
                statistics.median(timings[name][place] / timings["bare diff to noop"][place] for timings in rounds)
                for place in (0, 1)
            )
            print(f"{name:40} {seconds:7.2f} s   {ratio:5.2f} x   CPU {cpu:7.2f} s   {of_cpu:5.2f} x", flush=True)
        print(", ".join(f"{kind} peak {size} MB" for kind, size in peak_mb().items()), f"rows {arguments.rows}")
        if arguments.kafka:
            broker.stop(Path(scratch) / "kafka")
        spark.stop()


def measured(
    spark: SparkSession, before: Path, after: Path, protocol: str, dispatcher: str, address: str, kafka: bool
) -> dict[str, Callable[[], object]]:
    """The pipeline of a protocol into a counting sink, and into Kafka."""
    config = f'[sink]\ndispatchers = [{{matcher = ["*.*"], partition = "{dispatcher}"}}]'
    counter = iter(range(1000))

    def prepared(uri: str) -> Plan:
        script = scenario.diff(before, after).run_spec()
        return plan.plan(script, load(uri, config), releases.V8_5)

    def counting() -> int:
        uri = f"kafka://{address}/bench?protocol={protocol}&partition-num=4"
        planned = prepared(uri)
        return whole(spark, planned, outputs.to_nowhere(planned, load(uri, config)))

    def to_kafka() -> int:
        uri = f"kafka://{address}/{protocol}-{os.getpid()}-{next(counter)}?protocol={protocol}&partition-num=4"
        planned = prepared(uri)
        return whole(spark, planned, outputs.to_kafka(planned, load(uri, config)))

    runs: dict[str, Callable[[], object]] = {f"{protocol} into a counting sink": counting}
    return runs | ({f"{protocol} to Kafka": to_kafka} if kafka else {})


if __name__ == "__main__":
    main()
