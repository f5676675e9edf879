"""Reading messages by columns on one core, beside reading them one by one: `python tests/benchmarks/decode.py`.

Messages of the rows of `encode.py`, in batches as `partitions` gives them; with `--tables N` of that many tables, one
row after another. What is timed is what a reader of a partition calls. The protocols take turns, so that a machine with
other work is equally busy for all; the ratio to the first is the median of the passes' ratios.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping
from dataclasses import replace

import encode
import numpy as np
import pyarrow as pa

from simulator.consumer.decode import decode
from simulator.consumer.decode.batches import StreamDecoder
from simulator.consumer.frame import RECORD_SCHEMA
from simulator.releases import V8_5
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.tidb.ddl.definitions.from_sql import create_table

PASSES = 5


def messages(
    protocol: str, statement: str, made: encode.RandomTable, operation: str, rows: int, tables: int
) -> pa.Table:
    """Records of so many changes, one message each."""
    codec, options = CODECS[protocol], CodecOptions(protocol, enable_tidb_extension=protocol == "canal-json")
    table = create_table(statement)
    parts = []
    for number in range(tables):
        renamed = replace(table, name=f"{table.name}{number}")
        changes = encode.batch(renamed, made, operation, rows // tables)
        whole = codec.frame(codec.encode(changes, options, V8_5), np.arange(rows // tables), options, V8_5)
        parts.append((whole.keys, whole.values))
    keys, values = (
        pa.chunked_array([side for side in sides if side is not None], pa.binary()).combine_chunks()
        for sides in zip(*parts)
    )
    order = pa.array(np.arange(len(values)).reshape(tables, -1).T.ravel())
    keys = keys.take(order) if len(keys) else pa.nulls(len(values), pa.binary())
    numbers = pa.array(np.arange(len(values)))
    return pa.Table.from_arrays([numbers, numbers, keys, values.take(order)], schema=RECORD_SCHEMA)


def by_columns(records: Mapping[str, pa.Table], rows: int) -> dict[str, list[float]]:
    """CPU seconds of each pass by protocol; the protocols take turns."""
    times: dict[str, list[float]] = {protocol: [] for protocol in records}
    for _ in range(PASSES):
        for protocol, table in records.items():
            decoding = StreamDecoder()
            decoding.decoded(table.slice(0, 100).combine_chunks().to_batches()[0])
            start = time.process_time()
            for batch in table.to_batches(max_chunksize=rows):
                decoding.decoded(batch)
            times[protocol].append(time.process_time() - start)
    return times


def one_by_one(records: pa.Table, protocol: str) -> float:
    """The same with `decode`."""
    some = records.slice(0, 2000)
    pairs = list(zip(some["key"].to_pylist(), some["value"].to_pylist(), strict=True))
    start = time.process_time()
    for key, value in pairs:
        decode(key, value, protocol)
    return len(pairs) / (time.process_time() - start)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=65536, help="messages")
    parser.add_argument("--batch", type=int, default=1 << 15, help="messages in a batch")
    parser.add_argument("--tables", type=int, default=1)
    parser.add_argument("--protocol", choices=CODECS, action="append")
    chosen = parser.parse_args()
    pa.set_cpu_count(1)
    protocols = chosen.protocol or ("canal-json", "open-protocol", "debezium", "simple")
    print(f"{'protocol':14} {'columns':>7} {'':>7} {'rows/s':>10} {'× first':>8} {'one by one':>10} {'×':>6}")
    for columns, statement, made in ((6, encode.NARROW, encode.narrow_row), (62, encode.WIDE, encode.wide_row)):
        rows = chosen.rows // (columns // 6)
        for operation in ("INSERT", "UPDATE"):
            records = {each: messages(each, statement, made, operation, rows, chosen.tables) for each in protocols}
            times = by_columns(records, chosen.batch)
            for protocol, taken in times.items():
                fast, slow = rows / statistics.median(taken), one_by_one(records[protocol], protocol)
                ratios = (one / own for one, own in zip(times[protocols[0]], taken, strict=True))
                print(
                    f"{protocol:14} {columns:7} {operation:>7} {fast:10,.0f} {statistics.median(ratios):8.2f} {slow:10,.0f} "
                    f"{fast / slow:6.1f}"
                )
