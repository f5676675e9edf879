"""Times of row changes by which a diff passes only through states that a database can hold.

The time of a change follows from its row alone. Where two rows would have one value of a unique key, or a row would
name a parent that is not there, some of them change at other times:

- A row takes a value of a unique key after the row that leaves it.
- A row comes after the parent that it names, for which the parent may come earlier, and goes before it.
- Rows that wait for each other in a circle change in one transaction.

A change follows another one in a later millisecond, or in the same one where they wait in a circle, or where the time
ends.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints, by_table, ints, picked
from simulator.columns.hashing import Hashes, fingerprints, xxhash64
from simulator.columns.row_image import LazyCells, same
from simulator.errors import UserError
from simulator.sources.diff import Comparison, FixedTimes, hashes_and_handles, placed_changes
from simulator.sources.key_order import CHILD, COMES, PARENT, ROLES, UNIQUE
from simulator.tidb.model.table import Table, UniqueKey, visible_columns
from simulator.tidb.storage.row_keys import encode_key

ROUNDS = 1000
"""Rounds in which changes are placed behind others. The rest of a longer chain goes into one millisecond."""

LEAST = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Edges:
    """Which rows are in which groups: `rows[i]`, from 0, is in `groups[i]`."""

    rows: Ints
    groups: Ints

    def __add__(self, other: Edges) -> Edges:
        return Edges(np.append(self.rows, other.rows), np.append(self.groups, other.groups))

    def where(self, mask: npt.NDArray[np.bool_]) -> Edges:
        return Edges(self.rows[mask], self.groups[mask])


@dataclass(frozen=True)
class Precedence:
    """All rows of `first` that are in a group change before all those of `then`."""

    first: Edges
    then: Edges
    groups: int
    """Number of groups."""

    def turned(self) -> Precedence:
        return replace(self, first=self.then, then=self.first)


def following(times: Ints, order: Precedence, last: Ints) -> Ints:
    """Return the times with changes moved later, up to the `last` one of each, so that all follow those that they have to."""
    times, missing = times.copy(), _count(order.then.rows, len(times))
    waiting = _count(order.first.groups, order.groups)
    turned = Edges(order.then.groups, order.then.rows)
    of_row, of_group = _Neighbours.of(order.first, len(times)), _Neighbours.of(turned, order.groups)
    behind = np.full(order.groups, LEAST)

    def completed_by(ready: Ints) -> Ints:
        """Place changes; return the groups of which all changes that come first are placed now."""
        rows, groups = of_row.of_each(ready)
        np.maximum.at(behind, groups, times[rows] + 1)
        np.subtract.at(waiting, groups, 1)
        reached = np.unique(groups)
        finished: Ints = reached[waiting[reached] == 0]
        return finished

    placed = missing == 0
    complete = completed_by(np.flatnonzero(placed))
    for _ in range(ROUNDS):
        groups, rows = of_group.of_each(complete)
        if not len(rows):
            break
        np.maximum.at(times, rows, np.minimum(behind[groups], last[rows]))
        np.subtract.at(missing, rows, 1)
        reached = np.unique(rows)
        ready = reached[missing[reached] == 0]
        placed[ready] = True
        complete = completed_by(ready)
    return _together(times, order, placed, behind, last)


def ahead(times: Ints, order: Precedence, first: Ints) -> Ints:
    """Return the times with changes moved earlier, down to the `first` one of each, so that all precede those that have to follow.

    Those in a circle, and what precedes them, share a time.
    """
    return -following(-times, order.turned(), -first)


def _together(times: Ints, order: Precedence, placed: npt.NDArray[np.bool_], behind: Ints, last: Ints) -> Ints:
    """Return the times with the rows that are not placed moved to the latest time of those to which they are linked."""
    if placed.all():
        return times
    first, then = (edges.where(~placed[edges.rows]) for edges in (order.first, order.then))
    np.maximum.at(times, then.rows, np.minimum(behind[then.groups], last[then.rows]))
    label = _components(first + then, len(times), order.groups)
    latest = np.full(len(times), LEAST)
    np.maximum.at(latest, label[~placed], times[~placed])
    return np.where(placed, times, latest[label])


def _components(edges: Edges, rows: int, groups: int) -> Ints:
    """Return, for each row, the lowest number of those to which groups link it (FastSV: Zhang, Azad and Hu, 2020)."""
    label = np.arange(rows)
    while True:
        lowest, lower = np.full(groups, rows), label.copy()
        np.minimum.at(lowest, edges.groups, label[label[edges.rows]])
        np.minimum.at(lower, label[edges.rows], lowest[edges.groups])
        np.minimum.at(lower, edges.rows, lowest[edges.groups])
        lower = np.minimum(lower, lower[lower])
        if (lower == label).all():
            return label
        label = lower


@dataclass(frozen=True)
class _Neighbours:
    """The right sides of pairs, by their left sides."""

    starts: Ints
    rights: Ints

    @staticmethod
    def of(edges: Edges, lefts: int) -> _Neighbours:
        order = np.argsort(edges.rows, kind="stable")
        return _Neighbours(np.append(0, np.cumsum(_count(edges.rows, lefts))), edges.groups[order])

    def of_each(self, lefts: Ints) -> tuple[Ints, Ints]:
        """Return the pairs with one of these left sides."""
        counts = self.starts[lefts + 1] - self.starts[lefts]
        firsts = np.repeat(self.starts[lefts] - np.append(0, np.cumsum(counts))[:-1], counts)
        return np.repeat(lefts, counts), self.rights[firsts + np.arange(counts.sum())]


def _count(values: Ints, size: int) -> Ints:
    return np.bincount(values, minlength=size).astype(np.int64)


MOST = 1 << 24
"""Claims that fit into memory, with about 1 GB."""

Parts = Callable[[], Iterable[pa.RecordBatch]]
"""Returns CLAIMS in parts."""


def handed_on(parts: Parts) -> pa.RecordBatch:
    """Return the CLAIMS on values for which the change of one row may have to precede that of another.

    Raises UserError if they are too many. `parts` is called twice, so that only these claims need memory.
    """
    values = np.concatenate([np.zeros(0, np.int64), *(np.unique(_roles(part)[0]) for part in parts())])
    values = _ordered(values) >> ROLE_BITS << ROLE_BITS
    found, count = [NO_CLAIMS], 0
    for part in parts() if len(values) else ():
        found.append(part.filter(pa.array(np.isin(ints(part, "value"), values))))
        count += found[-1].num_rows
        require_few(count)
    return _settled(pa.concat_batches(found))


def require_few(count: int) -> None:
    """Raise UserError for more claims than memory may hold."""
    if count > MOST:
        raise UserError(
            f"rows hand values of unique keys on, or come and go with their parents, more than {MOST:,} times between two "
            "snapshots; compare fewer tables at a time, or a snapshot between them"
        )


def _roles(claims: pa.RecordBatch) -> tuple[Ints, Ints]:
    """Return the values with each role that rows have, and the positions of their claims."""
    value, side = ints(claims, "value"), ints(claims, "side")
    at = [(np.flatnonzero(side == number), role) for number, roles in enumerate(ROLES) for role in roles]
    return np.concatenate([value[rows] | role for rows, role in at]), np.concatenate([rows for rows, _ in at])


def _ordered(values: Ints) -> Ints:
    """Return those of the values with roles that are there with both roles of a pair, with the even one."""
    values = np.sort(values)
    ordered: Ints = values[:-1][(values[1:] ^ values[:-1] == 1) & (values[1:] & 1 == 1)]
    return ordered


def _settled(claims: pa.RecordBatch) -> pa.RecordBatch:
    """Return the claims but those of rows that keep a value, and those by which a row would wait for itself, as a child
    that is its own parent would."""
    value, row, side = (ints(claims, name) for name in ("value", "row_hash", "side"))
    order = np.lexsort((row, value))
    starts = np.diff(value[order], prepend=1) != 0  # The lowest bit of a value is 0.
    starts[1:] |= np.diff(row[order]) != 0
    pair = np.empty(len(order), np.int64)
    pair[order] = np.cumsum(starts) - 1
    sides = np.zeros(int(starts.sum()), np.int64)
    np.bitwise_or.at(sides, pair, 1 << side)
    for kind in (UNIQUE, CHILD, PARENT):
        sides[sides >> kind & 3 == 3] &= ~(3 << kind)
    sides &= ~(sides >> PARENT << CHILD)
    return claims.filter(pa.array(sides[pair] >> side & 1 == 1))


def fixed_times(claims: pa.RecordBatch, of: Comparison) -> tuple[FixedTimes, ...]:
    """Return, for each move, the times of the changes that have to be at another time than by their rows alone, given the
    claims that `handed_on` returns."""
    moves = ints(claims, "place") // len(of.tables)
    return tuple(_fixed(claims.filter(pa.array(moves == number)), number, of) for number in range(len(of.clock.spans)))


def _fixed(claims: pa.RecordBatch, move: int, of: Comparison) -> FixedTimes:
    hashes, row = np.unique(ints(claims, "row_hash"), return_inverse=True)
    own, least = np.zeros(len(hashes), np.int64), np.zeros(len(hashes), np.int64)
    own[row] = ints(claims, "slot")
    altered = np.isin(ints(claims, "place") % len(of.tables), list(of.changed[move]))
    least[row[altered]] = of.points[move].slot  # A change behind the statements has the definition behind them.
    least = np.where(own < least, 0, least)

    value, at = _roles(claims)
    there = np.isin(value & ~1, _ordered(value))
    value, row = value[there], row[at[there]]
    groups, group = np.unique(value & ~1, return_inverse=True)

    def precedence(mask: npt.NDArray[np.bool_]) -> Precedence:
        first, then = (Edges(row[mask & side], group[mask & side]) for side in (value & 1 == 0, value & 1 == 1))
        return Precedence(first, then, len(groups))

    times = ahead(own, precedence(value & 6 == COMES), least)
    times = following(times, precedence(group >= 0), np.full(len(own), of.clock.spans[move].over_ms - 1))
    moved = times != own
    return FixedTimes(hashes[moved], times[moved])


ROLE_BITS = 3

CLAIMS = pa.schema(
    [("value", pa.int64()), ("row_hash", pa.int64()), ("slot", pa.int64()), ("place", pa.int32()), ("side", pa.int8())]
)
"""`value` is a hash of move, key and value, with zeros for a role in its lowest ROLE_BITS, `slot` the millisecond of the
change in the period of its move, and `side` that of the key, with 1 added where the row gets the value."""

NO_CLAIMS = pa.RecordBatch.from_pylist([], CLAIMS)


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
