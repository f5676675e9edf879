"""Times of row changes of which some have to follow others.

A change follows another one in a later millisecond, or both are in the same one where they follow each other in a circle,
or where the time ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from simulator.columns.change_frame import Ints

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
    of_row, of_group = _Neighbours.of(order.first, len(times)), _Neighbours.of(_turned(order.then), order.groups)
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


def _turned(edges: Edges) -> Edges:
    return Edges(edges.groups, edges.rows)


def _count(values: Ints, size: int) -> Ints:
    return np.bincount(values, minlength=size).astype(np.int64)
