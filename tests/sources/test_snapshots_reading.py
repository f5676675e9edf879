"""Snapshot directories: what is one, and files of many tables and formats, read in tasks of about equal bytes into one
shape, or refused in one line.
"""

from __future__ import annotations

import gzip
import os
import pickle
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import databases
from support.playing import places

from simulator import files
from simulator.columns.change_frame import SNAPSHOT_ROWS
from simulator.errors import SnapshotError
from simulator.sources import snapshots
from simulator.sources.snapshots import parquet, pieces, states, streams
from simulator.sources.snapshots.csv_text import CsvDialect
from simulator.sources.snapshots.pieces import FilePiece, TableScan, physical_tables
from simulator.sources.snapshots.states import state_batches

TABLE = (
    "CREATE TABLE `a.b` (`id` bigint NOT NULL, `name` varchar(40), `raw` varbinary(20), `big` bigint unsigned,"
    " `twice` bigint GENERATED ALWAYS AS (`id` * 2) STORED,"
    " PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */)"
)
COLUMNS = ("id", "name", "raw", "big")
KINDS = (pa.int64(), pa.string(), pa.binary(), pa.uint64())
OTHER_KINDS = (pa.decimal128(20, 0), pa.dictionary(pa.int32(), pa.string()), pa.large_binary(), pa.decimal128(20, 0))
ROWS: list[list[databases.Value]] = [
    [-1, "a\\N'\"\n\r,\0", b"\x00\xff\xfe'\"\\\n,", 2**64 - 1],
    [2, "\\N", b"\\N", None],
    [3, "", b"", 0],
    [4, None, None, 1],
    [5, "é😀\x1a", b"\x80", 2**63],
]

Rows = Sequence[Sequence[databases.Value]]
State = tuple[int, bytes, bytes]
"""Table, handle and image of a row."""


def typed(values: Rows, kinds: Sequence[pa.DataType] = KINDS) -> pa.Table:
    columns = [pa.array([row[place] for row in values], kind) for place, kind in enumerate(KINDS)]
    return pa.table(dict(zip(COLUMNS, columns))).cast(pa.schema(list(zip(COLUMNS, kinds))))


def in_parquet(table: pa.Table, **options: object) -> bytes:
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, **options)
    return bytes(buffer.getvalue())


FILES: dict[str, Callable[[Rows], bytes]] = {
    ".000000000.sql": lambda values: databases.sql("a.b", values, COLUMNS),
    ".000000000.sql.gz": lambda values: gzip.compress(databases.sql("a.b", values, COLUMNS)),
    ".000000000.csv": lambda values: databases.csv(values, COLUMNS),
    ".csv": lambda values: databases.csv(values, COLUMNS, False, b"\n"),
    ".000000000.parquet": lambda values: in_parquet(typed(values)),
    ".parquet": lambda values: in_parquet(typed(values, OTHER_KINDS), version="2.6"),
}
"""Files of the table by the ends of their names; the last has other types."""


def write(directory: Path, end: str, values: Rows = ROWS) -> Path:
    """Write a snapshot of the table; return its data file."""
    databases.write_schema(directory, "shop", "a.b", TABLE)
    path = directory / databases.file_name("shop", "a.b", end)
    path.write_bytes(FILES[end](values))
    return path


def define(directory: Path, columns: str, text: str | None = None, name: str = "t") -> Path:
    """Write a snapshot of another table with this CSV; return its data file."""
    databases.write_schema(directory, "shop", name, f"CREATE TABLE `{name}` ({columns}")
    path = directory / f"shop.{name}.csv"
    if text is not None:
        path.write_text(text)
    return path


def expected(values: Rows = ROWS) -> list[State]:
    made = []
    for row in values:
        texts = [value.decode("latin-1") if isinstance(value, bytes) else value for value in row]
        cells = [*texts, int(str(row[0])) * 2]
        image = b"\xff".join(b"\xfe" if cell is None else str(cell).encode() for cell in cells)
        made.append((0, (int(str(row[0])) + 2**63).to_bytes(8, "big"), image))
    return made


def scans(path: Path | str, csv: CsvDialect = CsvDialect()) -> list[TableScan]:
    snapshot = snapshots.open(path, csv)
    known = places(physical_tables([table.table for table in snapshot.tables]))
    return [TableScan(table, known[table.table.schema, table.table.name]) for table in snapshot.tables]


def all_pieces(path: Path | str, csv: CsvDialect = CsvDialect()) -> list[FilePiece]:
    return [piece for task in pieces.divide_into_tasks(scans(path, csv)) for piece in task]


def rows(task: Iterable[FilePiece]) -> list[State]:
    return [(row["table"], row["handle"], row["image"]) for batch in state_batches(task) for row in batch.to_pylist()]


def refused(task: Iterable[FilePiece]) -> str:
    """The one line that says why these pieces cannot be read."""
    with pytest.raises(SnapshotError) as caught:
        rows(task)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_directories_that_are_no_snapshot_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, words in {"missing": "no such directory", "": "no schema file", "file": "not a directory"}.items():
        with pytest.raises(SnapshotError, match=words):
            snapshots.open(tmp_path / path)
    with pytest.raises(SnapshotError, match="nosuch://x/y: cannot be read: Protocol not known: nosuch"):
        snapshots.open("nosuch://x/y")


def test_data_needs_a_schema_and_a_schema_without_data_is_an_empty_table(tmp_path: Path) -> None:
    define(tmp_path, "`id` int PRIMARY KEY)")
    databases.write_metadata(tmp_path, 447000000000000001)
    snapshot = snapshots.open(tmp_path)
    assert [(table.table.name, dict(table.files)) for table in snapshot.tables] == [("t", {})]
    assert snapshot.start_ts == 447000000000000001
    (tmp_path / "shop.u.000000000.sql").write_text("")
    with pytest.raises(SnapshotError, match="data file without schema file shop.u"):
        snapshots.open(tmp_path)


@pytest.mark.parametrize("end", FILES)
def test_every_format_gives_the_same_states(tmp_path: Path, end: str) -> None:
    r"""NULL, the empty string, `\N`, quotes, line ends and bytes survive; what a file leaves out is computed."""
    write(tmp_path, end)
    assert rows(all_pieces(tmp_path)) == expected()


def test_files_of_one_table_may_have_and_leave_out_generated_columns(tmp_path: Path) -> None:
    """A file that has one is believed; the rows of the others are computed."""
    write(tmp_path, ".000000000.parquet", ROWS[:2])
    table = typed(ROWS[2:3]).append_column("twice", pa.array([7]))
    pq.write_table(table, tmp_path / databases.file_name("shop", "a.b", ".000000001.parquet"))
    found = rows(all_pieces(tmp_path))
    assert found[:2] == expected(ROWS[:2])
    assert found[2][2].split(b"\xff")[-1] == b"7"


def test_a_row_lies_in_its_partition(tmp_path: Path) -> None:
    """Each partition is a physical table of its own; NULL lies in the lowest range."""
    days = "(PARTITION p0 VALUES LESS THAN (TO_DAYS('2000-01-01')), PARTITION p1 VALUES LESS THAN (MAXVALUE))"
    define(tmp_path, "`id` int PRIMARY KEY) PARTITION BY HASH (`id`) PARTITIONS 3", "-4\n3\n5\n", "h")
    columns = f"`id` int, `d` date) PARTITION BY RANGE (TO_DAYS(`d`)) {days}"
    define(tmp_path, columns, "id,d\n1,1999-12-31\n2,2000-01-01\n3,\n", "p")
    found = [(table, image.split(b"\xff")[0]) for table, _, image in rows(all_pieces(tmp_path))]
    assert sorted(found) == [(0, b"3"), (1, b"-4"), (2, b"5"), (3, b"1"), (3, b"3"), (4, b"2")]


def test_small_files_of_many_tables_are_a_task_and_few_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Parquet file is opened to plan them, a task says no more than its tables, and their rows share batches in the
    order of the pieces, each with the number of its table."""
    for number in range(60):
        define(tmp_path, "`id` int PRIMARY KEY)", name=f"t{number:02}")
        pq.write_table(pa.table({"ID": pa.array([number, 100], pa.int32())}), tmp_path / f"shop.t{number:02}.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(pq, "ParquetFile", None)
        (planned,) = pieces.divide_into_tasks(scans(tmp_path))
    assert len(planned) == 60 and len(pickle.dumps(planned)) < 60 * 3000
    (batch,) = state_batches(planned)
    assert batch.schema == SNAPSHOT_ROWS
    assert batch.column("table").to_pylist() == [number for number in range(60) for _ in "12"]


def test_a_task_is_sent_with_its_own_tables_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files the table has beside those of the task."""
    monkeypatch.setattr(pieces, "MIN_TASK_BYTES", 1 << 16)
    define(tmp_path, "`id` int PRIMARY KEY)")
    for number in range(300):
        (tmp_path / f"shop.t.{number:09}.csv").write_text(f"{number}\n")
    planned = pieces.divide_into_tasks(scans(tmp_path), least=100)
    assert len(planned) > 50 and sum(map(len, planned)) == 300
    assert max(len(pickle.dumps(task)) for task in planned) < 6000


@pytest.mark.parametrize("end", [".000000000.parquet", ".000000000.sql", ".000000000.csv"])
def test_a_large_file_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """Parquet by its row groups, text where a record or statement begins; together they are the whole."""
    monkeypatch.setattr(pieces, "MIN_TASK_BYTES", 100)
    values: Rows = [[number, f"name {number}", b"\xff", number] for number in range(400)]
    path = write(tmp_path, end, values)
    if end.endswith("parquet"):
        pq.write_table(typed(values), path, row_group_size=50)
    planned = pieces.divide_into_tasks(scans(tmp_path), least=40)
    assert len(planned) > 3
    assert [row for task in planned for row in rows(task)] == expected(values)


def test_a_task_of_two_snapshots_reads_like_keys_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the files of one have other rows and sizes than those of the other one."""
    monkeypatch.setattr(pieces, "MIN_TASK_BYTES", 100)
    monkeypatch.setattr(pieces, "OPENING", 0)
    sides: list[list[TableScan]] = []
    for side, keys in (("before", range(0, 4000, 2)), ("after", range(0, 4000))):
        (tmp_path / side).mkdir()
        for name in "st":
            define(tmp_path / side, "`id` int PRIMARY KEY)", "".join(f"{key}\n" for key in keys), name)
        sides.append(scans(tmp_path / side))
    planned = pieces.divide_both_into_tasks(sides[0], sides[1], least=20)
    read = [[rows(side) for side in task] for task in planned]
    assert len(planned) > 10
    for number in (0, 1):
        whole = (piece for task in pieces.divide_into_tasks(sides[number]) for piece in task)
        assert [row for task in read for row in task[number]] == rows(whole)
    together = sum(len({row[:2] for row in old} & {row[:2] for row in new}) for old, new in read)
    assert together > 0.8 * 4000, "rows of before whose key is in the same task's rows of after"


@pytest.mark.slow
@pytest.mark.parametrize("format", ["parquet", "sql", "csv"])
def test_a_batch_has_a_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """In rows and in bytes, even where a row group looks small because its values repeat."""
    monkeypatch.setattr(states, "BYTES", 20_000)
    monkeypatch.setattr(states, "ROWS", 100)
    monkeypatch.setattr(parquet, "BYTES", 20_000)
    define(tmp_path, "`id` int PRIMARY KEY, `text` longtext)")
    values: Rows = [[number, "x" * 1000 if number > 500 else "y"] for number in range(1000)]
    table = pa.table({"id": [row[0] for row in values], "text": [row[1] for row in values]})
    contents = {"parquet": in_parquet(table), "sql": databases.sql("t", values), "csv": databases.csv(values)}
    (tmp_path / f"shop.t.000000000.{format}").write_bytes(contents[format])
    batches = list(state_batches(all_pieces(tmp_path)))
    assert sum(map(len, batches)) == 1000
    assert max(map(len, batches)) <= 100
    assert max(batch.nbytes for batch in batches) < 50_000


@pytest.mark.slow
def test_a_row_group_that_repeats_large_values_is_read_in_few_rows(tmp_path: Path) -> None:
    """Its footer counts each value once."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"text": ["x" * 500_000] * 200}), path)
    with pq.ParquetFile(path) as file:
        assert file.metadata.row_group(0).total_byte_size < 2_000_000
        assert parquet._rows(file, 0) < 100


def test_snapshots_lie_wherever_fsspec_opens_files() -> None:
    """Schemas, metadata and all formats; pieces name the URI."""
    memory = fsspec.filesystem("memory")
    memory.pipe("/exports/before/shop.a%2Eb-schema.sql", TABLE.encode())
    memory.pipe("/exports/before/metadata", b"\tPos: 447000000000000001\n")
    parts = {"0.sql.gz": ROWS[:2], "1.csv": ROWS[2:3], "2.parquet": ROWS[3:]}
    for end, values in parts.items():
        memory.pipe(f"/exports/before/shop.a%2Eb.00000000{end}", FILES[f".00000000{'0' + end[1:]}"](values))
    uri = "memory://exports/before"
    snapshot = snapshots.open(uri)
    assert (snapshot.path, snapshot.start_ts) == (uri, 447000000000000001)
    assert snapshots.open(Path(uri)) == snapshot
    data = [path for path in memory.ls("/exports/before", detail=False) if "0000" in path]
    assert snapshot.size == sum(map(memory.size, data))
    planned = all_pieces(uri)
    assert planned[0].part.path == "memory:///exports/before/shop.a%2Eb.000000000.sql.gz"
    assert sorted(rows(planned)) == sorted(expected())
    memory.pipe("/exports/before/shop.a%2Eb.000000001.csv", b"1,2\n")
    assert refused(planned).startswith("memory:///exports/before/shop.a%2Eb.000000001.csv: the file changes")
    with pytest.raises(SnapshotError, match="no such directory: memory://exports/after"):
        snapshots.open("memory://exports/after")


def test_a_scenario_may_name_a_uri(tmp_path: Path) -> None:
    """Where a path would be relative to the scenario's file; a file URI is its path."""
    assert files.location_text(files.location_beside(tmp_path / "a.toml", "s3://bucket/monday")) == "s3://bucket/monday"
    assert files.location_beside(tmp_path / "a.toml", "monday") == tmp_path / "monday"
    write(tmp_path, ".csv")
    assert snapshots.open(f"file://{tmp_path}") == snapshots.open(tmp_path)


def test_a_relative_path_is_the_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that reads the piece may have another working directory; messages keep the path as it was given."""
    (tmp_path / "data").mkdir()
    write(tmp_path / "data", ".parquet")
    monkeypatch.chdir(tmp_path)
    planned = all_pieces("data")
    monkeypatch.chdir(tmp_path / "data")
    assert rows(planned) == expected()
    assert planned[0].part.path == "data/shop.a%2Eb.parquet"


KEY = "`id` int PRIMARY KEY"
REFUSED = f"{KEY}, `small` tinyint NOT NULL, `name` varchar(3))"
BIT = "accepted is a number or bytes of no more bits than the column has"
LOW = " PARTITION BY RANGE (`id`) (PARTITION p0 VALUES LESS THAN (1), PARTITION p1 VALUES LESS THAN (2))"


@pytest.mark.parametrize(
    ("columns", "lines", "words"),
    [
        (REFUSED, "0,1,a\n1,300,x", "column 'small', row id='1': value '300' of type tinyint: accepted is -128 to 127"),
        (REFUSED, "0,1,a\n1,,x\n2,300,y", "column 'small', row id='1': NULL in a NOT NULL column"),
        (REFUSED, "1,3,long\n2,300,x", "'name', row id='1': value 'long' of type varchar: accepted is at most 3"),
        (REFUSED, "1,300," + "é" * 70, "column 'small', row id='1': value '300'"),
        (REFUSED, "1,3," + "é" * 70, "value '" + "é" * 40 + "' of type varchar"),
        (REFUSED, "1,3", "line 1: wrong number of fields: 2 instead of 3"),
        (f"{KEY}, `x` tinyint AS (`id` * 100) STORED)", "1\n3\n", "'x', row id='3': value '300' of type tinyint"),
        (f"{KEY}, `x` bit(4) AS (`id` * 6) STORED)", "1\n3\n", f"'x', row id='3': value '18' of type bit: {BIT}"),
        (
            f"{KEY}, `x` int AS (nullif(`id`, 3)) STORED NOT NULL)",
            "1\n3\n",
            "'x', row id='3': NULL in a NOT NULL column",
        ),
        (f"{KEY}){LOW}", "0\n9\n1\n", "table `shop`.`t`: no partition takes id='9'"),
    ],
)
def test_the_first_row_that_tidb_would_not_take_is_named(tmp_path: Path, columns: str, lines: str, words: str) -> None:
    """File, table, column, row key and value, in one line; of a computed value what the expression gives."""
    path = define(tmp_path, columns, lines)
    said = refused(all_pieces(tmp_path))
    assert said.startswith(f"{path}: ") and words in said


@pytest.mark.parametrize("way, written", [("hex", b"00fF41,\n,\n"), ("base64", b"AP9B,\n,\n")])
def test_binary_columns_of_csv_may_be_text(tmp_path: Path, way: str, written: bytes) -> None:
    """And what is no such text is refused with what the file has."""
    path = define(tmp_path, "`raw` varbinary(3), `b` blob)")
    path.write_bytes(written)
    dialect = CsvDialect(binary=way)
    found = [row[2] for row in rows(all_pieces(tmp_path, dialect))]
    assert found == ["\0ÿA".encode() + b"\xff\xfe", b"\xfe\xff\xfe"]
    path.write_bytes(b"0x!!,\n")
    said = refused(all_pieces(tmp_path, dialect))
    assert "column 'raw', row raw='0x!!' b='NULL': value '0x!!' of type varchar" in said


@pytest.mark.parametrize(
    "damaged",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: b"id,name\n" * 20,
        lambda data: data[:8] + bytes(byte ^ 0xFF for byte in data[8:200]) + data[200:],
    ],
    ids=["cut", "empty", "another format", "broken inside"],
)
def test_a_parquet_file_that_is_damaged_or_none_is_named(tmp_path: Path, damaged: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path, ".parquet", ROWS * 20)
    path.write_bytes(damaged(path.read_bytes()))
    assert refused(all_pieces(tmp_path)).startswith(f"{path}: cannot be read as Parquet: ")


@pytest.mark.parametrize(
    ("true", "lie", "words"),
    [
        (b"\xc8\x01", b"\x94\x01", "row group 0 has 74 rows, its footer says 100"),
        (b"\xc8\x01", b"\xd0\x0f", "row group 0 has 100 rows, its footer says 1000"),
        (b"\x05small\x00", b"\x05sm\xffll\x00", "invalid start byte"),
    ],
    ids=["fewer rows", "more rows", "no name"],
)
def test_a_parquet_file_whose_footer_lies_is_named(tmp_path: Path, true: bytes, lie: bytes, words: str) -> None:
    """Of 100 rows (in Thrift's compact protocol C8 01) none is lost without a word."""
    define(tmp_path, "`id` int PRIMARY KEY, `small` int)")
    path = tmp_path / "shop.t.parquet"
    data = in_parquet(pa.table({name: pa.array(range(100)) for name in ("id", "small")}))
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:footer] + lie.join(data[footer:].rpartition(true)[::2]))
    said = refused(all_pieces(tmp_path))
    assert said.startswith(f"{path}: cannot be read as Parquet: ") and words in said


def test_columns_of_a_parquet_file_are_those_of_the_schema(tmp_path: Path) -> None:
    path = write(tmp_path, ".parquet")
    for names, words in {
        ("id", "name", "raw"): "column 'big' is missing",
        (*COLUMNS, "other"): "column 'other' is not in the schema",
    }.items():
        pq.write_table(pa.table({name: pa.array([1]) for name in names}), path)
        assert refused(all_pieces(tmp_path)) == f"{path}: table `a.b`: {words}"
    lists = typed(ROWS[:1]).set_column(1, "name", pa.array([[1, 2]]))
    pq.write_table(lists, path)
    assert "column 'name' is list<" in (said := refused(all_pieces(tmp_path)))
    assert said.endswith(">: accepted are columns of plain values")


@pytest.mark.parametrize("end", [".000000000.sql", ".csv", ".parquet"])
def test_row_ids_of_a_clustered_table_are_refused_by_name(tmp_path: Path, end: str) -> None:
    words = "a table with a clustered primary key has none; leave it out"
    define(tmp_path, "`id` int, PRIMARY KEY (`id`) CLUSTERED)")
    path = tmp_path / f"shop.t{end}"
    if end == ".parquet":
        pq.write_table(pa.table({"_tidb_rowid": [7], "id": [1]}), path)
    else:
        path.write_text(
            '"_tidb_rowid","id"\r\n7,1\r\n' if end == ".csv" else "INSERT INTO `t` (`_tidb_rowid`,`id`) VALUES (7,1);"
        )
    assert "column '_tidb_rowid'" in (said := refused(all_pieces(tmp_path))) and words in said


@pytest.mark.parametrize("rest", [b"", bytes(50)], ids=["cut short", "broken"])
@pytest.mark.parametrize(("suffix", "codec"), [("gz", "gzip"), ("zst", "zstd")])
def test_a_compressed_file_that_is_damaged_is_named(tmp_path: Path, suffix: str, codec: str, rest: bytes) -> None:
    plain = write(tmp_path, ".csv")
    packed = pa.compress(b"".join(b"%d,a,b,1\r\n" % number for number in range(50_000)), codec, asbytes=True)
    path = plain.with_name(f"{plain.name}.{suffix}")
    path.write_bytes(packed[: len(packed) // 2] + rest)
    plain.unlink()
    assert refused(all_pieces(tmp_path)).startswith(f"{path}: ")


@pytest.mark.parametrize("end", [".000000000.sql", ".parquet"])
def test_a_file_that_is_written_again_or_gone_after_planning_is_named(tmp_path: Path, end: str) -> None:
    """Whether its size shows it, or its time of writing alone."""
    path = write(tmp_path, end)
    planned, changes = all_pieces(tmp_path), f"{path}: the file changes while it is read: "
    times = path.stat()
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1_000_000_000))
    assert refused(planned).startswith(f"{changes}it was written again after")
    path.write_bytes(path.read_bytes()[:-30])
    words = f"it had {times.st_size} bytes when the run was planned and has {times.st_size - 30}; accepted"
    assert refused(planned).startswith(f"{changes}{words}")
    path.unlink()
    assert "no such file on the machine of this task (" in (said := refused(planned))
    assert "): every machine that" in said


def test_a_file_that_changes_while_it_is_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with its bytes by then is a result of that."""
    monkeypatch.setattr(streams, "BLOCK", 16)
    monkeypatch.setattr(states, "TOGETHER", 1)
    monkeypatch.setattr(states, "ROWS", 1)
    path = write(tmp_path, ".000000000.csv")
    taken = state_batches(all_pieces(tmp_path))
    next(taken)
    with path.open("r+b") as file:
        file.seek(60)
        file.write(b'"' * 40)
        file.truncate(100)
    with pytest.raises(SnapshotError, match=f"^{path}: the file changes while it is read"):
        list(taken)


def test_a_table_that_statements_change_is_finished_by_them(tmp_path: Path) -> None:
    """The function gets texts and table numbers and may leave rows out; the comparison's number stands beside."""

    def first_two(texts: list[pa.Array], table: pa.Array, told: pa.Array | None) -> pa.RecordBatch:
        constant = [pa.repeat(pa.scalar(value), 2) for value in (b"i", b"w")]
        columns = [pa.array([7, 7], pa.int32()), texts[0].cast(pa.binary())[:2], *constant]
        return pa.RecordBatch.from_arrays(columns, ["table", "handle", "image", "unaltered"])

    write(tmp_path, ".csv")
    [scan] = scans(tmp_path)
    changed = TableScan(scan.table, scan.place, 3, first_two)
    [batch] = state_batches(pieces.divide_into_tasks([changed])[0])
    rest = {"move": 3, "table": 7, "image": b"i", "unaltered": b"w"}
    assert batch.to_pylist() == [{**rest, "handle": b"-1"}, {**rest, "handle": b"2"}]
