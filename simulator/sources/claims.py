"""What row changes have to do with the values of keys: which ones a row loses, and which ones it gets."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import Ints, by_table, ints, picked
from simulator.columns.hashing import Hashes, fingerprints, xxhash64
from simulator.columns.row_image import LazyCells, same
from simulator.sources.diff import Comparison, hashes_and_handles, placed_changes
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.table_keys import UniqueKey
from simulator.tidb.storage.key_columns import encode_key

ROLE_BITS = 3

CLAIMS = pa.schema(
    [("value", pa.int64()), ("row_hash", pa.int64()), ("slot", pa.int64()), ("place", pa.int32()), ("side", pa.int8())]
)
"""`value` is a hash of move, key and value, with zeros for a role in its lowest ROLE_BITS, `slot` the millisecond of the
change in the period of its move, and `side` that of the key, with 1 added where the row gets the value."""

NO_CLAIMS = pa.RecordBatch.from_pylist([], CLAIMS)

Mask = npt.NDArray[np.bool_]


def claims(rows: pa.RecordBatch, of: Comparison) -> pa.RecordBatch:
    """Return the CLAIMS of rows (PAIRED_ROWS or ROW_DIFFERENCES).

    A row whose images come one by one has claims with each: those of a value that it keeps are among them then, and
    `handed_on` leaves them out. The tables of PAIRED_ROWS have to be `known_when_read`.
    """
    parts = [NO_CLAIMS]
    for place, at in by_table(ints(rows, "place")):
        if of.key_order.keys(place % len(of.tables)):
            parts += _claims(picked(rows, at), place, of)
    return pa.concat_batches(parts)


def known_when_read(of: Comparison) -> bool:
    """Return whether the time of each row with claims follows from one of its images: its table does not change, and has a
    handle key."""
    altered = {table for changed in of.changed for table in changed}
    return all(of.keyed[table] and table not in altered for table in range(len(of.tables)) if of.key_order.keys(table))


def _claims(rows: pa.RecordBatch, place: int, of: Comparison) -> Iterator[pa.RecordBatch]:
    """Yield the claims of rows of one table, with each of its keys."""
    equal = pc.fill_null(pc.equal(rows.column("before"), rows.column("after")), False)
    rows = picked(rows, np.flatnonzero(~np.asarray(equal)))
    move, table = divmod(place, len(of.tables))
    row_hash, slot = _times(rows, move, table, of)
    definition, replicated = of.tables[table].table, slot >= 0
    names = [column.name for column in visible_columns(definition)]
    before, after = (_Side.of(rows.column(name), names) for name in ("before", "after"))
    for key in of.key_order.keys(table):
        kept = _kept(before, after, key.key)
        (lost, had), (got, has) = (_values(side, definition, key.key, kept) for side in (before, after))
        gone = replicated & ~(had & has & (lost == got))
        losing, getting = np.flatnonzero(had & gone), np.flatnonzero(has & gone)
        at, salt = np.append(losing, getting), xxhash64(zlib.crc32(key.name.encode()), move).view(np.uint64)
        value = (np.append(lost[losing], got[getting]) ^ salt) >> np.uint64(ROLE_BITS) << np.uint64(ROLE_BITS)
        side = np.repeat(np.array([key.side, key.side + 1], np.int8), (len(losing), len(getting)))
        columns = value.view(np.int64), row_hash[at], slot[at], np.full(len(at), place, np.int32), side
        yield pa.RecordBatch.from_arrays(list(map(pa.array, columns)), schema=CLAIMS)


def _times(rows: pa.RecordBatch, move: int, table: int, of: Comparison) -> tuple[Ints, Ints]:
    """Return hash and slot of each row; -1 for one without a change."""
    row_hash, _ = hashes_and_handles(rows, of)
    if table not in of.changed[move]:
        return row_hash, of.clock.slots(row_hash, move)
    slot = np.full(len(row_hash), -1)
    for at, changes in placed_changes(rows, of):  # A row that moves to another partition has two.
        np.maximum.at(slot, at, of.clock.slots_of(ints(changes, "commit_ts"), move))
    return row_hash, slot


@dataclass(frozen=True)
class _Side:
    """The images of rows before or after."""

    there: Mask
    cells: Mapping[str, pa.Array]
    """Without the rows that are not there."""

    @staticmethod
    def of(images: pa.Array, names: Sequence[str]) -> _Side:
        there = images.drop_null() if images.null_count else images
        return _Side(np.asarray(images.is_valid()), LazyCells(there, names))

    def of_rows(self, rows: Mask, names: Iterable[str]) -> Mapping[str, pa.Array]:
        """Return the cells that some of the rows have in columns; those of all columns if no row is left out."""
        among = rows[self.there]
        if among.all():
            return self.cells
        return {name: self.cells[name].filter(pa.array(among)) for name in names}


def _kept(before: _Side, after: _Side, key: UniqueKey) -> Mask:
    """Return which rows have the same text in the columns of a key before and after, and so the same value."""
    names, kept = _plain_columns(before, key), before.there & after.there
    if names and kept.any():
        old, new = (side.of_rows(kept, names) for side in (before, after))
        kept[kept] = np.logical_and.reduce([same(old[name], new[name]) for name in names])
    return kept & bool(names)


def _plain_columns(side: _Side, key: UniqueKey) -> tuple[str, ...]:
    """Return the columns of a key, if rows have all of them."""
    found = {name.lower(): name for name in side.cells}
    names = [part.name.lower() for part in key.columns if not part.expression]
    return tuple(found[name] for name in names) if len(names) == len(key.columns) and found.keys() >= {*names} else ()


def _values(side: _Side, table: Table, key: UniqueKey, kept: Mask) -> tuple[Hashes, Mask]:
    """Return a hash of the value that each row has, and whether it has one: NULL is none, and no value that is kept."""
    wanted = side.there & ~kept
    encoded = encode_key(table, key, side.of_rows(wanted, _plain_columns(side, key)))
    values, has = np.zeros(len(kept), np.uint64), wanted.copy()
    values[wanted], has[wanted] = fingerprints(encoded), np.asarray(encoded.is_valid())
    return values, has
