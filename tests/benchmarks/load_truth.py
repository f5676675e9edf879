"""The truth of a load: how long a snapshot of so many rows takes, and in how much memory.

    python tests/benchmarks/load_truth.py [--rows 10000000] [--format csv parquet] [--statements 2000]

And how long it takes a run to come to where another one stood behind so many statements.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

from simulator.load import truth
from simulator.load.epochs.epochs import PreparedLoad, prepare_load, schema_epochs
from simulator.load.plan.load_plan import STATEMENT_KINDS, DdlSchedule, LoadPlan
from simulator.releases import V8_5
from simulator.run import outputs
from simulator.run.outputs import Output
from simulator.sources.generate.changes.timetable import Segment
from simulator.sources.generate.model import Mix, Model, TableModel
from simulator.sources.generate.values.generators import TableGenerators
from simulator.ticdc.changefeed import load
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.truth.directory import FORMATS

DEFINITION = (
    "CREATE TABLE bench.t (id BIGINT PRIMARY KEY, name VARCHAR(40), price DECIMAL(10,2), quantity INT, "
    "created DATETIME, note VARCHAR(60))"
)
URI = "kafka://127.0.0.1:9/t?protocol=canal-json"
AN_HOUR = 3_600_000


def opened(rows: int, statements: tuple[DdlSchedule, ...] = ()) -> tuple[PreparedLoad, Output]:
    """A table with so many rows, whose changes come at 60 thousand a second."""
    table, changefeed = create_table(DEFINITION), load(URI)
    model = Model(7, (TableModel("bench", "t", rows, mix=Mix(20, 60, 20)),), present=True)
    plan = LoadPlan("bench", model, (DEFINITION,), (TableGenerators(),), build_catalog([table]), statements)
    found = prepare_load(plan, (Segment(0, 60_000, 60_000),), changefeed, V8_5)
    return found, outputs.to_nowhere(found.plan, changefeed)


def write(rows: int, format: str, directory: Path) -> None:
    """Prints a line; in a process of its own, so that its memory is that of this alone."""
    prepared, output = opened(rows)
    began, cpu = time.perf_counter(), time.process_time()
    written = truth.write(prepared, output, load(URI), AN_HOUR, directory / format, format)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    size = sum(path.stat().st_size for path in (directory / format).iterdir()) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{format:8} {sum(written.values()):>11,} rows {size:>7,.0f} MB {seconds:6.1f} s, {cpu:6.1f} s of a core, "
        f"{sum(written.values()) / seconds:>9,.0f} rows/s, {peak:5.0f} MiB at most"
    )


def fold(count: int) -> None:
    """Prints a line."""
    prepared, output = opened(1000, (DdlSchedule((30_000, 60_000), STATEMENT_KINDS, None, True),))
    began = time.perf_counter()
    found = next(schema_epochs(prepared, output, 45_000 * count))
    seconds = time.perf_counter() - began
    print(f"behind {found.number:,} statements after {seconds:.1f} s, {1000 * seconds / found.number:.2f} ms each")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--format", nargs="+", default=list(FORMATS), choices=FORMATS)
    parser.add_argument("--statements", type=int, default=2000)
    arguments = parser.parse_args()
    fold(arguments.statements)
    directory = Path(tempfile.mkdtemp(prefix="truth-"))
    try:
        for rows in arguments.rows:
            for format in arguments.format:
                process = get_context("spawn").Process(target=write, args=(rows, format, directory))
                process.start()
                process.join()
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
