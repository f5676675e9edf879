"""What a changefeed makes of row changes, each stage a function on a batch of them: filters, splits, destinations.

One law: a row is treated alike whatever batch it comes in, so that every engine may cut batches as it likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import EVENTS, ROW, SENT, Ints, by_table, ints, op_of
from simulator.columns.hashing import Crcs
from simulator.columns.row_image import LazyCells
from simulator.sources.snapshots import PhysicalTable
from simulator.ticdc import dispatch, key_bytes, split
from simulator.ticdc.dispatch import Destinations, Route
from simulator.ticdc.filters.event_filters import EventFilters, reads_values, rule_ignoring_row
from simulator.ticdc.filters.event_types import ROW_KINDS
from simulator.ticdc.filters.row_expressions import passing_rows
from simulator.ticdc.split import SplitRule
from simulator.tidb.model.table import Table, visible_columns


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
    scripted: frozenset[int] = frozenset()
    """The tables that scripted SQL changes rows of: an UPDATE there may change the handle key, too."""

    @cached_property
    def partitions(self) -> dict[str, tuple[int, int]]:
        """Of each topic the destination that partition 0 is, and how many partitions it has."""
        to = self.destinations
        return {topic: (first, count) for topic, first, count in zip(to.topics, to.first, to.counts, strict=True)}

    @cached_property
    def filtering(self) -> npt.NDArray[np.bool_]:
        """Whether event filters look at the rows of each table."""
        return np.array([self._filters(physical.table) for physical in self.tables], np.bool_)

    def _filters(self, table: Table) -> bool:
        kinds = any(rule_ignoring_row(self.filters, table.schema, table.name, kind) for kind in ROW_KINDS)
        return bool(self.ignored_start_ts) or kinds or any(reads_values(rule, table) for rule in self.filters.rules)

    @cached_property
    def splitting(self) -> npt.NDArray[np.bool_]:
        """Whether UPDATEs of each table may be split."""
        return np.array([bool(names) for names in self.deciding], np.bool_)

    @cached_property
    def deciding(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table whose change splits an UPDATE."""
        if not self.split.keys:
            return ((),) * len(self.tables)
        return tuple(
            (split.key_columns if number in self.scripted else split.key_columns_in_diff)(physical.table, self.split)
            for number, physical in enumerate(self.tables)
        )


def sent(changes: pa.RecordBatch, rules: Rules) -> pa.RecordBatch:
    """The changes (SENT) that event filters let through, UPDATEs that are split as two. Where the rule asks, `beside`
    says of each whether there are others of its table and commit-ts; `row_id` stays where it is given."""
    if not rules.splitting.any():
        return _shaped(split.add_ranks(passing(changes, rules), rules.split))
    if rules.split.release.filters_halves:
        return _shaped(passing(split.split_updates(changes, _splitting(changes, rules), rules.split), rules))
    changes = passing(changes, rules)
    return _shaped(split.split_updates(changes, _splitting(changes, rules), rules.split))


def _shaped(changes: pa.RecordBatch) -> pa.RecordBatch:
    return changes.select([*SENT.names, *(name for name in ("row_id",) if name in changes.schema.names)])


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
            names = [column.name for column in visible_columns(definition)]
            old, new = (LazyCells(image.take(rows), names) for image in (before, after))
            found[at] = split.keys_changed(definition, old, new, rules.split, rules.deciding[number])
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
            let[at] = passing_rows(rows, rules.tables[number].table, rules.filters, rules.ignored_start_ts)
    return changes if let.all() else changes.filter(pa.array(let))


def events(changes: pa.RecordBatch, rules: Rules) -> pa.RecordBatch:
    """EVENTS of row changes, each with the partition that TiCDC's dispatcher gives it, in the order they come."""
    count = changes.num_rows
    given = changes.column("row_id") if "row_id" in changes.schema.names else None
    table, commit_ts = ints(changes, "table"), ints(changes, "commit_ts")
    before, after, handle = (changes.column(name) for name in ("before", "after", "handle"))
    # By its new row, or a DELETE's old one (tiflow: partition/index_value.go).
    shown = pc.coalesce(after, before)
    hashed, destination = np.zeros(count, np.int64), np.zeros(count, np.int64)
    row_id: list[pa.Array] = []
    places: list[Ints] = []
    for number, at in by_table(table):
        rows = (shown, handle) if len(at) == count else (column.take(pa.array(at)) for column in (shown, handle))
        images, handles = rows
        ids, hashes = _facts(images, handles, number, rules, None if given is None else given.take(pa.array(at)))
        row_id.append(ids)
        places.append(at)
        hashed[at] = hashes
        destination[at] = _destinations(number, hashes, commit_ts[at], ids, rules)
    return pa.RecordBatch.from_arrays(
        [
            changes.column("commit_ts"),
            pa.array(np.full(count, ROW, np.int8)),
            changes.column("table"),
            pa.array(op_of(before, after)),
            _in_place(row_id, places),
            pa.array(hashed),
            pa.array(destination.astype(np.int32)),
            before,
            after,
        ],
        schema=EVENTS,
    )


def destinations(images: pa.Array, handles: pa.Array, number: int, commit_ts: Ints, rules: Rules) -> Ints:
    """Where changes of rows of a table go, whatever they are changed to (`dispatch.known_when_read`)."""
    ids, hashes = _facts(images, handles, number, rules)
    return _destinations(number, hashes, commit_ts, ids, rules)


def _facts(
    images: pa.Array, handles: pa.Array, number: int, rules: Rules, given: pa.Array | None = None
) -> tuple[pa.Array, Crcs]:
    """Row id and dispatch hash of rows of a table; `given` has the row ids that are known."""
    table = rules.tables[number].table
    row_ids = key_bytes.row_ids(table, handles, number) if given is None else _completed(given, handles, number, table)
    names = [column.name for column in visible_columns(table)]
    texts = LazyCells(images, names, key_bytes.column_from_row_id(table, row_ids))
    return row_ids, dispatch.dispatch_hashes(rules.routes[number], table, texts, len(images))


def _completed(given: pa.Array, handles: pa.Array, number: int, table: Table) -> pa.Array:
    """The row ids, those that are not given made of the handles, which are a diff's there."""
    missing = np.flatnonzero(np.asarray(given.is_null()))
    if not len(missing):
        return given
    made = key_bytes.row_ids(table, handles.take(pa.array(missing)), number)
    return pc.replace_with_mask(given, given.is_null(), made)


def _destinations(number: int, hashes: Crcs, commit_ts: Ints, row_ids: pa.Array, rules: Rules) -> Ints:
    to = rules.routes[number]
    first, _ = rules.partitions[to.topic]
    count = rules.destinations.counted(to.topic, commit_ts)
    return first + dispatch.choose_partitions(to, hashes, commit_ts, row_ids, count)


def _in_place(parts: Sequence[pa.Array], places: Sequence[Ints]) -> pa.Array:
    """The values of all tables in the order of the rows."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return pa.array([], pa.int64())
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))
