"""Times of row changes by which a diff passes only through states that a database can hold.

The time of a change follows from its row alone. Where two rows would have one value of a unique key, or a row would name a
parent that is not there, some of them change at other times:

- A row takes a value of a unique key after the row that leaves it.
- A row comes after the parent that it names, for which the parent may come earlier, and goes before it.
- Rows that wait for each other in a circle change in one transaction.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.change_frame import Ints, by_table, ints
from simulator.columns.hashing import xxhash64
from simulator.columns.row_image import LazyCells
from simulator.errors import UserError
from simulator.sources.diff import Comparison, FixedTimes, hashes_and_handles, placed_changes
from simulator.sources.key_order import AFTER, BEFORE, COMES, FIRST, FOLLOWS, OrderedKey
from simulator.sources.precedence import Edges, Precedence, ahead, following
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.storage.key_columns import encode_key

CLAIMS = pa.schema(
    [
        ("value", pa.int64()),
        ("role", pa.int8()),
        ("move", pa.int32()),
        ("row_hash", pa.int64()),
        ("slot", pa.int64()),
        ("least", pa.int64()),
    ]
)
"""What changes have to do with the values of keys: `value` is a hash of key and value, `slot` the millisecond of the change
in the period of its move, and `least` the earliest one, since it has the definition behind the statements."""

MOST = 1 << 24
"""Claims that fit into memory, with about 1 GB."""

Mask = npt.NDArray[np.bool_]


def claims(differing: pa.RecordBatch, of: Comparison) -> pa.RecordBatch:
    """Return the CLAIMS of rows that differ (ROW_DIFFERENCES)."""
    parts = [pa.RecordBatch.from_pylist([], CLAIMS)]
    move, table = np.divmod(ints(differing, "place"), len(of.tables))
    row_hash, _ = hashes_and_handles(differing, of)
    for places, part in placed_changes(differing, of):
        slots = of.clock.slots_of(ints(part, "commit_ts"), move[places])
        for number, at in by_table(table[places]):
            rows, least = places[at], _least(slots[at], number, int(move[places[0]]), of)
            images = [differing.column(name).take(pa.array(rows)) for name in ("before", "after")]
            for key in of.key_order.keys(number):
                for value, role, some in _claimed(images, of.tables[number].table, key, move[rows]):
                    columns = (
                        value,
                        np.full(len(some), role),
                        move[rows][some],
                        row_hash[rows][some],
                        slots[at][some],
                        least[some],
                    )
                    arrays = [pa.array(column).cast(type) for column, type in zip(columns, CLAIMS.types, strict=True)]
                    parts.append(pa.RecordBatch.from_arrays(arrays, schema=CLAIMS))
    return pa.concat_batches(parts)


def _least(slots: Ints, table: int, move: int, of: Comparison) -> Ints:
    """Return the earliest millisecond of changes that are made in the definition of their time."""
    point = of.points[move].slot if table in of.changed[move] else 0
    return np.where(slots < point, 0, point)


def _claimed(images: list[pa.Array], table: Table, key: OrderedKey, move: Ints) -> Iterator[tuple[Ints, int, Ints]]:
    """Yield hashes of values that rows lose or get, with a role and the positions of these rows."""
    (lost, had), (got, has) = (_values(image, table, key) for image in images)
    stays = had & has & (lost == got)
    for name, losing, getting in key.roles:
        for values, there, role in ((lost, had, losing), (got, has, getting)):
            if role is not None:
                at = np.flatnonzero(there & ~stays)
                yield xxhash64(zlib.crc32(name.encode()), move[at], values[at]), role, at


def _values(image: pa.Array, table: Table, key: OrderedKey) -> tuple[Ints, Mask]:
    """Return a hash of the value that each row has, and whether it has one: NULL is none."""
    at = np.flatnonzero(np.asarray(image.is_valid()))
    cells = LazyCells(image.take(pa.array(at)), [column.name for column in visible_columns(table)])
    whole = encode_key(table, key.key, cells)
    values, has = np.zeros(len(image), np.int64), np.zeros(len(image), np.bool_)
    values[at], has[at] = xxhash64(whole), np.asarray(whole.is_valid())
    return values, has


def handed_on(claims: pa.RecordBatch) -> pa.RecordBatch:
    """Return the claims of values for which one change has to precede another; all claims of a value are among them."""
    _, value = np.unique(ints(claims, "value"), return_inverse=True)
    first = np.isin(ints(claims, "role"), FIRST)
    both = (np.bincount(value, first) > 0) & (np.bincount(value, ~first) > 0)
    return claims.filter(pa.array(both[value]))


def fixed_times(claims: pa.RecordBatch, of: Comparison) -> tuple[FixedTimes, ...]:
    """Return, for each move, the times of the changes that have to be at another time than by their rows alone.

    `claims` are those of `handed_on`. Raises UserError if they are too many.
    """
    if claims.num_rows > MOST:
        raise UserError(
            f"rows hand values of unique keys on, or come and go with their parents, more than {MOST:,} times between two "
            "snapshots; compare fewer tables at a time, or a snapshot between them"
        )
    moves = ints(claims, "move")
    return tuple(
        _fixed(claims.filter(pa.array(moves == number)), span.over_ms - 1) for number, span in enumerate(of.clock.spans)
    )


def _fixed(claims: pa.RecordBatch, last: int) -> FixedTimes:
    hashes, row = np.unique(ints(claims, "row_hash"), return_inverse=True)
    values, value = np.unique(ints(claims, "value"), return_inverse=True)
    role = ints(claims, "role")
    own, least = (_latest(ints(claims, name), row, len(hashes)) for name in ("slot", "least"))

    def edges(of: int, but: int | None = None) -> Edges:
        """The rows with a role, but those that have another one for the same value."""
        there = role == of
        if but is not None:
            pair = row * len(values) + value
            there &= ~np.isin(pair, pair[role == but])
        return Edges(row[there], value[there])

    # A row does not wait for itself, as a child that is its own parent would.
    comes, goes = (
        Precedence(edges(COMES), edges(FOLLOWS, COMES), len(values)),
        Precedence(edges(BEFORE, AFTER), edges(AFTER), len(values)),
    )
    times = ahead(own, comes, least)
    times = following(
        times, Precedence(comes.first + goes.first, comes.then + goes.then, len(values)), np.full(len(own), last)
    )
    moved = times != own
    return FixedTimes(hashes[moved], times[moved])


def _latest(slots: Ints, row: Ints, rows: int) -> Ints:
    """Return the latest of the slots of each row: one that moves to another partition has two changes."""
    latest = np.zeros(rows, np.int64)
    np.maximum.at(latest, row, slots)
    return latest
