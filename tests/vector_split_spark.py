"""The transactions of vectors by the Spark columns that a run is composed of: all of a file in one Spark job.

One law: Spark is given what a diff finds, which knows rows again by their handle key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from simulator.changes import DELETE, INSERT, UPDATE
from simulator.schema.keys import handle_key, visible_columns
from simulator.schema.table import Table
from simulator.split import RowEvent, SplitRule, halves, ranked, sent, splits, unique_hash
from simulator.split.rule import in_a_diff


@dataclass(frozen=True)
class Transaction:
    """Row changes of one table, as TiDB writes them."""

    table: Table
    events: tuple[RowEvent, ...]
    rule: SplitRule


def of_diff(transaction: Transaction) -> list[RowEvent]:
    """The changes as a diff finds them: an UPDATE of the handle key, or of a row without one, is a row that went and a
    row that came."""
    key = handle_key(transaction.table)
    found = []
    for event in transaction.events:
        before, after = event.before, event.after
        if before is None or after is None or key and all(before[name] == after[name] for name in key):
            found.append(event)
        else:
            found += [RowEvent(DELETE, before, None), RowEvent(INSERT, None, after)]
    return found


def plain(transaction: Transaction) -> list[RowEvent]:
    """What the plain functions make of the changes of a diff, with their whole old rows, as rows in a run have them."""
    found = sent(transaction.table, of_diff(transaction), replace(transaction.rule, old_value=True))
    return [replace(event, half=False) for event in found]


def by_spark(spark: SparkSession, transactions: Sequence[Transaction]) -> list[list[RowEvent]]:
    """What Spark makes of them, transaction by transaction."""
    numbered = list(enumerate(transactions))
    frames = [
        _frame(spark, [one for one in numbered if _shape(one[1].rule) == shape])
        for shape in dict.fromkeys(_shape(one.rule) for one in transactions)]
    together = reduce(DataFrame.unionByName, frames)
    found: list[list[RowEvent]] = [[] for _ in transactions]
    for row in together.orderBy("commit_ts", "rank", "table", "handle", "op").collect():
        names = [column.name for column in visible_columns(transactions[row["commit_ts"]].table)]
        before, after = (
            None if row[side] is None else dict(zip(names, json.loads(row[side]), strict=True))
            for side in ("before", "after"))
        found[row["commit_ts"]].append(RowEvent(row["op"], before, after))
    return found


def _shape(rule: SplitRule) -> tuple[object, ...]:
    """What a whole frame is treated by: rules of several releases are one."""
    return rule.keys > 0, rule.several, rule.ranks


def _deciding(one: Transaction) -> tuple[object, ...]:
    """What the hash of a row's unique keys depends on."""
    return one.table, in_a_diff(one.table, one.rule), one.rule.keys > 0, one.rule.release.split_by_text


def _frame(spark: SparkSession, numbered: Sequence[tuple[int, Transaction]]) -> DataFrame:
    """As `pipeline` composes the changes of a diff; commit-ts are the transactions' numbers, handles their order."""
    rule, hashed = numbered[0][1].rule, {_deciding(one): one for _, one in numbered}
    made = spark.createDataFrame(
        list(_rows(numbered, list(hashed))),
        "commit_ts long, table int, op byte, handle string, old array<string>, new array<string>")
    hashes = [_hash(list(hashed.values()), side) for side in ("old", "new")]
    changes = made.select(
        "commit_ts", "table", "op", F.col("handle").cast("binary").alias("handle"),
        F.lit(0).cast("long").alias("row_id"), F.lit(0).alias("hash"),
        *(F.to_json(side, {"ignoreNullFields": "false"}).cast("binary").alias(name)
          for side, name in (("old", "before"), ("new", "after"))),
        ((F.col("op") == UPDATE) & (hashes[0] != hashes[1])).alias("split"), F.lit(0).alias("before_hash"))
    tables = [one.table for _, one in numbered]
    placed = halves(changes, rule) if splits(tables, rule) else ranked(changes, rule)
    rank = "rank" if "rank" in placed.columns else "op"
    return placed.select(
        "commit_ts", F.col(rank).alias("rank"), "table", "handle", "op",
        *(F.col(name).cast("string").alias(name) for name in ("before", "after")))


def _rows(
    numbered: Iterable[tuple[int, Transaction]], hashed: Sequence[tuple[object, ...]],
) -> Iterator[tuple[object, ...]]:
    for number, one in numbered:
        names = [column.name for column in visible_columns(one.table)]
        for at, event in enumerate(of_diff(one)):
            images = [None if image is None else [image[name] for name in names]
                      for image in (event.before, event.after)]
            yield number, hashed.index(_deciding(one)), event.op, f"{at:04}", *images


def _hash(hashed: Sequence[Transaction], side: str) -> Column:
    """The hash of a row's unique keys, whichever table it is of."""
    found = F.lit(0).cast("long")
    for number, one in enumerate(hashed):
        columns = {column.name: F.col(side)[at] for at, column in enumerate(visible_columns(one.table))}
        found = F.when(F.col("table") == number, unique_hash(one.rule)(one.table, columns)).otherwise(found)
    return found
