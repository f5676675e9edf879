"""Row changes of tables whose definitions change on the way, as Spark columns: what `prior` and `events` do on arrays.

One law: a change stands before the statements exactly if its time does and the old definition can say it, so that what
the statements then make of the row is what the change leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulator.changes import DELETE, INSERT, UPDATE, TableFacts, numbered, repeated, repeating
from simulator.ddl.convert import ColumnSource, Computed, Filled, Kept
from simulator.errors import SnapshotError
from simulator.failures import raising
from simulator.numbered import by_number
from simulator.schema.keys import handle_key, visible_columns
from simulator.schema.table import Table
from simulator.snapshots.checked import generated
from simulator.snapshots.recast import text_as
from simulator.snapshots.records import GIVEN
from simulator.snapshots.state import HashOf, keyed, names_of, union
from simulator.transitions.model import Transition, Turn
from simulator.tso import LOGICAL_BITS, Span

KEYED = ("table", "handle", "image", "hash", "row_id", "unique_hash")
"""Columns of a state frame."""

KINDS = ("int", "binary", "binary", "int", "bigint", "bigint")
"""Types of KEYED."""

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
    found = told(met, changes, turn, hash_of, unique_hash_of).withColumn("slot", _slot(facts, span, seed))
    early = F.col("expressible") & (F.lit(turn.squeezed) | (F.col("slot") < turn.slot))
    return _events(found.withColumn("early", early), changes, facts, span, turn)


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


def known(change: Transition, prefix: str) -> dict[str, Column]:
    """What of a row need not be computed, as it is known of the same row under a prefix."""
    names = [*(("handle", "row_id") if change.key_stays else ()), *(("hash",) if change.hash_stays else ())]
    return {name: F.col(f"{prefix}_{name}") for name in names}


def prior(old: DataFrame, change: Transition, hash_of: HashOf, unique_hash_of: HashOf) -> DataFrame:
    """The rows before (a_table, …, and all texts as the array a) with what the statements make of them (p_table, …)."""
    kept = old.where(~F.col("table").isin(list(change.lost))) if change.lost else old
    before = under(kept, change.before.table, "a")
    frame = _shaped(before, change)
    told = keyed(change.after, names_of(change.after.table), hash_of, unique_hash_of, known=known(change, "a"))
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


def told(
    met: DataFrame, changes: Sequence[Transition], turn: Turn, hash_of: HashOf, unique_hash_of: HashOf
) -> DataFrame:
    """The joined rows with each new row as the old definition says it (x_table, …) and whether it can."""
    if not turn.slot or not any(change.sent[0] for change in changes):
        blank = [f"cast(null as {kind}) as x_{name}" for name, kind in zip(KEYED, KINDS, strict=True)]
        return met.selectExpr("*", *blank, "false as expressible")
    texts = met.withColumn("x", _of_table(changes, lambda change: F.array(*_taken_back(change))))
    told = texts.withColumn("told", _of_table(changes, lambda change: _as_before(change, hash_of, unique_hash_of)))
    return told.select("*", "told.*")


def _of_table(changes: Iterable[Transition], value: Callable[[Transition], Column]) -> Column:
    """What holds of the row's table."""
    table = F.coalesce("b_table", "p_table")
    cases = [(table.isin(list(change.after.indexes)), value(change)) for change in changes]
    (condition, first), rest = cases[0], cases[1:]
    return reduce(lambda case, branch: case.when(*branch), rest, F.when(condition, first))


def _taken_back(change: Transition) -> Iterator[Column]:
    """The texts of the table before: what its columns become, taken back; dropped ones as they were, or the default."""
    back = {source.index: _back(index, source) for index, source in enumerate(change.sources)
            if isinstance(source, Kept)}
    for index, column in enumerate(visible_columns(change.before.table)):
        default = F.lit(None if column.default_expression else column.default).cast("string")
        yield back.get(index, F.when(F.col("a_table").isNull(), default).otherwise(F.expr(f"a[{index}]")))


def _back(index: int, source: Kept) -> Column:
    return text_as(source.after, source.before, f"b[{index}]") if source.cast_back else F.expr(f"b[{index}]")


def _as_before(change: Transition, hash_of: HashOf, unique_hash_of: HashOf) -> Column:
    """The row in `x` as a struct of KEYED, and whether it is what the old definition can tell."""
    same = known(change, "b")
    columns = keyed(change.before, names_of(change.before.table, "x[{}]"), hash_of, unique_hash_of, known=same)
    if not handle_key(change.before.table):
        columns[1] = F.concat(columns[1], F.col("b_handle"))
    return F.struct(*named(columns, "x"), _expressible(change, columns).alias("expressible"))


def _expressible(change: Transition, told: Sequence[Column]) -> Column:
    place, handle = told[:2]
    said = reduce(and_, [*_reached(change), *_allowed(change)], place.isNotNull() & F.lit(change.sent[0]))
    same = (handle == F.col("a_handle")) & (place == F.col("a_table"))
    update, insert = said & same & F.lit(_recomputes(change)), said & F.lit(_tells_new_rows(change))
    cases = F.when(F.col("b_table").isNull(), change.sent[0]).when(F.col("p_table").isNull(), insert)
    return F.coalesce(cases.otherwise(update), F.lit(False))


def _reached(change: Transition) -> Iterator[Column]:
    """Whether the statements make of the row told before them what it is in the end; one column each."""
    for index, source in enumerate(change.sources):
        match source:
            case Kept() if source.cast or source.cast_back:
                yield value(source, "x").eqNullSafe(F.expr(f"b[{index}]"))
            case Filled(text):
                yield F.expr(f"b[{index}]").eqNullSafe(F.lit(text).cast("string"))


def _allowed(change: Transition) -> Iterator[Column]:
    """Whether the table before takes the row: no NULL where it has NOT NULL."""
    for index, column in enumerate(visible_columns(change.before.table)):
        if column.not_null:
            yield F.expr(f"x[{index}] is not null")


def _recomputes(change: Transition) -> bool:
    """Whether no stored generated column is dropped, whose value in the old definition would have to be computed."""
    kept = {source.index for source in change.sources if isinstance(source, Kept)}
    columns = visible_columns(change.before.table)
    return all(index in kept or not column.generated for index, column in enumerate(columns))


def _tells_new_rows(change: Transition) -> bool:
    """Whether the old definition can tell rows that are new: its keys are the new ones, and no rows get lost."""
    before, after = change.before.table, change.after.table
    names = [column.name for column in visible_columns(before)]
    now = {
        names[source.index]: column.name
        for source, column in zip(change.sources, visible_columns(after), strict=True) if isinstance(source, Kept)
    }
    kept = all(part.name in now for index in before.indexes if index.unique for part in index.columns)
    same = tuple(now.get(name) for name in handle_key(before)) == handle_key(after)
    return kept and same and not change.lost and _recomputes(change)
