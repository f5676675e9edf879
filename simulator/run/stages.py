"""The stages between the comparison of two snapshots and the messages, each a function on a batch of rows.

One law: a row is treated alike whatever batch it comes in, so that every engine may cut batches as it likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import CHANGES, op_of
from simulator.columns.row_image import cell
from simulator.run.events import Destinations, EVENTS, Ints, ROW, ints
from simulator.sources import schema_change as transitions
from simulator.sources.diff import Clock
from simulator.sources.schema_change import Transition, Turn
from simulator.sources.snapshots import PhysicalTable
from simulator.ticdc import dispatch, key_bytes, split
from simulator.ticdc.dispatch import Hashes, Route
from simulator.ticdc.filters.event_filters import EventFilters, ignoring_row, reads_values
from simulator.ticdc.filters.event_types import ROW_KINDS
from simulator.ticdc.filters.row_expressions import let_through
from simulator.ticdc.split import SplitRule
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.rows import visible_columns
from simulator.tidb.model.table import Table

SENT = pa.unify_schemas([CHANGES, pa.schema([("op", pa.int8()), ("rank", pa.int8())])])
"""Changes as they are sent; by `rank` those of one commit-ts are in order."""

ORDER = ("commit_ts", "rank", "table", "handle", "op")
"""In which TiCDC sends row changes."""

JOINED = pa.schema([
    ("key", pa.int64()), ("place", pa.int32()), ("handle", pa.binary()), ("number", pa.int64()),
    ("before", pa.binary()), ("after", pa.binary()), ("was", pa.binary()),
])
"""A row whose images in two snapshots differ. `key` is `Clock.keys`, `place` counts the tables of each move behind
those of the move before, `number` tells equal rows of a table without a handle key apart, from 1."""


@dataclass(frozen=True)
class Comparison:
    """What tells when and how the rows of a comparison changed."""

    tables: tuple[PhysicalTable, ...]
    clock: Clock
    turns: tuple[Turn, ...]
    """Of each move from one snapshot to the next: when its statements run."""

    changed: tuple[Mapping[int, Transition], ...]
    """Of each move, by the place of the table behind the statements: what they change."""

    @cached_property
    def keyed(self) -> npt.NDArray[np.bool_]:
        """Whether each table has a handle key; rows of the others are compared whole, as a multiset."""
        return np.array([bool(handle_key(physical.table)) for physical in self.tables])


@dataclass(frozen=True)
class Rules:
    """What the changefeed does with row changes."""

    tables: tuple[PhysicalTable, ...]
    routes: tuple[Route, ...]
    """As long as `tables`."""

    filters: EventFilters
    ignored_start_ts: frozenset[int]
    split: SplitRule
    destinations: Destinations

    @cached_property
    def partitions(self) -> dict[str, tuple[int, int]]:
        """Of each topic the destination that partition 0 is, and how many partitions it has."""
        to = self.destinations
        return {topic: (first, count) for topic, first, count in zip(to.topics, to.first, to.counts, strict=True)}

    @cached_property
    def filtering(self) -> npt.NDArray[np.bool_]:
        """Whether event filters look at the rows of each table."""
        return np.array([self._filters(physical.table) for physical in self.tables])

    def _filters(self, table: Table) -> bool:
        kinds = any(ignoring_row(self.filters, table.schema, table.name, kind) for kind in ROW_KINDS)
        return bool(self.ignored_start_ts) or kinds or any(reads_values(rule, table) for rule in self.filters.rules)

    @cached_property
    def splitting(self) -> npt.NDArray[np.bool_]:
        """Whether UPDATEs of each table may be split."""
        return np.array([split.splits([physical.table], self.split) for physical in self.tables])


def changes(joined: pa.RecordBatch, of: Comparison) -> pa.RecordBatch:
    """CHANGES of rows that differ (JOINED), each with its commit-ts, in the definition of its time."""
    place = ints(joined, "place")
    move, table = np.divmod(place, len(of.tables))
    key, handle = _told_apart(joined, table, of)
    parts = []
    for number in np.unique(move).tolist():
        rows = np.flatnonzero(move == number)
        slots, found = of.clock.slots(key[rows], number), of.changed[number]
        turned = np.isin(table[rows], list(found)) if found else np.zeros(len(rows), np.bool_)
        commit_ts = of.clock.commit_ts(slots[~turned], number)
        parts.append(_as_they_are(joined, table, handle, rows[~turned], commit_ts))
        for index in np.unique(table[rows[turned]]).tolist():
            chosen = table[rows] == index
            parts.append(_turned(joined, handle, rows[chosen], slots[chosen], index, number, of))
    return pa.concat_batches(parts) if parts else pa.RecordBatch.from_pylist([], CHANGES)


def _told_apart(joined: pa.RecordBatch, table: Ints, of: Comparison) -> tuple[Ints, pa.Array]:
    """Key and handle of each row; equal rows of a table without a handle key differ by their number."""
    key, handle = ints(joined, "key"), joined.column("handle")
    whole = np.flatnonzero(~of.keyed[table])
    if not len(whole):
        return key, handle
    numbered = key_bytes.numbered(handle.take(pa.array(whole)), ints(joined, "number")[whole])
    handle = _replaced(handle, whole, numbered)
    key = key.copy()
    key[whole] = of.clock.keys(table[whole], numbered)
    return key, handle


def _replaced(array: pa.Array, places: Ints, values: pa.Array) -> pa.Array:
    """The array with other values at these places."""
    order = np.arange(len(array))
    order[places] = len(array) + np.arange(len(places))
    return pa.concat_arrays([array, values]).take(pa.array(order))


def _as_they_are(
    joined: pa.RecordBatch, table: Ints, handle: pa.Array, rows: Ints, commit_ts: Ints
) -> pa.RecordBatch:
    every = len(rows) == joined.num_rows
    at = pa.array(rows)
    columns = [handle, joined.column("before"), joined.column("after")]
    images = columns if every else [column.take(at) for column in columns]
    return pa.RecordBatch.from_arrays(
        [pa.array(commit_ts), pa.array(table[rows].astype(np.int32)), *images], schema=CHANGES
    )


def _turned(
    joined: pa.RecordBatch, handle: pa.Array, rows: Ints, slots: Ints, index: int, move: int, of: Comparison
) -> pa.RecordBatch:
    at = pa.array(rows)
    images = (joined.column(name).take(at) for name in ("before", "after", "was"))
    return transitions.events(
        of.changed[move][index], of.turns[move], of.clock.spans[move], slots, index, handle.take(at), *images
    )


def sent(changes: pa.RecordBatch, rules: Rules) -> pa.RecordBatch:
    """The changes (SENT) that event filters let through, UPDATEs that are split as two. Where the rule asks, `beside`
    says of each whether there are others of its table and commit-ts."""
    if not rules.splitting.any():
        return split.ranked(passing(changes, rules), rules.split)
    if rules.split.release.filters_halves:
        return passing(split.halves(changes, _splitting(changes, rules), rules.split), rules).select(SENT.names)
    changes = passing(changes, rules)
    return split.halves(changes, _splitting(changes, rules), rules.split).select(SENT.names)


def _splitting(changes: pa.RecordBatch, rules: Rules) -> npt.NDArray[np.bool_]:
    """Which of the changes are UPDATEs that are split."""
    table, before, after = ints(changes, "table"), changes.column("before"), changes.column("after")
    asked = rules.splitting[table] & np.asarray(before.is_valid()) & np.asarray(after.is_valid())
    if "beside" in changes.schema.names:
        asked &= np.asarray(changes.column("beside"))
    found = np.zeros(len(table), np.bool_)
    for number, at in by_table(np.where(asked, table, -1)):
        if number >= 0:
            definition, rows = rules.tables[number].table, pa.array(at)
            old, new = (LazyTexts(image.take(rows), definition) for image in (before, after))
            found[at] = split.keys_changed(definition, old, new, rules.split)
    return found


def passing(changes: pa.RecordBatch, rules: Rules) -> pa.RecordBatch:
    """The changes that event filters let through."""
    if not rules.filtering.any():
        return changes
    table = ints(changes, "table")
    let = np.ones(len(table), np.bool_)
    for number, at in by_table(table):
        if rules.filtering[number]:
            rows = changes if len(at) == len(table) else changes.take(pa.array(at))
            let[at] = let_through(rows, rules.tables[number].table, rules.filters, rules.ignored_start_ts)
    return changes if let.all() else changes.filter(pa.array(let))


def events(changes: pa.RecordBatch, rules: Rules) -> pa.RecordBatch:
    """EVENTS of row changes, each with the partition that TiCDC's dispatcher gives it, in the order they come."""
    count = changes.num_rows
    table, commit_ts = ints(changes, "table"), ints(changes, "commit_ts")
    before, after, handle = (changes.column(name) for name in ("before", "after", "handle"))
    # By its new row, or a DELETE's old one (tiflow: partition/index_value.go).
    shown = pc.coalesce(after, before)
    hashed, destination = np.zeros(count, np.int64), np.zeros(count, np.int64)
    row_id: list[pa.Array] = []
    places: list[Ints] = []
    for number, at in by_table(table):
        images, handles = (shown, handle) if len(at) == count else (one.take(pa.array(at)) for one in (shown, handle))
        ids, hashes = _facts(images, handles, number, rules)
        row_id.append(ids)
        places.append(at)
        hashed[at] = hashes
        destination[at] = _destinations(number, hashes, commit_ts[at], ids, rules)
    return pa.RecordBatch.from_arrays([
        changes.column("commit_ts"), pa.array(np.full(count, ROW, np.int8)), changes.column("table"),
        pa.array(op_of(before, after)), _in_place(row_id, places), pa.array(hashed),
        pa.array(destination.astype(np.int32)), before, after,
    ], schema=EVENTS)


def destinations(images: pa.Array, handles: pa.Array, number: int, commit_ts: Ints, rules: Rules) -> Ints:
    """Where changes of rows of a table go, whatever they are changed to (`dispatch.known_when_read`)."""
    ids, hashes = _facts(images, handles, number, rules)
    return _destinations(number, hashes, commit_ts, ids, rules)


def _facts(images: pa.Array, handles: pa.Array, number: int, rules: Rules) -> tuple[pa.Array, Hashes]:
    """Row id and dispatch hash of rows of a table."""
    table = rules.tables[number].table
    row_ids = key_bytes.row_ids(table, handles, number)
    texts = LazyTexts(images, table, key_bytes.told_by_row_id(table, row_ids))
    return row_ids, dispatch.hashes(rules.routes[number], table, texts, len(images))


def _destinations(number: int, hashes: Hashes, commit_ts: Ints, row_ids: pa.Array, rules: Rules) -> Ints:
    to = rules.routes[number]
    first, count = rules.partitions[to.topic]
    return first + dispatch.partitions(to, hashes, commit_ts, row_ids, count)


class LazyTexts(Mapping[str, pa.Array]):
    """TiDB texts by visible column, of which only those are cut out of the images that are asked for."""

    def __init__(self, images: pa.Array, table: Table, known: Mapping[str, pa.Array] = MappingProxyType({})) -> None:
        self._images, self._known = images, known
        self._places = {column.name: place for place, column in enumerate(visible_columns(table))}

    def __getitem__(self, name: str) -> pa.Array:
        if name in self._known:
            return self._known[name]
        return cell(self._images, len(self._places), self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _in_place(parts: Sequence[pa.Array], places: Sequence[Ints]) -> pa.Array:
    """The values of all tables in the order of the rows."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return pa.array([], pa.int64())
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))


def by_table(table: Ints) -> Iterator[tuple[int, Ints]]:
    """Each table, and where its rows are."""
    order = np.argsort(table, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(table[order])) + 1):
        if len(places):
            yield int(table[places[0]]), places
