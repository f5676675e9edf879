"""Two snapshots for measuring: one table of six columns, any number of rows, as Dumpling's files of one format.

    python tests/benchmarks/snapshots.py --rows 2000000 --directory DIRECTORY [--format parquet] [--changed 50]

A value is a function of row, column and state alone; files are made one by one, so 20 million rows need no more memory
than one file of 250,000. Shares of changes are those of the real airports.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from measuring import options

ROWS_PER_FILE = 250_000
ROWS_PER_STATEMENT = 6_000
INSERTED, DELETED, UPDATED = 24, 23, 450
"""Of every 1,000 keys, where 50 of a hundred rows differ."""

CREATE_TABLE = """\
/*!40014 SET FOREIGN_KEY_CHECKS=0*/;
/*!40101 SET NAMES binary*/;
CREATE TABLE `orders` (
  `id` bigint(20) NOT NULL,
  `quantity` int(11) NOT NULL,
  `customer` varchar(40) NOT NULL,
  `amount` decimal(12,2) NOT NULL,
  `changed` datetime NOT NULL,
  `note` varchar(60) DEFAULT NULL,
  PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
"""

METADATA = """\
Started dump at: 2026-01-01 00:00:00
SHOW MASTER STATUS:
\tLog: tidb-binlog
\tPos: 463267587686400000
\tGTID:

Finished dump at: 2026-01-01 00:00:00
"""

FIRST_ID = 4_000_000_000_000
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz  ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789", np.uint8)
POOL_LENGTH = 1 << 20
QUOTE_EVERY = 6_000
"""One quote mark in so many letters: 1.5 % of rows have something to escape, as the names of airports do."""

Numbers = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Snapshots:
    """Where they are, and what a comparison must find."""

    before: Path
    after: Path
    inserted: int
    deleted: int
    updated: int
    unchanged: int


def make(directory: Path, rows: int, format: str = "parquet", changed: int = 50) -> Snapshots:
    """Write `directory/before` and `directory/after`, each of nearly so many rows of about 155 bytes of text; about
    `changed` of a hundred rows differ. Files that exist are kept."""
    before, after = directory / "before", directory / "after"
    schema_and_metadata(before)
    schema_and_metadata(after)
    counts = np.zeros(4, np.int64)
    pool = letters()
    for chunk, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        keys = np.arange(start, min(start + ROWS_PER_FILE, rows), dtype=np.uint64)
        fate = fates(keys, changed)
        counts += np.bincount(fate, minlength=4)
        name = f"bench.orders.{chunk:09d}.{format}"
        for side, there, is_updated in ((before, fate != 0, np.False_), (after, fate != 1, fate == 2)):
            if not (side / name).exists():
                version = np.broadcast_to(is_updated, fate.shape)[there].astype(np.uint64)
                write(table(keys[there], version, pool), side / f".{name}")
                (side / f".{name}").rename(side / name)
    return Snapshots(before, after, *counts.tolist())


def write(rows: pa.Table, path: Path, name: str = "orders") -> None:
    """The rows of a table of that name in the format that the file's name says."""
    if path.suffix == ".parquet":
        pq.write_table(rows, path)
    elif path.suffix == ".csv":
        header = ",".join(f'"{name}"' for name in rows.column_names)
        path.write_text("".join(f"{line}\r\n" for line in (header, *lines(rows, '"', "\\N"))), newline="")
    else:
        found = lines(rows, "'", "NULL")
        statements = (found[start : start + ROWS_PER_STATEMENT] for start in range(0, len(found), ROWS_PER_STATEMENT))
        path.write_text(
            "".join(
                f"INSERT INTO `{name}` VALUES\n" + ",\n".join(f"({row})" for row in batch) + ";\n"
                for batch in statements
            )
        )


def lines(rows: pa.Table, quote: str, null: str) -> list[str]:
    """The values of each row between commas, all but numbers in quotes, with Dumpling's escapes."""
    columns = []
    for column in rows.combine_chunks().columns:
        number = pa.types.is_integer(column.type) or pa.types.is_decimal(column.type)
        kind = pa.timestamp("s") if pa.types.is_timestamp(column.type) else column.type
        cells = pc.cast(pc.cast(column, kind), pa.string())
        if not number:
            for mark in ("\\", '"'):
                cells = pc.replace_substring(cells, mark, "\\" + mark)
            cells = pc.binary_join_element_wise(quote, cells, quote, "")
        columns.append(pc.fill_null(cells, null))
    made: list[str] = pc.binary_join_element_wise(*columns, ",").to_pylist()
    return made


def fates(keys: Numbers, changed: int) -> npt.NDArray[np.intp]:
    """0 inserted, 1 deleted, 2 updated, 3 unchanged."""
    bounds = np.cumsum([INSERTED, DELETED, UPDATED]) * changed // 5
    return np.searchsorted(bounds, scatter(keys, 0) % np.uint64(10_000), side="right")


def table(keys: Numbers, state: Numbers, pool: npt.NDArray[np.uint8]) -> pa.Table:
    """Rows of these keys; `state` (0 or 1) is mixed into every column that an update changes."""
    mixed = keys * np.uint64(2) + state
    return pa.table(
        {
            "id": pa.array(keys * np.uint64(3) + np.uint64(FIRST_ID), pa.int64()),
            "quantity": pa.array((scatter(mixed, 1) >> np.uint64(33)).astype(np.int32)),
            "customer": text(scatter(keys, 2), 40, pool),
            "amount": decimals((scatter(mixed, 3) % np.uint64(10**11)).astype(np.int64)),
            "changed": pa.array(
                (scatter(mixed, 4) % np.uint64(7 * 10**8) + np.uint64(10**9)).astype("datetime64[s]"),
                pa.timestamp("us"),
            ),
            "note": pc.if_else(scatter(keys, 6) % np.uint64(50) == 0, None, text(scatter(mixed, 5), 60, pool)),
        }
    )


def scatter(numbers: Numbers, column: int) -> Numbers:
    """SplitMix64: every bit of the result depends on every bit of the number."""
    z = (numbers + np.uint64(column << 48)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def letters() -> npt.NDArray[np.uint8]:
    """The text that all strings are cut from."""
    places = np.arange(POOL_LENGTH + 64, dtype=np.uint64)
    pool = LETTERS[(scatter(places, 6) % np.uint64(len(LETTERS))).astype(np.intp)]
    pool[::QUOTE_EVERY] = ord('"')
    return pool


def text(random: Numbers, longest: int, pool: npt.NDArray[np.uint8]) -> pa.Array:
    """Strings of nine tenths of the longest length up to all of it."""
    start = (random % np.uint64(POOL_LENGTH)).astype(np.int64)
    length = longest - ((random >> np.uint64(32)) % np.uint64(longest // 10)).astype(np.int32)
    places = np.arange(longest)
    cut = pool[start[:, None] + places][places < length[:, None]]
    offsets = np.concatenate(([0], np.cumsum(length))).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(random), [None, pa.py_buffer(offsets), pa.py_buffer(cut)])


def decimals(cents: npt.NDArray[np.int64]) -> pa.Array:
    """As decimal(12,2); none is negative, so the upper half of each number is zero."""
    wide = np.zeros((len(cents), 2), np.int64)
    wide[:, 0] = cents
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(wide)])


def schema_and_metadata(directory: Path) -> None:
    """What an export has besides its data."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "bench-schema-create.sql").write_text("CREATE DATABASE `bench` DEFAULT CHARACTER SET utf8mb4;\n")
    (directory / "bench.orders-schema.sql").write_text(CREATE_TABLE)
    (directory / "metadata").write_text(METADATA)


if __name__ == "__main__":
    said = options(__doc__, rows=2_000_000, directory=Path("snapshots"), format="parquet", changed=50)
    print(*astuple(make(said.directory, said.rows, said.format, said.changed)))
