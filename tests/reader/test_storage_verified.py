"""`verify` of the files of a storage: rows, statements and the checkpoint lead to the rows of the truth."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.playing import play
from support.vectors.files import recorded_files

from simulator import TiCDC
from simulator.errors import UserError
from simulator.reader.events import EVENT_SCHEMA
from simulator.reader.storage import DataFile
from simulator.reader.storage.directory import open_directory
from simulator.reader.storage.events import file_events
from simulator.reader.storage.table_events import TableEvents, TableFiles
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.reader.verify.verification import RIGHT
from simulator.sinks.external_storage import ExternalStorage

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


def written(
    home: Path, *texts: str, release: str = "v8.5.3", protocol: str = "csv", config: str = TIMED, fault: str = ""
) -> VerifyOptions:
    """The files of SQL with their truth; a fault comes before the last text."""
    uri = f"{(home / 'out').as_uri()}?protocol={protocol}"
    with TiCDC(release, sink_uri=uri, config=config or None, databases=("shop",)) as ticdc:
        for number, text in enumerate(texts, 1):
            if fault and number == len(texts):
                ticdc.fault(fault)
            ticdc.execute(text)
        ticdc.truth(home / "truth")
    return VerifyOptions(str(home / "out"), truth=home / "truth", master="none")


def without_truth(options: VerifyOptions, release: str, query: str, config: str = TIMED) -> VerifyOptions:
    """What to verify if the options of the changefeed are told, and no truth."""
    assert options.source is not None
    out, (architecture, _, tag) = Path(options.source), release.rpartition(":")
    (out.parent / "changefeed.toml").write_text(config)
    told = replace(options, truth=None, release=tag, architecture=architecture or "classic")
    return replace(told, sink_uri=f"{out.as_uri()}?{query}", config=out.parent / "changefeed.toml")


@pytest.mark.slow
@pytest.mark.parametrize("release", ["v8.5.3", "new:v8.5.7"])
@pytest.mark.parametrize("form", FORMS)
def test_values_of_all_types_and_statements_lead_to_the_truth(form: str, release: str, tmp_path: Path) -> None:
    protocol, config = FORMS[form]
    verification = verify(written(tmp_path, SQL, release=release, protocol=protocol, config=config))
    assert not verification.failures and not verification.not_checked and not verification.notes
    assert {table.table: (table.expected, table.found) for table in verification.compared} == {
        "shop.every": (2, 2),
        "shop.old": (1, 1),
        "shop.pair": (4, 4),
    }


@pytest.mark.slow
def test_csv_that_is_read_by_columns_is_what_is_read_row_by_row(tmp_path: Path) -> None:
    written(tmp_path, SQL)
    (tmp_path / "changefeed.toml").write_text(TIMED)
    directory = open_directory(str(tmp_path / "out"), tmp_path / "changefeed.toml")
    for file in (file for file in directory.files if isinstance(file, DataFile)):
        by_columns, row_by_row = (TableEvents(TableFiles(directory, [file])) for _ in range(2))
        read = by_columns._by_columns(file, directory.listing.content(file.path), directory.csv_columns(file))
        expected, lines = row_by_row._one_by_one(file_events(file, directory))
        names = [name for name in EVENT_SCHEMA.names if name not in ("events", "number", "offset", "size")]
        assert read is not None and read[0].select(names).to_pylist() == expected.select(names).to_pylist()
        assert lines is not None and read[1] == lines
        assert by_columns.layouts == row_by_row.layouts


@pytest.mark.parametrize("header", [False, True])
def test_a_failure_names_its_file_and_row(tmp_path: Path, header: bool) -> None:
    """As `inspect` shows it: a header is the first row of its file."""
    config = TIMED + f"output-field-header = {str(header).lower()}\n"
    create = "CREATE TABLE shop.item (id INT PRIMARY KEY, n INT); INSERT INTO shop.item VALUES (1, 1)"
    more = "INSERT INTO shop.item VALUES (2, 2); INSERT INTO shop.item VALUES (3, 3)"
    options = written(tmp_path, create, more, release="new:v8.5.7", config=config, fault="unknown-type")
    (unreadable,) = (failure for failure in verify(options).failures if failure.check == "unreadable")
    (example,) = unreadable.examples
    version = next((tmp_path / "out/shop/item").glob("4*")).name
    assert example.place == f"shop/item/{version}/2025-01-01/CDC{1:020d}.csv:{2 + header}"
    assert example.what.startswith("no row as [sink.csv] says: it does not begin with I, U or D")


@pytest.mark.slow
def test_a_missing_file_that_an_index_names_is_not_wrong(tmp_path: Path) -> None:
    """TiCDC writes the index first, and may be stopped then."""
    uri = f"{(tmp_path / 'out').as_uri()}?protocol=csv&flush-interval=2s"
    options = ("--release", "v8.5.3", "--sink-uri", uri, "--truth", tmp_path / "truth")
    assert play("run", "storage-index-before-data", *options) == 0
    verification = verify(VerifyOptions(str(tmp_path / "out"), truth=tmp_path / "truth", master="none"))
    assert not verification.failures and verification.verdict != RIGHT
    said = {each.what.rpartition("/")[2]: each.why for each in verification.not_checked}
    why = "its index names it, and it is not there: TiCDC writes the index first"
    assert said["CDC00000000000000000002.csv"] == why


def test_csv_without_the_time_of_rows_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "CREATE TABLE shop.item (id INT PRIMARY KEY); INSERT INTO shop.item VALUES (1)", config="")
    with pytest.raises(UserError, match="include-commit-ts of \\[sink.csv\\] must be true"):
        verify(VerifyOptions(str(tmp_path / "out"), release="v8.5.3"))


@pytest.mark.parametrize("release", ["v8.5.3", "new:v8.5.7"])
def test_an_update_of_a_row_that_was_not_inserted_is_wrong(tmp_path: Path, release: str) -> None:
    """Even where the old row is not sent: the UPDATE says that there is one."""
    create = "CREATE TABLE shop.item (id INT PRIMARY KEY, n INT); INSERT INTO shop.item VALUES (1, 1), (2, 2)"
    options = written(tmp_path, create, "UPDATE shop.item SET n = 5 WHERE id = 1", release=release)
    (path,) = (tmp_path / "out").rglob("CDC0*.csv")
    path.write_bytes(b"".join(path.read_bytes().splitlines(True)[1:]))
    (failure,) = (failure for failure in verify(options).failures if failure.check == "row-not-there")
    assert failure.examples[0].what == "shop.item, row 1: was changed or deleted, and was not there"


def test_an_update_that_may_move_its_row_says_nothing_of_the_old_one(tmp_path: Path) -> None:
    """Of a unique key, in a release that does not split UPDATEs."""
    create = "CREATE TABLE shop.item (id INT NOT NULL UNIQUE, n INT); INSERT INTO shop.item VALUES (1, 1)"
    options = written(tmp_path, create, "UPDATE shop.item SET id = 5", release="v6.5.0")
    assert verify(without_truth(options, "v6.5.0", "protocol=csv")).verdict == RIGHT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "parameters", "again"),
    [
        ("v6.5.0", "", True),
        ("v8.5.3", "", False),
        ("new:v8.5.8", "&use-table-id-as-path=true", False),
        ("new:v8.5.8", "&use-table-id-as-path=true", True),
    ],
)
def test_a_database_is_dropped_with_a_file_or_none(tmp_path: Path, release: str, parameters: str, again: bool) -> None:
    made = "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, {} INT); INSERT INTO d.t VALUES (1, 1);"
    first = "CREATE TABLE shop.item (id INT PRIMARY KEY); INSERT INTO shop.item VALUES (1)"
    then = f"DROP DATABASE d; {made.format('w') if again else ''}"
    options = written(tmp_path, first, made.format("v"), then, release=release, protocol=f"csv{parameters}")
    assert verify(options).verdict == RIGHT
    assert verify(without_truth(options, release, f"protocol=csv{parameters}")).verdict == RIGHT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "name"),
    [("types-1", "csv-more"), ("txn-1", "canal-file"), ("ddl-1", "canal-file"), ("story-2001", "csv-more")],
)
def test_files_of_a_real_ticdc_are_right(tmp_path: Path, case: str, name: str) -> None:
    """Their rows are compared as a whole, too, and their dates are later than those of their rows."""
    with gzip.open(RECORDED / f"v8.0.0.{case}.json.gz") as file:
        (feed,) = (feed for feed in json.load(file)["feeds"] if feed["name"] == name)
    for path, content in recorded_files(feed["files"]).items():
        (tmp_path / "out" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / path).write_bytes(content)
    options = VerifyOptions(str(tmp_path / "out"), master="none")
    verification = verify(without_truth(options, "v8.0.0", feed["uri"].partition("?")[2], feed["config"]))
    assert verification.failures == () and verification.rows


def test_hidden_columns_of_a_schema_file_are_none_of_its_rows(tmp_path: Path) -> None:
    """TiDB makes them for expression indexes."""
    create = "CREATE TABLE shop.item (id INT PRIMARY KEY, KEY k ((id + 1))); INSERT INTO shop.item VALUES (1)"
    options = written(tmp_path, create, protocol="canal-json", config="")
    (file,) = (tmp_path / "out/shop/item/meta").glob("schema_*.json")
    columns = json.loads(file.read_bytes())["TableColumns"]
    assert [column["ColumnName"] for column in columns] == ["id", "_V$_k_0"]
    assert verify(without_truth(options, "v8.5.3", "protocol=canal-json", "")).verdict == RIGHT


@pytest.mark.slow
def test_a_storage_is_listed_once_however_much_is_found_out_about_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On S3 each listing and each file is a request."""
    options, asked = written(tmp_path, SQL), Counter[str]()

    class Counted(ExternalStorage):
        def files(self) -> Iterator[tuple[str, int]]:
            asked["the list"] += 1
            return super().files()

        def read(self, name: str, length: int | None = None) -> bytes | None:
            asked[name] += 1
            return super().read(name, length)

    monkeypatch.setattr("simulator.reader.storage.directory.ExternalStorage", Counted)
    assert verify(options).verdict == RIGHT

    assert (asked["the list"], asked["metadata"]) == (1, 1)
    assert max(count for name, count in asked.items() if "schema_" in name) == 2, "once more beside its statement"
