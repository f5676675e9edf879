"""What releases write to a storage: where files lie, their index, schema files, the rows of CSV."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulator import TiCDC, releases
from simulator.errors import ChangefeedError, EncodeError
from simulator.reader.compare import compare_storages
from simulator.reader.storage.directory import open_directory
from simulator.reader.storage.events import lines
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.ticdc.changefeed import load
from simulator.ticdc.dispatch import router, verify_tables
from simulator.tidb.ddl.table_definitions import create_table

TIMED = "[sink.csv]\ninclude-commit-ts = true\n"
SQL = (
    "CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(20) DEFAULT 'x', twice INT AS (id * 2))",
    "CREATE TABLE shop.part (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2",
    "INSERT INTO shop.item (id, name) VALUES (1, 'a'), (2, 'b'); INSERT INTO shop.part VALUES (1), (2)",
    "UPDATE shop.item SET name = 'c' WHERE id = 1; DELETE FROM shop.item WHERE id = 2",
    "ALTER TABLE shop.item ADD COLUMN n INT; INSERT INTO shop.item (id, n) VALUES (3, 4); TRUNCATE TABLE shop.part",
    "INSERT INTO shop.part VALUES (3); CREATE DATABASE other",
)


def written(
    directory: Path, release: str, config: str = "", protocol: str = "csv", start_ts: str | None = None
) -> dict[str, str]:
    """The files of statements, and beside them their truth and changefeed.toml."""
    out = directory / "out"
    extension = "" if protocol == "csv" else "&enable-tidb-extension=true"
    uri = f"{out.as_uri()}?protocol={protocol}&flush-interval=2s{extension}"
    (directory / "changefeed.toml").write_text(config)
    with TiCDC(release, sink_uri=uri, config=config or None, databases=("shop",), start_ts=start_ts) as ticdc:
        for statement in SQL:
            ticdc.execute(statement)
        ticdc.truth(directory / "truth")
    return {path.relative_to(out).as_posix(): path.read_bytes().decode() for path in out.rglob("*") if path.is_file()}


def shapes(files: dict[str, str]) -> set[str]:
    """The paths of files with V, ID and SUM for numbers that differ between runs."""
    shown = set()
    for path in files:
        parts = ["V" if part.isdecimal() and len(part) > 9 else part for part in path.split("/")]
        parts = ["ID" if part.isdecimal() else part for part in parts]
        shown.add("/".join("schema_V_SUM.json" if part.startswith("schema_") else part for part in parts))
    return shown


PATHS = {
    "v6.5.0": {"shop/item/V/CDC000001.csv", "shop/item/V/schema.json", "shop/part/V/schema.json"},
    "v6.5.2": {"shop/item/V/CDC.index", "shop/part/V/ID/CDC.index", "shop/part/V/ID/CDC000001.csv"},
    "v7.0.0": {"shop/item/V/CDC.index", "shop/part/V/CDC.index", "shop/part/V/CDC000002.csv"},
    "v6.5.3": {
        "shop/item/V/2025-01-01/CDC00000000000000000001.csv",
        "shop/part/V/ID/2025-01-01/meta/CDC.index",
        "shop/item/meta/schema_V_SUM.json",
        "other/meta/schema_V_SUM.json",
    },
}

NO_UPDATES = [
    '"I","item","shop",1,"a"',
    '"I","item","shop",2,"b"',
    '"I","item","shop",1,"c"',
    '"D","item","shop",2,"b"',
]
WHOLE = ['"I","item","shop",1,"a"', '"I","item","shop",2,"b"', '"U","item","shop",1,"c"', '"D","item","shop",2,"b"']
ROWS = {
    "v6.5.2": WHOLE,
    "v6.5.4": NO_UPDATES,
    "v7.1.0": WHOLE,
    "v7.1.1": NO_UPDATES,
    "v7.4.0": WHOLE,
    "new:v9.0.0-beta.2.pre": [f"{row},\\N" for row in WHOLE],
    "new:v26.3.1": WHOLE,
}
"""TiCDC turned enable-old-value off for CSV from 6.5.3 and from 7.1.1 to 7.3: no updates. The betas write virtual
columns."""

DEFAULTS = {"v6.5.2": None, "v6.5.3": "x", "v7.1.0": None, "v7.1.1": "x"}
"""Of a column in schema files."""


@pytest.mark.slow
@pytest.mark.parametrize("release", sorted({*PATHS, *ROWS, *DEFAULTS}))
def test_csv_files_of_a_release_are_what_its_sources_say(tmp_path: Path, release: str) -> None:
    """Statements on databases have files only where schema files lie in `meta`."""
    files = written(tmp_path, release)
    if release in PATHS:
        found = shapes(files)
        assert PATHS[release] <= found
        assert any(path.endswith(".index") for path in found) == (release != "v6.5.0")
        assert any("CDC000002" in path for path in found) == (release == "v7.0.0"), "that of the second partition"
        assert any(path.startswith("other/") for path in found) == (release == "v6.5.3")
    if release in ROWS:
        assert first_file(files) == ROWS[release]
    if release in DEFAULTS:
        schemas = (text for path, text in files.items() if path.startswith("shop/item/") and "schema" in path)
        columns = [column for text in schemas for column in json.loads(text)["TableColumns"]]
        names = [column.get("ColumnDefault") for column in columns if column["ColumnName"] == "name"]
        assert names == [DEFAULTS[release]] * 2


@pytest.mark.parametrize(
    ("release", "deleted"),
    [("v6.5.2", "1"), ("v6.5.3", "1,2"), ("v6.6.0", "1"), ("v7.1.0", "1"), ("v7.1.1", "1,2"), ("v7.3.0", "1,2")],
)
def test_csv_without_old_values_has_the_key_of_a_delete_alone_where_the_mounter_takes_the_rest(
    tmp_path: Path, release: str, deleted: str
) -> None:
    """A DELETE, and the one of an UPDATE of the handle key (cdc/entry/mounter.go, cdc/processor/sinkmanager)."""
    config = "enable-old-value = false\n"
    with TiCDC(release, sink_uri=f"{tmp_path.as_uri()}?protocol=csv", config=config) as ticdc:
        ticdc.execute("CREATE TABLE t (k INT NOT NULL UNIQUE, v INT); INSERT INTO t VALUES (1, 2)")
        ticdc.execute("UPDATE t SET k = 3; UPDATE t SET k = 1; DELETE FROM t")
        (lines,) = (text.decode().splitlines() for path, text in ticdc.files().items() if path.endswith(".csv"))
    operations = [line.removeprefix('"D","t","test",') for line in lines if line.startswith('"D"')]
    assert operations == [deleted, deleted.replace("1", "3"), deleted]


def first_file(files: dict[str, str]) -> list[str]:
    """The lines of the first file with rows of shop.item."""
    return files[min(path for path in files if path.startswith("shop/item/") and path.endswith(".csv"))].splitlines()


RELEASES = ("v6.5.0", "v6.5.2", "v6.5.12", "v7.0.0", "v7.1.0", "v7.1.1", "new:v9.0.0-beta.1", "new:v26.3.4")


def verified_rows(directory: Path, unproved: bool = False) -> int:
    """How many rows the files lead to, which are those of the truth as far as files have their values."""
    verification = verify(VerifyOptions(str(directory / "out"), truth=directory / "truth", master="none"))
    assert not verification.failures and bool(verification.not_checked) == unproved
    assert all(table.expected == table.found for table in verification.compared)
    return sum(table.found or 0 for table in verification.compared)


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
def test_the_files_of_every_release_lead_to_the_truth(tmp_path: Path, release: str, protocol: str) -> None:
    written(tmp_path, release, TIMED if protocol == "csv" else "", protocol)

    assert verified_rows(tmp_path) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "unproved"),
    [
        ("v6.5.0", ["shop.p", "shop.t"]),
        ("v6.5.3", []),
        ("v6.5.5", []),
        ("v7.1.0", ["shop.p", "shop.t"]),
        ("v7.1.1", []),
    ],
)
def test_the_row_that_an_update_moves_from_its_key_is_told_in_csv_by_a_delete_or_not_at_all(
    tmp_path: Path, release: str, unproved: list[str]
) -> None:
    """Nothing of it is in an UPDATE (tiflow v6.5.0 cdc/sink/codec/csv rowChangedEvent2CSVMsg)."""
    uri = f"{tmp_path.as_uri()}/out?protocol=csv&flush-interval=2s"
    with TiCDC(release, sink_uri=uri, config=TIMED, databases=("shop",)) as ticdc:
        ticdc.execute("CREATE TABLE shop.t (k INT NOT NULL UNIQUE, v INT); INSERT INTO shop.t VALUES (1, 2)")
        ticdc.execute("CREATE TABLE shop.p (k INT PRIMARY KEY NONCLUSTERED); INSERT INTO shop.p VALUES (1)")
        ticdc.execute("CREATE TABLE shop.c (k INT PRIMARY KEY); INSERT INTO shop.c VALUES (1)")
        ticdc.execute("UPDATE shop.t SET k = 3; UPDATE shop.p SET k = 3; UPDATE shop.c SET k = 3")
        ticdc.truth(tmp_path / "truth")

    found = verify(VerifyOptions(str(tmp_path / "out"), truth=tmp_path / "truth", master="none"))
    assert not found.failures
    assert [each.what for each in found.not_checked] == [f"the rows of {name}: row-left (1)" for name in unproved]


@pytest.mark.slow
@pytest.mark.parametrize("release", ["v6.5.2", "new:v8.5.7"])
def test_two_runs_at_different_times_have_equal_files(tmp_path: Path, release: str) -> None:
    """With a header and ids where the release has them."""
    config = TIMED + (HEADER + IDS if release.startswith("new") else "")
    for start_ts in ("2025-01-01", "2025-02-03"):
        (tmp_path / start_ts).mkdir()
        written(tmp_path / start_ts, release, config, start_ts=start_ts)

    first, second = (str(tmp_path / start_ts / "out") for start_ts in ("2025-01-01", "2025-02-03"))
    found = compare_storages(first, second, tmp_path / "2025-01-01/changefeed.toml")
    assert not found.differences and found.messages[0] == found.messages[1] > 8


@pytest.mark.parametrize(("release", "files"), [("v7.1.0", 1), ("v7.1.1", 2)])
def test_a_file_that_has_just_the_size_is_complete_from_7_1_1_on(tmp_path: Path, release: str, files: int) -> None:
    size = 1 << 20
    letters = size - len('"I","page","shop",1,""\r\n')
    with TiCDC(release, sink_uri=f"{tmp_path.as_uri()}?protocol=csv&file-size={size}", databases=("shop",)) as ticdc:
        ticdc.execute("CREATE TABLE shop.page (id INT PRIMARY KEY, t MEDIUMTEXT)")
        ticdc.execute(
            f"INSERT INTO shop.page VALUES (1, REPEAT('x', {letters})); INSERT INTO shop.page VALUES (2, 'y')"
        )

    assert len([*tmp_path.rglob("CDC*.csv")]) == files


@pytest.mark.parametrize(("release", "end"), [("v7.1.6", "\r\n"), ("v7.2.0", "")])
def test_an_empty_terminator_is_one_from_7_2_on(release: str, end: str) -> None:
    found = load("file:///x?protocol=csv", "[sink]\nterminator = ''\n", releases.find(release))
    assert found.codec.terminator == end


IDS = "[sink.cloud-storage-config]\nuse-table-id-as-path = true\n"
HEADER = "output-field-header = true\n"


@pytest.mark.slow
def test_directories_have_the_ids_of_tables_and_partitions(tmp_path: Path) -> None:
    """The statement is in the directory of the table, and each partition has a schema file of its own."""
    files = written(tmp_path, "new:v8.5.7", TIMED + IDS)

    assert shapes(files) == {
        "ID/meta/schema_V_SUM.json",
        "ID/V/2025-01-01/CDC00000000000000000001.csv",
        "ID/V/2025-01-01/meta/CDC.index",
        "metadata",
    }
    assert verified_rows(tmp_path) == 3
    shown = [line.partition(" ")[0] for line in lines(open_directory(str(tmp_path / "out")))]
    assert [path for path in shown if path.startswith("101/")][0].startswith("101/meta/"), "the statement"
    assert [path.split("/")[1] for path in shown if path.startswith(("102/", "103/"))].count("meta") == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "names"),
    [("new:v8.5.7", "id,name,twice"), ("new:v26.3.4", "id,name"), ("new:v9.0.0-beta.2.pre", "id,name,twice")],
)
def test_a_file_begins_with_the_names_of_columns(tmp_path: Path, release: str, names: str) -> None:
    """Up to 8.5 and 26.3.3 with those of virtual columns, which no row has. Readers skip the line."""
    files = written(tmp_path, release, TIMED + HEADER)

    head = "ticdc-meta$operation,ticdc-meta$table,ticdc-meta$schema,ticdc-meta$commit-ts"
    assert first_file(files)[0] == f"{head},{names}"
    assert verified_rows(tmp_path) == 3


SELECTED = "[[sink.column-selectors]]\nmatcher = ['shop.item']\ncolumns = ['id', 'n']\n"


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
@pytest.mark.parametrize(("release", "selects"), [("new:v26.3.3", False), ("new:v26.3.4", True), ("v8.5.3", False)])
def test_files_have_column_selectors_since_26_3_4(tmp_path: Path, protocol: str, release: str, selects: bool) -> None:
    files = written(tmp_path, release, SELECTED + (TIMED if protocol == "csv" else ""), protocol)

    rows = "".join(text for path, text in files.items() if path.startswith("shop/item/") and "/CDC0" in path)
    assert ('"a"' in rows) != selects
    assert verified_rows(tmp_path, unproved=selects) == 3


def test_a_table_whose_key_selectors_leave_out_is_refused_from_26_3_4_on() -> None:
    table = create_table("CREATE TABLE shop.item (id INT PRIMARY KEY, n INT)")
    before, after = (releases.find(tag, "new") for tag in ("v26.3.3", "v26.3.4"))
    compiled = {
        release: router(load("file:///x?protocol=csv", SELECTED.replace("'id', ", ""), release), release)
        for release in (before, after)
    }

    verify_tables(compiled[before], [table])
    with pytest.raises(ChangefeedError, match="no primary key columns or unique key columns obtained after filter out"):
        verify_tables(compiled[after], [table])


CSV = "file:///x?protocol=csv"
HEX = "[sink.csv]\nbinary-encoding-method = 'hex'\n"


@pytest.mark.parametrize(
    ("release", "sink_uri", "config", "expected"),
    [
        ("v6.4.0", CSV, "", "an experiment, is not simulated; accepted: v6.5.0 and later"),
        ("v6.3.0", "file:///x?protocol=canal-json", "", "the sink scheme (file) is not supported"),
        ("v5.3.0", "s3://x/y?protocol=canal-json", "", "cdclog, which TiCDC v5.3.0 writes to s3, is not simulated"),
        ("v6.5.0", f"{CSV}&worker-count=0", "", "cloud storage config invalid: invalid worker-count 0"),
        ("v6.5.0", CSV, HEX, "binary-encoding-method"),
        ("v7.2.0", CSV, HEX, "binary-encoding-method"),
        ("v7.3.0", CSV, "[sink.csv]\ndelimiter = 'x\"'\n", "quote and delimiter cannot be the same"),
        ("v7.4.0", CSV, "[sink.csv]\ndelimiter = '||'\n", "csv config delimiter contains more than one character"),
        ("v7.5.7", CSV, "[sink.csv]\ndelimiter = 'é'\n", "csv config delimiter contains more than one character"),
        ("v8.0.0", "file:///x?protocol=open-protocol", "", "unknown 'open-protocol' message protocol for sink"),
        ("v8.0.0", f"{CSV}&worker-count=0", "", "invalid worker-count 0, it must be greater than 0"),
        ("v8.0.0", f"{CSV}&flush-interval=2", "", 'missing unit in duration "2"'),
        ("v8.0.0", CSV, "[sink]\ndate-separator = 'hour'\n", "date separator in storage sink is invalid"),
        ("v8.0.0", CSV, "[sink.csv]\nquote = ','\n", "quote and delimiter has common characters"),
        ("v8.0.0", CSV, "[sink.csv]\ndelimiter = ''\n", "delimiter cannot be empty"),
        ("v8.0.0", "kafka://127.0.0.1:9092/t?protocol=csv", "", "unknown 'csv' message protocol for sink"),
        ("v8.5.3", CSV, IDS, "use-table-id-as-path"),
        ("v8.5.3", CSV, f"[sink.csv]\n{HEADER}", "output-field-header"),
        ("v8.5.3", CSV, "[sink.csv]\ndelimiter = '1234'\n", "more than three characters"),
        ("new:v8.5.7", f"{CSV}&spool-disk-quota=0", "", "invalid spool-disk-quota 0"),
        ("new:v8.5.7", f"{CSV}&spool-base-dir=a/b", "", "it must be an absolute path"),
    ],
)
def test_what_a_release_refuses(release: str, sink_uri: str, config: str, expected: str) -> None:
    with pytest.raises(ChangefeedError) as refused:
        TiCDC(release, sink_uri=sink_uri, config=config or None)
    assert expected in str(refused.value) and "\n" not in str(refused.value)


def test_csv_stops_at_an_enum_without_a_member(tmp_path: Path) -> None:
    """Its error value is number 0, which a lenient mode stores (tidb: pkg/types/enum.go ParseEnumValue)."""
    with TiCDC("v8.0.0", sink_uri=f"{tmp_path.as_uri()}?protocol=csv") as ticdc:
        ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY, e ENUM('x', 'y')); SET sql_mode = ''")
        with pytest.raises(
            EncodeError, match=r"csv encode failed: .* number 0 overflow enum boundary \[1, 2\]"
        ) as stop:
            ticdc.execute("INSERT INTO test.t VALUES (1, 'z')")
            ticdc.messages()
    assert stop.value.code == "CDC:ErrCSVEncodeFailed"
