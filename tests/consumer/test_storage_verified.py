"""`verify` of the files of a storage: rows, statements and the checkpoint lead to the rows of the truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.playing import play

from simulator import TiCDC
from simulator.consumer.frame import EVENT_SCHEMA
from simulator.consumer.storage.directory import DataFile, open_directory
from simulator.consumer.storage.events import file_events
from simulator.consumer.storage.table_events import TableEvents, TableFiles
from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.errors import UserError

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
