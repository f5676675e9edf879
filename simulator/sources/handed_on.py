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
from simulator.sources.claims import NO_CLAIMS
from simulator.sources.diff import Comparison, FixedTimes
from simulator.sources.key_order import AFTER, BEFORE, COMES, FIRST, FOLLOWS, NONE
from simulator.sources.precedence import Edges, Precedence, ahead, following

MOST = 1 << 24
"""Claims that fit into memory, with about 1 GB."""

Mask = npt.NDArray[np.bool_]

Parts = Callable[[], Iterable[pa.RecordBatch]]
"""Returns CLAIMS in parts; those of a row and a value are in one part."""


def handed_on(parts: Parts) -> pa.RecordBatch:
    """Return the claims of values for which the change of one row has to precede that of another.

    Raises UserError if they are too many. `parts` is called several times, so that only these claims need memory.
    """
    values = _both(parts())
    if len(values):
        values = _both(_settled(_of_values(part, values)) for part in parts())
    found = [NO_CLAIMS]
    for part in parts() if len(values) else ():
        found.append(_settled(_of_values(part, values)))
        if sum(batch.num_rows for batch in found) > MOST:
            raise too_many()
    return pa.concat_batches(found)


def too_many() -> UserError:
    return UserError(
        f"rows hand values of unique keys on, or come and go with their parents, more than {MOST:,} times between two "
        "snapshots; compare fewer tables at a time, or a snapshot between them"
    )


def _both(parts: Iterable[pa.RecordBatch]) -> Ints:
    """Return the values that changes have to precede, and others have to follow."""
    sides = [np.zeros(0, np.int64), np.zeros(0, np.int64)]
    for part in parts:
        value, role = ints(part, "value"), ints(part, "role")
        first = np.isin(role, FIRST)
        masks = first, ~first & (role != NONE)
        sides = [np.union1d(known, value[mask]) for known, mask in zip(sides, masks)]
    return np.intersect1d(sides[0], sides[1], assume_unique=True)


def _of_values(claims: pa.RecordBatch, values: Ints) -> pa.RecordBatch:
    return claims.filter(pa.array(np.isin(ints(claims, "value"), values)))


def _settled(claims: pa.RecordBatch) -> pa.RecordBatch:
    """Return the claims but those of rows that keep a value, and those by which a row would wait for itself, as a child
    that is its own parent would."""
    value, row, key, role = (ints(claims, name) for name in ("value", "row_hash", "key", "role"))
    gets = np.asarray(claims.column("gets"))
    pair, of_key = _numbered(value, row), _numbered(value, row, key)
    keeps = _has(of_key, gets) & _has(of_key, ~gets)
    waits = ((role == FOLLOWS) & _has(pair, (role == COMES) & ~keeps)) | (
        (role == BEFORE) & _has(pair, (role == AFTER) & ~keeps)
    )
    return claims.filter(pa.array(~keeps & ~waits & (role != NONE)))


def _numbered(*columns: Ints) -> Ints:
    """Return a number for each row, equal for rows that are equal in all columns."""
    order = np.lexsort(columns)
    starts = np.logical_or.reduce([np.diff(column[order], prepend=column[order[:1]]) != 0 for column in columns])
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(starts)
    return numbers


def _has(group: Ints, mask: Mask) -> Mask:
    """Return for each row whether the mask has any of its group."""
    found: Mask = np.bincount(group[mask], minlength=len(group) + 1)[group] > 0
    return found


def fixed_times(claims: pa.RecordBatch, of: Comparison) -> tuple[FixedTimes, ...]:
    """Return, for each move, the times of the changes that have to be at another time than by their rows alone, given the
    claims that `handed_on` returns."""
    moves = ints(claims, "move")
    return tuple(
        _fixed(claims.filter(pa.array(moves == number)), span.over_ms - 1) for number, span in enumerate(of.clock.spans)
    )


def _fixed(claims: pa.RecordBatch, last: int) -> FixedTimes:
    hashes, row = np.unique(ints(claims, "row_hash"), return_inverse=True)
    values, value = np.unique(ints(claims, "value"), return_inverse=True)
    role = ints(claims, "role")
    own, least = (np.zeros(len(hashes), np.int64) for _ in range(2))
    own[row], least[row] = ints(claims, "slot"), ints(claims, "least")

    def precedence(first: int, then: int) -> Precedence:
        edges = [Edges(row[role == of], value[role == of]) for of in (first, then)]
        return Precedence(edges[0], edges[1], len(values))

    comes, goes = precedence(COMES, FOLLOWS), precedence(BEFORE, AFTER)
    times = ahead(own, comes, least)
    times = following(
        times, Precedence(comes.first + goes.first, comes.then + goes.then, len(values)), np.full(len(own), last)
    )
    moved = times != own
    return FixedTimes(hashes[moved], times[moved])
