"""`ticdc-sim diff`: two snapshots in, TiCDC's messages out, into fixtures and into a real Kafka."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import airports
from support.playing import assert_contract, play

from simulator.consumer.records import read_records
from simulator.ticdc.changefeed import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEFORE, AFTER = airports.SHIPPED
PROTOCOLS = {
    "open-protocol": "protocol=open-protocol",
    "canal-json": "protocol=canal-json",
    "canal-json with the TiDB extension": "protocol=canal-json&enable-tidb-extension=true",
}
NOWHERE = "kafka://127.0.0.1:9092/shop?protocol=open-protocol"
BY_KEY = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    """Each protocol as the sink-uri has it."""
    return PROTOCOLS[request.param]


def test_fixtures_keep_the_contract_and_lead_to_the_state_after(
    spark: SparkSession, tmp_path: Path, protocol: str
) -> None:
    uri = f"kafka://127.0.0.1:9092/airports?{protocol}&partition-num=4"
    config = tmp_path / "changefeed.toml"
    config.write_text(BY_KEY)
    assert play("diff", BEFORE, AFTER, "--sink-uri", uri, "--config", config, "--fixtures", tmp_path / "out") == 0
    assert_contract(read_records(str(tmp_path / "out")), load(uri, BY_KEY), {"airports": 4}, BEFORE, AFTER)


def test_a_real_kafka_holds_what_the_fixtures_hold(
    spark: SparkSession, tmp_path: Path, kafka: str, protocol: str
) -> None:
    topic = "airports-" + "".join(letter for letter in protocol if letter.isalnum())
    uri = f"kafka://{kafka}/{topic}?{protocol}&partition-num=3"
    assert play("diff", BEFORE, AFTER, "--sink-uri", uri) == 0
    assert play("diff", BEFORE, AFTER, "--sink-uri", uri, "--fixtures", tmp_path / "out") == 0
    sent, written = (
        sorted(
            (record.topic, record.partition, record.offset, record.key, record.value) for record in read_records(source)
        )
        for source in (f"kafka://{kafka}/{topic}", str(tmp_path / "out"))
    )
    assert sent == written
    assert_contract(read_records(f"kafka://{kafka}/{topic}"), load(uri), {topic: 3}, BEFORE, AFTER)


def test_the_whole_airports_run_to_kafka_keeps_the_contract(spark: SparkSession, tmp_path: Path, kafka: str) -> None:
    before, after = airports.full(tmp_path / "full")
    uri = f"kafka://{kafka}/whole-airports?protocol=open-protocol&partition-num=3"
    summary = tmp_path / "summary.json"
    assert play("diff", before, after, "--sink-uri", uri, "--summary", summary) == 0
    inserted, deleted = airports.INSERTED + airports.SPLIT, airports.DELETED + airports.SPLIT
    assert json.loads(summary.read_text())["tables"] == {
        "airports.airport": {"inserted": inserted, "updated": airports.UPDATED - airports.SPLIT, "deleted": deleted}
    }
    assert_contract(read_records(f"kafka://{kafka}/whole-airports"), load(uri), {"whole-airports": 3}, before, after)


def test_one_core_and_two_give_the_same_bytes(spark: SparkSession, tmp_path: Path) -> None:
    """The session has two; one is another Spark's."""
    uri = "kafka://127.0.0.1:9092/airports?protocol=open-protocol&partition-num=3"
    config = tmp_path / "changefeed.toml"
    config.write_text(BY_KEY)
    run = ["diff", BEFORE, AFTER, "--sink-uri", uri, "--config", config, "--fixtures"]
    assert play(*run, tmp_path / "two") == 0
    command = [sys.executable, "-c", "from simulator.cli import main; main()", *run, tmp_path / "one"]
    subprocess.run([*map(str, command), "--master", "local[1]"], check=True, capture_output=True, env=dict(os.environ))
    one, two = (sorted((tmp_path / cores).rglob("*.jsonl")) for cores in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    assert len(one) == 3


def test_parquet_fixtures_hold_the_same_records_as_json_lines(
    spark: SparkSession, tmp_path: Path, protocol: str
) -> None:
    uri = f"kafka://127.0.0.1:9092/airports?{protocol}"
    for format in ("jsonl", "parquet"):
        options = ("--fixtures", tmp_path / format, "--fixtures-format", format)
        assert play("diff", BEFORE, AFTER, "--sink-uri", uri, *options) == 0
    assert list(read_records(str(tmp_path / "jsonl"))) == list(read_records(str(tmp_path / "parquet")))


def test_another_seed_moves_rows_in_time_and_changes_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    uri = "kafka://127.0.0.1:9092/airports?protocol=canal-json"
    for seed in ("1", "2"):
        assert play("diff", BEFORE, AFTER, "--sink-uri", uri, "--seed", seed, "--fixtures", tmp_path / seed) == 0
    contents = []
    for seed in ("1", "2"):
        rows = [json.loads(record.value or b"") for record in read_records(str(tmp_path / seed))]
        contents.append(sorted(json.dumps({**row, "es": 0, "ts": 0}) for row in rows))
    assert contents[0] == contents[1]
    first, second = ([record.value for record in read_records(str(tmp_path / seed))] for seed in ("1", "2"))
    assert first != second


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
    spark: SparkSession, tmp_path: Path, before: str | None, after: str | None, found: dict[str, dict[str, int]]
) -> None:
    states = counter(tmp_path / "before", before), counter(tmp_path / "after", after)
    uri, out, summary = f"{NOWHERE}&partition-num=2", tmp_path / "out", tmp_path / "summary.json"
    assert play("diff", *states, "--sink-uri", uri, "--fixtures", out, "--summary", summary) == 0
    assert json.loads(summary.read_text())["tables"] == found
    assert_contract(read_records(str(out)), load(uri), {"shop": 2}, *states)


def only_the_dropped(tmp_path: Path, rows: str) -> tuple[object, ...]:
    """Arguments of a run whose changefeed has one table, which is dropped with those rows."""
    config = tmp_path / "changefeed.toml"
    config.write_text('[filter]\nrules = ["shop.counter"]\n')
    states = counter(tmp_path / "before", rows), counter(tmp_path / "after", "1,1\n", "other")
    return "diff", *states, "--sink-uri", NOWHERE, "--config", config


def test_the_only_table_may_be_dropped(spark: SparkSession, tmp_path: Path) -> None:
    """Its rows go without an event."""
    summary = tmp_path / "summary.json"
    options = ("--fixtures", tmp_path / "out", "--summary", summary)
    assert play(*only_the_dropped(tmp_path, "1,5\n2,6\n"), *options) == 0
    said = json.loads(summary.read_text())
    assert [statement["query"] for statement in said["statements"]] == ["DROP TABLE `shop`.`counter`"]
    assert said["rows"] == 0


def test_a_wrong_value_in_the_only_table_is_told_even_if_it_is_dropped(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(*only_the_dropped(tmp_path, "1,5\n2,many\n"), "--console") == 2
    assert "column 'n', row id='2': value 'many'" in capsys.readouterr().err
