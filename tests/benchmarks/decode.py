"""Reading messages by columns on one core, beside reading them one by one: `python tests/benchmarks/decode.py`.

Messages of the rows of `encode.py`, in batches as `partitions` gives them; with `--tables N` of that many tables, one
row after another. What is timed is what a reader of a partition calls. The protocols take turns, so that a machine with
other work is equally busy for all; the ratio to the first is the median of the passes' ratios.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from statistics import median

import numpy as np
import pyarrow as pa
from encode import TABLES, RandomTable, batch
from measuring import beside, cpu, in_turn, options

from simulator.reader.decode import decode
from simulator.reader.decode.batches import StreamDecoder
from simulator.reader.events import RECORD_SCHEMA
from simulator.releases import V8_5
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.tidb.ddl.table_definitions import create_table


def messages(protocol: str, statement: str, made: RandomTable, operation: str, rows: int, tables: int) -> pa.Table:
    """Records of so many changes, one message each."""
    codec, asked = CODECS[protocol], CodecOptions(protocol, enable_tidb_extension=protocol == "canal-json")
    table = create_table(statement)
    parts = []
    for number in range(tables):
        changes = batch(replace(table, name=f"{table.name}{number}"), made, operation, rows // tables)
        whole = codec.frame(codec.encode(changes, asked, V8_5), np.arange(rows // tables), asked, V8_5)
        parts.append((whole.keys, whole.values))
    keys, values = (
        pa.chunked_array([side for side in sides if side is not None], pa.binary()).combine_chunks()
        for sides in zip(*parts)
    )
    order = pa.array(np.arange(len(values)).reshape(tables, -1).T.ravel())
    keys = keys.take(order) if len(keys) else pa.nulls(len(values), pa.binary())
    numbers = pa.array(np.arange(len(values)))
    return pa.Table.from_arrays([numbers, numbers, keys, values.take(order)], schema=RECORD_SCHEMA)


def by_columns(records: pa.Table, rows: int) -> float:
    """CPU seconds of reading them by columns, behind a first batch."""
    decoding = StreamDecoder()
    decoding.decoded(records.slice(0, 100).combine_chunks().to_batches()[0])
    return cpu(lambda: [decoding.decoded(batch) for batch in records.to_batches(max_chunksize=rows)])


def one_by_one(records: pa.Table, protocol: str) -> float:
    """Messages a CPU second with `decode`."""
    some = records.slice(0, 2000)
    pairs = list(zip(some["key"].to_pylist(), some["value"].to_pylist(), strict=True))
    return len(pairs) / cpu(lambda: [decode(key, value, protocol) for key, value in pairs])


if __name__ == "__main__":
    every = ("canal-json", "open-protocol", "debezium", "simple")
    chosen = options(__doc__, {"protocol": CODECS}, rows=65536, batch=1 << 15, tables=1, protocol=every)
    pa.set_cpu_count(1)
    print(f"{'protocol':14} {'columns':>7} {'':>7} {'rows/s':>10} {'× first':>8} {'one by one':>10} {'×':>6}")
    for (columns, (statement, made)), operation in product(TABLES.items(), ("INSERT", "UPDATE")):
        rows = chosen.rows // (columns // 6)
        records = {each: messages(each, statement, made, operation, rows, chosen.tables) for each in chosen.protocol}
        times = in_turn({name: partial(by_columns, each, chosen.batch) for name, each in records.items()}, 5, warm=0)
        for protocol, taken in times.items():
            fast, slow = rows / median(taken), one_by_one(records[protocol], protocol)
            print(
                f"{protocol:14} {columns:7} {operation:>7} {fast:10,.0f} {beside(times[chosen.protocol[0]], taken):8.2f} "
                f"{slow:10,.0f} {fast / slow:6.1f}"
            )
