"""The pipeline beside the bare Spark diff of the same snapshots, in one run: ratios, and peak memory.

    python tests/benchmarks/pipeline.py [--rows 2000000] [--changed 50] [--kafka] [--protocol open-protocol canal-json]
        [--format parquet sql csv] [--altered start middle end] [--unique quantity customer] [--repeat 3]
        [--dispatcher index-value] [--cold]

1.0 is a full outer join of the typed columns by primary key, filtered to what differs, written to Spark's `noop`. On a
machine with other work look at CPU seconds, of this process and all below it, Kafka's not among them. `--altered` adds
a diff whose table is altered then: a longer and a wider column and a new key, so that every row is converted. `--unique`
adds one whose table has a second unique key, of a column that changes with each changed row (`quantity`), or of one that
does not (`customer`).
"""

from __future__ import annotations

import itertools
import os
import re
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial, reduce
from pathlib import Path
from statistics import median

from measuring import PARTITIONS, SPREAD, beside, cpu_seconds, family, in_turn, kafka, options, planned, role, sent
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from snapshots import CREATE_TABLE, make

from simulator.engines import on_spark
from simulator.engines.spark.session import session
from simulator.run import outputs
from simulator.run.steps.derivation import SchemaChangeOptions
from simulator.settings import PLACES
from simulator.ticdc.changefeed import load

PROTOCOLS = ("open-protocol", "canal-json")
BARE = "bare diff to noop"
ALTERED = (
    CREATE_TABLE.replace("varchar(40)", "varchar(60)")
    .replace("decimal(12,2)", "decimal(14,3)")
    .replace("  PRIMARY KEY", "  KEY `by_quantity` (`quantity`),\n  PRIMARY KEY")
)
UNIQUE = CREATE_TABLE.replace("  PRIMARY KEY", "  UNIQUE KEY `second` (`{}`, `id`),\n  PRIMARY KEY")
RAW = "[sink.kafka-config]\noutput-raw-change-event = true\n"
"""An UPDATE of a unique key stays one event: the release makes a DELETE and an INSERT of it, twice the events."""

topics = (f"bench-{os.getpid()}-{number}" for number in itertools.count())


def bare(spark: SparkSession, before: Path, after: Path) -> None:
    """What Spark alone needs to find the changes."""
    old, new = (spark.read.parquet(f"{path}/*.parquet").alias(name) for path, name in ((before, "old"), (after, "new")))
    key, *rest = old.columns
    differs = (~F.col(f"old.{name}").eqNullSafe(F.col(f"new.{name}")) for name in rest)
    changed: DataFrame = old.join(new, F.col(f"old.{key}") == F.col(f"new.{key}"), "full_outer").where(
        reduce(lambda left, right: left | right, differs)
    )
    changed.write.format("noop").mode("overwrite").save()


def defined(statement: str, snapshot: Path, directory: Path) -> Path:
    """The same files under another definition."""
    directory.mkdir()
    for file in snapshot.iterdir():
        (directory / file.name).symlink_to(file)
    definition = directory / "bench.orders-schema.sql"
    definition.unlink()
    definition.write_text(statement)
    return directory


def whole(
    spark: SparkSession, sides: tuple[Path, Path], protocol: str, dispatcher: str, address: str = "", at: str = "middle"
) -> None:
    """The pipeline, into a counting sink where there is no Kafka."""
    sink = f"kafka://{address or '127.0.0.1:9092'}/{next(topics)}?protocol={protocol}&partition-num={PARTITIONS}"
    changefeed = load(sink, SPREAD.replace("index-value", dispatcher) + RAW)
    drawn = planned(*sides, changefeed, SchemaChangeOptions(at=at))
    output = (
        outputs.KafkaOutput(changefeed, drawn.topics).for_plan(drawn)
        if address
        else outputs.Output(changefeed).for_plan(drawn)
    )
    sent(partial(on_spark.run, spark), drawn, output)


def timed(run: Callable[[], object], broker: int) -> tuple[float, float]:
    """Seconds, and CPU seconds."""

    def used() -> float:
        return sum(cpu_seconds(pid, ended=True) for pid in family(os.getpid()) if pid != broker)

    began, before = time.perf_counter(), used()
    run()
    return time.perf_counter() - began, used() - before


def peak_mb(kind: str) -> int:
    """The most memory of any process of a role below this one."""
    sizes = [0]
    for pid in family(os.getpid()):
        if role(pid, os.getpid()) == kind:
            found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
            sizes += [int(found[1]) // 1024] if found else []
    return max(sizes)


def main() -> None:
    """Prints one line a measurement."""
    given = options(
        __doc__,
        {
            "protocol": PROTOCOLS,
            "format": ("parquet", "sql", "csv"),
            "altered": PLACES,
            "unique": ("quantity", "customer"),
        },
        rows=2_000_000,
        repeat=3,
        protocol=PROTOCOLS,
        changed=50,  # of a hundred rows
        format=("parquet",),
        altered=("",),
        unique=("",),
        dispatcher="index-value",
        kafka=False,
        cold=False,  # no run before those that are measured
        directory=Path,  # where the snapshots are kept for the next time
    )
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        directory = (given.directory or scratch) / f"{given.rows}-{given.changed}"
        made = {name: make(directory / name, given.rows, name, given.changed) for name in {"parquet", *given.format}}
        sides = {name: (states.before, states.after) for name, states in made.items()}
        spark = session("local[2]", input_bytes=sum(path.stat().st_size for path in directory.rglob("*.parquet")))
        stack.callback(spark.stop)
        broker = stack.enter_context(kafka()) if given.kafka else None
        runs: dict[str, Callable[[], object]] = {BARE: partial(bare, spark, *sides["parquet"])}
        for protocol in given.protocol:
            run = partial(whole, spark, protocol=protocol, dispatcher=given.dispatcher)
            for name in given.format:
                runs[f"{name}, {protocol} into a counting sink"] = partial(run, sides[name])
                if broker:
                    runs[f"{name}, {protocol} to Kafka"] = partial(run, sides[name], address=broker.address)
            for at in filter(None, given.altered):
                before, after = sides["parquet"]
                other = defined(ALTERED, after, scratch / f"{protocol}-{at}")
                runs[f"{protocol}, altered at {at}"] = partial(run, (before, other), at=at)
            for column in filter(None, given.unique):
                before, after = (
                    defined(UNIQUE.format(column), each, scratch / f"{protocol}-{column}-{each.name}")
                    for each in sides["parquet"]
                )
                runs[f"{protocol}, {column} unique"] = partial(run, (before, after))
        ways = {name: partial(timed, run, broker.pid if broker else 0) for name, run in runs.items()}
        found = in_turn(ways, given.repeat, warm=not given.cold)
        columns = {name: list(zip(*each, strict=True)) for name, each in found.items()}
        for name, (seconds, cpu) in columns.items():
            ratio, of_cpu = (beside(own, first) for own, first in zip((seconds, cpu), columns[BARE], strict=True))
            print(f"{name:40} {median(seconds):7.2f} s   {ratio:5.2f} x   CPU {median(cpu):7.2f} s   {of_cpu:5.2f} x")
        print(", ".join(f"{kind} peak {peak_mb(kind)} MB" for kind in ("Java", "Python worker")), f"rows {given.rows}")


if __name__ == "__main__":
    main()
