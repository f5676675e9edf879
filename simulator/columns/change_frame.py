"""The Arrow schemas in which rows flow, from the files of snapshots to what a task sends.

    SNAPSHOT_ROWS     rows of snapshots                                           sources.snapshots
    PLACED_ROWS       the same with the keys by which engines pair them           engines.work
    PAIRED_ROWS       rows of both snapshots, in pairs as far as they were found  engines.pairs
    SLICED_ROWS       the same with the partition of the exchange                 engines.work
    ROW_DIFFERENCES   rows whose images in two snapshots differ                   engines.in_process, on_spark
    ROW_CHANGES       row changes with their commit-ts                            sources.diff, run.steps, load
    EVENTS            changes with their partitions, and DDL and watermarks       engines.stages, tasks.control_events

ROW_CHANGES have a row_id where scripted SQL or a load allocates it, and op and rank from the event filters on.
A column has one name and type in all of them (`COLUMNS`):

    move           number of the step from one snapshot to the next, from 0
    table          index of the physical table in the run's list; for DDL, in the list of statements
    place          move × number of tables + table, by which the sides are paired
    handle         `ticdc.table_info.handles_of_rows`; the row image for a table without a handle key; where snapshots tell row
                   ids, `handles_of_row_ids`
    occurrence     number of a row among equal ones of a table without a handle key, from 1
    row_hash       hash of seed, table and handle, which determines when a row changes (`sources.diff.Clock`)
    slice          partition of the exchange: group of destinations × slice of time
    image          the row (`columns.row_image`), after the DDL that changes its table
    unaltered      the row before that DDL: table number and image (`sources.schema_change`); else null
    before, after  images of the row before and after its change; null for INSERT and DELETE, and of PAIRED_ROWS
                   also where the other row is not found yet
    commit_ts      TSO
    kind           ROW, DDL, WATERMARK or, in what a task encodes, BOOTSTRAP
    op             DELETE, UPDATE, INSERT or EMPTY; null for an event that is not a row
    rank           order of a row change among those of its commit-ts (`ticdc.split.SplitRule.ranks`)
    row_id         `ticdc.table_info.row_ids`, or the row id that scripted SQL allocated or a snapshot tells; null for a
                   common handle
    dispatch_hash  hash of the row's dispatcher, 32 bits unsigned
    destination    Kafka partition, numbered through all topics (`ticdc.dispatch.destinations`)

A row change without an image is of a row that a transaction inserts and deletes (`releases` empty_changes).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]

DELETE, UPDATE, INSERT = range(OPERATIONS := 3)
"""The order of row changes with one commit-ts (tiflow: cdc/processor/sourcemanager/engine/pebble/encoding/key.go)."""

EMPTY = OPERATIONS
"""The op of a row change without an image."""

ROW, DDL, WATERMARK = range(3)
"""The order of events with one commit-ts."""

BOOTSTRAP = 3
"""The kind of a message with a table's schema, at any place in that order."""

COLUMNS = {
    **dict.fromkeys(("commit_ts", "occurrence", "row_hash", "row_id", "dispatch_hash"), pa.int64()),
    **dict.fromkeys(("move", "table", "place", "slice", "destination"), pa.int32()),
    **dict.fromkeys(("kind", "op", "rank"), pa.int8()),
    **dict.fromkeys(("handle", "image", "unaltered", "before", "after"), pa.binary()),
}


def _frame(names: str) -> pa.Schema:
    return pa.schema([(name, COLUMNS[name]) for name in names.split()])


SNAPSHOT_ROWS = _frame("move table handle image unaltered")
PLACED_ROWS = _frame("row_hash place handle image unaltered")
PAIRED_ROWS = _frame("row_hash place handle before after unaltered")
SLICED_ROWS = _frame("row_hash place handle before after unaltered slice")
ROW_DIFFERENCES = _frame("row_hash place handle occurrence before after unaltered")
ROW_CHANGES = _frame("commit_ts table handle before after")
EVENTS = _frame("commit_ts kind table op row_id dispatch_hash destination before after")

ORDER = ("commit_ts", "rank", "table", "handle", "op")
"""The order in which TiCDC sends row changes."""

MIN_RUN = 32
"""Minimum average length of runs of neighbours for which copying runs is faster."""


@cache
def row_changes_schema(*optional: str) -> pa.Schema:
    """Return ROW_CHANGES with these further columns, out of op, rank and row_id.

    In a run with scripted SQL all rows have row_id; it is null for a row of a snapshot.
    """
    return _frame(" ".join((*ROW_CHANGES.names, *optional)))


def op_of(before: pa.Array, after: pa.Array) -> npt.NDArray[np.int8]:
    """Return DELETE, UPDATE, INSERT or EMPTY, by which of the images exist."""
    was, stays = (~np.asarray(image.is_null()) for image in (before, after))
    return np.select([was & stays, was, stays], [UPDATE, DELETE, INSERT], EMPTY).astype(np.int8)


def ints(batch: pa.RecordBatch, name: str) -> Ints:
    """Return a column as int64; a null becomes 0."""
    column = batch.column(name)
    return np.asarray(column.fill_null(0) if column.null_count else column, dtype=np.int64)


def by_table(table: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each table and the positions of its rows."""
    if len(table) and (table == table[0]).all():
        yield int(table[0]), np.arange(len(table))
        return
    order = np.argsort(table, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(table[order])) + 1):
        if len(places):
            yield int(table[places[0]]), places


def picked(batch: pa.RecordBatch, places: Ints) -> pa.RecordBatch:
    """Return the rows at these positions."""
    if len(places) == batch.num_rows and (places == np.arange(len(places))).all():
        return batch
    columns = [picked_values(column, places) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def with_column(batch: pa.RecordBatch, name: str, values: npt.ArrayLike) -> pa.RecordBatch:
    """Return the rows with other values in a column."""
    place = batch.schema.get_field_index(name)
    field = batch.schema.field(place)
    return batch.set_column(place, field, pa.array(values, field.type))


def picked_values(values: pa.Array, places: Ints) -> pa.Array:
    """Return the values at these positions; long runs of neighbours are copied whole, in a third of the time."""
    starts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
    if len(starts) * MIN_RUN > len(places) or not len(places):
        return values.take(pa.array(places))
    bounds = zip(places[starts].tolist(), np.diff(starts, append=len(places)).tolist())
    parts = [values.slice(first, length) for first, length in bounds]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
