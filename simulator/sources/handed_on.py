"""Times of row changes by which a diff passes only through states that a database can hold.

The time of a change follows from its row alone. Where two rows would have one value of a unique key, or a row would name a
parent that is not there, some of them change at other times:

- A row takes a value of a unique key after the row that leaves it.
- A row comes after the parent that it names, for which the parent may come earlier, and goes before it.
- Rows that wait for each other in a circle change in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.change_frame import Ints, ints
from simulator.errors import UserError
from simulator.sources.claims import NO_CLAIMS, ROLE_BITS
from simulator.sources.diff import Comparison, FixedTimes
from simulator.sources.key_order import CHILD, COMES, PARENT, ROLES, UNIQUE
from simulator.sources.precedence import Edges, Precedence, ahead, following

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
