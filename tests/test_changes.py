"""When a row changes is a matter of the row alone."""

from __future__ import annotations

from pyspark.sql import SparkSession

from simulator.changes import TableFacts, commit_ts
from simulator.tso import Span

SPAN = Span(1_700_000_000_000, 60_000)
LOW, HIGH = 992_908_482, 2_339_570_961
"""Salts on either side of 2^31, as those of `airports`.`airport` and `nyc`.`flights`."""


def times(spark: SparkSession, salts: tuple[int, ...], table: int) -> list[int]:
    """The commit-ts of a few rows of one of the tables."""
    facts = TableFacts(salts, (True,) * len(salts), (True,) * len(salts))
    rows = spark.createDataFrame([(table, bytes([key])) for key in range(20)], "table int, handle binary")
    return [row[0] for row in rows.select(commit_ts(facts, SPAN, 7)).collect()]


def test_a_table_s_commit_ts_do_not_depend_on_which_other_tables_there_are(spark: SparkSession) -> None:
    assert times(spark, (LOW,), 0) == times(spark, (HIGH, LOW), 1) == times(spark, (LOW, 5), 0)
    assert times(spark, (HIGH,), 0) == times(spark, (HIGH, LOW), 0)
    assert times(spark, (HIGH,), 0) != times(spark, (LOW,), 0)
