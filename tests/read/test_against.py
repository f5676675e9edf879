"""Two states of the same tables are compared row by row, here and on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from simulator.read.engines import in_process, on_spark
from simulator.read.replay.against import against
from simulator.read.replay.halves import Unreplayed
from simulator.read.replay.outcome import Outcome, outcome
from simulator.sources import snapshots

TABLES = {
    "keyed": "CREATE TABLE `keyed` (`id` INT PRIMARY KEY, `name` VARCHAR(20), `d` DOUBLE);",
    "bag": "CREATE TABLE `bag` (`word` VARCHAR(20));",
    "lost": "CREATE TABLE `lost` (`id` BIGINT UNSIGNED PRIMARY KEY);",
    "parts": "CREATE TABLE `parts` (`id` INT PRIMARY KEY) PARTITION BY HASH (`id`) PARTITIONS 3;",
}


def state(directory: Path, rows: dict[str, list[str]]) -> Path:
    directory.mkdir()
    for name, lines in rows.items():
        (directory / f"shop.{name}-schema.sql").write_text(TABLES[name])
        (directory / f"shop.{name}.csv").write_text("\n".join(lines) + "\n")
    return directory


@pytest.fixture()
def states(tmp_path: Path) -> tuple[Path, Path]:
    keyed = ["id,name,d", *(f"{number},n{number},{number}.5" for number in range(100))]
    bag, parts = ["word", *"aabbbc"], ["id", *map(str, range(9))]
    truth = state(tmp_path / "truth", {"keyed": keyed, "bag": bag, "lost": ["id", "1", "2"], "parts": parts})
    wrong = ["id,name,d", *(f"{number},n{number},{number}.50" for number in range(98)), "98,\\N,98.5", "7777,x,1"]
    found = state(tmp_path / "found", {"keyed": wrong, "bag": ["word", *"abbbcd"], "parts": parts[:-1]})
    return truth, found


def compared(truth: Path, found: Path, spark: SparkSession | None = None) -> Outcome:
    both = against(snapshots.open(truth), snapshots.open(found))
    assert both.notes == ()
    if spark is None:
        batches = in_process.run(both.sources, both.expected, 10, lambda value: None)
    else:
        batches = on_spark.run(spark, both.sources, both.expected, 10, lambda value: None, 0)
    return outcome(batches, both.timeline, both.expected, Unreplayed(), [], 10)


def test_rows_that_differ_are_counted_and_shown(states: tuple[Path, Path]) -> None:
    """Missing, extra and different ones, of tables with and without a handle key."""
    found = compared(*states)
    assert found.counts == {
        ("row-different", "shop.keyed"): 1, ("row-missing", "shop.keyed"): 1, ("row-left", "shop.keyed"): 1,
        ("row-missing", "shop.bag"): 1, ("row-left", "shop.bag"): 1, ("row-missing", "shop.lost"): 2,
        ("row-missing", "shop.parts"): 1}
    assert {
        "shop.keyed, row 98: name is NULL, 'n98' expected", "shop.keyed, row 99: is missing",
        "shop.keyed, row 7777: is there and should not be",
        "shop.bag, row a: is there 1 times, 2 expected", "shop.bag, row d: is there 1 times, 0 expected",
    } <= {example.what for example in found.examples}
    assert [(each.table, each.expected, each.found) for each in found.tables] == [
        ("shop.bag", 6, 6), ("shop.keyed", 100, 100), ("shop.lost", 2, 0), ("shop.parts", 9, 8)]


def test_a_state_is_as_itself(states: tuple[Path, Path]) -> None:
    assert compared(states[0], states[0]).counts == {}


def test_spark_finds_the_same(states: tuple[Path, Path], spark: SparkSession) -> None:
    """The same functions on the same rows."""
    assert compared(*states, spark) == compared(*states)


def test_a_row_that_is_there_twice_is_told(tmp_path: Path) -> None:
    """In a table with a key, as a consumer leaves it that adds what comes again."""
    truth = state(tmp_path / "one", {"lost": ["id", "1", "2"]})
    found = compared(truth, state(tmp_path / "more", {"lost": ["id", "1", "1", "1", "2"]}))
    assert found.counts == {("row-twice", "shop.lost"): 2}
    assert {each.what for each in found.examples} == {"shop.lost, row 1: is there more than once"}
