"""Id allocators of a table (tidb pkg/meta/autoid/autoid.go).

A server reserves a cache of 30,000 ids at a time. It loses the rest of the cache after a restart, after ALTER TABLE …
AUTO_INCREMENT, and when a statement needs more ids than are left. TiDB enlarges the cache of a busy server (NextStep);
this is not simulated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from simulator.tidb.errors import sql_error

CACHE_SIZE = 30_000


@dataclass(frozen=True)
class Allocator:
    """A range of ids that a server has reserved."""

    base: int = 0
    """The last id that was allocated or inserted explicitly."""

    end: int = 0
    """The last id of the reserved range."""

    stored: int = 0
    """The last id that any server has reserved."""

    step: int = CACHE_SIZE
    """The number of ids reserved at a time; 1 for AUTO_ID_CACHE 1, which loses none."""

    unsigned: bool = False

    @property
    def maximum(self) -> int:
        return 2**64 - 1 if self.unsigned else 2**63 - 1

    @property
    def following(self) -> int:
        """The id that a new server would allocate first."""
        return (self.base if self.step == 1 else self.stored) + 1

    def allocate(self, count: int, increment: int = 1, offset: int = 1) -> tuple[int, Allocator]:
        """Return the first of `count` ids, which follow each other at `increment`, and the allocator after them.

        Raises SqlError 1467 if no ids are left.
        """
        if offset - 1 > self.base:
            return self.advance_past(offset - 1).allocate(count, increment, offset)
        needed = _span(self.base, count, increment, offset)
        if self.maximum - self.base <= needed:
            raise sql_error(1467)
        allocator = self
        if self.base + needed > self.end:
            needed = _span(self.stored, count, increment, offset)
            reserved = min(self.maximum - self.stored, max(self.step, needed))
            if reserved < needed or self.stored == self.maximum:
                raise sql_error(1467)
            allocator = replace(self, base=self.stored, end=self.stored + reserved, stored=self.stored + reserved)
        return _first_after(allocator.base, increment, offset), replace(allocator, base=allocator.base + needed)

    def advance_past(self, number: int) -> Allocator:
        """Return the allocator after an explicit insert of `number`."""
        if number <= self.base:
            return self
        if number <= self.end:
            return replace(self, base=number)
        base = max(self.stored, number)
        end = min(self.maximum, base + self.step)
        return replace(self, base=base, end=end, stored=end)

    def restarted(self) -> Allocator:
        """Return the allocator of a restarted server."""
        return self if self.step == 1 else replace(self, base=0, end=0)

    def starting_at(self, number: int, force: bool = False) -> Allocator:
        """Return a restarted allocator whose next id is at least `number`, or exactly `number` with `force`."""
        last_used = self.base if self.step == 1 else self.stored
        last = number - 1 if force else max(last_used, number - 1)
        return (
            replace(self, base=last, end=last, stored=last)
            if self.step == 1
            else replace(self, base=0, end=0, stored=last)
        )


def _first_after(base: int, increment: int, offset: int) -> int:
    """Return the first number above `base` that is `offset` plus a multiple of `increment`."""
    return (base + increment - offset) // increment * increment + offset


def _span(base: int, count: int, increment: int, offset: int) -> int:
    if increment == 1:
        return count
    return _first_after(base, increment, offset) + (count - 1) * increment - base


class Counters(NamedTuple):
    """The id allocators of a table."""

    auto: Allocator = Allocator()
    """The allocator of AUTO_RANDOM, and of AUTO_INCREMENT with AUTO_ID_CACHE 1. Without the option AUTO_INCREMENT uses
    `row_id`."""

    row_id: Allocator = Allocator()
