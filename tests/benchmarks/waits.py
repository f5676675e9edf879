"""What waiting for Kafka costs a small diff: at statements, whose rows two tasks send, and at watermarks of a checkpoint.

python tests/benchmarks/waits.py [--statements 0 1 10 100] [--watermarks 60 600] [--rows 100000] [--repeat 3]
"""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

from measuring import SPREAD, in_turn, kafka, options, planned, sent, small_snapshot, uri

from simulator import releases
from simulator.engines import in_process, on_spark
from simulator.engines.spark.session import session
from simulator.engines.work import Engine
from simulator.run import checkpoint, outputs
from simulator.run.steps.derivation import SchemaChangeOptions
from simulator.settings import Settings
from simulator.ticdc.changefeed import load

FEW = 1000
"""Rows beside statements."""

topics = (f"bench-{os.getpid()}-{number}" for number in itertools.count())


def with_statements(engine: Engine, home: Path, count: int, address: str) -> float:
    """Seconds from the plan to the last acknowledgement."""
    topic = next(topics)
    before = small_snapshot(home / topic / "before", 0, "0")
    after = small_snapshot(home / topic / "after", FEW, str(count))
    file = home / topic / "statements.sql"
    file.write_text("".join(f"ALTER TABLE bench.t COMMENT '{number + 1}';\n" for number in range(count)))
    changefeed = load(uri(address, topic, "open-protocol", 2), SPREAD)
    drawn = planned(before, after, changefeed, SchemaChangeOptions(file if count else None))
    assert len(drawn.statements) == count
    output = outputs.KafkaOutput(changefeed, drawn.topics).for_plan(drawn)
    began = time.perf_counter()
    sent(engine, drawn, output)
    return time.perf_counter() - began


def with_watermarks(
    engine: Engine, sides: tuple[Path, Path], count: int, address: str, directory: Path | None
) -> float:
    """The same, with a checkpoint where there is a directory for it."""
    changefeed = load(uri(address, next(topics), partitions=2), SPREAD)
    drawn = planned(*sides, changefeed, settings=Settings(over_ms=1000 * count))
    output = outputs.KafkaOutput(changefeed, drawn.topics).for_plan(drawn)
    began = time.perf_counter()
    writer = None
    if directory is not None:
        run = checkpoint.identity(drawn, 0, releases.V8_5, changefeed, output.destinations)
        writer = checkpoint.CheckpointWriter.open(directory, run, drawn, False)
    sent(engine, drawn, output, writer)
    if writer is not None:
        writer.file.end()
        writer.file.close()
    return time.perf_counter() - began


def main() -> None:
    """Prints a line for each number of statements, and of watermarks by engine."""
    given = options(__doc__, statements=(0, 1, 10, 100), watermarks=(60, 600), rows=100_000, repeat=3)
    spark = session("local[2]")
    engines: dict[str, Engine] = {"in process": in_process.run, "Spark": partial(on_spark.run, spark)}
    with tempfile.TemporaryDirectory() as scratch, kafka() as broker:
        home = Path(scratch)
        counts = {f"{count:4} statements": count for count in given.statements}
        ways = {
            name: partial(with_statements, engines["Spark"], home, count, broker.address)
            for name, count in counts.items()
        }
        for name, found in in_turn(ways, given.repeat).items():
            print(f"{name} {median(found):7.2f} s", flush=True)
        sides = small_snapshot(home / "before", 0), small_snapshot(home / "after", given.rows)
        for (name, engine), count in itertools.product(engines.items(), given.watermarks):
            places = {"without": None, "with": home / "stands"}
            pair = {
                each: partial(with_watermarks, engine, sides, count, broker.address, place)
                for each, place in places.items()
            }
            without, with_one = map(median, in_turn(pair, given.repeat, warm=0).values())
            print(
                f"{name:10} {count:5} watermarks: {without:6.2f} s, with a checkpoint {with_one:6.2f} s, "
                f"{(with_one - without) / count * 1000:5.1f} ms a watermark",
                flush=True,
            )
    spark.stop()


if __name__ == "__main__":
    main()
