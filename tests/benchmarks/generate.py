"""How fast a stream's changes are made, without encoding: keys, both images and handles of a table, on one core.

python tests/benchmarks/generate.py [--columns 6] [--seconds 10] [--updates 2]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa

from simulator.releases import V8_5
from simulator.sources.generate.changes.stream import Stream
from simulator.sources.generate.changes.timetable import Segment
from simulator.sources.generate.model import KeyChanges, Model, TableModel, TableRows
from simulator.sources.generate.values.generators import TableGenerators
from simulator.sources.generate.values.reading import parse_columns
from simulator.sources.generate.values.table_values import TableValues, table_values
from simulator.tidb.model.table import Table
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.sql_engine.execute import execute, new_upstream

TYPES = ("INT", "VARCHAR(40)", "DECIMAL(12, 2)", "DATETIME", "VARCHAR(60)")
ROWS, WINDOW = 100_000, 65_536


def definition(columns: int) -> str:
    parts = [f"c{number} {TYPES[(number - 1) % len(TYPES)]}" for number in range(1, columns)]
    return f"CREATE TABLE t (id BIGINT PRIMARY KEY, {', '.join(parts)})"


def table(text: str) -> Table:
    upstream = new_upstream(V8_5)
    upstream = replace(upstream, session=replace(upstream.session, database="test"))
    for part in split_script(text):
        statement = parse_sql(part.text, upstream.session.sql_mode)
        assert statement is not None
        upstream = execute(statement, part.text, upstream, 0).upstream
    return next(iter(upstream.catalog.tables.values()))


def images(stream: Stream, values: TableValues, changes: KeyChanges) -> tuple[pa.Array, pa.Array, pa.Array]:
    def of(versions: np.ndarray) -> pa.Array:
        there = np.flatnonzero(versions >= 0)
        rows = TableRows(changes.key[there], versions[there], 0, stream, 0)
        gone = versions < 0
        return values.images(rows).take(pa.array(np.cumsum(~gone) - 1, mask=gone))

    before, after = of(changes.before), of(changes.after)
    return before, after, values.handles(TableRows(changes.key, changes.before, 0, stream, 0))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--columns", type=int, default=6)
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--updates", type=int, help="columns that an update touches; all by default")
    given = options.parse_args()
    created = table(definition(given.columns))
    model = Model(7, (TableModel("test", "t", ROWS),))
    wanted = TableGenerators(
        parse_columns({"c2": "name", "c5": "street_address"} if given.columns > 5 else {}), given.updates
    )
    (values,) = table_values([created], [wanted], model)
    stream = Stream(model, (Segment(0, 100_000.0, 100_000.0),))
    at = stream.fill_transactions + 1000
    step = WINDOW // 10
    images(stream, values, stream.window(at, at + step, [0]))
    count, bytes_, keys_only, began = 0, 0, 0.0, time.perf_counter()
    while time.perf_counter() - began < given.seconds:
        started = time.perf_counter()
        changes = stream.window(at, at + step, [0])
        keys_only += time.perf_counter() - started
        before, after, handles = images(stream, values, changes)
        count += len(changes.key)
        bytes_ += before.nbytes + after.nbytes
        at += step
    took = time.perf_counter() - began
    print(
        f"{given.columns} columns: {count / took:,.0f} changes/s, {bytes_ / took / 2**20:,.0f} MiB/s of images; "
        f"keys alone {count / keys_only:,.0f} changes/s"
    )


if __name__ == "__main__":
    main()
