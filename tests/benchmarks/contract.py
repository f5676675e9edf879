"""Rows a second and core of the checks of the contract, on batches that are decoded already.

    python tests/benchmarks/contract.py

A table of 6 columns in one partition, watermarks after every 10,000 rows; rows in order, in transactions of 50 rows,
repeated after a restart, and among 100 and 1,000 tables. 1.0 is a hash of the rows' bytes and a comparison of their
commit-ts, nothing else.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import INSERT, ROW, WATERMARK, Ints
from simulator.columns.hashing import xxhash64
from simulator.consumer.contract.checks import PartitionChecks
from simulator.consumer.contract.stream_spec import StreamSpec, stream_spec_of
from simulator.consumer.frame import EVENT_SCHEMA, Layout
from simulator.ticdc.changefeed import load
from simulator.tidb.ddl.definitions.from_sql import create_table

URI = "kafka://127.0.0.1:9092/t?protocol=canal-json&partition-num=1&enable-tidb-extension=true"
COLUMNS = "(id BIGINT PRIMARY KEY, name VARCHAR(40), amount DECIMAL(12,2), at DATETIME, note VARCHAR(200), n INT)"
START = 1_735_689_600_000 << 18
BATCH, EVERY = 1 << 16, 10_000


def batches(rows: int, tables: int, together: int, repeats: bool) -> Iterator[pa.RecordBatch]:
    """Rows of INSERTs; with `repeats` every second stretch between two watermarks comes twice."""
    number = np.arange(rows)
    marks = number // EVERY
    if repeats:
        number = np.concatenate(
            [np.tile(part, 1 + at % 2) for at, part in enumerate(np.array_split(number, max(rows // EVERY, 1)))]
        )
        marks = number // EVERY
    for first in range(0, len(number), BATCH):
        yield batch(number[first : first + BATCH], marks[first : first + BATCH], first, tables, together)


def batch(number: Ints, marks: Ints, first: int, tables: int, together: int) -> pa.RecordBatch:
    rows = len(number)
    ts = START + (number // together + 1 + marks << 18)
    at = np.flatnonzero(np.diff(marks) > 0) + 1
    kind = np.insert(np.full(rows, ROW), at, WATERMARK)
    is_row = pa.array(kind == ROW)
    ids = pa.array(np.insert(number, at, 0)).cast(pa.string())
    rest = (b"a name of some sort", b"1234567.89", b"2025-01-01 00:00:00", b"a note that is somewhat longer", b"42")
    images = pc.binary_join_element_wise(ids.cast(pa.binary()), *rest, b"\xff")
    data = pc.if_else(is_row, images, None)
    count = len(kind)
    values = {
        "offset": first + np.arange(count),
        "number": np.zeros(count),
        "events": np.ones(count),
        "size": np.full(count, 400),
        "kind": kind,
        "commit_ts": np.insert(ts, at, ts[at] - 1),
        "exact": np.ones(count, np.bool_),
        "layout": np.where(kind == ROW, np.insert(number, at, 0) % tables, 0),
        "op": np.full(count, INSERT),
        "only_handle": np.zeros(count, np.bool_),
        "after": data,
    }
    return pa.RecordBatch.from_arrays(
        [
            pa.array(values[field.name]).cast(field.type) if field.name in values else pa.nulls(count, field.type)
            for field in EVENT_SCHEMA
        ],
        schema=EVENT_SCHEMA,
    )


def spec_of(tables: int, dispatcher: str) -> StreamSpec:
    changefeed = load(URI, f'[sink]\ndispatchers = [{{matcher = ["*.*"], partition = "{dispatcher}"}}]\n')
    found = [create_table(f"CREATE TABLE t{number} {COLUMNS}", "shop") for number in range(tables)]
    return stream_spec_of(changefeed, found, {"t": 1}, restarts=True)


def layouts(tables: int) -> list[Layout]:
    names = ("id", "name", "amount", "at", "note", "n")
    types = ("bigint", "varchar", "decimal", "datetime", "varchar", "int")
    return [Layout("shop", f"t{number}", names, types, (False,) * 6, ("id",)) for number in range(tables)]


def bare(found: list[pa.RecordBatch]) -> None:
    for each in found:
        xxhash64(each.column("after").fill_null(b""))
        np.diff(np.asarray(each.column("commit_ts"))).min()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    cases = {
        "in order": (1, 1, False, "table"),
        "transactions of 50": (1, 50, False, "table"),
        "by index-value": (1, 1, False, "index-value"),
        "100 tables": (100, 1, False, "table"),
        "1,000 tables": (1000, 1, False, "table"),
        "repeated": (1, 1, True, "table"),
        "repeated, by index-value": (1, 50, True, "index-value"),
    }
    for name, (tables, together, repeats, dispatcher) in cases.items():
        found = list(batches(rows, tables, together, repeats))
        count = sum(each.num_rows for each in found)
        start = time.process_time()
        bare(found)
        least = time.process_time() - start
        checks, known = PartitionChecks(("t", 0), spec_of(tables, dispatcher)), layouts(tables)
        start = time.process_time()
        for each in found:
            checks.take(each, known)
        took = time.process_time() - start
        summary = checks.end()
        print(
            f"{name:26} {count / took:12,.0f} rows/s  {took / least:5.1f} × bare  {dict(summary.found.counts)}"
            f" {summary.repeated} repeated"
        )


if __name__ == "__main__":
    main()
