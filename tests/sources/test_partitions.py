"""A row lies in the partition that TiDB would keep it in."""

from __future__ import annotations

import zlib

import pyarrow as pa
import pytest
from support.upstreams import cases

from simulator.errors import SchemaError
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.storage.tables import locate_partition

Cells = list[str | None]


def partitioning(rule: str) -> str:
    """PARTITION BY in full of a rule with `< (bounds)` or `= (members)` for each partition."""
    method, *parts = rule.replace(" = ", " < IN").split(" < ")
    values = (f"VALUES {part}" if part.startswith("IN") else f"VALUES LESS THAN {part}" for part in parts)
    definitions = ", ".join(f"PARTITION p{place} {value}" for place, value in enumerate(values))
    return f"PARTITION BY {method} ({definitions})" if parts else f"PARTITION BY {method}"


def places(columns: str, rule: str, *cells: Cells) -> list[int | None]:
    table = create_table(f"CREATE TABLE d.t ({columns}) {partitioning(rule)}")
    texts = {column.name: pa.array(texts, pa.string()) for column, texts in zip(table.columns, cells, strict=True)}
    found = locate_partition(table, texts)
    assert found.type == pa.int32()
    as_bytes = {name: text.cast(pa.binary()) for name, text in texts.items()}
    assert locate_partition(table, as_bytes).equals(found)
    ordinals: list[int | None] = found.to_pylist()
    return ordinals


CASES = """
d DATE => RANGE (TO_DAYS(d)) < (TO_DAYS('2020-01-01')) < (737800) < MAXVALUE
    => 2019-12-31 in 0; 2020-01-01 in 1; 2021-01-01 in 2; NULL in 0; 0000-00-00 in 0
i INT => RANGE (i) < (-5) < (10) => -6 in 0; -5 in 1; 9 in 1; 10 in none; NULL in 0
i BIGINT UNSIGNED => RANGE (i) < (9223372036854775808) < (18446744073709551615)
    => 5 in 0; 9223372036854775808 in 1; 18446744073709551615 in none
d DATETIME => RANGE COLUMNS (d) < ('2020-01-01') < ('2020-01-01 12:00:00')
    => 2019-12-31 23:59:59 in 0; 2020-01-01 11:59:59 in 1; 2020-01-01 12:00:00 in none
d TIMESTAMP => RANGE (UNIX_TIMESTAMP(d)) < (UNIX_TIMESTAMP('2020-01-01 00:00:00')) < MAXVALUE
    => 2019-12-31 23:59:59 in 0; 2020-01-01 00:00:00 in 1
s VARCHAR(9) => RANGE COLUMNS (s) < ('b') < ('m') < ('zz') => in 0; B in 0; b in 1; é in none; zz in none
s VARCHAR(9) COLLATE utf8mb4_general_ci => RANGE COLUMNS (s) < ('b') < ('m') < ('zz')
    => A in 0; B in 1; é in 1; M· in 2; zz in none
i INT, s VARCHAR(9) => RANGE COLUMNS (i, s) < (0, 'b') < (5, 'm') < (5, MAXVALUE) < (MAXVALUE, 'a')
    => 0,a in 0; 0,b in 1; 5,l in 1; 5,z in 2; 6,q in 3; NULL,q in 0; 5,NULL in 1
s VARCHAR(9), i INT => LIST COLUMNS (s, i) = (('b', 1), ('a', 0)) = (('m', NULL)) = (DEFAULT)
    => b,1 in 0; a,0 in 0; m,NULL in 1; m,1 in 2; NULL,NULL in 2
i INT => LIST (i % 3) = (0, -1) = (1, NULL) => 3 in 0; -1 in 0; 4 in 1; 2 in none; NULL in 1
s VARCHAR(9) COLLATE utf8mb4_general_ci => LIST COLUMNS (s) = ('é') => E in 0; É·· in 0; f in none
i INT => HASH (i) PARTITIONS 7 => 0 in 0; 8 in 1; -8 in 1; NULL in 0
i BIGINT UNSIGNED => HASH (i) PARTITIONS 7 => 18446744073709551615 in 1
d DATE => HASH (YEAR(d)) PARTITIONS 4 => 2021-05-05 in 1; NULL in 0
v INT, i INT AS (v + 1) => HASH (i) PARTITIONS 4 => 2,3 in 3
"""
"""Columns, rule, and the values of rows (· is a blank), each with the number of its partition."""


@pytest.mark.parametrize(("columns", "rule", "rows"), cases(CASES))
def test_a_row_lies_where_its_values_put_it(columns: str, rule: str, rows: str) -> None:
    """NULL lies below all in RANGE, is a value in LIST and 0 in HASH."""
    values, expected = zip(*(row.strip().rpartition("in ")[::2] for row in rows.split(";")), strict=True)
    cells = zip(*(row.removesuffix(" ").replace("·", " ").split(",") for row in values), strict=True)
    found = places(columns, rule, *([None if text == "NULL" else text for text in column] for column in cells))
    assert ["none" if place is None else str(place) for place in found] == [*expected]


def test_no_rows_lie_nowhere() -> None:
    assert places("i INT", "HASH (i) PARTITIONS 7", []) == []


def test_many_ranges_are_searched_by_halves() -> None:
    bounds = "".join(f" < ({place * 10})" for place in range(1, 129))
    values = list(range(0, 1300, 7))
    found = places("i INT", f"RANGE (i){bounds}", [str(value) for value in values])
    assert found == [value // 10 if value < 1280 else None for value in values]


def test_keys_are_hashed_as_they_compare() -> None:
    """Without blanks at the end, binary ones by their bytes, a zero byte for NULL."""
    names: Cells = ["a", "a  ", "é", None, ""]
    expected = [zlib.crc32(key) % 5 for key in (b"a1", b"a1", "é1".encode(), b"\x001", b"1")]
    assert places("s VARCHAR(9), i INT", "KEY (s, i) PARTITIONS 5", names, ["1"] * 5) == expected
    assert places("s VARBINARY(9)", "KEY (s) PARTITIONS 5", ["ÿ ", None]) == [
        zlib.crc32(b"\xff ") % 5,
        zlib.crc32(b"\x00") % 5,
    ]


def test_a_partitioning_that_cannot_be_computed_is_refused() -> None:
    for collation in ("utf8mb4_general_ci", "gbk_bin"):
        with pytest.raises(SchemaError) as raised:
            places(f"s VARCHAR(9) COLLATE {collation}", "KEY (s) PARTITIONS 2", ["1"])
        assert str(raised.value) == (
            f"table 't': PARTITION BY KEY on column 's' is not computed for varchar with collation {collation}; "
            "numbers, times and strings of a _bin or binary collation of UTF-8, Latin-1 or ASCII are"
        )
    with pytest.raises(
        SchemaError, match=r"expression 'TIDB_PARSE_TSO\(n\)': TIDB_PARSE_TSO cannot be computed outside TiDB"
    ):
        places("n INT", "HASH (TIDB_PARSE_TSO(n)) PARTITIONS 2", ["1"])
