"""UPDATEs of a diff that are split, on Spark.

One law: tables without a key besides the handle key cost nothing; a row is told by one hash of its other keys, made
where its columns are columns, and compared in the join that the diff needs anyway.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from simulator.changes import DELETE, INSERT
from simulator.schema.table import Table
from simulator.schema.types import family
from simulator.snapshots.state import NULL as NULL_MARK
from simulator.snapshots.state import SEPARATOR, HashOf
from simulator.split.rule import NULL, SPLIT_DELETE, SPLIT_INSERT, SplitRule, in_a_diff, null_is_text


def unique_hash(rule: SplitRule) -> HashOf:
    """Of the texts of a row by column: a long that changes exactly if a key does that splits its UPDATE."""

    def hash_of(table: Table, columns: Mapping[str, Column]) -> Column:
        types = {column.name: column.type for column in table.columns}
        names = in_a_diff(table, rule) if rule.keys else ()
        separator, mark = (F.lit(one).cast("string") for one in (SEPARATOR, NULL_MARK))
        parts = [
            part for name in names for part in (
                separator,
                F.coalesce(columns[name], F.lit(NULL.decode()) if null_is_text(family(types[name]), rule) else mark))
        ]
        return F.xxhash64(F.concat(*parts)) if parts else F.lit(0).cast("bigint")

    return hash_of


def halves(changes: DataFrame, rule: SplitRule) -> DataFrame:
    """The row changes of `changes.diff`, each UPDATE that is split as two, and with `rank byte`, by which those of one
    commit-ts are in order."""
    if rule.several:
        beside = F.count("*").over(Window.partitionBy("table", "commit_ts")) > 1
        changes = changes.withColumn("split", F.col("split") & beside)
    kinds = F.when(F.col("split"), _bytes(SPLIT_DELETE, SPLIT_INSERT)).otherwise(F.array("op"))
    kind = F.col("kind")
    return changes.select("*", F.explode(kinds).alias("kind")).select(
        "commit_ts",
        "table",
        F.get(_bytes(0, 1, 2, DELETE, INSERT), kind).alias("op"),
        "handle",
        "row_id",
        F.when(kind == SPLIT_DELETE, F.col("before_hash")).otherwise(F.col("hash")).alias("hash"),
        F.when(kind != SPLIT_INSERT, F.col("before")).alias("before"),
        F.when(kind != SPLIT_DELETE, F.col("after")).alias("after"),
        F.get(_bytes(*rule.ranks), kind).alias("rank"),
    )


def _bytes(*values: int) -> Column:
    return F.array(*(F.lit(value).cast("byte") for value in values))


def ranked(changes: DataFrame, rule: SplitRule) -> DataFrame:
    """The row changes of a run that splits none; their `op` is their rank, where a release has all three apart."""
    apart = rule.ranks[0] < rule.ranks[1] < rule.ranks[2]
    return changes if apart else changes.withColumn("rank", F.get(_bytes(*rule.ranks), F.col("op")))
