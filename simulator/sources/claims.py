"""What row changes have to do with the values of keys: which ones a row loses, and which ones it gets."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import Ints, by_table, ints, picked
from simulator.columns.hashing import fingerprints, xxhash64
from simulator.columns.row_image import LazyCells
from simulator.sources.diff import Comparison, hashes_and_handles, placed_changes
from simulator.sources.key_order import NONE, OrderedKey
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.sql_engine.storage.row_keys import encode_key

CLAIMS = pa.schema(
    [
        ("value", pa.int64()),
        ("row_hash", pa.int64()),
        ("slot", pa.int64()),
        ("least", pa.int64()),
        ("move", pa.int32()),
        ("key", pa.int16()),
        ("role", pa.int8()),
        ("gets", pa.bool_()),
    ]
)
"""`value` is a hash of move, key and value, `slot` the millisecond of the change in the period of its move, and `least` the
earliest one, since it has the definition behind the statements. `key` is the number of the key among those of the table,
and `gets` tells a value that the row gets from one that it loses."""

NO_CLAIMS = pa.RecordBatch.from_pylist([], CLAIMS)

Mask = npt.NDArray[np.bool_]


def claims(rows: pa.RecordBatch, of: Comparison) -> pa.RecordBatch:
    """Return the CLAIMS of rows (PAIRED_ROWS or ROW_DIFFERENCES).

    A row whose images come one by one has claims with each: those of a value that it keeps are among them then, and
    `handed_on` leaves them out. The tables of PAIRED_ROWS have to be `known_when_read`.
    """
    parts = [NO_CLAIMS]
    for place, at in by_table(ints(rows, "place")):
        move, table = divmod(place, len(of.tables))
        if of.key_order.keys(table):
            parts += _claims(picked(rows, at), move, table, of)
    return pa.concat_batches(parts)


def known_when_read(of: Comparison) -> bool:
    """Return whether the time of each row with claims follows from one of its images: its table does not change, and has a
    handle key."""
    altered = {table for changed in of.changed for table in changed}
    return all(of.keyed[table] and table not in altered for table in range(len(of.tables)) if of.key_order.keys(table))


def _claims(rows: pa.RecordBatch, move: int, table: int, of: Comparison) -> Iterator[pa.RecordBatch]:
    """Yield the claims of rows of one table."""
    images = [rows.column("before"), rows.column("after")]
    differ = np.flatnonzero(~np.asarray(pc.fill_null(pc.equal(*images), False)))
    if len(differ) < rows.num_rows:
        rows = picked(rows, differ)
        images = [rows.column("before"), rows.column("after")]
    row_hash, _ = hashes_and_handles(rows, of)
    slot, least, replicated = _times(rows, row_hash, move, table, of)
    for number, key in enumerate(of.key_order.keys(table)):
        for value, role, gets, at in _claimed(images, of.tables[table].table, key, move, replicated):
            count = len(at)
            columns = (
                value,
                row_hash[at],
                slot[at],
                least[at],
                np.full(count, move),
                np.full(count, number),
                np.full(count, role),
                np.full(count, gets),
            )
            arrays = [pa.array(column).cast(type) for column, type in zip(columns, CLAIMS.types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=CLAIMS)


def _times(rows: pa.RecordBatch, row_hash: Ints, move: int, table: int, of: Comparison) -> tuple[Ints, Ints, Mask]:
    """Return slot and least of each row, and whether it has a change at all."""
    if table not in of.changed[move]:
        return of.clock.slots(row_hash, move), np.zeros(len(row_hash), np.int64), np.ones(len(row_hash), np.bool_)
    slot, point = np.full(len(row_hash), -1), of.points[move].slot
    for at, changes in placed_changes(rows, of):  # A row that moves to another partition has two.
        np.maximum.at(slot, at, of.clock.slots_of(ints(changes, "commit_ts"), move))
    return slot, np.where(slot < point, 0, point), slot >= 0


def _claimed(
    images: list[pa.Array], table: Table, key: OrderedKey, move: int, replicated: Mask
) -> Iterator[tuple[Ints, int, bool, Ints]]:
    """Yield hashes of values that rows lose or get, with a role, whether they get them, and the positions of these rows."""
    (lost, had), (got, has) = (_values(image, table, key) for image in images)
    gone = replicated & ~(had & has & (lost == got))
    single = ~np.asarray(pc.and_(*(image.is_valid() for image in images)))
    for name, losing, getting in key.roles:
        salt = zlib.crc32(name.encode()) + (move << 32)
        for values, there, role, gets in ((lost, had & gone, losing, False), (got, has & gone, getting, True)):
            at = np.flatnonzero(there if role is not None else there & single)
            if len(at):
                yield xxhash64(salt, values[at]), NONE if role is None else role, gets, at


def _values(image: pa.Array, table: Table, key: OrderedKey) -> tuple[Ints, Mask]:
    """Return a hash of the value that each row has, and whether it has one: NULL is none."""
    every = not image.null_count
    at = np.arange(len(image)) if every else np.flatnonzero(np.asarray(image.is_valid()))
    cells = LazyCells(image if every else image.take(pa.array(at)), [column.name for column in visible_columns(table)])
    whole = encode_key(table, key.key, cells)
    values, has = np.zeros(len(image), np.int64), np.zeros(len(image), np.bool_)
    values[at], has[at] = fingerprints(whole).view(np.int64), np.asarray(whole.is_valid())
    return values, has
