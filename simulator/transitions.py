"""Row changes of a table whose definition changes on the way: those before the statements and those after them.

One law: a change stands before the statements exactly if its time does and the old definition can say it, so that what
the statements then make of the row is what the change leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulator.changes import DELETE, INSERT, UPDATE, Counts, numbered
from simulator.ddl.convert import ColumnSource, Computed, Filled, Kept
from simulator.errors import SnapshotError
from simulator.failures import raising
from simulator.schema import table as schema
from simulator.schema.keys import handle_key, visible_columns
from simulator.snapshots import Places
from simulator.snapshots.checked import generated
from simulator.snapshots.recast import text_as
from simulator.snapshots.records import GIVEN
from simulator.snapshots.state import HashOf, keyed, names_of
from simulator.tso import LOGICAL_BITS, Span

KEYED = ("table", "handle", "image", "hash", "row_id")
"""Columns of a state frame."""


@dataclass(frozen=True)
class Transition:
    """What statements make of a table between two snapshots."""

    before: Places
    after: Places
    sources: tuple[ColumnSource, ...]
    """Of each visible column of the table after."""

    lost: frozenset[int] = frozenset()
    """Indexes of tables and partitions whose rows go with the statements: truncated, dropped."""

    sent: tuple[bool, bool] = (True, True)
    """Whether rows before and after the statements are replicated."""

    salt: int = 0
    key_stays: bool = False
    """Whether a row has the same handle and row id before and after."""

    hash_stays: bool = False
    """Whether a row has the same dispatch hash before and after."""

    def known(self, prefix: str) -> dict[str, Column]:
        """What of a row need not be computed, as it is known of the same row under a prefix."""
        names = [*(("handle", "row_id") if self.key_stays else ()), *(("hash",) if self.hash_stays else ())]
        return {name: F.col(f"{prefix}_{name}") for name in names}


@dataclass(frozen=True)
class Turn:
    """When the statements run, in milliseconds of the span: before the change of this millisecond."""

    slot: int
    squeezed: bool
    """Whether every change that the old definition can tell comes before them, in proportionally less time."""


def diff(
    old: DataFrame, new: DataFrame, change: Transition, span: Span, turn: Turn, seed: int, hash_of: HashOf,
    counts: Counts,
) -> DataFrame:
    """As `changes.diff`, for one table; `old` and `new` are frames of `snapshots.rows`."""
    was = _prior(old, change, hash_of).observe(counts.before, F.count("*").alias("rows"))
    now = _under(new, change.after.table, "b").observe(counts.after, F.count("*").alias("rows"))
    key = [F.col("p_table") == F.col("b_table"), F.col("p_handle") == F.col("b_handle")]
    joined = was.join(now, key, "full_outer")
    met = joined.observe(
        counts.joined, F.count("p_table").alias("before"), F.count("b_table").alias("after")
    ).where(~F.col("p_image").eqNullSafe(F.col("b_image")))
    told = _told_before(met, change, turn, hash_of).withColumn("slot", _slot(change.salt, span, seed))
    early = F.col("expressible") & (F.lit(turn.squeezed) | (F.col("slot") < turn.slot))
    return _events(told.withColumn("early", early), change, span, turn)


def prior(old: DataFrame, change: Transition, hash_of: HashOf) -> DataFrame:
    """The state frame of the rows as the statements leave them."""
    return _prior(old, change, hash_of).select(*(F.col(f"p_{name}").alias(name) for name in KEYED))


def _prior(old: DataFrame, change: Transition, hash_of: HashOf) -> DataFrame:
    """The rows before (columns a_table, …, a0, …) with what the statements make of them (p_table, …, p0, …)."""
    kept = old.where(~F.col("table").isin(list(change.lost))) if change.lost else old
    before = _under(kept, change.before.table, "a")
    frame = _shaped(before, change.after.table, _converted(change, "a"), "p")
    told = keyed(change.after, names_of(change.after.table, "p"), hash_of, known=change.known("a"))
    frame = frame.select("*", *_named(told, "p"))
    frame = frame.withColumn("p_image", F.when(_fits(change), F.col("p_image")).otherwise(_misfit(change)))
    return frame if handle_key(change.after.table) else numbered(frame, "p_")


def _under(frame: DataFrame, table: schema.Table, prefix: str) -> DataFrame:
    """Rows of a table under names of their own."""
    rows = frame if handle_key(table) else numbered(frame)
    texts = [F.col(text).alias(own) for text, own in zip(names_of(table).values(), names_of(table, prefix).values())]
    return rows.select(*(F.col(name).alias(f"{prefix}_{name}") for name in KEYED), *texts)


def _named(columns: Iterable[Column], prefix: str) -> list[Column]:
    return [column.alias(f"{prefix}_{name}") for column, name in zip(columns, KEYED, strict=True)]


def _converted(change: Transition, prefix: str) -> list[Column]:
    """The texts of the table after, from those of the table before that are in `<prefix><i>`."""
    return [_value(source, prefix) for source in change.sources]


def _value(source: ColumnSource, prefix: str) -> Column:
    match source:
        case Kept(index, before, after):
            return text_as(before, after, f"{prefix}{index}") if source.cast else F.col(f"{prefix}{index}")
        case Filled(text):
            return F.lit(text).cast("string")
        case Computed():
            return F.lit(None).cast("string")


def _shaped(
    frame: DataFrame, table: schema.Table, texts: list[Column], prefix: str
) -> DataFrame:
    """The frame with the texts of a row of the table as `<prefix><i>`, its stored generated columns computed."""
    width = range(len(texts))
    if not any(column.generated for column in visible_columns(table)):
        return frame.withColumns({f"{prefix}{index}": text for index, text in zip(width, texts, strict=True)})
    kept = frame.columns
    filled = frame.withColumns({f"t{index}": text for index, text in zip(width, texts, strict=True)})
    computed = generated(table, filled.withColumn(GIVEN, F.lit(False)))
    return computed.select(*kept, *(F.col(f"t{index}").alias(f"{prefix}{index}") for index in width))


def _fits(change: Transition) -> Column:
    """Whether TiDB could run the statements over the row."""
    fits = F.col("p_table").isNotNull()
    for index, (source, column) in enumerate(zip(change.sources, visible_columns(change.after.table), strict=True)):
        if isinstance(source, Kept) and source.cast:
            fits &= F.col(f"p{index}").isNotNull() | F.col(f"a{source.index}").isNull()
        if column.not_null and isinstance(source, Kept):
            fits &= F.col(f"p{index}").isNotNull()
    return fits


def _misfit(change: Transition) -> Column:
    """Raises the error of a row over which TiDB could not run the statements; of any type."""
    table = change.before.table
    cells = F.concat_ws(", ", *(
        F.concat(F.lit(f"{name}="), F.coalesce(F.col(text), F.lit("NULL")))
        for name, text in list(names_of(table, "a").items())[:4]
    ))
    text = F.concat(
        F.lit(f"table {table.schema}.{table.name}: TiDB refuses the schema change, for a row does not fit it ("),
        cells, F.lit(" …); accepted: rows that the new definition can hold"),
    )
    return raising(SnapshotError, text.cast("binary"))


def _told_before(met: DataFrame, change: Transition, turn: Turn, hash_of: HashOf) -> DataFrame:
    """The joined rows with the new row as the old definition says it (x_table, …) and whether it can."""
    if not turn.slot or not change.sent[0]:
        blank = {f"x_{name}": F.lit(None).cast(kind) for name, kind in zip(KEYED, KINDS, strict=True)}
        return met.withColumns({"expressible": F.lit(False), **blank})
    before = change.before.table
    frame = _shaped(met, before, _told(change), "x")
    told = keyed(change.before, names_of(before, "x"), hash_of, known=change.known("b"))
    frame = frame.select("*", *_named(told, "x"))
    if not handle_key(before):
        frame = frame.withColumn("x_handle", F.concat("x_handle", "b_handle"))
    same = reduce(and_, _reached(change), F.lit(True))
    placed = F.col("x_table").isNotNull() & _allowed(change, "x")
    update = same & placed & (F.col("x_handle") == F.col("a_handle")) & (F.col("x_table") == F.col("a_table"))
    insert = same & placed & F.lit(_tells_new_rows(change))
    expressible = (
        F.when(F.col("b_table").isNull(), True).when(F.col("p_table").isNull(), insert).otherwise(update)
    )
    return frame.withColumn("expressible", F.coalesce(expressible, F.lit(False)))


KINDS = ("int", "binary", "binary", "int", "bigint")
"""Types of KEYED."""


def _reached(change: Transition) -> Iterator[Column]:
    """Whether the statements make of the row told before them what it is in the end; one column each."""
    for index, source in enumerate(change.sources):
        match source:
            case Kept() if source.cast or source.cast_back:
                yield _value(source, "x").eqNullSafe(F.col(f"b{index}"))
            case Filled(text):
                yield F.col(f"b{index}").eqNullSafe(F.lit(text).cast("string"))


def _told(change: Transition) -> list[Column]:
    """The texts of the table before: what its columns become, taken back; dropped ones as they were, or the default."""
    back = {
        source.index: text_as(source.after, source.before, f"b{index}") if source.cast_back else F.col(f"b{index}")
        for index, source in enumerate(change.sources) if isinstance(source, Kept)
    }
    return [
        back.get(index, F.coalesce(F.col(f"a{index}"), F.when(F.col("a_table").isNull(), _default(column))))
        for index, column in enumerate(visible_columns(change.before.table))
    ]


def _default(column: schema.Column) -> Column:
    return F.lit(None if column.default_expression else column.default).cast("string")


def _allowed(change: Transition, prefix: str) -> Column:
    """Whether the table before takes the row: no NULL where it has NOT NULL."""
    allowed = F.lit(True)
    for index, column in enumerate(visible_columns(change.before.table)):
        if column.not_null:
            allowed &= F.col(f"{prefix}{index}").isNotNull()
    return allowed


def _tells_new_rows(change: Transition) -> bool:
    """Whether the old definition can tell rows that are new: its keys are the new ones, and no rows get lost."""
    before, after = change.before.table, change.after.table
    names = [column.name for column in visible_columns(before)]
    now = {
        names[source.index]: column.name
        for source, column in zip(change.sources, visible_columns(after), strict=True) if isinstance(source, Kept)
    }
    keys = [index for index in before.indexes if index.unique]
    kept = all(part.name in now for index in keys for part in index.columns)
    return kept and not change.lost and tuple(now.get(name) for name in handle_key(before)) == handle_key(after)


def _slot(salt: int, span: Span, seed: int) -> Column:
    """As `changes.commit_ts`: a function of (seed, table, handle) alone."""
    handle = F.coalesce("b_handle", "p_handle")
    return F.pmod(F.xxhash64(F.lit(seed), F.lit(salt).cast("int"), handle), F.lit(span.over_ms))


def _events(placed: DataFrame, change: Transition, span: Span, turn: Turn) -> DataFrame:
    """The changes as `changes.diff` gives them, each in the definition of its time."""
    left = max(1, span.over_ms - turn.slot)
    ahead = f"slot * {turn.slot} div {span.over_ms}" if turn.squeezed else "slot"
    behind = f"if(slot < {turn.slot}, {turn.slot} + slot % {left}, slot)"
    deleted, inserted = "b_table is null", "p_table is null"
    shown = (f"if({deleted}, {_old(name)}, {_new(name)}) as {name}" for name in ("handle", "row_id", "hash"))
    return placed.where(f"if(early, {change.sent[0]}, {change.sent[1]})").selectExpr(
        f"shiftleft({span.start_ms + 1} + if(early, {ahead}, {behind}), {LOGICAL_BITS}) + 1 as commit_ts",
        f"if({deleted}, {_old('table')}, {_new('table')}) as table",
        f"cast(if({deleted}, {DELETE}, if({inserted}, {INSERT}, {UPDATE})) as byte) as op",
        *shown,
        f"if({inserted}, null, {_old('image')}) as before",
        f"if({deleted}, null, {_new('image')}) as after",
    )


def _old(name: str) -> str:
    """SQL of what the row was, in the definition of the time of its change."""
    return f"if(early, a_{name}, p_{name})"


def _new(name: str) -> str:
    """SQL of what the row becomes, in that definition."""
    return f"if(early, x_{name}, b_{name})"
