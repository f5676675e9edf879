"""SQL and CSV text gives back the values that were written, wherever blocks and pieces are cut."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from support import databases

from simulator.errors import SnapshotError
from simulator.sources.snapshots import records, streams
from simulator.sources.snapshots.csv_text import CsvDialect
from simulator.sources.snapshots.records import RecordLayout
from simulator.tidb.ddl.table_definitions import create_table

Rows = Sequence[Sequence[databases.Value]]

COLUMNS = ("a", "b", "c")
LAYOUT = RecordLayout("t", COLUMNS, (), (), (), (), "shop")

HOSTILE = st.text(st.sampled_from("ab\\N'\"`,;()\n\r\t\0\x1a%_ é😀-/*x#!"), max_size=12)
VALUES = st.one_of(st.none(), st.integers(-10, 10), HOSTILE, HOSTILE, st.binary(max_size=6))
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=20)
QUOTES = st.lists(st.sampled_from([b"'", b'"']), min_size=1, max_size=3)
"""Those of one string after the other; mydumper writes the second."""


def raw(value: databases.Value) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else str(value).encode()


def expected(rows: Rows) -> list[list[bytes | None]]:
    return [[raw(value) for value in row] for row in rows]


def read(batches: list[records.RawRows]) -> list[list[bytes | None]]:
    return [list(row) for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("texts")


@pytest.fixture(params=[7, 64, 4 << 20], scope="module")
def block(request: pytest.FixtureRequest) -> int:
    """How many bytes are read at a time."""
    return int(request.param)


def rows_of(path: Path, block: int, piece: int, escape: bool, csv: bool) -> list[list[bytes | None]]:
    """The rows of a file that is cut into pieces and read so many bytes at a time."""
    quotes, end = (b'"', ord("\n")) if csv else (b"'\"", ord(";"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK", block)
        parts = streams.cut(streams.FilePart(str(path)), quotes, end, escape, piece)
        batches = (
            records.csv_batches(part, LAYOUT, CsvDialect(), escape) if csv else records.sql_batches(part, LAYOUT)
            for part in parts
        )
        return [row for found in batches for row in read(list(found))]


def sql_rows(path: Path, block: int = 4096, piece: int = 1 << 30) -> list[list[bytes | None]]:
    return rows_of(path, block, piece, True, False)


def csv_rows(path: Path, block: int = 4096, escape: bool = False, piece: int = 1 << 30) -> list[list[bytes | None]]:
    return rows_of(path, block, piece, escape, True)


@given(rows=ROWS, statement=st.integers(1, 4), listed=st.booleans(), escape=st.booleans(), quotes=QUOTES)
def test_sql_values_survive(
    folder: Path, block: int, rows: Rows, statement: int, listed: bool, escape: bool, quotes: list[bytes]
) -> None:
    """Quotes, backslashes, line ends, NUL and SQL's own marks inside strings are only characters; doubled quotes and raw
    line ends, as clients write them, are read where no backslash needs escaping."""
    if not escape:
        rows = [[value.replace("\\", "/") if isinstance(value, str) else value for value in row] for row in rows]
    path = folder / "values.sql"
    path.write_bytes(databases.sql("t", rows, COLUMNS if listed else (), statement, escape, quotes))
    assert sql_rows(path, block) == expected(rows)


@given(rows=ROWS, escape=st.booleans(), header=st.booleans(), end=st.sampled_from([b"\n", b"\r\n"]))
def test_csv_values_survive(folder: Path, block: int, rows: Rows, escape: bool, header: bool, end: bytes) -> None:
    r"""NULL, the empty string and the text \N stay apart in both of Dumpling's dialects."""
    path = folder / "values.csv"
    path.write_bytes(databases.csv(rows, COLUMNS if header else (), escape, end))
    assert csv_rows(path, block, escape) == expected(rows)


@pytest.mark.slow
@given(rows=ROWS, piece=st.integers(1, 200), statement=st.integers(1, 4), escape=st.booleans(), quotes=QUOTES)
def test_pieces_of_a_file_make_the_whole(
    folder: Path, rows: Rows, piece: int, statement: int, escape: bool, quotes: list[bytes]
) -> None:
    """Wherever a file is cut, each record is read once."""
    path = folder / "pieces"
    path.write_bytes(databases.csv(rows, COLUMNS, escape))
    assert csv_rows(path, 16, escape, piece % 60 + 1) == expected(rows)
    path.write_bytes(databases.sql("t", rows, (), statement, True, quotes))
    assert sql_rows(path, 16, piece) == expected(rows)


def test_names_with_marks_of_sql_are_read(tmp_path: Path) -> None:
    """A quoted name may hold quotes, parentheses, semicolons and backslashes."""
    layout = RecordLayout("o'clock;(", ("a'b", "c`d)", "e\\"), (), (), (), ())
    path = tmp_path / "names.sql"
    path.write_bytes(databases.sql(layout.table, [[1, "x", None]], layout.columns))
    assert read(list(records.sql_batches(streams.FilePart(str(path)), layout))) == [[b"1", b"x", None]]


COMMENTS = st.one_of(
    st.sampled_from([b" ", b"\n", b"\t"]),
    st.tuples(st.sampled_from([b"-- ", b"#", b"--\t"]), HOSTILE).map(
        lambda drawn: drawn[0] + drawn[1].replace("\n", "").encode() + b"\n"
    ),
    HOSTILE.map(lambda drawn: b"/* " + drawn.replace("*/", "").rstrip("*").encode() + b" */"),
)
"""What may stand between two words of SQL: blanks, and comments with rows, quotes and signs in them."""


def commented(rows: Rows, data: st.DataObject) -> bytes:
    """The rows as statements of two, with something between any two words."""
    words = []
    for at in range(0, len(rows), 2):
        words += [b"INSERT", b"INTO", b"`t`", b"VALUES"]
        for row in rows[at : at + 2]:
            values = [word for value in row for word in (databases.sql_value(value), b",")]
            words += [b"(", *values[:-1], b")", b","]
        words[-1] = b";"
    return b"".join(word + data.draw(COMMENTS) for word in words)


@pytest.mark.slow
@given(rows=st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=4), data=st.data())
def test_comments_between_words_are_no_rows(folder: Path, block: int, rows: Rows, data: st.DataObject) -> None:
    """Wherever a block ends; and what looks like a comment inside a string is text."""
    path = folder / "comments.sql"
    path.write_bytes(commented(rows, data))
    assert sql_rows(path, block) == expected(rows)


@given(rows=ROWS, statement=st.integers(1, 4), data=st.data())
def test_a_file_that_is_cut_short_is_refused(folder: Path, rows: Rows, statement: int, data: st.DataObject) -> None:
    """Unless it is cut between two statements, or behind the comment at its head, which nobody can tell."""
    whole = b"/*!40101 SET NAMES binary*/;\n" + databases.sql("t", rows, (), statement)
    text = whole[: data.draw(st.integers(0, len(whole)))]
    path = folder / "cut.sql"
    path.write_bytes(text)
    try:
        found = sql_rows(path)
    except SnapshotError as error:
        assert "the file ends inside" in str(error)
    else:
        assert text.rstrip()[-1:] in (b"", b";") or text.endswith(b"binary*/")
        assert len(found) % statement in (0, len(rows) % statement)
        assert found == expected(rows)[: len(found)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            b"-- MySQL dump 10.13\n/*!40101 SET NAMES utf8mb4 */;\nLOCK TABLES `t` WRITE;\n/*!40000 ALTER TABLE `t` x */;\n"
            b"INSERT INTO `t` VALUES (1,_binary 'a',0x0F),( 2 , NULL , 'b' );\nUNLOCK TABLES;\n-- it's done",
            [[b"1", b"a", b"\x0f"], [b"2", None, b"b"]],
        ),
        (
            b"insert into t values (-1,+.5,1.e-3),(nUlL,N'a',_utf8mb4 'b'),(X'4a','',  x''),(1-- 1\n,2,3);",
            [[b"-1", b"+.5", b"1.e-3"], [None, b"a", b"b"], [b"J", b"", b""], [b"1", b"2", b"3"]],
        ),
    ],
    ids=["comments, SET, LOCK TABLES and introducers of mysqldump", "literals as MySQL reads them"],
)
def test_sql_of_other_tools_is_read(tmp_path: Path, text: bytes, found: list[list[bytes | None]]) -> None:
    path = tmp_path / "other.sql"
    path.write_bytes(text)
    assert sql_rows(path) == found


def test_a_hexadecimal_literal_for_a_number_is_refused(tmp_path: Path) -> None:
    """For MySQL it is a number there, where a text column takes its bytes."""
    layout = records.layout(create_table("CREATE TABLE t (n INT, s VARCHAR(9), b BIT(8), y YEAR)", "shop"))
    path = tmp_path / "hex.sql"
    path.write_bytes(b"INSERT INTO t (s, n, b, y) VALUES (0x35,5,0x35,5),\n(0x35,0x35,0x35,5);\n")
    with pytest.raises(SnapshotError, match=r"hex.sql: line 2: a hexadecimal literal for the number 'n': write it in"):
        list(records.sql_batches(streams.FilePart(str(path)), layout))
    path.write_bytes(b"INSERT INTO t (s, n, b, y) VALUES (0x35,5,0x35,5);\n")
    found = next(records.sql_batches(streams.FilePart(str(path)), layout))
    assert [column.to_pylist() for column in found.columns][:3] == [[b"5"], [b"5"], [b"x5"]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"a,b,c\n1,2,3\n\n\r\n4,5,6", [[b"1", b"2", b"3"], [b"4", b"5", b"6"]]),
        (b"\n\r\n\n", []),
        (b"\xef\xbb\xbfC,a,B\n3,1,2\n", [[b"1", b"2", b"3"]]),
    ],
    ids=["blank lines, no last line end", "blank lines alone", "a header in another order and case"],
)
def test_lines_and_headers_of_csv_are_found(tmp_path: Path, text: bytes, found: list[list[bytes]]) -> None:
    path = tmp_path / "blank.csv"
    path.write_bytes(text)
    assert csv_rows(path) == found


@pytest.mark.parametrize("compression", ["gz", "zst", "snappy"])
def test_compressed_files_are_read(tmp_path: Path, compression: str) -> None:
    text = databases.sql("t", [[number, "x" * 50, None] for number in range(3000)])
    path = tmp_path / f"t.sql.{compression}"
    path.write_bytes(compressed(text, compression))
    assert len(sql_rows(path, 1 << 16)) == 3000


def compressed(data: bytes, compression: str) -> bytes:
    if compression == "gz":
        return gzip.compress(data[:1000]) + gzip.compress(data[1000:])
    if compression == "zst":
        return bytes(pa.compress(data, "zstd", asbytes=True))
    frames = b"\xff\x06\x00\x00sNaPpY"
    for at in range(0, len(data), 65536):
        part = data[at : at + 65536]
        short = at % 131072 == 0
        body = masked(part) + (bytes(pa.compress(part, "snappy", asbytes=True)) if short else part)
        frames += (b"\x00" if short else b"\x01") + len(body).to_bytes(3, "little") + body
    return frames


def test_a_snappy_chunk_that_claims_to_be_huge_gets_no_room(tmp_path: Path) -> None:
    """The length stands before the data, and may be anything that five bytes can say."""
    path = tmp_path / "t.sql.snappy"
    body = bytes(4) + b"\xff\xff\xff\xff\x0f" + b"x"
    path.write_bytes(b"\xff\x06\x00\x00sNaPpY\x00" + len(body).to_bytes(3, "little") + body)
    words = "cannot be read: a snappy chunk claims 4,294,967,295 bytes, at most 65,536"
    with pytest.raises(SnapshotError, match=words):
        sql_rows(path)


def masked(data: bytes) -> bytes:
    """The checksum of snappy's framing format."""
    crc = crc32c(data)
    return ((((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


@pytest.mark.parametrize("at", [16, 40, 70_000])
def test_a_snappy_file_with_a_flipped_bit_is_refused(tmp_path: Path, at: int) -> None:
    """In a checksum, in compressed bytes, in bytes as they are."""
    data = bytearray(compressed(databases.sql("t", [[number, "x" * 50, None] for number in range(3000)]), "snappy"))
    assert len(data) > 70_000
    data[at] ^= 4
    path = tmp_path / "t.sql.snappy"
    path.write_bytes(data)
    with pytest.raises(SnapshotError, match="cannot be read") as caught:
        sql_rows(path, 1 << 16)
    assert str(path) in str(caught.value)


NO_SQL = {
    b"INSERT INTO `t` VALUES\n(1,2,3),\n(4,5);\n": "line 3: wrong number of fields: 2 instead of 3",
    b"INSERT INTO `t` VALUES\n(1,2,3),\n(4,5,6,7);\n": "line 3: wrong number of fields: 4 instead of 3",
    b"INSERT INTO `t` VALUES\n(1,2,now());\n": "line 2: a value is no literal",
    b"\nDELETE FROM `t`;\n": "line 2: only INSERT statements with VALUES are read from a data file, found 'DELETE",
    b"INSERT INTO `t` SET a = 1;\n": "line 1: only INSERT statements with VALUES are read",
    b"INSERT INTO `t` SELECT 1, 2, 3;\n": "line 1: only INSERT statements with VALUES are read",
    b"INSERT INTO `t` VALUES ROW(1,2,3);\n": "line 1: only INSERT statements with VALUES are read",
    b"INSERT INTO `t` () VALUES (),();\n": "line 1: rows without columns are not read",
    b"INSERT INTO `u` VALUES (1,2,3);\n": "line 1: rows of table `u` in a file of table `t`",
    b"INSERT INTO `t` VALUES (1,2,3);\nINSERT INTO `u` VALUES (1,2,3);\n": "line 2: rows of table `u`",
    b"INSERT INTO shop.t VALUES (1,2,3);\nINSERT INTO d.t VALUES (1,2,3);\n": "line 2: rows of table `d`.`t`",
    b'INSERT INTO "t" VALUES (1,"a",3);\n': "line 1: only INSERT statements with VALUES are read",
    b"INSERT INTO `t` VALUES (1,\"a',3);\n": "ends inside a statement, a comment or quotes",
    b"INSERT INTO `t` VALUES\n(1,2,3),\n(1,1+1,3);\n": "line 3: a value is no literal: numbers, NULL, '…', \"…\" and x'…' are read, no expressions, found '1+1'",
    b"INSERT INTO `t` VALUES\n('a\\n',NULL,3),(1,true,3);\n": "line 2: a value is no literal",
    b"INSERT INTO `t` VALUES (1,DEFAULT,3);\n": "line 1: a value is no literal",
    b"INSERT INTO `t` VALUES (1,'a'+1,3);\n": "neither doubled nor escaped",
    b"INSERT INTO `t` VALUES (1,''+1,3);\n": "a value is no literal",
    b"INSERT INTO `t` VALUES (1,- 2,3);\n": "a value is no literal",
    b"INSERT INTO `t` VALUES (1,2020-01-01,3);\n": "a value is no literal",
    b"INSERT INTO `t` VALUES (1,b'01',3);\n": "unknown literal b'…'",
    b"INSERT INTO `t` VALUES (1,0b01,3);\n": "a value is no literal",
    b"INSERT INTO `t` VALUES (1,DATE'2020-01-01',3);\n": "unknown literal DATE'…'",
    b"INSERT INTO `t` VALUES (1,_latin1'a',3);\n": "unknown literal _latin1'…'",
    b"INSERT INTO `t` VALUES (1,x'41',3),\n(1,x'4',3);\n": "line 2: a hexadecimal literal has an odd number of",
    b"INSERT INTO `t` VALUES (1,x'41',3),\n(1,x'4g',3);\n": "line 2: a hexadecimal literal has an odd number of",
    b"INSERT INTO `t` VALUES\n(1,2,3)\nON DUPLICATE KEY UPDATE a = 1;\n": "line 3: only rows, ',' and ';' may follow VALUES, found 'ON DUPLICATE KEY UPDATE a = 1",
    b"INSERT INTO `t` VALUES (1,2,3), x (1,2,3);\n": "may follow VALUES, found 'x (1,2,3)",
    b"INSERT INTO `t` VALUES (1,2,3);\n/*!50000 INSERT INTO `t` VALUES (4,5,6) */;\n": "line 2: a comment that MySQL executes, '/*!50000 INSERT",
    b"INSERT INTO `t` VALUES (1,2,3 /*T! ,4 */);\n": "a comment that MySQL executes, '/*T! ,4 */'",
    b"SET sql_mode = 'no_backslash_escapes';\nINSERT INTO `t` VALUES (1,2,3);\n": "line 1: NO_BACKSLASH_ESCAPES",
    b"/*!40101 SET SQL_MODE='ANSI_QUOTES' */;\nINSERT INTO `t` VALUES (1,2,3);\n": "line 1: ANSI_QUOTES",
    b"INSERT INTO `t` VALUES (1,2,3)": "line 1: the file ends inside a statement, a comment or quotes",
    b"INSERT INTO `t` VALUES (1,2,3),\n": "the file ends inside a statement",
    b"INSERT INTO `t` VALUES (1,2,3);\n/* (4,5,6)": "line 2: the file ends inside a statement, a comment",
    b"INSERT INTO `t` (`a`,`b`) VALUES (1,2);\n": "column 'c' is missing",
    b"INSERT INTO `t` VALUES (1,2,'x);\n": "ends inside a statement, a comment or quotes",
    b"INSERT INTO `t` VALUES (1,2,'x' 'y');\n": "neither doubled nor escaped",
}


@pytest.mark.parametrize("text", NO_SQL)
def test_sql_that_cannot_be_read_says_where(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "bad.sql"
    path.write_bytes(text)
    with pytest.raises(SnapshotError) as caught:
        sql_rows(path)
    assert NO_SQL[text] in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text, words",
    [
        (b"a,b,c\n1,2,3\n4,5\n", "line 3: wrong number of fields: 2 instead of 3"),
        (b"a,b,c\n1,2,3,4\n", "line 2: wrong number of fields: 4 instead of 3"),
        (b'a,b,c\n1,2,"x\n', "line 2: the file ends inside quotes"),
        (b'a,b,c\n1,"x"y,2\n', "line 2: a quote inside a value"),
    ],
)
def test_csv_that_cannot_be_read_says_where(tmp_path: Path, text: bytes, words: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(text)
    with pytest.raises(SnapshotError) as caught:
        csv_rows(path)
    assert words in str(caught.value)
