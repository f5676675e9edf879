"""The states of a load plan between two DDL statements, and how a statement leads from one to the next.

A row that was last written before a column was added lacks it: a state has the layouts that rows have in TiKV.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import Ints
from simulator.errors import DdlError, SqlError, UserError
from simulator.generate.model import TableRows
from simulator.generate.values.table_values import TableValues
from simulator.load.epochs.statements import OwnIds
from simulator.run.plan.statements import EmittedJob
from simulator.run.plan.step import PlanContext, RunPosition, StepResult
from simulator.run.plan.versions import PlannedTable, TableVersions
from simulator.run.steps.execution import execute_statement
from simulator.sources.snapshots import PlacedTable
from simulator.ticdc import dispatch
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.column_definitions import columns_lacked
from simulator.tidb.engine import FailedStatement
from simulator.tidb.model.table import Name, Table


@dataclass(frozen=True)
class PlanState:
    """The state of a plan between two DDL statements."""

    position: RunPosition
    context: PlanContext
    """Its versions are those that are there, without any before."""

    names: tuple[Name, ...]
    """The current names of the tables. All of these are parallel to `Model.tables`."""

    values: tuple[TableValues, ...]
    since: tuple[int, ...]
    own: tuple[OwnIds, ...]
    layouts: tuple[RowLayouts, ...]
    """Without anything if old values of older rows are as TiDB reads them."""

    jobs: tuple[EmittedJob, ...] = ()
    """Of the statement that led to this state."""

    timed: str = ""
    """The prefix of messages about that statement if it is a timed one."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The current definitions of the tables."""
        return tables_named(self.names, self.position.catalog)


def tables_named(names: Iterable[Name], catalog: Catalog) -> tuple[Table, ...]:
    """Return the tables of these names, without those that do not exist."""
    tables = (catalog.table(*name) for name in names)
    return tuple(table for table in tables if table is not None)


def following_state(state: PlanState, text: str, now_ms: int) -> tuple[PlanState, RunPosition, PlanContext]:
    """Return the state after a statement, which commits at the very beginning of its millisecond, with the values and
    versions of before; then its position and context, whose versions are numbered as the statement left them.

    Raise UserError if TiDB refuses it, or if it stops the changefeed.
    """
    position = replace(state.position, now_ms=now_ms)
    context = replace(state.context, versions=state.context.versions.copy())
    position, result = execute(text, position, context, 0)
    return replace(state, jobs=result.jobs, timed=""), position, context


def following_layouts(
    state: PlanState, values: Sequence[TableValues], since: Sequence[int], begun: int
) -> tuple[RowLayouts, ...]:
    """Return the layouts after a statement that precedes the transaction `begun`, with the values and TRUNCATEs behind it."""
    if not state.context.rules.release.older_rows_differ:
        return state.layouts
    return tuple(
        RowLayouts() if first != before else known.after(was, now, begun)
        for known, was, now, before, first in zip(state.layouts, state.values, values, state.since, since, strict=True)
    )


def settled(state: PlanState, position: RunPosition, context: PlanContext) -> PlanState:
    """Return the state at a position, with the versions that are there."""
    versions = {name: number for number, name in enumerate(position.versions)}
    return replace(state, context=drop_old_versions(position, context), position=replace(position, versions=versions))


def execute(text: str, position: RunPosition, context: PlanContext, logical: int) -> tuple[RunPosition, StepResult]:
    """Execute a statement; raise UserError if TiDB refuses it, or if it stops the changefeed."""
    try:
        position, result, outcome = execute_statement(text, position, context, job_logical=logical)
    except (SqlError, DdlError) as error:
        raise UserError(f"{first_line(text)}: {error}") from None
    if isinstance(outcome, FailedStatement):
        raise UserError(f"{first_line(text)}: {outcome.error}")
    return position, result


def first_line(text: str) -> str:
    return text.strip().split("\n")[0].rstrip("( ")


def drop_old_versions(position: RunPosition, context: PlanContext) -> PlanContext:
    """Keep the current versions only, numbered as `settled` does."""
    known, routes = context.versions, context.routes
    present = TableVersions(next_id=known.next_id)
    present_routes: list[dispatch.Route] = []
    for number in position.versions.values():
        table, places = known.every[number].table, known.places[number].indexes
        first = len(present.tables)
        present.every.append(PlannedTable(table, None))
        present.tables += (known.tables[place] for place in places)
        present.places.append(PlacedTable(table, tuple(range(first, len(present.tables)))))
        for place in places:
            fresh = place >= len(routes)
            present_routes.append(dispatch.route(context.rules.router, table) if fresh else routes[place])
    return replace(context, versions=present, routes=present_routes)


@dataclass(frozen=True)
class RowLayouts:
    """What is known of a table since the oldest column that rows may lack was added. Transactions are numbered as in
    `KeyChanges`."""

    added: tuple[tuple[int, int], ...] = ()
    """The id of each column that rows may lack, and the first transaction after it was added."""

    definitions: tuple[tuple[int, TableValues], ...] = ()
    """The values of rows by the table's definitions, each with its first transaction, ascending."""

    def after(self, before: TableValues, values: TableValues, first: int) -> RowLayouts:
        """Return the layouts after a statement that precedes the transaction `first`."""
        if values is before:
            return self
        kept, new = columns_lacked(before.table, values.table)
        added = *(each for each in self.added if each[0] in kept), *((id, first) for id in sorted(new))
        oldest = min((transaction for _, transaction in added), default=first)
        known = [*self.definitions, (first, values)]
        behind = [place for place, (transaction, _) in enumerate(known) if transaction <= oldest]
        return RowLayouts(added, tuple(known[behind[-1] if behind else 0 :]) if added else ())

    def lacking(self, rows: TableRows) -> pa.Array:
        """Return the columns that rows lack, as `TableChanges.lacking` has them."""
        written = self._last_written(rows)
        firsts = sorted({first for _, first in self.added}, reverse=True)
        texts = [None] + [
            ",".join(str(id) for id, first in self.added if first >= oldest).encode() for oldest in firsts
        ]
        later = len(firsts) - np.searchsorted(np.array(firsts[::-1]), written, "right")
        return pa.array(texts, pa.binary()).take(pa.array(later))

    def _last_written(self, rows: TableRows) -> Ints:
        """Return the transaction that wrote each row last: an UPDATE that changes nothing does not. Of those before all
        columns that rows may lack it is any."""
        starts = np.array([first for first, _ in self.definitions])
        written, versions = rows.changed.copy(), rows.versions.copy()
        open_ = np.arange(len(written))
        while True:
            open_ = open_[(written[open_] >= starts[0]) & (written[open_] > rows.born[open_])]
            if not len(open_):
                return written
            before = rows.lives.versions(rows.table, rows.keys[open_], written[open_], rows.since)
            same = np.zeros(len(open_), np.bool_)
            of = np.searchsorted(starts, written[open_], "right") - 1
            for number in np.unique(of).tolist():
                at = np.flatnonzero(of == number)
                images = [
                    self.definitions[number][1].images(rows.at(open_[at], each))
                    for each in (before[at], versions[open_[at]])
                ]
                same[at] = np.asarray(pc.equal(*images))
            open_, before = open_[same], before[same]
            versions[open_] = before
            written[open_] = rows.at(open_, before).changed
