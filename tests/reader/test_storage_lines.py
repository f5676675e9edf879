"""`inspect` of the files that a storage sink wrote."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.budget import left_out
from support.playing import error_of, output_of
from support.vectors.files import recorded_files

from simulator import TiCDC
from simulator.errors import UserError
from simulator.reader.storage.directory import open_directory
from simulator.reader.storage.events import events

RECORDED = Path(__file__).parent.parent / "endtoend"
STORY = r"""
CREATE DATABASE shop; USE shop;
CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20), data VARBINARY(5), price DECIMAL(10,2));
INSERT INTO item VALUES (1, 'a "pen",\r\n\\blue', x'00ff', 2.50), (2, '\\N', NULL, NULL);
UPDATE item SET price = 3 WHERE id = 1;
ALTER TABLE item ADD COLUMN note TEXT;
INSERT INTO item VALUES (3, '', '', 1, 'x, "y"');
DELETE FROM item WHERE id = 2;
"""
CANAL = "protocol=canal-json&enable-tidb-extension=true"
WITH_COMMIT_TS = "[sink.csv]\ninclude-commit-ts = true\noutput-old-value = true\n"
CONFIGS = {
    "quotes": WITH_COMMIT_TS,
    "escapes": WITH_COMMIT_TS + 'quote = ""\ndelimiter = "||"\n',
    "hex, handle key": WITH_COMMIT_TS + 'binary-encoding-method = "hex"\noutput-handle-key = true\n',
    "terminator": f'[sink]\nterminator = "\\n"\n{WITH_COMMIT_TS}',
}
Document = dict[str, Any]
Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Plays the story into a storage."""

    def written(parameters: str, config: str = "", name: str = "files") -> Path:
        (tmp_path / f"{name}.toml").write_text(config)
        uri = f"{(tmp_path / name).as_uri()}?{parameters}"
        with TiCDC("v8.1.0", sink_uri=uri, config=tmp_path / f"{name}.toml") as changefeed:
            changefeed.execute(STORY)
        return tmp_path / name

    return written


def inspected(directory: Path | str, *options: str) -> list[Document]:
    return [json.loads(line) for line in output_of("inspect", directory, "--json", *options).splitlines()]


def without_place(document: Document) -> Document:
    return {name: value for name, value in document.items() if name not in ("file", "row")}


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
def test_csv_says_what_canal_json_says(written: Written, config: str) -> None:
    csv, canal = written("protocol=csv", config), written(CANAL, name="canal")

    rows = [without_place(each) for each in inspected(csv, "--config", str(csv.with_suffix(".toml")))]
    expected = [without_place(each) for each in inspected(canal)]

    updates = [each for each in expected if each["event"] == "UPDATE"]
    for update in updates:  # Canal-JSON has the old values of changed columns only, CSV of all
        update["before"] = update["after"] | update["before"]
    assert rows == expected
    assert [each["event"] for each in rows] == [
        *("DDL", "DDL", "INSERT", "INSERT", "UPDATE", "DDL", "INSERT", "DELETE", "WATERMARK")
    ]
    assert [each["after"] for each in rows if each["event"] == "INSERT"] == [
        {"id": "1", "name": 'a "pen",\r\n\\blue', "data": {"hex": "00ff"}, "price": "2.50"},
        {"id": "2", "name": "\\N", "data": None, "price": None},
        {"id": "3", "name": "", "data": {"hex": ""}, "price": "1.00", "note": 'x, "y"'},
    ]


@pytest.mark.slow
def test_recorded_files_of_a_real_ticdc_are_read(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """tests/endtoend: CSV in two forms, and Canal-JSON; of one case in four, unless `--everything` is given."""
    every = sorted(RECORDED.glob("*.json.gz"))
    cases = every[:: 1 if request.config.getoption("--everything") else 4]
    left_out(request, len(every) - len(cases), "recorded case")
    read: Counter[str] = Counter()
    for case in cases:
        with gzip.open(case, "rt", encoding="utf-8") as file:
            feeds = [feed for feed in json.load(file)["feeds"] if feed["uri"].startswith("file:")]
        for number, feed in enumerate(feeds):
            directory = tmp_path / case.name / str(number)
            for name, content in recorded_files(feed["files"]).items():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                (directory / name).write_bytes(content)
            config = tmp_path / "changefeed.toml"
            config.write_text(feed["config"])
            for event in events(open_directory(str(directory), config)):
                assert not isinstance(event.event, UserError), (case.name, feed["name"], event)
                read[type(event.event).__name__] += 1
    assert read["RowEvent"] > 2000 and read["DdlEvent"] > 500


def test_a_virtual_column_is_not_in_rows(tmp_path: Path) -> None:
    with TiCDC("v8.1.0", sink_uri=f"{tmp_path.as_uri()}?protocol=csv") as changefeed:
        changefeed.execute("USE test; CREATE TABLE g (a INT PRIMARY KEY, b INT AS (a + 1), c INT)")
        changefeed.execute("INSERT INTO g (a, c) VALUES (1, 3)")

    assert [each["after"] for each in inspected(tmp_path) if each["event"] == "INSERT"] == [{"a": "1", "c": "3"}]


def test_a_uri_is_read_as_a_path_is(written: Written) -> None:
    directory = written("protocol=csv")

    assert inspected(directory.as_uri()) == inspected(directory)


def test_rows_without_commit_ts_have_no_time(written: Written) -> None:
    directory = written("protocol=csv")
    (path,) = (str(path.relative_to(directory)) for path in sorted(directory.glob("shop/item/*/*/CDC*.csv"))[:1])

    assert f"{path}:1 - - INSERT shop.item id=1 " in output_of("inspect", directory)


def test_a_file_cut_short_and_a_missing_schema_file_are_named(written: Written) -> None:
    directory = written("protocol=csv")
    first, second = sorted(directory.glob("shop/item/*/*/CDC*.csv"))
    first.write_bytes(first.read_bytes()[:-4])
    *_, last_schema = sorted(directory.glob("shop/item/meta/schema_*.json"))
    last_schema.unlink()

    unreadable = [each for each in inspected(directory) if each["event"] == "UNREADABLE"]

    version = second.parent.parent.name
    assert [(each["row"], each["reason"]) for each in unreadable] == [
        (3, "the file ends inside a row"),
        (1, f"there is no schema file of version {version} of shop.item"),
    ]


def test_a_mistake_is_one_line(written: Written, tmp_path: Path) -> None:
    directory, in_json = str(written("protocol=csv")), str(written("protocol=canal-json", name="json"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "truth").mkdir()
    for name in ("metadata", "truth.json"):
        (tmp_path / "truth" / name).write_text("")
    for command, reason in {
        ("inspect", directory, "--raw"): "of the options only --json, --limit and --config apply",
        ("inspect", directory, "--config", "nowhere.toml"): "nowhere.toml",
        ("inspect", "file://[::1/files"): "ticdc-sim: ",
        ("compare", "file:///nowhere", "file://[::1/files"): "ticdc-sim: ",
        ("inspect", (tmp_path / "empty").as_uri()): "has no files of a changefeed",
        (
            "verify",
            in_json,
            "--sink-uri",
            "kafka://h/t?protocol=canal-json",
        ): "has the files of a storage, and --sink-uri is",
        ("verify", str(tmp_path / "truth")): "holds a truth, which is no stream",
    }.items():
        assert reason in error_of(*command)


@pytest.mark.parametrize(
    ("pattern", "content", "reason"),
    [
        ("shop/item/meta/schema_*.json", '{"Table": "item"}', "it is no schema file: member 'TableColumns' is missing"),
        ("shop/item/*/*/meta/CDC.index", "", "it says ''; the name of a file as"),
        ("metadata", '{"checkpoint-ts":"x"}', """it says '{"checkpoint-ts":"x"}'; {"checkpoint-ts":N} is accepted"""),
    ],
)
def test_a_damaged_file_is_told(written: Written, pattern: str, content: str, reason: str) -> None:
    directory = written("protocol=csv")
    path, *_ = sorted(directory.glob(pattern))
    path.write_text(content)

    unreadable = [each for each in inspected(directory) if each["event"] == "UNREADABLE"]

    assert {each["file"] for each in unreadable} >= {str(path.relative_to(directory))}
    assert any(each["reason"].startswith(reason) for each in unreadable)
