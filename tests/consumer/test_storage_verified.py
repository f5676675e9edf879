"""`verify` of the files of a storage: rows, statements and the checkpoint lead to the rows of the truth."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.playing import play
from support.vectors.files import recorded_files

from simulator import TiCDC
from simulator.consumer.frame import EVENT_SCHEMA
from simulator.consumer.storage.directory import DataFile, open_directory
from simulator.consumer.storage.events import file_events
from simulator.consumer.storage.table_events import TableEvents, TableFiles
from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.errors import UserError
from simulator.ticdc.storage.table_definition import columns_checksum

RECORDED = Path(__file__).parent.parent / "endtoend"

SQL = r"""
SET sql_mode = '';
CREATE TABLE shop.every (id INT PRIMARY KEY, e ENUM('a', 'b,"c'), s SET('x', 'y'), b BIT(10), bl BLOB, vb VARBINARY(10),
  j JSON, f FLOAT, d DOUBLE, n DECIMAL(20, 4), dt DATETIME(3), ts TIMESTAMP(6) NULL, tm TIME(2), y YEAR, t TEXT,
  u BIGINT UNSIGNED, fb BINARY(4), v INT AS (id + 1) VIRTUAL);
INSERT INTO shop.every VALUES
  (1, 'b,"c', 'x,y', 5, x'00ff', x'0a0d', '{"a": [1, "é"]}', 1.5e10, 1e-7, 12.34, '2024-02-03 04:05:06.789',
   '2024-02-03 04:05:06.123456', '-12:13:14.15', 2024, 'a "q" \n,x', 18446744073709551615, 'ab', DEFAULT),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, DEFAULT),
  (3, 'a', '', 0, '', '', 'null', 0, 0, 0, '0000-00-00', '2000-01-01', '00:00:00', 0, '\\N', 0, '', DEFAULT);
UPDATE shop.every SET t = 'z' WHERE id = 1;
UPDATE shop.every SET id = 10 WHERE id = 2;
DELETE FROM shop.every WHERE id = 3;
CREATE TABLE shop.pair (a INT, b VARCHAR(3) NOT NULL, UNIQUE KEY (b));
INSERT INTO shop.pair VALUES (1, 'x'), (2, 'y');
UPDATE shop.pair SET b = 'z' WHERE a = 1;
CREATE TABLE shop.part (a INT PRIMARY KEY, v INT) PARTITION BY HASH (a) PARTITIONS 3;
INSERT INTO shop.part VALUES (1, 1), (2, 2), (3, 3), (4, 4);
UPDATE shop.part SET v = v + 1;
DELETE FROM shop.part WHERE a = 2;
TRUNCATE TABLE shop.pair;
INSERT INTO shop.pair VALUES (9, 'q');
RENAME TABLE shop.pair TO shop.old, shop.part TO shop.pair;
INSERT INTO shop.pair VALUES (7, 7);
ALTER TABLE shop.old ADD COLUMN c INT DEFAULT 5 FIRST;
UPDATE shop.old SET a = 10;
"""
TIMED = "[sink.csv]\ninclude-commit-ts = true\n"
FORMS = {
    "csv": ("csv", TIMED),
    "csv with old values": ("csv", f"{TIMED}output-old-value = true\n"),
    "csv without quotes": ("csv", f"{TIMED}quote = ''\nbinary-encoding-method = 'hex'\n"),
    "canal-json": ("canal-json&enable-tidb-extension=true", ""),
}


@pytest.fixture(params=["v8.5.3", "new:v8.5.7"])
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=FORMS)
def stored(request: pytest.FixtureRequest, release: str, tmp_path: Path) -> tuple[Path, Path]:
    """A directory of files, and the truth."""
    protocol, config = FORMS[request.param]
    uri = f"{(tmp_path / 'out').as_uri()}?protocol={protocol}"
    with TiCDC(release, sink_uri=uri, config=config or None, databases=("shop",)) as ticdc:
        ticdc.execute(SQL)
        ticdc.truth(tmp_path / "truth")
    return tmp_path / "out", tmp_path / "truth"


def test_values_of_all_types_and_statements_lead_to_the_truth(stored: tuple[Path, Path]) -> None:
    directory, truth = stored

    verification = verify(VerifyOptions(str(directory), truth=truth, master="none"))

    assert not verification.failures and not verification.not_checked and not verification.notes
    assert {table.table: (table.expected, table.found) for table in verification.compared} == {
        "shop.every": (2, 2),
        "shop.old": (1, 1),
        "shop.pair": (4, 4),
    }


def test_csv_that_is_read_by_columns_is_what_is_read_row_by_row(tmp_path: Path) -> None:
    uri = f"{(tmp_path / 'out').as_uri()}?protocol=csv"
    with TiCDC("v8.5.3", sink_uri=uri, config=TIMED, databases=("shop",)) as ticdc:
        ticdc.execute(SQL)
    (tmp_path / "changefeed.toml").write_text(TIMED)
    directory = open_directory(str(tmp_path / "out"), tmp_path / "changefeed.toml")
    for file in (file for file in directory.files if isinstance(file, DataFile)):
        by_columns, row_by_row = (TableEvents(TableFiles(directory, [file])) for _ in range(2))
        read = by_columns._by_columns(file, directory.content(file.path), directory.csv_columns(file))
        expected, lines = row_by_row._one_by_one(file_events(file, directory))
        names = [name for name in EVENT_SCHEMA.names if name not in ("events", "number", "offset", "size")]

        assert read is not None and read[0].select(names).to_pylist() == expected.select(names).to_pylist()
        assert lines is not None and read[1] == lines
        assert by_columns.layouts == row_by_row.layouts


@pytest.mark.parametrize(("fault", "check"), [("lose-row", "row-missing"), ("old-row-after-new", "older-row-last")])
def test_what_a_fault_breaks_is_found(tmp_path: Path, fault: str, check: str) -> None:
    uri = f"{(tmp_path / 'out').as_uri()}?protocol=csv"
    with TiCDC("v8.5.3", sink_uri=uri, config=TIMED, databases=("shop",)) as ticdc:
        ticdc.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, n INT)")
        ticdc.fault(fault)
        ticdc.execute("INSERT INTO shop.item VALUES (1, 1)")
        ticdc.execute("INSERT INTO shop.item VALUES (2, 2)")
        if fault == "old-row-after-new":
            ticdc.execute("UPDATE shop.item SET n = 5 WHERE id = 2")
        ticdc.truth(tmp_path / "truth")

    verification = verify(VerifyOptions(str(tmp_path / "out"), truth=tmp_path / "truth", master="none"))

    assert check in {failure.check for failure in verification.failures}
    places = [example.place for failure in verification.failures for example in failure.examples]
    assert all(place.startswith("shop/item/4") and ".csv:" in place for place in places if place)
    assert any(places) == (fault != "lose-row")


@pytest.mark.parametrize("header", [False, True])
def test_a_failure_names_its_file_and_row(tmp_path: Path, header: bool) -> None:
    """As `inspect` shows it: a header is the first row of its file."""
    uri, config = (
        f"{(tmp_path / 'out').as_uri()}?protocol=csv",
        TIMED + f"output-field-header = {str(header).lower()}\n",
    )
    with TiCDC("new:v8.5.7", sink_uri=uri, config=config, databases=("shop",)) as ticdc:
        ticdc.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, n INT); INSERT INTO shop.item VALUES (1, 1)")
        ticdc.fault("unknown-type")
        ticdc.execute("INSERT INTO shop.item VALUES (2, 2); INSERT INTO shop.item VALUES (3, 3)")
        ticdc.truth(tmp_path / "truth")

    verification = verify(VerifyOptions(str(tmp_path / "out"), truth=tmp_path / "truth", master="none"))

    (unreadable,) = (failure for failure in verification.failures if failure.check == "unreadable")
    (example,) = unreadable.examples
    version = next((tmp_path / "out/shop/item").glob("4*")).name
    assert example.place == f"shop/item/{version}/2025-01-01/CDC{1:020d}.csv:{2 + header}"
    assert example.what.startswith("no row as [sink.csv] says: it does not begin with I, U or D")


def test_a_missing_file_that_an_index_names_is_not_wrong(tmp_path: Path) -> None:
    """TiCDC writes the index first, and may be stopped then."""
    uri = f"{(tmp_path / 'out').as_uri()}?protocol=csv&flush-interval=2s"
    options = ("--release", "v8.5.3", "--sink-uri", uri, "--truth", tmp_path / "truth")
    assert play("run", "storage-index-before-data", *options) == 0

    verification = verify(VerifyOptions(str(tmp_path / "out"), truth=tmp_path / "truth", master="none"))

    assert not verification.failures and verification.verdict != "right"
    said = {each.what.rpartition("/")[2]: each.why for each in verification.not_checked}
    why = "its index names it, and it is not there: TiCDC writes the index first"
    assert said["CDC00000000000000000002.csv"] == why


def test_csv_without_the_time_of_rows_is_refused(tmp_path: Path) -> None:
    with TiCDC("v8.5.3", sink_uri=f"{tmp_path.as_uri()}?protocol=csv", databases=("shop",)) as ticdc:
        ticdc.execute("CREATE TABLE shop.item (id INT PRIMARY KEY); INSERT INTO shop.item VALUES (1)")

    with pytest.raises(UserError, match="include-commit-ts of \\[sink.csv\\] must be true"):
        verify(VerifyOptions(str(tmp_path), release="v8.5.3"))


def test_an_update_of_a_row_that_was_not_inserted_is_wrong(tmp_path: Path, release: str) -> None:
    """Even where the old row is not sent: the UPDATE says that there is one."""
    uri = f"{(tmp_path / 'out').as_uri()}?protocol=csv"
    with TiCDC(release, sink_uri=uri, config=TIMED, databases=("shop",)) as ticdc:
        ticdc.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, n INT); INSERT INTO shop.item VALUES (1, 1), (2, 2)")
        ticdc.execute("UPDATE shop.item SET n = 5 WHERE id = 1")
        ticdc.truth(tmp_path / "truth")
    (path,) = (tmp_path / "out").rglob("CDC0*.csv")
    path.write_bytes(b"".join(path.read_bytes().splitlines(True)[1:]))

    verification = verify(VerifyOptions(str(tmp_path / "out"), truth=tmp_path / "truth", master="none"))

    (failure,) = (failure for failure in verification.failures if failure.check == "row-not-there")
    assert failure.examples[0].what == "shop.item, row 1: was changed or deleted, and was not there"


def test_an_update_that_may_move_its_row_says_nothing_of_the_old_one(tmp_path: Path) -> None:
    """Of a unique key, in a release that does not split UPDATEs."""
    uri = f"{(tmp_path / 'out').as_uri()}?protocol=csv"
    with TiCDC("v6.5.0", sink_uri=uri, config=TIMED, databases=("shop",)) as ticdc:
        ticdc.execute("CREATE TABLE shop.item (id INT NOT NULL UNIQUE, n INT); INSERT INTO shop.item VALUES (1, 1)")
        ticdc.execute("UPDATE shop.item SET id = 5")
    (tmp_path / "changefeed.toml").write_text(TIMED)
    options = VerifyOptions(str(tmp_path / "out"), release="v6.5.0", sink_uri=uri, config=tmp_path / "changefeed.toml")

    assert verify(replace(options, master="none")).verdict == "right"


@pytest.mark.parametrize(
    ("release", "parameters"), [("v6.5.0", ""), ("new:v8.5.8", "&use-table-id-as-path=true"), ("v8.5.3", "")]
)
@pytest.mark.parametrize(
    "again",
    ["", "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, w CHAR(9)); INSERT INTO d.t VALUES (1, 'x')"],
)
def test_a_database_is_dropped_with_and_without_a_file(
    tmp_path: Path, release: str, parameters: str, again: str
) -> None:
    uri = f"{(tmp_path / 'out').as_uri()}?protocol=csv{parameters}"
    with TiCDC(release, sink_uri=uri, config=TIMED, databases=("shop",)) as ticdc:
        ticdc.execute("CREATE TABLE shop.item (id INT PRIMARY KEY); INSERT INTO shop.item VALUES (1)")
        ticdc.execute("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT); INSERT INTO d.t VALUES (1, 1)")
        ticdc.execute(f"DROP DATABASE d; {again}")
        ticdc.truth(tmp_path / "truth")
    (tmp_path / "changefeed.toml").write_text(TIMED)
    architecture, _, tag = release.rpartition(":")
    options = VerifyOptions(str(tmp_path / "out"), master="none")
    told = replace(options, release=tag, architecture=architecture or "classic", sink_uri=uri)

    assert verify(replace(options, truth=tmp_path / "truth")).verdict == "right"
    assert verify(replace(told, config=tmp_path / "changefeed.toml")).verdict == "right"


@pytest.mark.parametrize("case", ["types-1", "txn-1", "ddl-1", "story-2001"])
@pytest.mark.parametrize("name", ["csv-more", "canal-file"])
def test_files_of_a_real_ticdc_are_right(tmp_path: Path, case: str, name: str) -> None:
    """Their rows are compared as a whole, too, and their dates are later than those of their rows."""
    with gzip.open(RECORDED / f"v8.0.0.{case}.json.gz") as file:
        (feed,) = (feed for feed in json.load(file)["feeds"] if feed["name"] == name)
    for path, content in recorded_files(feed["files"]).items():
        (tmp_path / "out" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / path).write_bytes(content)
    (tmp_path / "changefeed.toml").write_text(feed["config"])
    uri = f"{(tmp_path / 'out').as_uri()}?{feed['uri'].partition('?')[2]}"
    options = VerifyOptions(str(tmp_path / "out"), release="v8.0.0", sink_uri=uri, config=tmp_path / "changefeed.toml")

    verification = verify(replace(options, master="none"))

    assert verification.failures == () and verification.rows


def test_hidden_columns_of_a_schema_file_are_none_of_its_rows(tmp_path: Path) -> None:
    """TiDB makes them for expression indexes."""
    path, uri = tmp_path / "shop/item/meta", f"{tmp_path.as_uri()}?protocol=canal-json"
    with TiCDC("v8.5.3", sink_uri=uri, databases=("shop",)) as ticdc:
        ticdc.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, KEY k ((id + 1))); INSERT INTO shop.item VALUES (1)")
    (file,) = path.glob("schema_*.json")
    document = json.loads(file.read_bytes())
    hidden = {"ColumnName": "_V$_k_0", "ColumnType": "BIGINT", "ColumnPrecision": "20", "ColumnNullable": "false"}
    document["TableColumns"].append(hidden)
    document["TableColumnsTotal"] = 2
    text = json.dumps(document, indent=4)
    file.unlink()
    names, texts = (
        ["id", "_V$_k_0"],
        [json.dumps(each, indent=4).replace("\n", "\n        ").encode() for each in document["TableColumns"]],
    )
    checksum = columns_checksum(b'"item"', b'"shop"', zip(names, texts, strict=True))
    (path / f"schema_{document['TableVersion']}_{checksum:010d}.json").write_text(text)

    assert verify(VerifyOptions(str(tmp_path), release="v8.5.3", sink_uri=uri, master="none")).verdict == "right"
