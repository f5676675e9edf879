"""The step `generate`: inserts, updates and deletes on a table, generated from a seed.

Rows are generated and checked in rounds, then divided into transactions. Equal seeds give equal rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.cells import Places
from simulator.errors import SqlError, UserError, did_you_mean
from simulator.generate.model import ROUNDS, Round, Skew, Uniform, chosen_rows, rounds
from simulator.generate.values.generators import ColumnGenerator, NumberSequence, RowTime
from simulator.generate.values.reading import DISTRIBUTIONS, parse_columns, parse_skew
from simulator.generate.values.scripted_values import Draw, draws, is_time, keyed
from simulator.run.plan.step import PlanContext, RunPosition, StepResult
from simulator.run.plan.upstream_rows import read_rows
from simulator.run.steps.execution import apply_events, scripted_changes, with_upstream
from simulator.run.steps.kind import KeyGroup, StepKind, StepPlace
from simulator.settings import DURATION, Key, table_schema, to_count, to_duration_ms, to_seed, to_text
from simulator.tidb.ddl.foreign_keys import referring_keys
from simulator.tidb.engine import TableChanges
from simulator.tidb.engine.context import StatementContext, now_text
from simulator.tidb.engine.execution import Upstream, upstream_of
from simulator.tidb.engine.names import resolve_table
from simulator.tidb.engine.session import Session, committed_transaction, table_changes
from simulator.tidb.engine.writes.load_data import changed_rows, delete_rows, insert_rows, update_rows
from simulator.tidb.engine.writes.rows import Location
from simulator.tidb.model.table import Column, Table, places_of
from simulator.tidb.model.types import family
from simulator.tidb.storage.transactions import Transaction
from simulator.tidb.syntax.expressions import TableName

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
        upstream = upstream.latest()
        session = upstream.session
        session.now_ms = position.now_ms
        reader = StatementContext(session, Transaction(session.database.locks, upstream.ts))
        table = resolve_table(reader, name, "insert into")
        unread = read_rows(position, upstream, TableName(table.schema, table.name))
        position = replace(position, unread=unread)
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
        parts = rounds(self.wanted, len(upstream.rows(table)), most)
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
            session.now_ms = int(at[0])
            transaction = session.transaction or session.begin()
            timed = generator.round(session, transaction)
            if count == 1:
                committed = committed_transaction(transaction, session.database.release)
                events = (committed,) if committed else ()
                rows += apply_events(events, position.not_before(int(at[0])), context, "")[1].rows
            else:
                for writes, ms in timed:
                    rows += scripted_changes(writes, tso.compose(ms, tso.ROW_LOGICAL), position, context)
            session.database.commit(transaction, session.database.next_ts(int(at[-1])))
            session.transaction = None
        return replace(position, state=upstream_of(session)).not_before(times.end), StepResult(rows=tuple(rows))


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
    table: Table
    fresh: Columns
    changing: Columns
    numbers: np.random.Generator
    milliseconds: list[Places]
    """The times of inserts, updates and deletes."""

    clocked: Mapping[str, bool]
    """Columns that hold the time of a row's insert; True for those that hold the time of its last change."""

    skew: Skew

    def round(self, session: Session, transaction: Transaction) -> list[Timed]:
        """Write the round in a transaction, and return the writes."""
        stored = session.database.stored(self.table)
        inserts, updates, deletes = map(len, self.milliseconds)
        there: list[Location] = [
            (ordinal, handle) for ordinal, handle, _ in transaction.scan(stored, range(len(stored.partitions)))
        ]
        chosen = chosen_rows(self.numbers, len(there), updates, deletes, self.skew)
        locations = [there[place] for place in chosen.tolist()]
        timed: list[Timed] = []
        for number in (1, 2, 0):
            at = self.milliseconds[number]
            if not len(at):
                continue
            before = {(change.ordinal, change.handle) for change in transaction.changes()}
            session.now_ms = int(at[0])
            context = StatementContext(session, transaction, writing=True)
            if number == 0:
                given = {name: draw(inserts) for name, draw in self.fresh.items()}
                given |= self._time_columns(session, given, at)
                insert_rows(context, self.table, given, inserts)
                times: dict[Location, int] = {}
            elif number == 1:
                given, changed = self._new_values(context, locations[:updates])
                updated, at = [locations[place] for place in changed.tolist()], at[changed]
                given |= self._time_columns(session, given, at, True)
                update_rows(context, self.table, updated, given)
                times = dict(zip(updated, at.tolist(), strict=True))
            else:
                delete_rows(context, self.table, locations[updates:])
                times = dict(zip(locations[updates:], at.tolist(), strict=True))
            timed += self._timed(session, transaction, before, times, at)
        return timed

    def _timed(
        self,
        session: Session,
        transaction: Transaction,
        before: Collection[Location],
        times: dict[Location, int],
        at: Places,
    ) -> Iterator[Timed]:
        """Yield the writes of the table since those before, with the times of their rows: by their locations, or in order."""
        stored = session.database.stored(self.table)
        changes = [
            change
            for change in transaction.changes()
            if change.stored is stored and (change.ordinal, change.handle) not in before
        ]
        if changes:
            each = at[: len(changes)]
            if times:
                each = np.array([times[change.ordinal, change.handle] for change in changes])
            yield table_changes(stored, changes, session.database.release), each

    def _time_columns(
        self, session: Session, given: Collection[str], at: Places, updating: bool = False
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
                columns[column.name] = _times(column, each, session).take(pa.array(which.reshape(-1)))
        return columns

    def _new_values(
        self, context: StatementContext, locations: Sequence[Location]
    ) -> tuple[dict[str, pa.Array], Places]:
        """Return new values for rows, and the numbers of the rows that they change: all of them, if possible."""
        stored, places = context.database.stored(self.table), places_of(self.table)
        there = [context.transaction.get(stored, *location) or [] for location in locations]
        new_values = {name: draw(len(there)) for name, draw in self.changing.items()}
        named = [places[name] for name in new_values]
        every = np.arange(len(there))
        for _ in range(TRIES):
            rows = zip(there, changed_rows(context, self.table, there, new_values), strict=True)
            alike = np.array([all(old[place] == new[place] for place in named) for old, new in rows], np.bool_)
            if not alike.any():
                break
            at = pa.array(np.where(alike, len(there) + np.cumsum(alike) - 1, every))
            again = {name: draw(int(alike.sum())) for name, draw in self.changing.items()}
            new_values = {name: pa.concat_arrays([values, again[name]]).take(at) for name, values in new_values.items()}
        changed: Places = np.flatnonzero(~alike)
        return {name: values.take(pa.array(changed)) for name, values in new_values.items()}, changed


def _times(column: Column, milliseconds: Places, session: Session) -> pa.Array:
    """Return simulated times in a column's type: seconds as a number, or text as CURRENT_TIMESTAMP returns it."""
    if family(column.type) in ("integer", "decimal", "float"):
        return pa.array(milliseconds // 1000)
    digits = max(column.type.decimal, 0)
    texts = [now_text("datetime", digits, session.settings, now_ms) for now_ms in milliseconds.tolist()]
    return pa.array(texts, pa.string())


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


def _to_table(value: object) -> str:
    text = to_text(value)
    if not all(text.split(".", 1)):
        raise UserError(f"expected a table such as 'shop.item', got {text!r}")
    return text


def _step(table: str, values: Mapping[str, Any], place: StepPlace) -> GenerateStep:
    wanted = Round(*(values.get(name, 0) for name in Round._fields))
    if not wanted.rows:
        raise UserError(f"nothing is to be done: at least one of {', '.join(Round._fields)} is expected")
    return GenerateStep(
        table,
        wanted,
        values.get("rows_per_transaction", ROWS_PER_TRANSACTION),
        values.get("over_ms"),
        values.get("seed"),
        values.get("columns", {}),
        values.get("skew", Uniform()),
        f"{place.file}: {place.where('generate')}",
    )


COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0, "maximum": MOST}
SCALAR: Mapping[str, Any] = {"type": ["string", "number", "boolean"]}
BOUND: Mapping[str, Any] = {"type": ["number", "string"]}
SHARE: Mapping[str, Any] = {"type": "number", "exclusiveMinimum": 0}
COLUMN: Mapping[str, Any] = {
    "min": BOUND,
    "max": BOUND,
    "faker": {"type": "string"},
    "value": SCALAR,
    "null": {"type": "number", "minimum": 0, "maximum": 1},
    "choice": {"type": "array", "items": SCALAR, "minItems": 1},
    "weights": {"type": "array", "items": {"type": "number", "minimum": 0}},
    "sequence": {"type": "integer"},
    "step": {"type": "integer"},
    "distribution": {"enum": [*DISTRIBUTIONS]},
    **dict.fromkeys(("mean", "deviation", "exponent"), {"type": "number"}),
    "text": {"oneOf": [COUNT, table_schema({"min": COUNT, "max": COUNT}, "min", "max")]},
    "reference": {"type": "string"},
    "time": {"enum": ["born", "changed"]},
}
COLUMNS: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": {
        "oneOf": [SCALAR, {"type": "array", "items": SCALAR, "minItems": 1}, table_schema(COLUMN)]
    },
}
SKEW: Mapping[str, Any] = {
    "oneOf": [
        {"const": "uniform"},
        table_schema({"zipf": SHARE}, "zipf"),
        table_schema({"hot": SHARE, "updates": SHARE}, "hot", "updates"),
    ]
}
ROWS, ROWS_OF_TRANSACTION = to_count(0, MOST), to_count(1, MOST)
KEYS: Mapping[str, Key] = {
    "inserts": Key("inserts", ROWS, COUNT, "How many rows come."),
    "updates": Key("updates", ROWS, COUNT, "How many rows that are there change."),
    "deletes": Key("deletes", ROWS, COUNT, "How many rows go."),
    "over": Key("over_ms", to_duration_ms, DURATION, "Simulated time over which its transactions are spread."),
    "seed": Key("seed", to_seed, {"type": "integer"}, "Chooses the values and the rows; the run's if unsaid."),
    "rows-per-transaction": Key(
        "rows_per_transaction", ROWS_OF_TRANSACTION, {**COUNT, "minimum": 1}, "How many rows a transaction is about."
    ),
    "columns": Key(
        "columns",
        parse_columns,
        COLUMNS,
        "By column: a provider of Faker, a list to choose from, {min, max}, a number, or another generator.",
    ),
    "skew": Key(
        "skew", parse_skew, SKEW, "Which rows updates choose: uniform, {zipf = 1.1} or {hot = 0.01, updates = 0.9}."
    ),
}
KIND = StepKind(
    _to_table,
    _step,
    (KeyGroup(KEYS, "only a step generate makes so many rows"),),
    changes=True,
    says="So many inserts, updates and deletes on a table, from a seed.",
)
