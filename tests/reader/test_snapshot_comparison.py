"""Snapshots of the same tables are compared row by row, and tables of a database on Spark, whose Java reads it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.playing import play

from simulator.errors import UserError
from simulator.reader.replay import SkippedChanges, merge_findings, neighbours
from simulator.reader.replay.outcome import ReplayOutcome, summarize_findings
from simulator.reader.replay.states import Gaps, compare_snapshots, expected_rows
from simulator.sources import snapshots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = {
    "keyed": "CREATE TABLE `keyed` (`id` INT PRIMARY KEY, `name` VARCHAR(20), `d` DOUBLE);",
    "bag": "CREATE TABLE `bag` (`word` VARCHAR(20));",
    "lost": "CREATE TABLE `lost` (`id` BIGINT UNSIGNED PRIMARY KEY);",
    "parts": "CREATE TABLE `parts` (`id` INT PRIMARY KEY) PARTITION BY HASH (`id`) PARTITIONS 3;",
    "typed": """CREATE TABLE `typed` (`id` INT PRIMARY KEY, `name` VARCHAR(20), `d` DOUBLE, `n` DECIMAL(10,2),
`moment` DATETIME(3), `t` TIME, `day` DATE, `b` VARBINARY(9), `flag` TINYINT(1), `doc` JSON);""",
}


def state(directory: Path, rows: dict[str, list[str]]) -> Path:
    directory.mkdir()
    for name, lines in rows.items():
        (directory / f"shop.{name}-schema.sql").write_text(TABLES[name])
        (directory / f"shop.{name}.csv").write_text("\n".join(lines) + "\n")
    return directory


@pytest.fixture
def states(tmp_path: Path) -> tuple[Path, Path]:
    keyed = ["id,name,d", *(f"{number},n{number},{number}.5" for number in range(100))]
    bag, parts = ["word", *"aabbbc"], ["id", *map(str, range(9))]
    truth = state(tmp_path / "truth", {"keyed": keyed, "bag": bag, "lost": ["id", "1", "2"], "parts": parts})
    wrong = ["id,name,d", *(f"{number},n{number},{number}.50" for number in range(98)), "98,\\N,98.5", "7777,x,1"]
    found = state(tmp_path / "found", {"keyed": wrong, "bag": ["word", *"abbbcd"], "parts": parts[:-1]})
    return truth, found


def compared(truth: Path, found: Path) -> ReplayOutcome:
    wanted = snapshots.open(truth)
    both = compare_snapshots(wanted, snapshots.open(found, tables=[entry.table for entry in wanted.tables]))
    assert both.gaps == Gaps()
    batches = neighbours.replay_in_process(both.sources, both.expected, 10, lambda value: None)
    return summarize_findings(merge_findings(batches, 10), both.timeline, both.expected, SkippedChanges(), [])


def test_rows_that_differ_are_counted_and_shown(states: tuple[Path, Path]) -> None:
    """Missing, extra and different rows are found in tables with and without a handle key."""
    found = compared(*states)
    assert found.counts == {
        ("row-different", "shop.keyed"): 1,
        ("row-missing", "shop.keyed"): 1,
        ("row-left", "shop.keyed"): 1,
        ("row-missing", "shop.bag"): 1,
        ("row-left", "shop.bag"): 1,
        ("row-missing", "shop.lost"): 2,
        ("row-missing", "shop.parts"): 1,
    }
    assert {
        "shop.keyed, row 98: name is NULL, 'n98' expected",
        "shop.keyed, row 99: is missing",
        "shop.keyed, row 7777: is there and should not be",
        "shop.bag, row a: is there 1 times, 2 expected",
        "shop.bag, row d: is there 1 times, 0 expected",
    } <= {example.what for example in found.examples}
    assert [(each.table, each.expected, each.found) for each in found.tables] == [
        ("shop.bag", 6, 6),
        ("shop.keyed", 100, 100),
        ("shop.lost", 2, 0),
        ("shop.parts", 9, 8),
    ]


def test_files_without_definitions_have_the_tables_of_the_truth(states: tuple[Path, Path]) -> None:
    """A snapshot equals itself, too."""
    for file in states[1].glob("*-schema.sql"):
        file.unlink()
    assert sum(compared(*states).counts.values()) == 8
    assert compared(states[0], states[0]).counts == {}


def test_columns_of_one_side_only_are_noted(tmp_path: Path) -> None:
    truth = state(tmp_path / "truth", {"keyed": ["id,name,d", "1,a,0.5"]})
    found = tmp_path / "found"
    found.mkdir()
    (found / "shop.keyed-schema.sql").write_text("CREATE TABLE keyed (d DOUBLE, id INT PRIMARY KEY, other INT);")
    (found / "shop.keyed.csv").write_text("d,id,other\n0.5,1,1\n")
    both = compare_snapshots(snapshots.open(truth), snapshots.open(found))
    assert both.gaps == Gaps(
        (("column 'name' of shop.keyed", "the other side does not have it"),),
        notes=("shop.keyed: column 'other' is not compared, as the truth does not have it",),
    )
    batches = neighbours.replay_in_process(both.sources, both.expected, 10, lambda value: None)
    assert (
        summarize_findings(merge_findings(batches, 10), both.timeline, both.expected, SkippedChanges(), []).counts == {}
    )


@pytest.fixture
def java(spark: SparkSession, tmp_path: Path) -> Any:
    """That of Spark, where Derby keeps its log out of the way."""
    assert spark._jvm is not None
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    return spark._jvm


@pytest.fixture
def derby(java: Any, tmp_path: Path) -> str:
    """A database that comes with Spark."""
    url = f"jdbc:derby:memory:{tmp_path.name};create=true"
    statement = java.java.sql.DriverManager.getConnection(url).createStatement()
    for sql in (
        "CREATE TABLE shop.keyed (d DOUBLE, id INT PRIMARY KEY, name VARCHAR(20), extra INT)",
        "INSERT INTO shop.keyed VALUES (0.5, 0, 'n0', 1), (1.5, 1, 'other', 1), (9.5, 9, NULL, 1)",
        "CREATE TABLE typed (id INT PRIMARY KEY, name VARCHAR(20), d DOUBLE, n DECIMAL(10,2), moment TIMESTAMP, "
        "t TIME, day DATE, b VARCHAR(9) FOR BIT DATA, flag BOOLEAN, doc VARCHAR(50))",
        "INSERT INTO typed VALUES (1, 'Zo\u00eb', 0.1, 12.5, '2024-02-03 10:11:12.5', '01:02:03', '2024-02-03', "
        "X'00ff', TRUE, '{\"a\": 1}'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    ):
        statement.execute(sql)
    return url


def test_tables_of_a_database_are_compared(spark: SparkSession, derby: str, tmp_path: Path) -> None:
    """Columns match by name, in any order and case, and values by their TiDB text."""
    truth = state(
        tmp_path / "truth",
        {
            "keyed": ["id,name,d", "0,n0,0.5", "1,n1,1.5"],
            "lost": ["id", "1"],
            "typed": [
                "id,name,d,n,moment,t,day,b,flag,doc",
                '1,Zo\u00eb,0.1,12.50,2024-02-03 10:11:12.500,01:02:03,2024-02-03,00ff,1,"{""a"": 1}"',
                "2" + ",\\N" * 9,
            ],
        },
    )
    wanted = expected_rows(snapshots.open(truth, snapshots.CsvDialect(binary="hex")))
    from simulator.reader.on_spark import compare_jdbc

    batches, gaps = compare_jdbc(spark, derby, wanted, 10, 0)
    result = summarize_findings(merge_findings(batches, 10), wanted.timeline, wanted.expected, SkippedChanges(), [])
    assert {example.what for example in result.examples} == {
        "shop.keyed, row 1: name is 'other', 'n1' expected",
        "shop.keyed, row 9: is there and should not be",
        "shop.lost, row 1: is missing",
    }
    assert gaps.notes == (
        "shop.keyed: column 'EXTRA' is not compared, as the truth does not have it",
        "shop.lost: the database has no such table",
    )


def test_a_database_that_cannot_be_read_is_refused(spark: SparkSession, java: Any, states: tuple[Path, Path]) -> None:
    wanted = expected_rows(snapshots.open(states[0]))
    from simulator.reader.on_spark import jdbc_tables

    for url, words in {
        "jdbc:derby:memory:none": "cannot be read: (Couldn.t connect to the database|: java.sql.SQLException)",
        "jdbc:postgresql://127.0.0.1:1/x": "no JDBC driver of it is there: --jdbc-driver JAR names one",
    }.items():
        with pytest.raises(UserError, match=words):
            jdbc_tables(spark, url, wanted.timeline)


def test_a_database_is_compared_by_the_command_line(
    derby: str, java: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command compares a database with the truth of a run, and Derby writes no log to the current directory."""
    (tmp_path / "story.sql").write_text(
        "CREATE DATABASE shop; CREATE TABLE shop.keyed (id INT PRIMARY KEY, name VARCHAR(20), d DOUBLE);\n"
        "INSERT INTO shop.keyed VALUES (0, 'n0', 0.5), (1, 'n1', 1.5);\n"
    )
    from simulator.reader.on_spark import DERBY_LOG

    java.java.lang.System.clearProperty(DERBY_LOG)
    assert play("run", tmp_path / "story.sql", "--fixtures", tmp_path / "out", "--truth", tmp_path / "truth") == 0
    capsys.readouterr()
    assert play("verify", "--truth", tmp_path / "truth", "--against", derby, "--json") == 1
    failures = json.loads(capsys.readouterr().out)["failures"]
    assert {failure["check"]: failure["tables"] for failure in failures} == {
        "row-different": {"shop.keyed": 1},
        "row-left": {"shop.keyed": 1},
    }
    assert java.java.lang.System.getProperty(DERBY_LOG) == os.devnull


def test_a_duplicate_row_is_found(tmp_path: Path) -> None:
    """A table with a key must not have a row twice, as a consumer writes it that appends repeated rows."""
    truth = state(tmp_path / "one", {"lost": ["id", "1", "2"]})
    found = compared(truth, state(tmp_path / "more", {"lost": ["id", "1", "1", "1", "2"]}))
    assert found.counts == {("row-twice", "shop.lost"): 2}
    assert {each.what for each in found.examples} == {"shop.lost, row 1: is there more than once"}
