"""The rows at a watermark between two snapshots: changes up to it are applied, changes above it are not.

A row has the columns that its table has at the watermark, whichever definition its change was sent with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.columns.change_frame import DELETE, Ints, ints
from simulator.engines import stages
from simulator.engines.stages import RowRules
from simulator.errors import UserError
from simulator.run.execute import after_scans, before_scans, by_name, comparison_of
from simulator.run.plan import Plan, SnapshotPair
from simulator.run.plan.statements import AMONG_ROWS, EmittedJob
from simulator.sources.diff import Comparison, placed_changes, replaced
from simulator.sources.snapshots import PlacedTable, TableScan
from simulator.sources.transition import cut_unaltered
from simulator.tidb.ddl.catalog import Catalog, Key, object_key
from simulator.tidb.model.table import Table
from simulator.truth.directory import LEFT_OUT, ROWS


@dataclass(frozen=True)
class BetweenSnapshots:
    """The data from which tasks compute the rows at a watermark between two snapshots."""

    before: tuple[TableScan, ...]
    after: tuple[TableScan, ...]
    comparison: Comparison
    numbers: tuple[int, ...]
    """The number in the truth of each physical table of the run; LEFT_OUT if the truth does not have it."""

    watermark: int
    behind: bool
    """Whether the statements of the schema change have run."""

    unknown: frozenset[int]
    """Physical tables whose rows were not replicated before the statements."""

    rules: RowRules
    filtered: bool
    """Whether event filters may drop rows."""

    input_bytes: int


@dataclass(frozen=True)
class _Placed:
    table: PlacedTable
    read: frozenset[int] = frozenset()
    """Its physical tables whose rows all equal those of the snapshot before."""

    unknown: bool = False


def between_snapshots(
    plan: Plan, pair: SnapshotPair, number: int, watermark: int, seed: int, filtered: bool
) -> tuple[tuple[Table, ...], tuple[TableScan, ...], BetweenSnapshots]:
    """Return the tables at a watermark, the scans of unchanged tables, and the data to compute all other rows.

    The watermark lies between the two snapshots or behind them. Raises UserError for a watermark between the statements
    of a schema change.
    """
    jobs = [
        job for job in plan.jobs if tso.compose(pair.span.start_ms) <= job.commit_ts < tso.compose(pair.span.next_ms)
    ]
    behind = _behind(jobs, watermark)
    placed = dict(sorted(_placed(pair, _catalog(plan, pair, jobs, watermark), behind)))
    numbers, entries = np.full(len(plan.tables), LEFT_OUT), by_name(pair.before)
    scans: list[TableScan] = []
    for own, each in enumerate(placed.values()):
        compared = [index for index in each.table.indexes if index not in each.read]
        numbers[compared] = own
        entry = entries.get((each.table.table.schema, each.table.table.name))
        if each.read and entry is not None:
            place = PlacedTable(
                each.table.table, tuple(own if index in each.read else LEFT_OUT for index in each.table.indexes)
            )
            scans.append(TableScan(entry, place))
    unknown = frozenset(index for each in placed.values() if each.unknown for index in each.table.indexes)
    joined = BetweenSnapshots(
        tuple(before_scans(pair, number)),
        tuple(after_scans(pair, number)),
        comparison_of(plan, seed),
        tuple(numbers.tolist()),
        watermark,
        behind,
        unknown,
        plan.row_rules(),
        filtered,
        pair.before.size + pair.after.size,
    )
    return tuple(each.table.table for each in placed.values()), tuple(scans), joined


def _catalog(plan: Plan, pair: SnapshotPair, jobs: list[EmittedJob], watermark: int) -> Catalog:
    applied = [job for job in jobs if job.commit_ts <= watermark]
    if applied:
        return applied[-1].applied.after
    return next(position.catalog for position in reversed(plan.positions) if position.now_ms <= pair.span.start_ms)


def _behind(jobs: list[EmittedJob], watermark: int) -> bool:
    among = [job.commit_ts for job in jobs if job.applied.pending.place == AMONG_ROWS]
    if not among or watermark < among[0]:
        return False
    if watermark < among[-1]:
        raise UserError(
            f"no truth at {tso.describe(watermark)}: the statements of the schema change run from {among[0]} to "
            f"{among[-1]}, and it is then half done"
        )
    return True


def _placed(pair: SnapshotPair, catalog: Catalog, behind: bool) -> Iterator[tuple[Key, _Placed]]:
    """Yield the tables that a consumer holds."""
    present = {index for place in pair.places[1].values() for index in place.indexes}
    for name, place in pair.places[1].items():
        if object_key(*name) in catalog.tables:
            yield object_key(*name), _Placed(place)
    for name, place in pair.places[0].items():
        if not present.issuperset(place.indexes) and object_key(*name) in catalog.tables:
            yield object_key(*name), _Placed(place, frozenset(place.indexes))
    for change in pair.changed:
        transition = change.transition
        if behind:
            yield object_key(*change.after), _Placed(transition.after, unknown=not transition.sent[0])
        elif change.before is not None and transition.sent[0]:
            yield object_key(*change.before), _Placed(transition.before, transition.lost)


# -- rows --------------------------------------------------------------------------------------------------------------


def rows_at(joined: pa.RecordBatch, of: BetweenSnapshots) -> pa.RecordBatch:
    """The rows (ROWS) at the watermark, of rows of both snapshots (JOINED, those that are the same, too)."""
    table = ints(joined, "place") % len(of.comparison.tables)
    image = joined["before"]
    if of.unknown:
        unknown = np.isin(table, list(of.unknown))
        image = pc.if_else(pa.array(unknown), pa.scalar(None, pa.binary()), image)
    if not of.behind:
        table, image = _unaltered(joined, table, image)
    differ = np.flatnonzero(~np.asarray(pc.fill_null(pc.equal(joined["before"], joined["after"]), False)))
    changed = joined.take(pa.array(differ))
    for places, changes in placed_changes(changed, of.comparison):
        applied, is_deleted = _applied_changes(changes, of)
        at = differ[places[applied]]
        if of.behind:
            then = changed["after"].take(pa.array(places[applied]))
        else:
            then = changes["after"].take(pa.array(applied))
            table[at] = ints(changes, "table")[applied]
        then = pc.if_else(pa.array(is_deleted), pa.scalar(None, pa.binary()), then)
        image = replaced(image, at, then)
    number = np.array(of.numbers, np.int32)[table]
    there = np.asarray(image.is_valid()) & (number != LEFT_OUT)
    rows = pa.RecordBatch.from_arrays([pa.array(number), image], schema=ROWS)
    return rows.filter(pa.array(there))


def _unaltered(joined: pa.RecordBatch, table: Ints, image: pa.Array) -> tuple[Ints, pa.Array]:
    """Return the tables and row images as they were before the statements."""
    altered = np.flatnonzero(np.asarray(joined["unaltered"].is_valid()))
    if not len(altered):
        return table, image
    number, were = cut_unaltered(joined["unaltered"].take(pa.array(altered)))
    table = table.copy()
    table[altered] = number.to_numpy()
    return table, replaced(image, altered, were)


def _applied_changes(changes: pa.RecordBatch, of: BetweenSnapshots) -> tuple[Ints, pa.Array]:
    """Return the numbers of the changes that a consumer has applied at the watermark, and whether each deletes a row."""
    applied = np.flatnonzero(ints(changes, "commit_ts") <= of.watermark)
    if not of.filtered:
        return applied, changes["after"].take(pa.array(applied)).is_null().to_numpy(zero_copy_only=False)
    numbered = changes.append_column("row_id", pa.array(np.arange(changes.num_rows)))
    sent = stages.filter_and_split(numbered, of.rules)
    place, op = ints(sent, "row_id"), ints(sent, "op")
    comes = np.zeros(changes.num_rows, np.bool_)
    comes[place[op != DELETE]] = True
    there = np.zeros(changes.num_rows, np.bool_)
    there[place] = True
    applied = applied[there[applied]]
    return applied, ~comes[applied]
