"""Files of many tables and formats are read in tasks of about equal bytes, into one shape, or refused in one line."""

from __future__ import annotations

import gzip
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import dumps
from support.playing import places

from simulator import files
from simulator.columns.change_frame import SNAPSHOT_ROWS
from simulator.errors import SnapshotError
from simulator.sources import snapshots
from simulator.sources.snapshots import parquet, pieces, states, streams
from simulator.sources.snapshots.csv_text import CsvDialect
from simulator.sources.snapshots.physical import physical_tables
from simulator.sources.snapshots.pieces import FilePiece, TableScan
from simulator.sources.snapshots.states import state_batches

TABLE = (
    "CREATE TABLE `a.b` (`id` bigint NOT NULL, `name` varchar(40), `raw` varbinary(20), `small` tinyint unsigned,"
    " `twice` bigint GENERATED ALWAYS AS (`id` * 2) STORED,"
    " PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */)"
)
COLUMNS = ("id", "name", "raw", "small")
ROWS: list[list[dumps.Value]] = [
    [-1, "a\\N'\"\n\r,\0", b"\x00\xff\xfe'\"\\\n,", 255],
    [2, "\\N", b"\\N", None],
    [3, "", b"", 0],
    [4, None, None, 1],
    [5, "é😀\x1a", b"\x80", 7],
]

State = tuple[int, bytes, bytes]


def scans(path: Path | str, csv: CsvDialect = CsvDialect()) -> list[TableScan]:
    snapshot = snapshots.open(path)
    known = places(physical_tables([table.table for table in snapshot.tables]))
    return [TableScan(table, known[table.table.schema, table.table.name], csv) for table in snapshot.tables]


def all_pieces(path: Path | str, csv: CsvDialect = CsvDialect()) -> list[FilePiece]:
    return [piece for task in pieces.divide_into_tasks(scans(path, csv)) for piece in task]


def rows(batches: Iterator[pa.RecordBatch]) -> list[State]:
    return [(row["table"], row["handle"], row["image"]) for batch in batches for row in batch.to_pylist()]


def expected(values: list[list[dumps.Value]], table: int = 0) -> list[State]:
    made = []
    for row in values:
        texts = [value.decode("latin-1") if isinstance(value, bytes) else value for value in row]
        cells = [*texts, int(str(row[0])) * 2]
        image = b"\xff".join(b"\xfe" if cell is None else str(cell).encode() for cell in cells)
        made.append((table, (int(str(row[0])) + 2**63).to_bytes(8, "big"), image))
    return made


def typed(values: list[list[dumps.Value]]) -> pa.Table:
    kinds = [pa.int64(), pa.string(), pa.binary(), pa.uint8()]
    columns = [pa.array([row[index] for row in values], kind) for index, kind in enumerate(kinds)]
    return pa.table(dict(zip(COLUMNS, columns)))


def write(directory: Path, format: str, values: list[list[dumps.Value]]) -> None:
    dumps.write_schema(directory, "shop", "a.b", TABLE)
    name = str(directory / dumps.file_name("shop", "a.b", ".000000000."))
    match format:
        case "sql":
            Path(name + "sql").write_bytes(dumps.sql("a.b", values, COLUMNS))
        case "sql.gz":
            Path(name + "sql.gz").write_bytes(gzip.compress(dumps.sql("a.b", values, COLUMNS)))
        case "csv":
            Path(name + "csv").write_bytes(dumps.csv(values, COLUMNS))
        case "plain csv":
            plain = directory / dumps.file_name("shop", "a.b", ".csv")
            plain.write_bytes(dumps.csv(values, COLUMNS, False, b"\n"))
        case "parquet":
            pq.write_table(typed(values), name + "parquet")
        case _:
            pq.write_table(typed(values).cast(OTHER_KINDS), name + "parquet", version="2.6")


OTHER_KINDS = pa.schema(
    [
        ("id", pa.decimal128(20, 0)),
        ("name", pa.dictionary(pa.int32(), pa.string())),
        ("raw", pa.large_binary()),
        ("small", pa.int64()),
    ]
)


@pytest.mark.parametrize("format", ["sql", "sql.gz", "csv", "plain csv", "parquet", "parquet of other types"])
def test_every_format_gives_the_same_states(tmp_path: Path, format: str) -> None:
    r"""NULL, the empty string, `\N`, quotes, line ends and bytes survive; what a file leaves out is computed."""
    write(tmp_path, format, ROWS)
    assert rows(state_batches(all_pieces(tmp_path))) == expected(ROWS)


def test_files_of_one_table_may_have_and_leave_out_generated_columns(tmp_path: Path) -> None:
    """A file that has one is believed; the rows of the others are computed."""
    write(tmp_path, "parquet", ROWS[:2])
    table = typed(ROWS[2:3]).append_column("twice", pa.array([7]))
    pq.write_table(table, tmp_path / dumps.file_name("shop", "a.b", ".000000001.parquet"))
    found = rows(state_batches(all_pieces(tmp_path)))
    assert found[:2] == expected(ROWS[:2])
    assert found[2][2].split(b"\xff")[-1] == b"7"


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("`x` tinyint AS (`id` * 100) STORED", "value '300' of type tinyint: accepted is -128 to 127"),
        (
            "`x` bit(4) AS (`id` * 6) STORED",
            "value '18' of type bit: accepted is a number or bytes of no more bits than the column has",
        ),
        ("`x` int AS (nullif(`id`, 3)) STORED NOT NULL", "NULL in a NOT NULL column"),
    ],
)
def test_a_computed_value_that_tidb_would_not_take_is_an_error(tmp_path: Path, column: str, words: str) -> None:
    """With what the expression gives, as of any value."""
    dumps.write_schema(tmp_path, "shop", "t", f"CREATE TABLE `t` (`id` int PRIMARY KEY, {column})")
    (tmp_path / "shop.t.csv").write_text("1\n3\n")
    with pytest.raises(SnapshotError) as caught:
        rows(state_batches(all_pieces(tmp_path)))
    assert str(caught.value) == (f"{tmp_path / 'shop.t.csv'}: table `shop`.`t`, column 'x', row id='3': {words}")


def test_small_files_of_many_tables_are_one_task_and_few_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No Parquet file is opened to plan them, and a task says no more than its tables."""
    for number in range(60):
        dumps.write_schema(tmp_path, "shop", f"t{number:02}", f"CREATE TABLE `t{number:02}` (`id` int PRIMARY KEY)")
        pq.write_table(pa.table({"ID": pa.array([number, 100], pa.int32())}), tmp_path / f"shop.t{number:02}.parquet")
    monkeypatch.setattr(parquet.pq, "ParquetFile", None)
    planned = pieces.divide_into_tasks(scans(tmp_path))
    monkeypatch.undo()
    assert len(planned) == 1 and len(planned[0]) == 60
    assert len(pickle.dumps(planned[0])) < 60 * 3000


def test_the_rows_of_small_tables_share_batches(tmp_path: Path) -> None:
    """In the order of the pieces, each with the number of its table."""
    for number in range(20):
        dumps.write_schema(tmp_path, "shop", f"t{number:02}", f"CREATE TABLE `t{number:02}` (`id` int PRIMARY KEY)")
        (tmp_path / f"shop.t{number:02}.csv").write_text("1\n2\n")
    batches = list(state_batches(all_pieces(tmp_path)))
    assert len(batches) == 1 and batches[0].schema == SNAPSHOT_ROWS
    assert batches[0].column("table").to_pylist() == [number for number in range(20) for _ in "12"]


def test_a_task_is_sent_with_its_own_tables_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files the table has beside those of the task."""
    monkeypatch.setattr(pieces, "MIN_TASK_BYTES", 1 << 16)
    dumps.write_schema(tmp_path, "shop", "t", "CREATE TABLE `t` (`id` int PRIMARY KEY)")
    for number in range(300):
        (tmp_path / f"shop.t.{number:09}.csv").write_text(f"{number}\n")
    planned = pieces.divide_into_tasks(scans(tmp_path), least=100)
    assert len(planned) > 50 and sum(map(len, planned)) == 300
    assert max(len(pickle.dumps(task)) for task in planned) < 6000


@pytest.mark.parametrize("format", ["parquet", "sql", "csv"])
def test_a_large_file_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """Parquet by its row groups, text where a record or statement begins; together they are the whole."""
    monkeypatch.setattr(pieces, "MIN_TASK_BYTES", 100)
    values: list[list[dumps.Value]] = [[number, f"name {number}", b"\xff", number % 256] for number in range(400)]
    write(tmp_path, format, values)
    if format == "parquet":
        path = tmp_path / dumps.file_name("shop", "a.b", ".000000000.parquet")
        pq.write_table(typed(values), path, row_group_size=50)
    planned = pieces.divide_into_tasks(scans(tmp_path), least=40)
    assert len(planned) > 3
    assert [row for task in planned for row in rows(state_batches(task))] == expected(values)


def test_a_task_of_two_snapshots_reads_about_the_same_keys_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the files of one have other rows and sizes than those of the other one."""
    monkeypatch.setattr(pieces, "MIN_TASK_BYTES", 100)
    monkeypatch.setattr(pieces, "OPENING", 0)
    sides: list[list[TableScan]] = []
    for side, keys in (("before", range(0, 4000, 2)), ("after", range(0, 4000))):
        (tmp_path / side).mkdir()
        for name in "st":
            dumps.write_schema(tmp_path / side, "shop", name, f"CREATE TABLE `{name}` (`id` int PRIMARY KEY)")
            (tmp_path / side / f"shop.{name}.csv").write_text("".join(f"{key}\n" for key in keys))
        sides.append(scans(tmp_path / side))
    planned = pieces.divide_both_into_tasks(sides[0], sides[1], least=20)
    read = [[rows(state_batches(side)) for side in task] for task in planned]
    assert len(planned) > 10
    for number in (0, 1):
        whole = (piece for task in pieces.divide_into_tasks(sides[number]) for piece in task)
        assert [row for task in read for row in task[number]] == rows(state_batches(whole))
    together = sum(len({row[:2] for row in old} & {row[:2] for row in new}) for old, new in read)
    assert together > 0.8 * 4000, "rows of before whose key is in the same task's rows of after"


@pytest.mark.parametrize("format", ["parquet", "sql", "csv"])
def test_a_batch_has_a_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """In rows and in bytes, even where a row group looks small because its values repeat."""
    monkeypatch.setattr(states, "BYTES", 20_000)
    monkeypatch.setattr(states, "ROWS", 100)
    monkeypatch.setattr(parquet, "BYTES", 20_000)
    dumps.write_schema(tmp_path, "shop", "t", "CREATE TABLE `t` (`id` int PRIMARY KEY, `text` longtext)")
    values: list[list[dumps.Value]] = [[number, "x" * 1000 if number > 500 else "y"] for number in range(1000)]
    if format == "parquet":
        table = pa.table({"id": [row[0] for row in values], "text": [row[1] for row in values]})
        pq.write_table(table, tmp_path / "shop.t.parquet")
    else:
        text = dumps.sql("t", values) if format == "sql" else dumps.csv(values)
        (tmp_path / f"shop.t.000000000.{format}").write_bytes(text)
    batches = list(state_batches(all_pieces(tmp_path)))
    assert sum(map(len, batches)) == 1000
    assert max(map(len, batches)) <= 100
    assert max(batch.nbytes for batch in batches) < 50_000


@pytest.mark.slow
def test_a_row_group_that_repeats_large_values_is_read_in_few_rows(tmp_path: Path) -> None:
    """Its footer counts each value once."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"text": ["x" * 500_000] * 1000}), path)
    with pq.ParquetFile(path) as file:
        assert file.metadata.row_group(0).total_byte_size < 2_000_000
        assert parquet._rows(file, 0) < 100


def test_snapshots_lie_wherever_fsspec_opens_files() -> None:
    """Schemas, metadata and all formats; pieces name the URI."""
    files = fsspec.filesystem("memory")
    files.pipe("/exports/before/shop.a%2Eb-schema.sql", TABLE.encode())
    files.pipe("/exports/before/metadata", b"\tPos: 447000000000000001\n")
    files.pipe("/exports/before/shop.a%2Eb.000000000.sql.gz", gzip.compress(dumps.sql("a.b", ROWS[:2], COLUMNS)))
    files.pipe("/exports/before/shop.a%2Eb.000000001.csv", dumps.csv(ROWS[2:3], COLUMNS))
    buffer = pa.BufferOutputStream()
    pq.write_table(typed(ROWS[3:]), buffer)
    files.pipe("/exports/before/shop.a%2Eb.000000002.parquet", buffer.getvalue().to_pybytes())
    uri = "memory://exports/before"
    snapshot = snapshots.open(uri)
    assert (snapshot.path, snapshot.start_ts) == (uri, 447000000000000001)
    assert snapshots.open(Path(uri)) == snapshot
    data = [path for path in files.ls("/exports/before", detail=False) if "0000" in path]
    assert snapshot.size == sum(map(files.size, data))
    planned = all_pieces(uri)
    assert planned[0].part.path == "memory:///exports/before/shop.a%2Eb.000000000.sql.gz"
    assert sorted(rows(state_batches(planned))) == sorted(expected(ROWS))
    files.pipe("/exports/before/shop.a%2Eb.000000001.csv", b"1,2\n")
    with pytest.raises(SnapshotError, match="^memory:///exports/before/shop.a%2Eb.000000001.csv: the file changes"):
        rows(state_batches(planned))
    with pytest.raises(SnapshotError, match="no such directory: memory://exports/after"):
        snapshots.open("memory://exports/after")


def test_a_storage_without_a_driver_is_refused_in_one_line() -> None:
    with pytest.raises(SnapshotError, match="nosuch://x/y: cannot be read: Protocol not known: nosuch"):
        snapshots.open("nosuch://x/y")


def test_a_file_uri_is_its_path(tmp_path: Path) -> None:
    write(tmp_path, "csv", ROWS)
    assert snapshots.open(f"file://{tmp_path}") == snapshots.open(tmp_path)


def test_a_scenario_may_name_a_uri(tmp_path: Path) -> None:
    """Where a path would be relative to the scenario's file."""
    assert files.location_text(files.location_beside(tmp_path / "a.toml", "s3://bucket/monday")) == "s3://bucket/monday"
    assert files.location_beside(tmp_path / "a.toml", "monday") == tmp_path / "monday"


def test_a_relative_path_is_the_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that reads the piece may have another working directory; messages keep the path as it was given."""
    (tmp_path / "data").mkdir()
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "data", "parquet", ROWS)
    monkeypatch.chdir(tmp_path)
    planned = all_pieces("data")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert rows(state_batches(planned)) == expected(ROWS)
    assert planned[0].part.path == "data/shop.a%2Eb.000000000.parquet"


REFUSED = "CREATE TABLE `t` (`id` int PRIMARY KEY, `small` tinyint NOT NULL, `name` varchar(3))"


@pytest.mark.parametrize(
    "line, words",
    [
        ("0,1,a\n1,300,x", "column 'small', row id='1': value '300' of type tinyint: accepted is -128 to 127"),
        ("0,1,a\n1,,x\n2,300,y", "column 'small', row id='1': NULL in a NOT NULL column"),
        ("1,3,toolong\n2,300,x", "column 'name', row id='1': value 'toolong' of type varchar: accepted is at most 3"),
        ("1,300," + "é" * 70, "column 'small', row id='1': value '300'"),
        ("1,3," + "é" * 70, "value '" + "é" * 40 + "' of type varchar"),
        ("1,3", "line 1: wrong number of fields: 2 instead of 3"),
    ],
)
def test_the_first_row_that_tidb_would_not_take_is_named(tmp_path: Path, line: str, words: str) -> None:
    """File, table, column, row key and value, in one line."""
    dumps.write_schema(tmp_path, "shop", "t", REFUSED)
    (tmp_path / "shop.t.csv").write_text(line + "\n")
    with pytest.raises(SnapshotError) as caught:
        rows(state_batches(all_pieces(tmp_path)))
    assert words in str(caught.value) and str(tmp_path / "shop.t.csv") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_row_that_no_partition_takes_is_named(tmp_path: Path) -> None:
    dumps.write_schema(
        tmp_path,
        "shop",
        "p",
        "CREATE TABLE `p` (`id` int PRIMARY KEY) PARTITION BY RANGE (`id`) "
        "(PARTITION p0 VALUES LESS THAN (1), PARTITION p1 VALUES LESS THAN (2))",
    )
    path = tmp_path / "shop.p.csv"
    path.write_text("0\n1\n")
    assert [row[0] for row in rows(state_batches(all_pieces(tmp_path)))] == [0, 1]
    path.write_text("0\n9\n1\n")
    with pytest.raises(SnapshotError, match=f"^{path}: table `shop`.`p`: no partition takes id='9'$"):
        rows(state_batches(all_pieces(tmp_path)))


@pytest.mark.parametrize("way, written", [("hex", b"00fF41,\n,\n"), ("base64", b"AP9B,\n,\n")])
def test_binary_columns_of_csv_may_be_text(tmp_path: Path, way: str, written: bytes) -> None:
    """And what is no such text is refused with what the file has."""
    dumps.write_schema(tmp_path, "shop", "t", "CREATE TABLE `t` (`raw` varbinary(3), `b` blob)")
    path = tmp_path / "shop.t.csv"
    path.write_bytes(written)
    dialect = CsvDialect(binary=way)
    found = [row[2] for row in rows(state_batches(all_pieces(tmp_path, dialect)))]
    assert found == ["\0ÿA".encode() + b"\xff\xfe", b"\xfe\xff\xfe"]
    path.write_bytes(b"0x!!,\n")
    with pytest.raises(SnapshotError, match=r"column 'raw', row raw='0x!!' b='NULL': value '0x!!' of type varchar"):
        rows(state_batches(all_pieces(tmp_path, dialect)))


def damaged_parquet(path: Path, how: str) -> None:
    data = path.read_bytes()
    match how:
        case "cut":
            path.write_bytes(data[: len(data) // 2])
        case "empty":
            path.write_bytes(b"")
        case "other":
            path.write_bytes(b"id,name\n" * 20)
        case "inside":
            path.write_bytes(data[:8] + bytes(byte ^ 0xFF for byte in data[8:200]) + data[200:])


@pytest.mark.parametrize("how", ["cut", "empty", "other", "inside"])
def test_a_parquet_file_that_is_damaged_or_none_is_named(tmp_path: Path, how: str) -> None:
    write(tmp_path, "parquet", ROWS * 20)
    path = tmp_path / dumps.file_name("shop", "a.b", ".000000000.parquet")
    damaged_parquet(path, how)
    with pytest.raises(SnapshotError, match=f"^{path}: cannot be read as Parquet: [^\n]+$"):
        rows(state_batches(all_pieces(tmp_path)))


@pytest.mark.parametrize(
    ("true", "lie", "words"),
    [
        (b"\xc8\x01", b"\x94\x01", "row group 0 has 74 rows, its footer says 100"),
        (b"\xc8\x01", b"\xd0\x0f", "row group 0 has 100 rows, its footer says 1000"),
        (b"\x05small\x00", b"\x05sm\xffll\x00", ".*invalid start byte"),
    ],
    ids=["fewer rows", "more rows", "no name"],
)
def test_a_parquet_file_whose_footer_lies_is_named(tmp_path: Path, true: bytes, lie: bytes, words: str) -> None:
    """Of 100 rows (in Thrift's compact protocol C8 01) none is lost without a word."""
    dumps.write_schema(tmp_path, "shop", "t", "CREATE TABLE `t` (`id` int PRIMARY KEY, `small` int)")
    path = tmp_path / "shop.t.parquet"
    pq.write_table(pa.table({name: pa.array(range(100)) for name in ("id", "small")}), path)
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:footer] + lie.join(data[footer:].rpartition(true)[::2]))
    with pytest.raises(SnapshotError, match=f"^{path}: cannot be read as Parquet: {words}[^\n]*$"):
        rows(state_batches(all_pieces(tmp_path)))


@pytest.mark.parametrize(
    "columns, words",
    [
        (("id", "name", "raw"), "column 'small' is missing"),
        (("id", "name", "raw", "small", "other"), "column 'other' is not in the schema"),
    ],
)
def test_columns_of_a_parquet_file_are_those_of_the_schema(
    tmp_path: Path, columns: tuple[str, ...], words: str
) -> None:
    dumps.write_schema(tmp_path, "shop", "a.b", TABLE)
    path = tmp_path / dumps.file_name("shop", "a.b", ".parquet")
    pq.write_table(pa.table({name: pa.array([1]) for name in columns}), path)
    with pytest.raises(SnapshotError, match=f"^{path}: table `a.b`: {words}$"):
        rows(state_batches(all_pieces(tmp_path)))


def test_a_column_of_lists_is_refused(tmp_path: Path) -> None:
    dumps.write_schema(tmp_path, "shop", "t", "CREATE TABLE `t` (`id` int PRIMARY KEY, `text` longtext)")
    pq.write_table(pa.table({"id": [1], "text": [[1, 2]]}), tmp_path / "shop.t.parquet")
    with pytest.raises(SnapshotError, match="column 'text' is list<.*>: accepted are columns of plain values"):
        rows(state_batches(all_pieces(tmp_path)))


@pytest.mark.parametrize("how", ["cut short", "broken"])
@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_compressed_file_that_is_damaged_is_named(tmp_path: Path, suffix: str, how: str) -> None:
    write(tmp_path, "csv", ROWS)
    plain = tmp_path / dumps.file_name("shop", "a.b", ".000000000.csv")
    data = b"".join(b"%d,a,b,1\r\n" % number for number in range(50_000))
    codec = {"gz": "gzip", "zst": "zstd"}[suffix]
    packed = pa.compress(data, codec, asbytes=True)
    path = Path(f"{plain}.{suffix}")
    path.write_bytes(packed[: len(packed) // 2] + (bytes(50) if how == "broken" else b""))
    plain.unlink()
    with pytest.raises(SnapshotError, match=f"^{path}: [^\n]*$"):
        rows(state_batches(all_pieces(tmp_path)))


@pytest.mark.parametrize("format", ["sql", "parquet"])
def test_a_file_that_is_written_again_after_planning_is_named(tmp_path: Path, format: str) -> None:
    """Whether its size shows it, or its time of writing alone."""
    write(tmp_path, format, ROWS)
    planned = all_pieces(tmp_path)
    path = Path(planned[0].part.path)
    times = path.stat()
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1_000_000_000))
    with pytest.raises(SnapshotError, match=f"^{path}: the file changes while it is read: it was written again after"):
        rows(state_batches(planned))
    path.write_bytes(path.read_bytes()[:-30])
    words = f"it had {times.st_size} bytes when the run was planned and has {times.st_size - 30}; accepted"
    with pytest.raises(SnapshotError, match=f"^{path}: the file changes while it is read: {words}"):
        rows(state_batches(planned))


def test_a_file_that_changes_while_it_is_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with its bytes by then is a result of that."""
    monkeypatch.setattr(streams, "BLOCK", 16)
    monkeypatch.setattr(states, "TOGETHER", 1)
    monkeypatch.setattr(states, "ROWS", 1)
    write(tmp_path, "csv", ROWS)
    planned = all_pieces(tmp_path)
    path = Path(planned[0].part.path)
    taken = state_batches(planned)
    next(taken)
    with path.open("r+b") as file:
        file.seek(60)
        file.write(b'"' * 40)
        file.truncate(100)
    with pytest.raises(SnapshotError, match=f"^{path}: the file changes while it is read"):
        list(taken)


@pytest.mark.parametrize("format", ["sql", "parquet"])
def test_a_file_that_only_the_driver_sees_is_named(tmp_path: Path, format: str) -> None:
    write(tmp_path, format, ROWS)
    planned = all_pieces(tmp_path)
    Path(planned[0].part.path).unlink()
    with pytest.raises(SnapshotError, match=r"no such file on the machine of this task \([^\n]+\): every machine that"):
        rows(state_batches(planned))


def test_a_table_that_statements_change_is_finished_by_them(tmp_path: Path) -> None:
    """The function gets texts and table numbers and may leave rows out; the comparison's number stands beside."""
    write(tmp_path, "csv", ROWS)
    [scan] = scans(tmp_path)
    changed = TableScan(scan.table, scan.place, scan.csv, 3, first_two)
    [batch] = state_batches(pieces.divide_into_tasks([changed])[0])
    assert batch.to_pylist() == [
        {"move": 3, "table": 7, "handle": b"-1", "image": b"i", "unaltered": b"w"},
        {"move": 3, "table": 7, "handle": b"2", "image": b"i", "unaltered": b"w"},
    ]


def first_two(texts: list[pa.Array], table: pa.Array) -> pa.RecordBatch:
    """Stands for what statements make of rows."""
    handle = texts[0].cast(pa.binary())[:2]
    constant = [pa.repeat(pa.scalar(value), 2) for value in (b"i", b"w")]
    return pa.RecordBatch.from_arrays(
        [pa.array([7, 7], pa.int32()), handle, *constant], ["table", "handle", "image", "unaltered"]
    )
