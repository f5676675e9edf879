"""Snapshots that tell `_tidb_rowid`: it is the handle of rows without a clustered key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.playing import play, said

from simulator.reader.records import read_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URI = "kafka://127.0.0.1:9092/shop?protocol=canal-json&enable-tidb-extension=true"
OPEN = "kafka://127.0.0.1:9092/shop?protocol=open-protocol"
COLUMNS = "_tidb_rowid id v"
KEYLESS = "(id INT, v VARCHAR(9))"
NONCLUSTERED = "(id INT, v VARCHAR(9), PRIMARY KEY (id) NONCLUSTERED)"


def snapshot(directory: Path, definition: str, rows: str, columns: str = COLUMNS, end: str = ".csv") -> Path:
    """A snapshot of one table, with rows such as `7,1,a`."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "shop.t-schema.sql").write_text(f"CREATE TABLE t {definition};\n")
    names, lines, path = columns.split(), [row.split(",") for row in rows.split()], directory / f"shop.t{end}"
    if end == ".parquet":
        types = [pa.string() if name == "v" else pa.int64() for name in names]
        cells = [pa.array(cells).cast(type) for cells, type in zip(zip(*lines, strict=True), types, strict=True)]
        pq.write_table(pa.table(dict(zip(names, cells, strict=True))), path)
    elif end == ".000000000.sql":
        values = ("('" + "', '".join(line) + "')" for line in lines)
        path.write_text(f"INSERT INTO t ({', '.join(names)}) VALUES {', '.join(values)};\n")
    else:
        path.write_text("".join(",".join(line) + "\n" for line in (names, *lines)))
    return directory


def diff(
    directory: Path,
    definition: str,
    before: str,
    after: str,
    *options: object,
    uri: str = URI,
    dispatcher: str = "table",
) -> Path:
    """The fixtures of a diff of two such snapshots."""
    sides = [snapshot(directory / side, definition, rows) for side, rows in (("before", before), ("after", after))]
    return played(directory, *sides, "--sink-uri", uri, *options, dispatcher=dispatcher)


def played(directory: Path, *arguments: object, dispatcher: str = "table") -> Path:
    rule = f'[sink]\ndispatchers = [{{ matcher = ["*.*"], dispatcher = "{dispatcher}" }}]\n'
    (directory / "feed.toml").write_text(f"force-replicate = true\n{rule}")
    options = "--config", directory / "feed.toml", "--fixtures", directory / "out"
    assert play("diff", *arguments, *options) == 0
    return directory / "out"


def events(out: Path) -> Iterator[dict[str, Any]]:
    for record in read_records(str(out)):
        message = json.loads(record.value or b"{}")
        if message["type"] in ("INSERT", "UPDATE", "DELETE"):
            yield message


def changes(out: Path) -> list[str]:
    """The changes of an output in the order of time, as `INSERT 1,a` and `UPDATE 1,a>1,b`."""
    found = []
    for place, event in enumerate(events(out)):
        rows = [event["data"][0], *([event["data"][0] | event["old"][0]] if event["type"] == "UPDATE" else [])]
        texts = (",".join(str(row[name]) for name in ("id", "v")) for row in reversed(rows))
        found.append((event["_tidb"]["commitTs"], place, f"{event['type']} {'>'.join(texts)}"))
    return [text for *_, text in sorted(found)]


@pytest.mark.parametrize(
    ("definition", "before", "after", "expected"),
    [
        (KEYLESS, "7,1,a 8,1,a 9,1,a", "7,1,a 9,1,b", {"DELETE 1,a", "UPDATE 1,a>1,b"}),
        (KEYLESS, "7,1,a 8,2,b", "8,1,a 7,2,b", {"UPDATE 1,a>2,b", "UPDATE 2,b>1,a"}),
        (
            KEYLESS,
            "-9223372036854775808,1,a",
            "-9223372036854775808,1,b 9223372036854775807,1,a",
            {"UPDATE 1,a>1,b", "INSERT 1,a"},
        ),
        (NONCLUSTERED, "7,1,a 8,2,b", "7,1,c 8,2,b", {"UPDATE 1,a>1,c"}),
        (NONCLUSTERED, "7,1,a", "8,1,a", {"DELETE 1,a", "INSERT 1,a"}),
        (NONCLUSTERED, "7,1,a", "7,2,a", {"UPDATE 1,a>2,a"}),
        ("(id INT NOT NULL, v VARCHAR(9), UNIQUE (id))", "7,1,a", "8,1,b", {"DELETE 1,a", "INSERT 1,b"}),
        (
            "(id INT NOT NULL, v VARCHAR(9)) PARTITION BY HASH (id) PARTITIONS 2",
            "7,1,a 7,2,a",
            "7,1,b 7,2,a 8,3,c",
            {"UPDATE 1,a>1,b", "INSERT 3,c"},
        ),
    ],
)
def test_row_ids_identify_rows(tmp_path: Path, definition: str, before: str, after: str, expected: set[str]) -> None:
    """Of equal rows, too, and whatever key the table has."""
    found = changes(diff(tmp_path, definition, before, after, "--release", "v6.5.0"))
    assert set(found) == expected and len(found) == len(expected)


@pytest.mark.parametrize("seed", range(4))
def test_a_key_is_free_before_the_row_with_another_row_id_takes_it(tmp_path: Path, seed: int) -> None:
    """In a release that does not split an UPDATE of the key, and in one that does."""
    out = diff(tmp_path / "old", NONCLUSTERED, "7,1,a", "8,1,b", "--seed", seed, "--release", "v6.5.0")
    assert changes(out) == ["DELETE 1,a", "INSERT 1,b"]
    out = diff(tmp_path / "new", NONCLUSTERED, "7,1,a 8,2,b", "8,1,b 7,2,a", "--seed", seed)
    assert changes(out) == ["DELETE 1,a", "DELETE 2,b", "INSERT 2,a", "INSERT 1,b"]


@pytest.mark.parametrize(("definition", "release"), [(KEYLESS, "v5.4.0"), (NONCLUSTERED, "v6.5.0")])
@pytest.mark.parametrize("end", [".csv", ".000000000.sql", ".parquet"])
def test_open_protocol_tells_the_row_id(tmp_path: Path, definition: str, release: str, end: str) -> None:
    sides = [
        snapshot(tmp_path / side, definition, rows, end=end) for side, rows in (("a", "-7,1,a 8,2,b"), ("b", "9,1,a"))
    ]
    out = played(tmp_path, *sides, "--sink-uri", f"{OPEN}&max-batch-size=1", "--release", release)
    keys = (json.loads(record.key[16:]) for record in read_records(str(out)) if record.key)
    assert sorted(key["rid"] for key in keys if key["t"] == 1) == [-7, 8, 9]


def test_rows_are_dispatched_by_the_row_id(tmp_path: Path) -> None:
    """Before 4.0.5, whose dispatcher `rowid` takes it modulo the number of partitions."""
    rows = " ".join(f"{number},{number + 100},a" for number in range(1, 40))
    sides = [snapshot(tmp_path / side, NONCLUSTERED, found) for side, found in (("a", rows), ("b", "50,150,a"))]
    rule = '[sink]\ndispatchers = [{ matcher = ["shop.*"], dispatcher = "rowid" }]\n'
    (tmp_path / "rules.toml").write_text(rule)
    options = "--config", tmp_path / "rules.toml", "--release", "v4.0.0", "--fixtures", tmp_path / "out"
    assert play("diff", *sides, "--sink-uri", f"{OPEN}&partition-num=3", *options) == 0
    found = {
        int(number) - 100: record.partition
        for record in read_records(str(tmp_path / "out"))
        for number in re.findall(rb'"v":(1\d\d)\}', record.value or b"")
    }
    assert found == {number: number % 3 for number in (*range(1, 40), 50)}


def test_rows_come_by_their_row_ids_within_a_transaction(tmp_path: Path) -> None:
    """Not by the handle key of the stream."""
    rows = " ".join(f"{number},{40 - number},x" for number in range(1, 40))
    out = diff(tmp_path, NONCLUSTERED, "", rows, "--over", "1ms")
    assert changes(out) == [f"INSERT {number},x" for number in range(39, 0, -1)]


@pytest.mark.parametrize("dispatcher", ["table", "index-value"])
def test_spark_sends_the_same_bytes(spark: SparkSession, tmp_path: Path, dispatcher: str) -> None:
    """Though rows hand their keys on, and move to other partitions."""
    before = " ".join(f"{number},{number},x" for number in range(1, 60))
    after = " ".join(f"{number},{61 - number},{'xy'[number % 2]}" for number in range(10, 60))
    parts = "(id INT NOT NULL, v VARCHAR(9)) PARTITION BY HASH (id) PARTITIONS 2"
    files: list[dict[str, bytes]] = []
    for master in ("none", "local[1]", "local[3]"):
        for definition in (NONCLUSTERED, KEYLESS, parts):
            directory, uri = tmp_path / master / str(len(definition)), f"{URI}&partition-num=3"
            out = diff(directory, definition, before, after, "--master", master, uri=uri, dispatcher=dispatcher)
            files.append({path.name: path.read_bytes() for path in out.rglob("*.jsonl")})
    assert files[:3] == files[3:6] == files[6:] and all(files[0].values()) and files[0] != files[1]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (r"\N,1,a", "column '_tidb_rowid', row id='1': NULL in a NOT NULL column"),
        ("many,1,a", "value 'many' of type bigint: accepted is -9223372036854775808 to"),
        ("9223372036854775808,1,a", "value '9223372036854775808' of type bigint: accepted is -9223"),
        ("7,1,a 7,2,b", "duplicate _tidb_rowid in a snapshot: table shop.t has several rows with _tidb_rowid=7; it"),
    ],
)
@pytest.mark.parametrize("master", ["none", pytest.param("local[2]", marks=pytest.mark.slow)])
def test_a_row_id_that_tidb_could_not_have_is_one_line(tmp_path: Path, rows: str, line: str, master: str) -> None:
    sides = [snapshot(tmp_path / side, NONCLUSTERED, found) for side, found in (("a", rows), ("b", "9,1,a"))]
    told = said("diff", *sides, "--sink-uri", URI, "--fixtures", tmp_path / "out", "--master", master)
    assert told.code == 2 and line in told.err[-1] and len(told.err) == 1


def test_all_files_of_a_table_tell_row_ids_or_none_does(tmp_path: Path) -> None:
    told = snapshot(tmp_path / "told", NONCLUSTERED, "7,1,a")
    bare = snapshot(tmp_path / "bare", NONCLUSTERED, "1,a", "id v")
    has = f"table shop.t has a column '_tidb_rowid' in {told} and none in {bare}: accepted is one in every snapshot, or"
    for sides in ((told, bare), (bare, told)):
        found = said("diff", *sides, "--sink-uri", URI, "--console")
        assert found.code == 2 and has in found.err[-1]
    for first, then, why in (
        ("7,1,a", "1,b", "column '_tidb_rowid' is missing"),
        ("1,a", "7,1,b", "column '_tidb_rowid', which other files of the table do not have: accepted is one in all"),
    ):
        for name, rows in (("000000000", first), ("000000001", then)):
            columns = COLUMNS if rows.startswith("7") else "id v"
            snapshot(tmp_path / "mixed", NONCLUSTERED, rows, columns, f".{name}.csv")
        found = said("diff", tmp_path / "mixed", tmp_path / "mixed", "--sink-uri", URI, "--console")
        assert found.code == 2 and why in found.err[-1]


def test_a_clustered_table_has_no_row_ids(tmp_path: Path) -> None:
    for type in ("INT", "VARCHAR(9)"):
        side = snapshot(tmp_path, f"(id {type}, v VARCHAR(9), PRIMARY KEY (id) CLUSTERED)", "7,1,a")
        found = said("diff", side, side, "--sink-uri", URI, "--console")
        assert found.code == 2 and "a table with a clustered primary key has none; leave it out" in found.err[-1]


@pytest.mark.parametrize("definition", [KEYLESS, NONCLUSTERED])
def test_verify_reads_such_an_export_as_the_truth(tmp_path: Path, definition: str) -> None:
    out = diff(tmp_path, definition, "7,1,a 8,2,a", "7,1,b 9,2,a", "--truth", tmp_path / "truth")
    options = "--sink-uri", URI, "--config", tmp_path / "feed.toml"
    assert said("verify", out, "--truth", tmp_path / "truth", *options).code == 0
    both = "--before", tmp_path / "before", "--after", tmp_path / "after"
    assert said("verify", out, *both, *options).code == 0
    snapshot(tmp_path / "after", definition, "7,1,c 9,2,a")
    assert said("verify", out, *both, *options).code == 1


def test_row_ids_stay_across_a_schema_change(tmp_path: Path) -> None:
    """Rows with equal values are told apart before the statements and behind them."""
    before = snapshot(tmp_path / "before", KEYLESS, " ".join(f"{number},1,a" for number in range(1, 9)))
    rows = " ".join(f"{number},1,{'ab'[number % 2]},0" for number in range(1, 8))
    after = snapshot(tmp_path / "after", "(id INT, v VARCHAR(9), m INT DEFAULT 0)", rows, f"{COLUMNS} m")
    for at in ("start", "middle", "end"):
        out = played(tmp_path, before, after, "--sink-uri", URI, "--ddl-at", at, "--force")
        assert sorted(changes(out)) == ["DELETE 1,a", *["UPDATE 1,a>1,b"] * 4]


def test_scripted_sql_goes_on_with_the_row_ids(tmp_path: Path) -> None:
    """It reads them, allocates the next ones, and a later snapshot is compared by them. Duplicates are refused there, too."""
    snapshot(tmp_path / "first", KEYLESS, "7,1,a 8,1,a")
    snapshot(tmp_path / "last", KEYLESS, "8,1,b 9,2,c")
    (tmp_path / "scenario.toml").write_text(
        f"""sink-uri = "{URI}"
config = "feed.toml"
[[step]]
snapshot = "first"
[[step]]
sql = "DELETE FROM shop.t WHERE _tidb_rowid = 7; INSERT INTO shop.t VALUES (2, 'b')"
[[step]]
snapshot = "last"
"""
    )
    (tmp_path / "feed.toml").write_text("force-replicate = true\n")
    assert play("run", tmp_path / "scenario.toml", "--fixtures", tmp_path / "out") == 0
    assert changes(tmp_path / "out")[:2] == ["DELETE 1,a", "INSERT 2,b"]
    assert sorted(changes(tmp_path / "out")[2:]) == ["UPDATE 1,a>1,b", "UPDATE 2,b>2,c"]
    for definition, rows, columns, key in (
        (KEYLESS, "7,1,a 7,2,b", COLUMNS, "_tidb_rowid=7"),
        ("(id INT PRIMARY KEY)", "1 1", "id", "id=1"),
    ):
        snapshot(tmp_path / "first", definition, rows, columns)
        told = said("run", tmp_path / "scenario.toml", "--console")
        assert told.code == 2 and f"table shop.t has several rows with {key}" in told.err[-1]
