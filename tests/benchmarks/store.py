"""Encoding rows and writing them to files, as the tasks of a run do: bytes per second of all processes together.

    python tests/benchmarks/store.py [--rows 4000000] [--case csv] [--processes 2] [--directory DIR]

Each process encodes the same batch of 16,384 rows with new commit-ts again and again, and writes it to a storage sink
of its own. The files stay in the page cache; `dd` beside it says what the disk alone takes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from encode import CASES, NARROW, WIDE, RandomTable, batch, narrow_row, wide_row

from simulator.releases import V8_5
from simulator.sinks.records import Records
from simulator.sinks.storage.settings import StorageSettings
from simulator.sinks.storage.sink import StorageSink
from simulator.ticdc.changefeed import Storage
from simulator.ticdc.codecs import CODECS, TableInfo
from simulator.ticdc.storage import stored_table
from simulator.tidb.ddl.definitions.from_sql import create_table

ROWS = 16_384
TABLES: dict[int, tuple[str, RandomTable]] = {6: (NARROW, narrow_row), 62: (WIDE, wide_row)}
EXTENSIONS = {"csv": ".csv", "canal-json": ".json"}


def write(directory: Path, case: str, columns: int, rows: int, number: int) -> int:
    """Encode and write rows; return the bytes of their files."""
    pa.set_cpu_count(1)
    statement, made = TABLES[columns]
    table = create_table(statement)
    changes = batch(table, made, "INSERT", ROWS)
    storage = Storage((directory / str(number)).as_uri())
    table_files = stored_table(TableInfo(table, 1, 1, 1), None, storage, V8_5)
    sink = StorageSink(StorageSettings(storage, V8_5, EXTENSIONS[case], [table_files]), ["topic"])
    options = replace(CASES[case], terminator="\r\n")
    zeros, keys = pa.array(np.zeros(ROWS, np.int32)), pa.nulls(ROWS, pa.binary())
    for turn in range(-(-rows // ROWS)):
        commit_ts = pc.add(changes.commit_ts, turn * (ROWS << 18))
        values = CODECS[case].encode(replace(changes, commit_ts=commit_ts), options, V8_5).values
        sink.write(Records(zeros, zeros, keys, values, commit_ts, None, zeros))
    (report,) = sink.close()
    assert report.error is None, report.error
    return sum(path.stat().st_size for path in (directory / str(number)).rglob("CDC*" + EXTENSIONS[case]))


def main() -> None:
    """Prints a line per width."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000, help="rows of all processes, of 6 columns")
    parser.add_argument("--case", choices=EXTENSIONS, default="csv")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--directory", type=Path, help="where the files are written, and removed")
    arguments = parser.parse_args()
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        for columns in TABLES:
            directory = Path(tempfile.mkdtemp(dir=arguments.directory))
            rows = arguments.rows // arguments.processes // (1 if columns == 6 else 4)
            run = partial(write, directory, arguments.case, columns)
            pool.starmap(run, [(ROWS, -number) for number in range(1, arguments.processes + 1)])  # import everything
            began = time.perf_counter()
            size = sum(pool.starmap(run, [(rows, number) for number in range(arguments.processes)]))
            seconds = time.perf_counter() - began
            print(
                f"{arguments.case} {columns} columns: {size >> 20:,} MiB in {seconds:.1f} s, "
                f"{size / seconds / (1 << 20):,.0f} MiB/s"
            )
            shutil.rmtree(directory)


if __name__ == "__main__":
    main()
