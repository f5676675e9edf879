"""Two state frames to the net change of every row between them, each with its commit-ts.

One law: one full outer join on (table, handle) for all tables; a row whose images are equal did not change.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from simulator.numbered import by_number
from simulator.tso import LOGICAL_BITS, Span

DELETE, UPDATE, INSERT = range(OPERATIONS := 3)
"""The order of row changes inside one commit-ts (tiflow: cdc/processor/sourcemanager/engine/pebble/encoding/key.go)."""


@dataclass(frozen=True)
class TableFacts:
    """What the comparison must know of each physical table; all are as long as the run's list of tables."""

    salts: tuple[int, ...]
    """A number of the table's own, so that its rows' commit-ts do not depend on which other tables there are."""

    keyed: tuple[bool, ...]
    """Whether the table has a handle key; rows of the others are compared whole, as a multiset."""

    present: tuple[bool, ...]
    """Whether the table outlives the step; DROP TABLE takes the rows of the others without an event for each."""


def diff(before: DataFrame, after: DataFrame, facts: TableFacts, span: Span, seed: int, repeats: str) -> DataFrame:
    """Columns commit_ts long, table int, op byte, handle binary, row_id long, hash int, before binary, after binary;
    for UPDATEs that may be split: split boolean, whether a key changed, and before_hash int, the hash of the old row.

    How many rows repeat the key of another one of their snapshot is the first thing observed under the name `repeats`.
    """
    old, new = _side(_numbered(before, facts), "before"), _side(_numbered(after, facts), "after")
    # The handle comes first: its first bytes are what Spark sorts by before it compares whole keys.
    joined = old.join(new, ["handle", "table"], "full_outer")
    return _changed(joined, facts, repeats).select(
        commit_ts(facts, span, seed).alias("commit_ts"),
        "table",
        F.when(~F.col("is"), DELETE).when(~F.col("was"), INSERT).otherwise(UPDATE).cast("byte").alias("op"),
        "handle",
        "row_id",
        "hash",
        "before",
        "after",
        "split",
        "before_hash",
    )


def _changed(joined: DataFrame, facts: TableFacts, repeats: str) -> DataFrame:
    """Rows whose images differ, of the tables that stay; all are counted, the others without their images.

    Which tables stay is decided below the count: a filter above it that lets nothing pass would be all that is left.
    """
    silent = F.col("before").eqNullSafe(F.col("after")) | ~by_number(facts.present, "table")
    narrow = joined.select(
        "table",
        "handle",
        (~silent).alias("changed"),
        F.col("before").isNotNull().alias("was"),
        F.col("after").isNotNull().alias("is"),
        # TiCDC's dispatchers read the new row, and the old one of a DELETE (tiflow: partition/index_value.go).
        F.coalesce("after_row_id", "before_row_id").alias("row_id"),
        F.coalesce("after_hash", "before_hash").alias("hash"),
        F.coalesce(F.col("before_unique_hash") != F.col("after_unique_hash"), F.lit(False)).alias("split"),
        "before_hash",
        F.when(~silent, F.col("before")).alias("before"),
        F.when(~silent, F.col("after")).alias("after"),
        "before_repeats",
        "after_repeats",
    )
    met = (F.count_if(name).alias(name) for name in ("was", "is"))
    return narrow.observe(repeats, repeated("before_repeats", "after_repeats"), *met).where("changed")


def repeating(rows: DataFrame, name: str, table: str = "table", handle: str = "handle") -> DataFrame:
    """With a boolean of that name: whether the key stands before, in the order in which the join has the rows."""
    key = Window.partitionBy(handle, table).orderBy(handle)
    return rows.withColumn(name, F.row_number().over(key) > 1)


def repeated(before: str, after: str) -> Column:
    """How many of the joined rows repeat a key, on either side."""
    return F.count_if(F.col(before) | F.col(after)).alias("repeated")


def commit_ts(facts: TableFacts, span: Span, seed: int) -> Column:
    """A function of (seed, table, handle) alone: a millisecond of the span is a transaction, its logical part 1."""
    salt = by_number(facts.salts, "table").cast("int")
    slot = F.pmod(F.xxhash64(F.lit(seed), salt, F.col("handle")), F.lit(span.over_ms))
    return F.shiftleft(F.lit(span.start_ms + 1) + slot, LOGICAL_BITS) + F.lit(1)


def duplicates(state: DataFrame, limit: int) -> list[tuple[int, bytes]]:
    """Up to `limit` (table, row image) of handle keys that a snapshot holds more than once."""
    several = state.groupBy("table", "handle").agg(F.count("*").alias("rows"), F.first("image").alias("image"))
    found = several.where("rows > 1").orderBy("table", "handle").limit(limit).collect()
    return [(row["table"], bytes(row["image"])) for row in found]


def _side(state: DataFrame, name: str) -> DataFrame:
    return repeating(state, f"{name}_repeats").select(
        "table",
        "handle",
        F.col("image").alias(name),
        F.col("hash").alias(f"{name}_hash"),
        F.col("row_id").alias(f"{name}_row_id"),
        F.col("unique_hash").alias(f"{name}_unique_hash"),
        f"{name}_repeats",
    )


def _numbered(state: DataFrame, facts: TableFacts) -> DataFrame:
    """Where a table has no handle key, equal rows are told apart by a number, so that the join compares multisets."""
    if all(facts.keyed):
        return state
    keyed = by_number(facts.keyed, "table")
    return state.where(keyed).unionByName(numbered(state.where(~keyed)))


def numbered(rows: DataFrame, prefix: str = "") -> DataFrame:
    """Rows of tables without a handle key, each with a handle (and a row id) of its own; the prefix is of all names."""
    table, handle, row_id = (f"{prefix}{name}" for name in ("table", "handle", "row_id"))
    occurrence = F.row_number().over(Window.partitionBy(table, handle).orderBy(table))
    told = rows.withColumn(handle, F.concat(handle, F.unhex(F.lpad(F.hex(occurrence), 16, "0"))))
    return told.withColumn(row_id, F.xxhash64(table, handle).bitwiseAND(F.lit((1 << 63) - 1)))
