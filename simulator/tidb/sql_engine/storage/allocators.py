"""The numbers that a TiDB server gives out for a table, and those it has set aside (tidb pkg/meta/autoid/autoid.go).

A server takes 30,000 numbers at a time. Those that it has not given are lost where it begins anew: behind ALTER TABLE …
AUTO_INCREMENT, and where more are asked for at once than are left. How many more a busy server takes the next time is a
matter of seconds (NextStep), and not simulated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from simulator.tidb.sql_engine.errors import sql_error

CACHE_SIZE = 30_000


@dataclass(frozen=True)
class Allocator:
    base: int = 0
    """The last number that was given, or that a statement brought."""

    end: int = 0
    """The last of those that the server has set aside."""

    stored: int = 0
    """The last that any server has set aside."""

    step: int = CACHE_SIZE
    """How many it sets aside at a time; 1 for AUTO_ID_CACHE 1, whose service loses none."""

    unsigned: bool = False

    @property
    def most(self) -> int:
        return 2**64 - 1 if self.unsigned else 2**63 - 1

    def given(self, count: int, increment: int = 1, offset: int = 1) -> tuple[int, Allocator]:
        """The first of so many numbers, the others following at `increment`; raises SqlError 1467 for none left."""
        if offset - 1 > self.base:
            return self.passed(offset - 1).given(count, increment, offset)
        needed = _span(self.base, count, increment, offset)
        if self.most - self.base <= needed:
            raise sql_error(1467)
        found = self
        if self.base + needed > self.end:
            needed = _span(self.stored, count, increment, offset)
            taken = min(self.most - self.stored, max(self.step, needed))
            if taken < needed or self.stored == self.most:
                raise sql_error(1467)
            found = replace(self, base=self.stored, end=self.stored + taken, stored=self.stored + taken)
        return _first_after(found.base, increment, offset), replace(found, base=found.base + needed)

    def passed(self, number: int) -> Allocator:
        """Behind a number that a statement brings."""
        if number <= self.base:
            return self
        if number <= self.end:
            return replace(self, base=number)
        base = max(self.stored, number)
        end = min(self.most, base + self.step)
        return replace(self, base=base, end=end, stored=end)

    def renewed(self) -> Allocator:
        """Of a server that begins anew."""
        return self if self.step == 1 else replace(self, base=0, end=0)

    def starting_at(self, number: int, force: bool = False) -> Allocator:
        """Renewed, to give a number next that is at least this one; with `force` this one."""
        held = self.base if self.step == 1 else self.stored
        last = number - 1 if force else max(held, number - 1)
        return (
            replace(self, base=last, end=last, stored=last)
            if self.step == 1
            else replace(self, base=0, end=0, stored=last)
        )


def _first_after(base: int, increment: int, offset: int) -> int:
    """The first number behind `base` that is `offset` and so many increments."""
    return (base + increment - offset) // increment * increment + offset


def _span(base: int, count: int, increment: int, offset: int) -> int:
    if increment == 1:
        return count
    return _first_after(base, increment, offset) + (count - 1) * increment - base


class Counters(NamedTuple):
    """What a table gives next."""

    auto: Allocator = Allocator()
    """Of AUTO_INCREMENT with AUTO_ID_CACHE 1, and of AUTO_RANDOM; without them AUTO_INCREMENT has the other."""

    row_id: Allocator = Allocator()
