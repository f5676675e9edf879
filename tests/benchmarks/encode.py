"""Encoding alone, on one core, against TiCDC's own Go encoders: `python tests/benchmarks/encode.py [--rows N] [--case NAME …]
[--release v4.0.9 new-v8.5.7 …]`.

Rates are per CPU second, median of the passes over 16,384 rows, key and value and framing counted; the figures of TiCDC
(classic v8.5.3, Go 1.23) were taken the same way on rows of the same kinds. What is timed is what the pipeline
calls, nothing less. The cases take turns, so that a machine with other work is equally busy for all; the ratio to the
first case is the median of the passes' ratios.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from measuring import beside, cpu, in_turn, options

from simulator.releases import V8_5, Release, find
from simulator.ticdc.codecs import CODECS, CodecOptions, RowChanges
from simulator.ticdc.codecs.row_changes import Messages
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Table

TICDC: dict[tuple[str, int, str], float] = {
    ("canal-json", 6, "INSERT"): 294_000,
    ("canal-json", 6, "UPDATE"): 222_000,
    ("canal-json", 62, "INSERT"): 42_000,
    ("canal-json", 62, "UPDATE"): 27_600,
    ("open-protocol", 6, "INSERT"): 186_000,
    ("open-protocol", 6, "UPDATE"): 104_000,
    ("open-protocol", 62, "INSERT"): 22_000,
    ("open-protocol", 62, "UPDATE"): 11_200,
}
"""Rows per CPU second of TiCDC's encoders."""

BOTH: dict[str, dict[str, Any]] = {
    "": {},
    "-updated-only": {"only_output_updated_columns": True},
    "-lz4": {"large_message_handle_compression": "lz4"},
    "-snappy": {"large_message_handle_compression": "snappy"},
}
CASES = {
    **{
        f"{name}{option}": CodecOptions(name, **given)
        for name in ("open-protocol", "canal-json")
        for option, given in BOTH.items()
    },
    "canal-json-compatible": CodecOptions("canal-json", content_compatible=True),
    "debezium": CodecOptions("debezium"),
    "debezium-bare": CodecOptions("debezium", debezium_disable_schema=True),
    "debezium-avro": CodecOptions("debezium-avro"),
    "simple": CodecOptions("simple"),
    "simple-avro": CodecOptions("simple", encoding_format="avro"),
    "simple-checksums": CodecOptions("simple", row_checksums=True),
    "avro": CodecOptions("avro", enable_tidb_extension=True),
    "csv": CodecOptions("csv", terminator="\r\n"),
}
"""Protocols with options, by the names of `--case`."""

NARROW = """CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, quantity INT, name VARCHAR(40), price DECIMAL(12,2),
    updated DATETIME, address VARCHAR(60))"""
KINDS = (
    *("INT",) * 14,
    *("INT UNSIGNED",) * 3,
    *("BIGINT",) * 5,
    *("TINYINT",) * 5,
    *("DECIMAL(10,2)",) * 10,
    *("DATETIME",) * 5,
    *("DATE",) * 3,
    *("VARCHAR(20)",) * 12,
    *("DOUBLE",) * 2,
    "ENUM('new','paid','sent')",
    "TEXT",
)
WIDE = "CREATE TABLE shop.wide (id BIGINT PRIMARY KEY, {})".format(
    ", ".join(f"c{place:02d} {kind}" for place, kind in enumerate(KINDS))
)


def text(kind: str, row: int, place: int, change: int) -> str:
    """A value of the kind, as TiDB text."""
    number = row * 31 + place * 7 + change
    texts = {
        "TINYINT": str(number % 100),
        "INT": str(number % 1_000_000),
        "BIGINT": str(10**9 + number),
        "DECIMAL": f"{number % 100_000}.{number % 90 + 10}",
        "DATETIME": f"2026-03-{number % 28 + 1:02d} 12:34:56",
        "DATE": f"2026-03-{number % 28 + 1:02d}",
        "VARCHAR": f"value {number % 10_000}",
        "DOUBLE": f"{number % 1000}.{number % 9 + 1}",
        "ENUM": ("new", "paid", "sent")[number % 3],
        "TEXT": f"a short text of row {row}",
    }
    return texts[kind.split("(")[0].split(" ")[0]]


def narrow_row(row: int, change: int) -> list[str]:
    """About 200 bytes."""
    return [
        str(10**12 + row),
        str(row % 1000 + change),
        f"customer {row} ".ljust(40, "n"),
        f"{row % 10_000}.99",
        f"2026-03-{row % 28 + 1:02d} 12:34:56",
        f"{row} Long Street, house {row % 90}, city ".ljust(60, "a"),
    ]


def wide_row(row: int, change: int) -> list[str]:
    """62 columns, about 600 bytes."""
    return [str(10**12 + row), *(text(kind, row, place, change) for place, kind in enumerate(KINDS))]


RandomTable = Callable[[int, int], list[str]]
"""Number of a row, number of a change → TiDB text of its columns."""


def images(made: RandomTable, rows: int, change: int) -> pa.Array:
    """Row images."""
    return pa.array([b"\xff".join(cell.encode() for cell in made(row, change)) for row in range(rows)], pa.binary())


def batch(table: Table, made: RandomTable, operation: str, rows: int) -> RowChanges:
    """Row changes as the pipeline hands them over."""
    nothing = pa.nulls(rows, pa.binary())
    before = nothing if operation == "INSERT" else images(made, rows, 0)
    after = nothing if operation == "DELETE" else images(made, rows, 1)
    places = np.arange(rows, dtype=np.int64)
    commit_ts = pa.array((1_700_000_000_000 + places // 20 << 18) + 1)
    return RowChanges(table, None, commit_ts, pa.array(10**12 + places), before, after)


TABLES: dict[int, tuple[str, RandomTable]] = {6: (NARROW, narrow_row), 62: (WIDE, wide_row)}
"""By the number of columns."""


def encode(changes: RowChanges, options: CodecOptions, release: Release) -> Messages:
    """What the pipeline calls: rows to framed messages."""
    codec, alone = CODECS[options.protocol], np.zeros(len(changes.after), np.int64)
    return codec.frame(codec.encode(changes, options, release), alone, options, release)


def main() -> None:
    """Prints a line per case, release, width and operation. By default the release is v8.5.3, or one that has the
    protocol; a case whose protocol a release lacks is left out."""
    given = options(__doc__, {"case": CASES}, rows=16384, case=tuple(CASES), passes=9, release=("",))
    pa.set_cpu_count(1)
    print(
        f"{'case':38} {'columns':>7} {'rows':>7} {'rows/s':>10} {'images/s':>10} {'bytes':>6} {'MB/s':>6} "
        f"{'× first':>8} {'× TiCDC':>8}"
    )
    for (columns, (statement, made)), operation in product(TABLES.items(), ("INSERT", "UPDATE")):
        changes = batch(create_table(statement), made, operation, given.rows)
        ways: dict[str, Callable[[], Messages]] = {}
        for case, name in product(given.case, given.release):
            protocol = CODECS[CASES[case].protocol].protocol
            default = V8_5 if protocol.exists(V8_5) else find("v26.3.4")
            new = "new" if name.startswith("new-") else "classic"
            release = find(name.removeprefix("new-"), new) if name else default
            if protocol.exists(release):
                ways[f"{case} {release.name} {release.architecture}"] = partial(encode, changes, CASES[case], release)
        times = in_turn({name: partial(cpu, way) for name, way in ways.items()}, given.passes)
        first = next(iter(times.values()))
        for name, taken in times.items():
            whole, rate = ways[name](), given.rows / median(taken)
            size = (whole.values.nbytes + (whole.keys.nbytes if whole.keys is not None else 0)) // given.rows
            ticdc = TICDC.get((name.removesuffix(" v8.5.3 classic"), columns, operation))
            print(
                f"{name:38} {columns:7} {operation:>7} {rate:10,.0f} {rate * (1 + (operation == 'UPDATE')):10,.0f} "
                f"{size:6} {rate * size / 1e6:6,.0f} {beside(first, taken):8.2f} "
                f"{f'{rate / ticdc:.1f}' if ticdc else '-':>8}"
            )


if __name__ == "__main__":
    main()
