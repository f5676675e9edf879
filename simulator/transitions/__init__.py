"""Row changes of tables whose definitions change on the way: those before the statements and those after them.

One law: a change stands before the statements exactly if its time does and the old definition can say it, so that what
the statements then make of the row is what the change leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulator.changes import DELETE, INSERT, UPDATE, TableFacts, repeated, repeating
from simulator.numbered import by_number
from simulator.snapshots.state import HashOf, union
from simulator.transitions.model import KEYED, Transition, Turn
from simulator.transitions.prior import prior, under
from simulator.transitions.told import told as told_before
from simulator.tso import LOGICAL_BITS, Span

__all__ = ["Transition", "Turn", "diff", "states"]

Pair = tuple[Transition, DataFrame, DataFrame]
"""A table with its rows before and after, frames of `snapshots.rows`."""


def diff(
    tables: Sequence[Pair], facts: TableFacts, span: Span, turn: Turn, seed: int, hash_of: HashOf,
    unique_hash_of: HashOf, repeats: str,
) -> DataFrame:
    """As `changes.diff`, for all the tables in one join."""
    was = union([prior(old, change, hash_of, unique_hash_of) for change, old, _ in tables])
    now = union([under(new, change.after.table, "b") for change, _, new in tables])
    key = [F.col("p_handle") == F.col("b_handle"), F.col("p_table") == F.col("b_table")]
    joined = repeating(was, "p_repeats", "p_table", "p_handle").join(
        repeating(now, "b_repeats", "b_table", "b_handle"), key, "full_outer"
    )
    met = joined.observe(
        repeats, repeated("p_repeats", "b_repeats"), F.count("p_table").alias("was"), F.count("b_table").alias("is")
    ).where(~F.col("p_image").eqNullSafe(F.col("b_image")))
    changes = [change for change, _, _ in tables]
    told = told_before(met, changes, turn, hash_of, unique_hash_of).withColumn("slot", _slot(facts, span, seed))
    early = F.col("expressible") & (F.lit(turn.squeezed) | (F.col("slot") < turn.slot))
    return _events(told.withColumn("early", early), changes, facts, span, turn)


def states(tables: Iterable[Pair], hash_of: HashOf, unique_hash_of: HashOf) -> Iterator[DataFrame]:
    """The state frames of both sides, the rows before as the statements leave them."""
    for change, old, new in tables:
        yield prior(old, change, hash_of, unique_hash_of).select(*(F.col(f"p_{name}").alias(name) for name in KEYED))
        yield new.select(*KEYED)


def _slot(facts: TableFacts, span: Span, seed: int) -> Column:
    """As `changes.commit_ts`: a function of (seed, table, handle) alone."""
    salt = by_number(facts.salts, F.coalesce("b_table", "p_table")).cast("int")
    handle = F.coalesce("b_handle", "p_handle")
    return F.pmod(F.xxhash64(F.lit(seed), salt, handle), F.lit(span.over_ms))


def _events(
    placed: DataFrame, changes: Sequence[Transition], facts: TableFacts, span: Span, turn: Turn
) -> DataFrame:
    """The changes as `changes.diff` gives them, each in the definition of its time."""
    left = max(1, span.over_ms - turn.slot)
    ahead = f"slot * {turn.slot} div {span.over_ms}" if turn.squeezed else "slot"
    behind = f"if(slot < {turn.slot}, {turn.slot} + slot % {left}, slot)"
    deleted, inserted = "(b_table is null)", "(p_table is null)"
    shown = (f"if({deleted}, {_old(name)}, {_new(name)}) as {name}" for name in ("handle", "row_id", "hash"))
    return placed.where(_sent(changes, len(facts.salts))).selectExpr(
        f"shiftleft({span.start_ms + 1} + if(early, {ahead}, {behind}), {LOGICAL_BITS}) + 1 as commit_ts",
        f"if({deleted}, {_old('table')}, {_new('table')}) as table",
        f"cast(if({deleted}, {DELETE}, if({inserted}, {INSERT}, {UPDATE})) as byte) as op",
        *shown,
        f"if({inserted}, null, {_old('image')}) as before",
        f"if({deleted}, null, {_new('image')}) as after",
        f"not {deleted} and not {inserted} and {_old('unique_hash')} <> {_new('unique_hash')} as split",
        f"{_old('hash')} as before_hash",
    )


def _sent(changes: Iterable[Transition], width: int) -> Column:
    """Whether the changefeed replicates the table under the name of the time."""
    sent: Mapping[int, bool] = {index: change.sent[1] for change in changes for index in change.after.indexes}
    behind = by_number([sent.get(index, True) for index in range(width)], F.coalesce("b_table", "p_table"))
    return F.col("early") | behind


def _old(name: str) -> str:
    """SQL of what the row was, in the definition of the time of its change."""
    return f"if(early, a_{name}, p_{name})"


def _new(name: str) -> str:
    """SQL of what the row becomes, in that definition."""
    return f"if(early, x_{name}, b_{name})"
