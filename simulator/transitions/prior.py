"""The rows of a table as the statements leave them, beside what they were.

One law: a row over which TiDB could not run the statements is an error.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulator.changes import numbered
from simulator.ddl.convert import ColumnSource, Computed, Filled, Kept
from simulator.errors import SnapshotError
from simulator.failures import raising
from simulator.schema.keys import handle_key, visible_columns
from simulator.schema.table import Table
from simulator.snapshots.checked import generated
from simulator.snapshots.recast import text_as
from simulator.snapshots.records import GIVEN
from simulator.snapshots.state import HashOf, keyed, names_of
from simulator.transitions.model import KEYED, Transition


def prior(old: DataFrame, change: Transition, hash_of: HashOf, unique_hash_of: HashOf) -> DataFrame:
    """The rows before (a_table, …, and all texts as the array a) with what the statements make of them (p_table, …)."""
    kept = old.where(~F.col("table").isin(list(change.lost))) if change.lost else old
    before = under(kept, change.before.table, "a")
    frame = _shaped(before, change)
    told = keyed(change.after, names_of(change.after.table), hash_of, unique_hash_of, known=change.known("a"))
    frame = frame.select(*before.columns, *named(told, "p"), _fits(change).alias("fits"))
    image = F.when(F.col("fits"), F.col("p_image")).otherwise(_misfit(change))
    frame = frame.withColumn("p_image", image).drop("fits")
    return frame if handle_key(change.after.table) else numbered(frame, "p_")


def under(frame: DataFrame, table: Table, prefix: str) -> DataFrame:
    """Rows of a table under names of their own, their texts as one array."""
    rows = frame if handle_key(table) else numbered(frame)
    texts = F.array(*names_of(table).values()).alias(prefix)
    return rows.select(*(F.col(name).alias(f"{prefix}_{name}") for name in KEYED), texts)


def named(columns: Iterable[Column], prefix: str) -> list[Column]:
    return [column.alias(f"{prefix}_{name}") for column, name in zip(columns, KEYED, strict=True)]


def _shaped(frame: DataFrame, change: Transition) -> DataFrame:
    """The rows before with the texts that the statements make of theirs as `t<i>`."""
    table = change.after.table
    texts = {f"t{index}": value(source, "a") for index, source in enumerate(change.sources)}
    shaped = frame.withColumns(texts)
    if not any(isinstance(source, Computed) for source in change.sources):
        return shaped
    return generated(table, shaped.withColumn(GIVEN, F.lit(False)))


def value(source: ColumnSource, array: str) -> Column:
    """The text of a column of the table after, from the array that has the texts of the table before."""
    match source:
        case Kept(index, before, after):
            return text_as(before, after, f"{array}[{index}]") if source.cast else F.expr(f"{array}[{index}]")
        case Filled(text):
            return F.lit(text).cast("string")
        case Computed():
            return F.lit(None).cast("string")


def _fits(change: Transition) -> Column:
    """Whether TiDB could run the statements over the row."""
    fits = F.col("p_table").isNotNull()
    for index, (source, column) in enumerate(zip(change.sources, visible_columns(change.after.table), strict=True)):
        if isinstance(source, Kept) and column.not_null:
            fits &= F.col(f"t{index}").isNotNull()
        elif isinstance(source, Kept) and source.cast:
            fits &= F.col(f"t{index}").isNotNull() | F.expr(f"a[{source.index}] is null")
    return fits


def _misfit(change: Transition) -> Column:
    """Raises the error of a row over which TiDB could not run the statements; of any type."""
    table = change.before.table
    cells = F.concat_ws(", ", *(
        F.concat(F.lit(f"{name}="), F.coalesce(F.expr(text), F.lit("NULL")))
        for name, text in list(names_of(table, "a[{}]").items())[:4]
    ))
    text = F.concat(
        F.lit(f"table {table.schema}.{table.name}: TiDB refuses the schema change, for a row does not fit it ("),
        cells, F.lit(" …); accepted: rows that the new definition can hold"),
    )
    return raising(SnapshotError, text.cast("binary"))
