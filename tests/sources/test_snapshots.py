"""A snapshot directory becomes one list of states, the same from every format, or one line that says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import dumps, playing

from simulator.errors import SnapshotError
from simulator.sources import snapshots
from simulator.ticdc.key_bytes import row_ids

PLACES = (
    "CREATE TABLE `a.b` (`id` bigint NOT NULL, `name` varchar(40), `raw` varbinary(20),"
    " `big` bigint unsigned, `twice` bigint GENERATED ALWAYS AS (`id` * 2) STORED,"
    " PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */)"
)
COLUMNS = ("id", "name", "raw", "big")
ROWS: list[list[dumps.Value]] = [
    [-1, "a\\N'\"\n\r,\0", b"\x00\xff\xfe'\"\\\n,", 2**64 - 1],
    [2, "\\N", b"\\N", None],
    [3, "", b"", 0],
    [4, None, None, 1],
    [5, "é😀\x1a", b"\x80", 2**63],
]


def rows_of(path: Path) -> list[tuple[int, bytes, bytes, int | None]]:
    """Table, handle, image and row id of each row, in order."""
    tables, rows = playing.rows_of(path)
    return sorted((row["table"], row["handle"], row["image"], row_id(tables[row["table"]], row)) for row in rows)


def row_id(physical: snapshots.PhysicalTable, row: dict[str, Any]) -> int | None:
    found = row_ids(physical.table, pa.array([row["handle"]], pa.binary()), row["table"])[0].as_py()
    return None if found is None else int(found)


def image(row: Sequence[dumps.Value]) -> bytes:
    texts = [value.decode("latin-1") if isinstance(value, bytes) else value for value in row]
    twice = int(str(row[0])) * 2
    return b"\xff".join(b"\xfe" if text is None else str(text).encode() for text in [*texts, twice])


@pytest.mark.parametrize("format", ["sql", "csv", "plain csv", "parquet"])
def test_every_format_gives_the_same_state(tmp_path: Path, format: str) -> None:
    r"""NULL, the empty string, `\N`, quotes, line ends and bytes survive; generated values are computed."""
    dumps.write_schema(tmp_path, "shop", "a.b", PLACES)
    if format == "sql":
        (tmp_path / dumps.file_name("shop", "a.b", ".000000000.sql")).write_bytes(dumps.sql("a.b", ROWS[:3], COLUMNS))
        (tmp_path / dumps.file_name("shop", "a.b", ".000000001.sql")).write_bytes(dumps.sql("a.b", ROWS[3:], COLUMNS))
    elif format == "csv":
        (tmp_path / dumps.file_name("shop", "a.b", ".000000000.csv")).write_bytes(dumps.csv(ROWS, COLUMNS))
    elif format == "plain csv":
        (tmp_path / dumps.file_name("shop", "a.b", ".csv")).write_bytes(dumps.csv(ROWS, COLUMNS, False, b"\n"))
    else:
        kinds = (pa.int64(), pa.string(), pa.binary(), pa.decimal128(20))
        columns = [list(values) for values in zip(*ROWS)]
        columns[3] = [None if value is None else Decimal(int(str(value))) for value in columns[3]]
        made = pa.table([pa.array(values, kind) for values, kind in zip(columns, kinds)], list(COLUMNS))
        pq.write_table(made, tmp_path / dumps.file_name("shop", "a.b", ".parquet"))
    handles = [int(str(row[0])) for row in ROWS]
    expected = [(0, (key + 2**63).to_bytes(8, "big"), image(row), key) for key, row in zip(handles, ROWS)]
    assert rows_of(tmp_path) == expected


def test_a_row_lies_in_its_partition(tmp_path: Path) -> None:
    """Each partition is a physical table of its own; NULL lies in the lowest range."""
    dumps.write_schema(
        tmp_path,
        "shop",
        "p",
        "CREATE TABLE `p` (`id` int, `d` date) PARTITION BY RANGE (TO_DAYS(`d`)) "
        "(PARTITION p0 VALUES LESS THAN (TO_DAYS('2000-01-01')), "
        "PARTITION p1 VALUES LESS THAN (MAXVALUE))",
    )
    (tmp_path / "shop.p.csv").write_text("id,d\n1,1999-12-31\n2,2000-01-01\n3,\n")
    statement = "CREATE TABLE `h` (`id` int PRIMARY KEY) PARTITION BY HASH (`id`) PARTITIONS 3"
    dumps.write_schema(tmp_path, "shop", "h", statement)
    (tmp_path / "shop.h.csv").write_text("-4\n3\n5\n")
    found = [(table, image.split(b"\xff")[0]) for table, _, image, _ in rows_of(tmp_path)]
    assert found == [(0, b"3"), (1, b"-4"), (2, b"5"), (3, b"1"), (3, b"3"), (4, b"2")]


@pytest.mark.parametrize(
    "line, words",
    [
        ("1,300,x", "column 'small', row id='1': value '300' of type tinyint: accepted is -128 to 127"),
        ("1,,x", "column 'small', row id='1': NULL in a NOT NULL column"),
        ("1,3,toolong", "column 'name', row id='1': value 'toolong' of type varchar: accepted is at most 3 characters"),
        ("1,3", "line 1: wrong number of fields: 2 instead of 3"),
    ],
)
def test_a_value_that_strict_mode_rejects_is_named(tmp_path: Path, line: str, words: str) -> None:
    """File, table, column, row key and value, in one line."""
    dumps.write_schema(
        tmp_path, "shop", "t", "CREATE TABLE `t` (`id` int PRIMARY KEY, `small` tinyint NOT NULL, `name` varchar(3))"
    )
    (tmp_path / "shop.t.csv").write_text(line + "\n")
    with pytest.raises(SnapshotError) as caught:
        rows_of(tmp_path)
    assert words in str(caught.value) and str(tmp_path / "shop.t.csv") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_directories_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="no such directory"):
        snapshots.open(tmp_path / "missing")
    with pytest.raises(SnapshotError, match="no schema file"):
        snapshots.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SnapshotError, match="not a directory"):
        snapshots.open(tmp_path / "file")


def test_data_without_schema_is_refused_and_schema_without_data_is_an_empty_table(tmp_path: Path) -> None:
    dumps.write_schema(tmp_path, "shop", "t", "CREATE TABLE `t` (`id` int PRIMARY KEY)")
    dumps.write_metadata(tmp_path, 447000000000000001)
    snapshot = snapshots.open(tmp_path)
    assert [(table.table.name, dict(table.files)) for table in snapshot.tables] == [("t", {})]
    assert snapshot.start_ts == 447000000000000001
    (tmp_path / "shop.u.000000000.sql").write_text("")
    with pytest.raises(SnapshotError, match="data file without schema file shop.u"):
        snapshots.open(tmp_path)
