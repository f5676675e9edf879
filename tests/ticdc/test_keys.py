"""Handle keys: which keys are one, how they sort, and the numbers that are made of them; and what the protocols ask of a
table's keys: handle key, flag bits, row id."""

from __future__ import annotations

import unicodedata
import zlib
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.columns import hashing, row_image
from simulator.releases import V8_5
from simulator.ticdc.table_info import (
    columns_known_by_handle,
    flags,
    handle_key,
    handles_of_rows,
    primary_key_names,
    row_ids,
)
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import LastIds, Table, TimeToLive, has_common_handle, row_id_column, visible_columns


def keyed(kind: str, key: str = "k") -> Table:
    return create_table(f"CREATE TABLE t (k {kind}, PRIMARY KEY ({key}) CLUSTERED)", "test")


def handles(kind: str, *texts: str, key: str = "k") -> list[bytes]:
    found: list[bytes] = handles_of_rows(keyed(kind, key), {"k": pa.array(texts, pa.string())}).to_pylist()
    return found


SORTED = {
    "bigint": ["-9223372036854775808", "-10", "-9", "0", "9", "10", "9223372036854775807"],
    "bigint unsigned": ["0", "9", "10", "9223372036854775808", "18446744073709551615"],
    "int unsigned": ["0", "4294967295"],
    "tinyint": ["-128", "-1", "0", "127"],
    "year": ["0", "1901", "2155"],
    "bit(64)": ["0", "9", "18446744073709551615"],
    "decimal(7,2)": ["-99999.99", "-10.00", "-9.99", "-0.01", "0.00", "0.01", "9.99", "10.00", "99999.99"],
    "decimal(65,0)": ["-" + "9" * 65, "-1", "0", "9" * 65],
    "double": ["-1e300", "-2.5", "-1e-300", "0", "5e-324", "0.1", "2.5", "1e22", "1.5e300"],
    "float": ["-1.5", "0", "0.1", "3e38"],
    "date": ["0000-00-00", "1999-12-31", "2000-01-01"],
    "datetime(3)": ["2020-02-20 02:20:20.009", "2020-02-20 02:20:20.010"],
    "time": ["-838:59:59", "-100:00:00", "-99:59:59", "-00:00:01", "00:00:00", "99:00:00", "100:00:00", "838:59:59"],
    "time(2)": ["-00:00:00.02", "-00:00:00.01", "00:00:00.00", "100:00:00.00"],
    "enum('z','a')": ["", "z", "a"],
    "set('z','a','m')": ["", "z", "a", "z,a", "m", "z,a,m"],
    "varbinary(9)": ["", "\x00", "\x00\x01", "\x01", " ", "a", "a\x00", "a ", "b", "\x7f", "\x80", "\xff"],
    "varchar(9)": ["", "\x00", "\t", "A", "a", "a\x00", "a\x01", "a b", "b", "é", "中", "😀"],
    "varchar(9) collate utf8mb4_0900_bin": ["", " ", "A", "a", "a ", "a b"],
    "varchar(9) collate utf8mb4_general_ci": ["", "\x00", "a", "a\x00", "AB", "b", "ß", "t", "æ", "中", "😀"],
    "varchar(9) collate utf8mb4_unicode_ci": ["", *"_ 1 A ab d đ ð o ø p ß я ก 中 😀".split()],
    "varchar(9) collate utf8mb4_0900_ai_ci": ["", " ", "_", "1", "A", "a ", *"ab o p ß я 가 각 中 𠮷".split()],
    "varchar(9) charset gbk collate gbk_bin": ["", "A", "a", "丂", "啊"],
    "varchar(9) charset gb18030 collate gb18030_bin": ["", "A", "a", "丂", "😀", "啊"],
}
"""By type, texts that TiDB sorts so."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", SORTED)
def test_handles_sort_as_tidb_sorts_keys(kind: str) -> None:
    """Of every type; and none is the beginning of another, so that further columns may follow."""
    texts = SORTED[kind]
    found = handles(kind, *texts)

    assert found == sorted(set(found))
    assert [key for key in found for other in found if other is not key and other.startswith(key)] == []


SPACES, GENERAL = "varchar(9)", "varchar(9) collate utf8mb4_general_ci"
UNICODE, UNICODE_9 = "varchar(9) collate utf8mb4_unicode_ci", "varchar(9) collate utf8mb4_0900_ai_ci"
GBK, GB18030 = "varchar(9) charset gbk collate gbk_{}", "varchar(9) charset gb18030 collate gb18030_{}"


def pairs(text: str) -> list[tuple[str, str]]:
    """Of `ß=S ÿ=Y`."""
    return [(one, other) for one, _, other in (pair.partition("=") for pair in text.split())]


EQUAL = {
    SPACES: [("a", "a "), ("", "   "), ("é", "é  ")],
    "varchar(9) charset latin1": [("a", "a ")],
    "varchar(9) charset ascii": [("a", "a ")],
    GENERAL: [("a", "Á  "), *pairs("ß=S ÿ=Y ς=Σ й=Й ё=Е 😀=𠮷 ⅷ=Ⅷ ｚ=Ｚ")],
    UNICODE: [("a", "Á "), ("a\x01", "a"), *pairs("ß=ss Æ=æ ø=Ǿ đ=Đ ŀ=l· ½=1⁄2 a\u0301=a 😀=𠮷 か=ガ ა=Ⴀ")],
    UNICODE_9: [("a\x01", "a"), *pairs("a=Á ß=ss ø=O đ=D a\u0301=a か=ガ \ud55c=\u1112\u1161\u11ab")],
    GBK.format("chinese_ci"): [("a", "A "), ("啊A", "啊a")],
    GB18030.format("chinese_ci"): [("a", "A "), ("😀A", "😀a")],
    "double": [("0", "-0"), ("100", "1e2")],
}
DIFFERENT = {
    SPACES: [("a", "A"), ("a", " a"), ("a", "a\t")],
    "varbinary(9)": [("a", "a ")],
    "varchar(9) collate utf8mb4_0900_bin": [("a", "a "), ("a", "A")],
    GENERAL: [("\x00", ""), *pairs("и=Й ø=o æ=ae か=が ƞ=Ƞ a\u0301=a")],
    UNICODE: pairs("ø=o đ=d ð=đ ħ=h ł=l \uc911=\u110c\u116e\u11bc ก์=ก 中=国"),
    UNICODE_9: [("a", "a "), *pairs("😀=😁 中=国 æ=a")],
    GBK.format("bin"): [("a", "A")],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "pairs", "same"), [(kind, of[kind], of is EQUAL) for of in (EQUAL, DIFFERENT) for kind in of]
)
def test_keys_are_one_where_their_collation_has_them_equal(kind: str, pairs: list[tuple[str, str]], same: bool) -> None:
    """Trailing spaces, letter case and accents, as far as TiDB's collations go (tidb: pkg/util/collate)."""
    first, second = (handles(kind, *side) for side in zip(*pairs, strict=True))

    assert [pair for pair, one, other in zip(pairs, first, second, strict=True) if (one == other) is not same] == []


def test_a_prefix_of_a_column_is_all_of_it_that_counts() -> None:
    """In characters of text, in bytes of binary strings."""
    assert len(set(handles("varchar(9)", "éab", "éa", "éa  ", key="k(2)"))) == 1
    assert len(set(handles("varchar(9)", "éab", "éb", key="k(2)"))) == 2
    assert len(set(handles("blob", "\xff\xfe1", "\xff\xfe2", key="k(2)"))) == 1


NUMBERS, TEXTS = st.integers(-(2**63), 2**63 - 1), st.text(st.sampled_from("a b\x00é😀"), max_size=4)


@given(st.lists(st.tuples(NUMBERS, TEXTS), max_size=9))
def test_handles_of_several_columns_sort_as_their_columns_do(rows: list[tuple[int, str]]) -> None:
    table = create_table("CREATE TABLE t (s VARCHAR(9), n BIGINT, PRIMARY KEY (s, n) CLUSTERED)", "test")
    texts = {"n": pa.array([str(n) for n, _ in rows], pa.string()), "s": pa.array([s for _, s in rows], pa.string())}

    found = handles_of_rows(table, texts).to_pylist()

    order = [(s.rstrip(" ").encode(), n) for n, s in rows]
    assert [[a < b for b in found] for a in found] == [[a < b for b in order] for a in order]


@given(st.lists(st.decimals(-(10**9), 10**9, places=3), min_size=1, max_size=9))
def test_handles_of_decimals_sort_as_numbers(numbers: list[Decimal]) -> None:
    found = handles("decimal(20,3)", *(f"{number + 0:.3f}".replace("-0.000", "0.000") for number in numbers))

    assert [a < b for a in found for b in found] == [a < b for a in numbers for b in numbers]


def test_part_of_an_array_and_images_cells_give_the_handles_of_the_same_strings() -> None:
    """Texts may be binary, and slices of larger arrays."""
    for kind in ("bigint", "decimal(5,1)", "time", "set('1','2')"):
        texts = {"time": ["00:00:01", "10:00:00"], "decimal(5,1)": ["1.0", "-2.5"]}.get(kind, ["1", "2"])
        whole = pa.array(["1", *texts], pa.string()).slice(1)

        assert handles_of_rows(keyed(kind), {"k": whole.cast(pa.binary())}).to_pylist() == handles(kind, *texts)


def test_a_table_without_a_key_has_its_rows_images_as_handles() -> None:
    table = create_table("CREATE TABLE t (a INT, v INT AS (a) VIRTUAL, b VARCHAR(9))", "test")
    texts = {"a": pa.array(["1", None]), "b": pa.array(["x ", "y"])}

    assert handles_of_rows(table, texts) == row_image.pack([texts["a"], texts["b"]])


def test_row_ids_are_the_integer_key_or_follow_from_the_handle() -> None:
    """A table's place counts only where handles are numbered images; a common handle has none."""

    def ids(sql: str, *texts: str, place: int = 3) -> list[int | None]:
        table = create_table(f"CREATE TABLE t ({sql})", "test")
        found: list[int | None] = row_ids(table, handles_of_rows(table, {"k": pa.array(texts)}), place).to_pylist()
        return found

    assert ids("k BIGINT PRIMARY KEY", "-5", "7") == [-5, 7]
    assert ids("k BIGINT UNSIGNED PRIMARY KEY", "7", "18446744073709551615") == [7, -1]
    assert ids("k INT UNSIGNED PRIMARY KEY", "4294967295") == [4294967295]
    assert ids("k VARCHAR(9) PRIMARY KEY CLUSTERED", "a") == [None]
    assert ids("k VARCHAR(9) PRIMARY KEY NONCLUSTERED", "a", "a ", place=9) == [NONCLUSTERED_A] * 2
    assert ids("k VARCHAR(9) NOT NULL UNIQUE", "a", "a") == [NONCLUSTERED_A] * 2
    assert ids("k INT", "1") == [KEYLESS_1] != ids("k INT", "1", place=4)


NONCLUSTERED_A, KEYLESS_1 = 8776249118410230385, 7044830431262772884
"""As Spark's xxhash64 gave them."""


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ((0, 7, b""), -8598918023366587589),
        ((0, 7, b"a"), -8882366971306376812),
        ((0, 7, b"\x80\0\0\0\0\0\0\1"), -6876417806370571911),
        ((0, 7, b"a@example.com"), 1523920704123337370),
        ((0, 7, bytes(range(100))), -7158657265884943031),
        ((2**40, 7, b"a"), 7363398217620338558),
        ((b"a",), -8582455328737087284),
    ],
)
def test_hashes_are_spark_s(columns: tuple[int | bytes, ...], expected: int) -> None:
    """As Spark 4.1 gives them for xxhash64 of literals and a binary column."""
    arrays = [pa.array([b"beside", column], pa.binary()) if isinstance(column, bytes) else column for column in columns]

    assert hashing.xxhash64(*arrays)[1] == expected


@given(st.lists(st.none() | st.binary(max_size=80), max_size=9), st.integers(-(2**31), 2**31 - 1))
def test_a_hash_of_many_rows_is_that_of_each_by_itself(cells: list[bytes | None], salt: int) -> None:
    """Whatever lengths the cells have; a null leaves what was hashed before it."""
    array = pa.array(cells, pa.binary())

    made = hashing.xxhash64(1, np.full(len(cells), salt, np.int32), array)

    alone = [[] if cell is None else [pa.array([cell])] for cell in cells]
    assert made.tolist() == [int(hashing.xxhash64(1, salt, *values)[0]) for values in alone]


@given(st.lists(st.binary(max_size=90), max_size=30), st.binary(max_size=20))
def test_a_crc_is_zlib_s(cells: list[bytes], prefix: bytes) -> None:
    assert hashing.crc32(pa.array(cells, pa.binary()), prefix).tolist() == [zlib.crc32(prefix + cell) for cell in cells]


@pytest.mark.parametrize("collation", ["utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_0900_ai_ci"])
def test_latin_and_greek_letters_are_one_without_case_and_accents(collation: str) -> None:
    """All that have another case, or are written as a letter with an accent."""
    letters = [chr(code) for code in (*range(0x41, 0x131), *range(0x134, 0x17F), *range(0x388, 0x3CF))]
    small = [letter for letter in letters if unicodedata.category(letter) == "Ll"]
    pairs = [(letter, letter.upper()) for letter in small if len(letter.upper()) == 1]
    accented = [letter for letter in letters if unicodedata.decomposition(letter)[:1] == "0"]
    pairs += [(letter, unicodedata.normalize("NFD", letter)[0]) for letter in accented]
    first, second = (handles(f"varchar(9) collate {collation}", *side) for side in zip(*pairs, strict=True))

    assert [pair for pair, a, b in zip(pairs, first, second, strict=True) if a != b] == []


def test_what_of_a_handle_key_its_handle_tells() -> None:
    """Numbers and bytes wholly; text with a collation, prefixes and floats, which have a zero below zero, do not."""
    table = create_table(
        "CREATE TABLE t (a INT, b VARBINARY(9), c VARCHAR(9), d BLOB, e DOUBLE, f VARCHAR(9) COLLATE utf8mb4_0900_bin,"
        " g DECIMAL(5,1), PRIMARY KEY (a, b, c, d(3), e, f, g))",
        "test",
    )

    assert columns_known_by_handle(table) == {"a", "b", "f", "g"}


# -- what the protocols ask of a table's keys ------------------------------------------------------------------------------


def table_of(definition: str) -> Table:
    return create_table(f"CREATE TABLE t ({definition})")


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("a INT PRIMARY KEY, b INT NOT NULL UNIQUE", ("a",)),
        ("a INT PRIMARY KEY NONCLUSTERED, b INT NOT NULL UNIQUE", ("a",)),
        ("a INT, b INT, PRIMARY KEY (b, a)", ("b", "a")),
        ("a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, UNIQUE (a, b), UNIQUE (c), UNIQUE (b)", ("c",)),
        ("a INT NOT NULL UNIQUE, b INT NOT NULL, UNIQUE (b)", ("b",)),
        ("a INT UNIQUE, b INT NOT NULL, c INT, UNIQUE (b, c)", ()),
        ("a INT NOT NULL, v INT AS (a) VIRTUAL NOT NULL UNIQUE", ()),
        ("a INT NOT NULL, v INT AS (a) STORED NOT NULL UNIQUE", ("v",)),
        ("a INT NOT NULL, UNIQUE KEY ((a + 1))", ()),
        ("a INT NOT NULL, b VARCHAR(9) NOT NULL, UNIQUE (b(3))", ("b",)),
        ("a INT NOT NULL, KEY (a)", ()),
    ],
)
def test_the_handle_key_is_the_primary_or_the_smallest_unique_key(definition: str, expected: tuple[str, ...]) -> None:
    """No column of it may be NULL or virtual; ties go to the key that TiDB made first."""
    assert expected == handle_key(table_of(definition))


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("c FLOAT ZEROFILL", 193),
        ("c INT, d INT, PRIMARY KEY (d, c)", 43),
        ("d INT, c INT, KEY (d, c)", 97),
        ("c INT, KEY ((c + 1))", 65),
        ("c INT, d INT, KEY ((d + 1), c)", 97),
        ("c VARCHAR(5), FULLTEXT (c)", 64),
    ],
)
def test_flag_bits_are_those_of_tidb_s_table_information(definition: str, expected: int) -> None:
    """Where the vectors (table_info) have none: binary 1, handle 2, generated 4, primary 8, unique 16, multiple 32,
    nullable 64, unsigned 128."""
    assert expected == flags(table_of(definition), V8_5)["c"]


def test_older_releases_call_a_primary_key_unique_too() -> None:
    """Where it is an index: not the clustered integer."""
    older = replace(V8_5, primary_is_unique=True)
    definitions = ("c INT PRIMARY KEY", "c INT PRIMARY KEY NONCLUSTERED", "c VARCHAR(5) PRIMARY KEY")
    assert [11, 27, 26] == [flags(table_of(definition), older)["c"] for definition in definitions]


@pytest.mark.parametrize(
    ("definition", "row_id", "common"),
    [
        ("c INT PRIMARY KEY", "c", False),
        ("c TINYINT UNSIGNED PRIMARY KEY", "c", False),
        ("c INT PRIMARY KEY NONCLUSTERED", None, False),
        ("c YEAR PRIMARY KEY", None, True),
        ("c DECIMAL(5) PRIMARY KEY", None, True),
        ("c INT, d INT, PRIMARY KEY (c, d)", None, True),
        ("c INT", None, False),
    ],
)
def test_the_row_id_is_a_clustered_integer_or_hidden_or_none(definition: str, row_id: str | None, common: bool) -> None:
    table = table_of(definition)
    assert (row_id, common) == (row_id_column(table), has_common_handle(table))


def test_virtual_columns_are_not_visible_and_pk_names_come_in_table_order() -> None:
    table = table_of("a INT, v INT AS (a), s INT AS (a) STORED, b INT, PRIMARY KEY (b, a)")
    assert ["a", "s", "b"] == [column.name for column in visible_columns(table)]
    assert ("a", "b") == primary_key_names(table, V8_5)
    assert () == primary_key_names(table_of("a INT NOT NULL UNIQUE"), V8_5)


def test_a_table_keeps_what_later_statements_ask_of_it() -> None:
    """Ids, foreign keys with the index they need, time to live, options that no row shows."""
    table = create_table(
        "CREATE TABLE d.t (a INT, `at x` DATETIME, c BIGINT PRIMARY KEY AUTO_RANDOM(3), b INT,"
        " FOREIGN KEY (b) REFERENCES p (q) ON DELETE CASCADE, UNIQUE u (a) INVISIBLE COMMENT 'x')"
        " TTL = `at x` + INTERVAL 3 MONTH TTL_ENABLE = 'OFF' AUTO_ID_CACHE 7"
    )
    assert [(1, 0), (2, 0), (3, 3), (4, 0)] == [(column.id, column.shard_bits) for column in table.columns]
    assert [(1, "u", False, "x"), (2, "fk_1", True, "")] == [
        (index.id, index.name, index.visible, index.comment) for index in table.indexes
    ]
    (foreign,) = table.foreign_keys
    assert ("d", "p", ("q",), "CASCADE") == (foreign.schema, foreign.table, foreign.references, foreign.on_delete)
    assert table.ttl == TimeToLive("at x", "3 MONTH", False)
    assert (("AUTO_ID_CACHE", "7"),) == table.options and LastIds(4, 2, 1) == table.last_ids


def test_ids_and_what_rows_do_not_show_do_not_make_tables_differ() -> None:
    """Two definitions are the same whenever their statements came."""
    altered, untouched = table_of("a INT, b INT"), table_of("a INT, b INT")
    columns = (altered.columns[0], replace(altered.columns[1], id=9, origin_default="7"))
    assert untouched == replace(altered, columns=columns, options=(("AUTO_INCREMENT", "9"),), last_ids=LastIds(9))


def test_vector_indexes_take_an_id_and_are_kept_apart() -> None:
    table = table_of("a INT, v VECTOR(3), VECTOR INDEX vi ((VEC_COSINE_DISTANCE(v))), UNIQUE (a)")
    assert (["vi"], [2]) == ([index.name for index in table.columnar_indexes], [index.id for index in table.indexes])
    assert 65 == flags(table, V8_5)["v"]
