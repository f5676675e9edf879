"""The rows that the changes lead to, as the old definition of their table tells them, if it can.

One law: it can exactly if the statements make of what it tells what the row is in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulator.ddl.convert import Filled, Kept
from simulator.schema.keys import handle_key, visible_columns
from simulator.snapshots.recast import text_as
from simulator.snapshots.state import HashOf, keyed, names_of
from simulator.transitions.model import KEYED, Transition, Turn
from simulator.transitions.prior import named, value


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


KINDS = ("int", "binary", "binary", "int", "bigint", "bigint")
"""Types of KEYED."""


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
    known = change.known("b")
    columns = keyed(change.before, names_of(change.before.table, "x[{}]"), hash_of, unique_hash_of, known=known)
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
