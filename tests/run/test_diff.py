"""`ticdc-sim diff`: two snapshots in, TiCDC's messages out, into fixtures and into a real Kafka."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.databases import AIRPORTS
from support.playing import assert_contract, error_of, play

from simulator.reader.records import read_records
from simulator.ticdc.changefeed import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEFORE, AFTER = AIRPORTS
NOWHERE = "kafka://127.0.0.1:9092/shop?protocol=open-protocol"
AIRPORTS_URI = NOWHERE.replace("/shop", "/airports")


def diff(*arguments: object) -> int:
    return play("diff", *arguments, "--master", "none")


def test_a_real_kafka_holds_what_the_fixtures_hold(spark: SparkSession, tmp_path: Path, kafka: str) -> None:
    """What is asked of the command with Spark."""
    uri = f"kafka://{kafka}/airports-of-diff?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
    assert play("diff", BEFORE, AFTER, "--sink-uri", uri) == 0
    assert diff(BEFORE, AFTER, "--sink-uri", uri, "--fixtures", tmp_path / "out") == 0
    sent, written = (
        sorted((each.topic, each.partition, each.offset, each.key, each.value) for each in read_records(source))
        for source in (f"kafka://{kafka}/airports-of-diff", str(tmp_path / "out"))
    )
    assert sent == written
    assert_contract(read_records(str(tmp_path / "out")), load(uri), {"airports-of-diff": 3}, BEFORE, AFTER)


@pytest.mark.slow
def test_parquet_fixtures_hold_the_same_records_as_json_lines(tmp_path: Path) -> None:
    for format in ("jsonl", "parquet"):
        options = ("--fixtures", tmp_path / format, "--fixtures-format", format)
        assert diff(BEFORE, AFTER, "--sink-uri", AIRPORTS_URI, *options) == 0
    assert list(read_records(str(tmp_path / "jsonl"))) == list(read_records(str(tmp_path / "parquet")))


def counter(directory: Path, rows: str | None, table: str = "counter") -> Path:
    """A snapshot of one table; None is no data file."""
    directory.mkdir()
    (directory / f"shop.{table}-schema.sql").write_text(f"CREATE TABLE `{table}` (`id` int PRIMARY KEY, `n` int);\n")
    if rows is not None:
        (directory / f"shop.{table}.csv").write_text(rows)
    return directory


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (None, "1,5\n2,6\n", {"shop.counter": {"inserted": 2, "updated": 0, "deleted": 0}}),
        ("1,5\n2,6\n", None, {"shop.counter": {"inserted": 0, "updated": 0, "deleted": 2}}),
        (None, None, {}),
    ],
    ids=["filled", "emptied", "empty all the time"],
)
def test_a_state_may_have_no_row_at_all(
    tmp_path: Path, before: str | None, after: str | None, found: dict[str, dict[str, int]]
) -> None:
    states = counter(tmp_path / "before", before), counter(tmp_path / "after", after)
    uri, out, summary = f"{NOWHERE}&partition-num=2", tmp_path / "out", tmp_path / "summary.json"
    assert diff(*states, "--sink-uri", uri, "--fixtures", out, "--summary", summary) == 0
    assert json.loads(summary.read_text())["tables"] == found
    assert_contract(read_records(str(out)), load(uri), {"shop": 2}, *states)


def test_the_only_table_may_be_dropped(tmp_path: Path) -> None:
    """Its rows go without an event, and a wrong value in them is told."""
    (tmp_path / "changefeed.toml").write_text('[filter]\nrules = ["shop.counter"]\n')
    before, after = counter(tmp_path / "before", "1,5\n2,6\n"), counter(tmp_path / "after", "1,1\n", "other")
    command = before, after, "--sink-uri", NOWHERE, "--config", tmp_path / "changefeed.toml"
    assert diff(*command, "--fixtures", tmp_path / "out", "--summary", tmp_path / "summary.json") == 0
    said = json.loads((tmp_path / "summary.json").read_text())
    assert [statement["query"] for statement in said["statements"]] == ["DROP TABLE `shop`.`counter`"]
    assert said["rows"] == 0
    (before / "shop.counter.csv").write_text("1,5\n2,many\n")
    found = error_of("diff", *command, "--console", "--master", "none")
    assert "column 'n', row id='2': value 'many'" in found
