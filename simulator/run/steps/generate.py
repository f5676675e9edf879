"""The step `generate`: inserts, updates and deletes on a table, generated from a seed.

Rows are generated and checked in rounds, then divided into transactions. Equal seeds give equal rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.cells import Places
from simulator.columns.row_image import same
from simulator.errors import SqlError, UserError, did_you_mean
from simulator.run.plan.step import PlanContext, RunPosition, StepResult
from simulator.run.plan.upstream_rows import with_rows
from simulator.run.steps.sql import apply_events, scripted_changes, with_upstream
from simulator.sources.generate.model import Skew, Uniform
from simulator.sources.generate.rounds import ROUNDS, Round, chosen_rows, rounds
from simulator.sources.generate.values.generators import ColumnGenerator, NumberSequence, RowTime
from simulator.sources.generate.values.scripted_values import Draw, draws, is_time, keyed
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.ddl.constraints.foreign_keys import referring_keys
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family
from simulator.tidb.sql_engine.changes.assign import assign_values
from simulator.tidb.sql_engine.changes.direct_writes import delete_rows, insert_rows, update_rows
from simulator.tidb.sql_engine.sessions import clock
from simulator.tidb.sql_engine.sessions.transactions import commit
from simulator.tidb.sql_engine.storage.names import resolve_table
from simulator.tidb.sql_engine.storage.row_keys import find_keys, strip_ordinals
from simulator.tidb.sql_engine.storage.rows import column_arrays, table_rows
from simulator.tidb.sql_engine.storage.state import TableChanges, Upstream
from simulator.tidb.syntax.definitions import TableName

ROWS_PER_TRANSACTION = 10
MOST = 10_000_000
"""Rows of a step."""

TRIES = 20
"""Attempts to find values for an update that differ from the row's."""

Columns = Mapping[str, Draw]


@dataclass(frozen=True)
class GenerateStep:
    table: str
    """`schema.name`, or a name in the current database."""

    wanted: Round
    rows_per_transaction: int = ROWS_PER_TRANSACTION
    over_ms: int | None = None
    """None for a millisecond per transaction."""

    seed: int | None = None
    """None for the run's."""

    columns: Mapping[str, ColumnGenerator] = field(default_factory=dict)
    skew: Skew = Uniform()
    """The distribution of updates over rows."""

    where: str = ""
    """File and line, the prefix of error messages."""

    def plan(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        """Generate the rows; raises UserError with file and line."""
        position = with_upstream(position, context)
        try:
            return self._generate(position, context)
        except (UserError, SqlError) as error:
            raise UserError(*(f"{self.where}generate {self.table}: {each}" for each in error.args)) from None

    def _generate(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        upstream = position.state
        assert isinstance(upstream, Upstream)
        name = TableName(*(["", self.table] if "." not in self.table else self.table.split(".", 1)))
        table = resolve_table(upstream, name, "insert into")
        upstream, unread = with_rows(position, upstream, TableName(table.schema, table.name))
        position = replace(position, state=upstream, unread=unread)
        _check_columns(table, self.columns)
        seed = context.seed if self.seed is None else self.seed
        salt = position.now_ms - position.start_ms
        fresh = draws(table, self.columns, upstream, seed, salt)
        numbers = np.random.default_rng([seed & (1 << 64) - 1, salt])
        changing = _updated_columns(table, fresh, self.columns) if self.wanted.updates else {}
        clocked = {name: each.values.changed for name, each in self.columns.items() if isinstance(each.values, RowTime)}
        each = self.rows_per_transaction
        together = self.wanted.deletes and any(referring_keys(upstream.catalog, table.schema, table.name))
        most = each if together else max(each, -(-self.wanted.rows // ROUNDS // each) * each)
        parts = rounds(self.wanted, table_rows(upstream, table).cells.num_rows, most)
        times = _CommitTimes(
            position.now_ms, self.over_ms or context.over_ms, sum(-(-part.rows // each) for part in parts)
        )
        rows: list[pa.RecordBatch] = []
        begun = 0
        for part in parts:
            count = -(-part.rows // each)
            at = times.of(begun, count)
            begun += count
            kinds, milliseconds = numbers.permutation(np.repeat(np.arange(3), part)), at[np.arange(part.rows) // each]
            generator = _RoundGenerator(
                table, fresh, changing, numbers, [milliseconds[kinds == kind] for kind in range(3)], clocked, self.skew
            )
            upstream, timed = generator.round(upstream)
            if count == 1:
                upstream, committed = commit(upstream)
                events = (committed,) if committed else ()
                rows += apply_events(events, position.not_before(int(at[0])), context, "")[1].rows
            else:
                upstream = replace(upstream, transaction=None)
                for writes, ms in timed:
                    rows += scripted_changes(writes, tso.compose(ms, tso.ROW_LOGICAL), position, context)
        return replace(position, state=upstream).not_before(times.end), StepResult(rows=tuple(rows))


class _CommitTimes:
    """The commit times of transactions: evenly spread over the step, each in a millisecond of its own."""

    def __init__(self, start_ms: int, over_ms: int | None, count: int) -> None:
        self._start_ms, self._over_ms, self._count = start_ms, max(over_ms or count, count), max(count, 1)
        self.end = start_ms + self._over_ms

    def of(self, first: int, count: int) -> Places:
        numbers = np.arange(first, first + count)
        times: Places = self._start_ms + numbers * self._over_ms // self._count
        return times


Timed = tuple[TableChanges, Places]
"""Writes, with the millisecond of each row."""


@dataclass(frozen=True)
class _RoundGenerator:
    """The generator of a round."""

    table: Table
    fresh: Columns
    changing: Columns
    numbers: np.random.Generator
    milliseconds: list[Places]
    """The times of inserts, updates and deletes."""

    clocked: Mapping[str, bool]
    """Columns that hold the time of a row's insert; True for those that hold the time of its last change."""

    skew: Skew

    def round(self, upstream: Upstream) -> tuple[Upstream, list[Timed]]:
        """Return the upstream after the round, with its transaction still open, and the writes."""
        stored = table_rows(upstream, self.table)
        assert stored.keys is not None
        inserts, updates, deletes = map(len, self.milliseconds)
        chosen = chosen_rows(self.numbers, stored.cells.num_rows, updates, deletes, self.skew)
        keys = stored.keys.handles.take(pa.array(chosen))
        timed: list[Timed] = []
        for kind, count in enumerate((updates, deletes, inserts)):
            if not count:
                continue
            number, before = (kind + 1) % 3, upstream
            at = self.milliseconds[number]
            now_ms = int(at[0])
            handles = keys.slice(0, updates) if number == 1 else keys.slice(updates)
            places = find_keys(_handles(upstream, self.table), handles)
            if number == 0:
                given = {name: draw(count) for name, draw in self.fresh.items()}
                given |= self._time_columns(upstream, given, at)
                upstream = insert_rows(self.table, given, count, upstream, now_ms).upstream
            elif number == 1:
                given, changed = self._new_values(upstream, places, now_ms)
                handles, places, at = handles.take(pa.array(changed)), places[changed], at[changed]
                given |= self._time_columns(upstream, given, at, True)
                upstream = update_rows(self.table, places, given, upstream, now_ms).upstream
            else:
                upstream = delete_rows(self.table, places, upstream, now_ms).upstream
            timed += _timed_writes(self.table, before, upstream, None if number == 0 else handles, at)
        return upstream, timed

    def _time_columns(
        self, upstream: Upstream, given: Collection[str], at: Places, updating: bool = False
    ) -> dict[str, pa.Array]:
        """Return the values of further columns that hold the time of their transaction."""
        each, which = np.unique(at, return_inverse=True)
        columns = {}
        for column in self.table.columns:
            if column.name in self.clocked:
                timed = self.clocked[column.name] or not updating
            else:
                timed = bool(column.on_update) if updating else is_time(column)
            if timed and column.name not in given:
                columns[column.name] = _times(column, each, upstream).take(pa.array(which.reshape(-1)))
        return columns

    def _new_values(self, upstream: Upstream, places: Places, now_ms: int) -> tuple[dict[str, pa.Array], Places]:
        """Return new values for rows, and the numbers of the rows that they change: all of them, if possible."""
        there = column_arrays(table_rows(upstream, self.table).cells.take(pa.array(places)))
        new_values = {name: draw(len(places)) for name, draw in self.changing.items()}
        every = np.arange(len(places))
        for _ in range(TRIES):
            texts, _ = assign_values(self.table, new_values, len(places), upstream, now_ms, existing=there)
            alike = np.logical_and.reduce([same(texts[name], there[name]) for name in new_values])
            if not alike.any():
                break
            at = pa.array(np.where(alike, len(places) + np.cumsum(alike) - 1, every))
            again = {name: draw(int(alike.sum())) for name, draw in self.changing.items()}
            new_values = {name: pa.concat_arrays([values, again[name]]).take(at) for name, values in new_values.items()}
        changed: Places = np.flatnonzero(~alike)
        return {name: values.take(pa.array(changed)) for name, values in new_values.items()}, changed


def _times(column: Column, milliseconds: Places, upstream: Upstream) -> pa.Array:
    """Return simulated times in a column's type: seconds as a number, or text as CURRENT_TIMESTAMP returns it."""
    if family(column.type) in ("integer", "decimal", "float"):
        return pa.array(milliseconds // 1000)
    digits = max(column.type.decimal, 0)
    texts = [clock.now_text("datetime", digits, upstream.session, now_ms) for now_ms in milliseconds.tolist()]
    return pa.array(texts, pa.string())


def _handles(upstream: Upstream, table: Table) -> pa.Array:
    keys = table_rows(upstream, table).keys
    assert keys is not None
    return keys.handles


def _timed_writes(
    table: Table, before: Upstream, after: Upstream, handles: pa.Array | None, at: Places
) -> Iterator[Timed]:
    """Yield the writes between two states of the upstream.

    `handles` are those of the rows whose times are in `at`; None if the times are in the order of the writes.
    """
    assert after.transaction is not None
    begun = 0
    for writes in after.transaction.writes[len(before.transaction.writes) if before.transaction else 0 :]:
        if object_key(writes.table.schema, writes.table.name) != object_key(table.schema, table.name):
            continue
        if handles is None:
            yield writes, at[begun : begun + len(writes.handle)]
            begun += len(writes.handle)
        else:
            yield writes, at[find_keys(strip_ordinals(table, handles), writes.handle)]


def _check_columns(table: Table, columns: Mapping[str, ColumnGenerator]) -> None:
    known = {column.name: column for column in table.columns}
    for name in columns:
        if name not in known:
            raise UserError(f"columns: the table has no column {name!r}.{did_you_mean(name, known)}")
        if known[name].generated:
            raise UserError(f"columns: {name!r} is a generated column, which takes no values")
        if known[name].not_null and columns[name].null:
            raise UserError(f"columns: {name!r} is NOT NULL, and null = {columns[name].null}")


def _updated_columns(table: Table, fresh: Columns, wanted: Mapping[str, ColumnGenerator]) -> Columns:
    """Return the columns that updates change: those of `columns` outside of keys, or else all outside of keys."""
    counting = {name for name, each in wanted.items() if isinstance(each.values, NumberSequence)}
    free = {name: draw for name, draw in fresh.items() if name not in keyed(table) and name not in counting}
    columns = {name: draw for name, draw in free.items() if name in wanted} or free
    if not columns:
        raise UserError("updates: the table has no column outside of its keys to change")
    return columns
