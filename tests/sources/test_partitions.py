"""A row lies in the partition that TiDB would keep it in."""

from __future__ import annotations

import zlib

import pyarrow as pa
import pytest

from simulator.errors import SchemaError
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.partitions import locate_partition

Cells = list[str | None]
DAYS = (
    "RANGE (TO_DAYS(d)) (PARTITION a VALUES LESS THAN (TO_DAYS('2020-01-01')), "
    "PARTITION b VALUES LESS THAN (737800), PARTITION c VALUES LESS THAN MAXVALUE)"
)
LETTERS = (
    "RANGE COLUMNS (s) (PARTITION a VALUES LESS THAN ('b'), PARTITION b VALUES LESS THAN ('m'), "
    "PARTITION c VALUES LESS THAN ('zz'))"
)
PAIRS = (
    "RANGE COLUMNS (i, s) (PARTITION a VALUES LESS THAN (0, 'b'), PARTITION b VALUES LESS THAN (5, 'm'), "
    "PARTITION c VALUES LESS THAN (5, MAXVALUE), PARTITION d VALUES LESS THAN (MAXVALUE, 'a'))"
)
MEMBERS = (
    "LIST COLUMNS (s, i) (PARTITION a VALUES IN (('b', 1), ('a', 0)), PARTITION b VALUES IN (('m', NULL)), "
    "PARTITION c VALUES IN (DEFAULT))"
)


def places(columns: str, rule: str, *cells: Cells) -> list[int | None]:
    table = create_table(f"CREATE TABLE d.t ({columns}) PARTITION BY {rule}")
    texts = {column.name: pa.array(texts, pa.string()) for column, texts in zip(table.columns, cells, strict=True)}
    found = locate_partition(table, texts)
    assert found.type == pa.int32()
    as_bytes = {name: text.cast(pa.binary()) for name, text in texts.items()}
    assert locate_partition(table, as_bytes).equals(found)
    ordinals: list[int | None] = found.to_pylist()
    return ordinals


@pytest.mark.parametrize(
    ("columns", "rule", "cells", "expected"),
    [
        ("d DATE", DAYS, [["2019-12-31", "2020-01-01", "2021-01-01", None, "0000-00-00"]], [0, 1, 2, 0, 0]),
        (
            "i INT",
            "RANGE (i) (PARTITION a VALUES LESS THAN (-5), PARTITION b VALUES LESS THAN (10))",
            [["-6", "-5", "9", "10", None]],
            [0, 1, 1, None, 0],
        ),
        (
            "i BIGINT UNSIGNED",
            "RANGE (i) (PARTITION a VALUES LESS THAN (9223372036854775808), PARTITION b VALUES LESS "
            "THAN (18446744073709551615))",
            [["5", "9223372036854775808", "18446744073709551615"]],
            [0, 1, None],
        ),
        (
            "d DATETIME",
            "RANGE COLUMNS (d) (PARTITION a VALUES LESS THAN ('2020-01-01'), PARTITION b VALUES LESS THAN "
            "('2020-01-01 12:00:00'))",
            [["2019-12-31 23:59:59", "2020-01-01 11:59:59", "2020-01-01 12:00:00"]],
            [0, 1, None],
        ),
        (
            "d TIMESTAMP",
            "RANGE (UNIX_TIMESTAMP(d)) (PARTITION a VALUES LESS THAN (UNIX_TIMESTAMP('2020-01-01 00:00:00')), "
            "PARTITION b VALUES LESS THAN MAXVALUE)",
            [["2019-12-31 23:59:59", "2020-01-01 00:00:00"]],
            [0, 1],
        ),
        ("s VARCHAR(9)", LETTERS, [["", "B", "b", "é", "zz"]], [0, 0, 1, None, None]),
        ("s VARCHAR(9) COLLATE utf8mb4_general_ci", LETTERS, [["A", "B", "é", "M ", "zz"]], [0, 1, 1, 2, None]),
        (
            "i INT, s VARCHAR(9)",
            PAIRS,
            [["0", "0", "5", "5", "6", None, "5"], ["a", "b", "l", "z", "q", "q", None]],
            [0, 1, 1, 2, 3, 0, 1],
        ),
        ("s VARCHAR(9), i INT", MEMBERS, [["b", "a", "m", "m", None], ["1", "0", None, "1", None]], [0, 0, 1, 2, 2]),
        (
            "i INT",
            "LIST (i % 3) (PARTITION a VALUES IN (0, -1), PARTITION b VALUES IN (1, NULL))",
            [["3", "-1", "4", "2", None]],
            [0, 0, 1, None, 1],
        ),
        (
            "s VARCHAR(9) COLLATE utf8mb4_general_ci",
            "LIST COLUMNS (s) (PARTITION a VALUES IN ('é'))",
            [["E", "É  ", "f"]],
            [0, 0, None],
        ),
        ("i INT", "HASH (i) PARTITIONS 7", [["0", "8", "-8", None]], [0, 1, 1, 0]),
        ("i INT", "HASH (i) PARTITIONS 7", [[]], []),
        ("i BIGINT UNSIGNED", "HASH (i) PARTITIONS 7", [["18446744073709551615"]], [1]),
        ("d DATE", "HASH (YEAR(d)) PARTITIONS 4", [["2021-05-05", None]], [1, 0]),
        ("v INT, i INT AS (v + 1)", "HASH (i) PARTITIONS 4", [["2"], ["3"]], [3]),
    ],
)
def test_a_row_lies_where_its_values_put_it(
    columns: str, rule: str, cells: list[Cells], expected: list[int | None]
) -> None:
    """NULL lies below all in RANGE, is a value in LIST and 0 in HASH; null is where no partition takes the row."""
    assert places(columns, rule, *cells) == expected


@pytest.mark.slow
def test_a_thousand_ranges_are_searched_by_halves() -> None:
    bounds = ", ".join(f"PARTITION p{place} VALUES LESS THAN ({place * 10})" for place in range(1, 1025))
    values = list(range(0, 10300, 7))
    found = places("i INT", f"RANGE (i) ({bounds})", [str(value) for value in values])
    assert found == [value // 10 if value < 10240 else None for value in values]


def test_keys_are_hashed_as_they_compare() -> None:
    """Without blanks at the end, binary ones by their bytes, a zero byte for NULL."""
    names: Cells = ["a", "a  ", "é", None, ""]
    expected = [zlib.crc32(key) % 5 for key in (b"a1", b"a1", "é1".encode(), b"\x001", b"1")]
    assert places("s VARCHAR(9), i INT", "KEY (s, i) PARTITIONS 5", names, ["1"] * 5) == expected
    assert places("s VARBINARY(9)", "KEY (s) PARTITIONS 5", ["ÿ ", None]) == [
        zlib.crc32(b"\xff ") % 5,
        zlib.crc32(b"\x00") % 5,
    ]


@pytest.mark.parametrize(
    ("columns", "rule", "words"),
    [
        (
            "s VARCHAR(9) COLLATE utf8mb4_general_ci",
            "KEY (s) PARTITIONS 2",
            "table 't': PARTITION BY KEY on column 's' is not computed for varchar with collation utf8mb4_general_ci; "
            "numbers, times and strings of a _bin or binary collation of UTF-8, Latin-1 or ASCII are",
        ),
        (
            "s VARCHAR(9) COLLATE gbk_bin",
            "KEY (s) PARTITIONS 2",
            "table 't': PARTITION BY KEY on column 's' is not computed for varchar with collation gbk_bin; "
            "numbers, times and strings of a _bin or binary collation of UTF-8, Latin-1 or ASCII are",
        ),
        (
            "n INT",
            "HASH (VITESS_HASH(n)) PARTITIONS 2",
            "expression 'VITESS_HASH(n)': VITESS_HASH cannot be computed outside TiDB",
        ),
    ],
)
def test_a_partitioning_that_cannot_be_computed_is_refused(columns: str, rule: str, words: str) -> None:
    with pytest.raises(SchemaError) as raised:
        places(columns, rule, ["1"])
    assert str(raised.value) == words
