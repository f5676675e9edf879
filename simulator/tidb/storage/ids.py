"""Ids that TiDB assigns: AUTO_INCREMENT, AUTO_RANDOM, `_tidb_rowid`, and the values of sequences.

A server reserves a cache of 30,000 ids at a time. It loses the rest of the cache after a restart, after ALTER TABLE …
AUTO_INCREMENT, and when a statement needs more ids than are left (tidb pkg/meta/autoid/autoid.go). TiDB enlarges the
cache of a busy server (NextStep); this is not simulated. An id is never assigned twice, even if its row is deleted.

AUTO_INCREMENT and `_tidb_rowid` share one allocator unless AUTO_ID_CACHE is 1, so AUTO_INCREMENT has gaps in tables
that store rows under `_tidb_rowid` (tidb pkg/meta/model/table.go, SepAutoInc, since 6.4.0; before it the two always
share one). An AUTO_RANDOM id is sign, shard and counter (pkg/meta/autoid, ShardIDFormat).

Values of a sequence are outside of transactions. A server reserves CACHE of them at a time, and loses the rest when
the sequence is altered (autoid.go, alloc4Sequence, CalcSequenceBatchSize; pkg/table/tables/tables.go,
GetSequenceNextVal, SetSequenceVal).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from simulator.tidb.ddl.catalog import SequenceInfo, SequenceLimits, sequence_limits
from simulator.tidb.errors import sql_error
from simulator.tidb.model.table import Column, Table, cached_by_table
from simulator.tidb.syntax.definitions import TableOption

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


def initial_counters(table: Table) -> Counters:
    """Return the counters of a new table with the options AUTO_INCREMENT, AUTO_RANDOM_BASE and AUTO_ID_CACHE."""
    options, before = dict(table.options), unused_counters(table)
    first = max(int(options.get("AUTO_INCREMENT", 1)), int(options.get("AUTO_RANDOM_BASE", 1)), 1)
    return with_auto_allocator(table, before, auto_allocator(table, before).starting_at(first))


def unused_counters(table: Table) -> Counters:
    """Return counters that start at 1, without the table's first id."""
    cache, column = int(dict(table.options).get("AUTO_ID_CACHE", 0)) or CACHE_SIZE, auto_column(table)
    own = Allocator(step=cache, unsigned=column is not None and column.type.unsigned)
    return Counters(own, replace(own, step=CACHE_SIZE if cache == 1 else cache))


def counters_with_options(table: Table, before: Counters, options: Iterable[TableOption]) -> Counters:
    """Return the counters after ALTER TABLE with table options (tidb pkg/ddl/table.go, onRebaseAutoID;
    pkg/infoschema/builder.go, filterAllocators)."""
    for option in options:
        if option.name in ("AUTO_INCREMENT", "AUTO_RANDOM_BASE"):
            auto = auto_allocator(table, before).starting_at(int(option.value), option.force)
            before = with_auto_allocator(table, before, auto)
        if option.name == "AUTO_ID_CACHE":
            step = int(option.value) or CACHE_SIZE
            before = restarted_counters(Counters(*(replace(each, step=step) for each in before)))
    return before


def restarted_counters(before: Counters) -> Counters:
    """Return the counters of a restarted server."""
    return Counters(*(each.restarted() for each in before))


def counters_after(table: Table, row_id: int, auto: int) -> Counters:
    """Return the counters of a table that has ids up to `row_id` and `auto`."""
    before = initial_counters(table)
    before = before._replace(row_id=before.row_id.advance_past(row_id))
    return with_auto_allocator(table, before, auto_allocator(table, before).advance_past(auto))


def highest_counters(one: Counters, other: Counters) -> Counters:
    """Return counters above the ids of both tables."""
    names = ("base", "end", "stored")
    pairs = zip(one, other, strict=True)
    return Counters(
        *(
            replace(mine, **{name: max(getattr(mine, name), getattr(its, name)) for name in names})
            for mine, its in pairs
        )
    )


@cached_by_table
def has_own_allocator(table: Table) -> bool:
    """Return whether AUTO_INCREMENT or AUTO_RANDOM does not share the allocator of `_tidb_rowid`."""
    return any(column.auto_random for column in table.columns) or dict(table.options).get("AUTO_ID_CACHE") == "1"


def auto_allocator(table: Table, before: Counters) -> Allocator:
    """Return the allocator of AUTO_INCREMENT or AUTO_RANDOM."""
    return before.auto if has_own_allocator(table) else before.row_id


def with_auto_allocator(table: Table, before: Counters, auto: Allocator) -> Counters:
    return before._replace(auto=auto) if has_own_allocator(table) else before._replace(row_id=auto)


def next_auto_id(table: Table, counters: Counters) -> int:
    """Return the id that a new server would assign first, as SHOW CREATE TABLE and information_schema show it; 0 without
    AUTO_INCREMENT and AUTO_RANDOM (tidb pkg/meta/autoid/autoid.go, NextGlobalAutoID)."""
    if auto_column(table) is None:
        return 0
    return auto_allocator(table, counters).following


@cached_by_table
def auto_column(table: Table) -> Column | None:
    """Return the AUTO_INCREMENT or AUTO_RANDOM column."""
    return next((column for column in table.columns if column.auto_increment or column.auto_random), None)


def random_counter_bits(column: Column) -> int:
    """Return the number of bits of an AUTO_RANDOM id that hold the counter."""
    return column.range_bits - column.shard_bits - (0 if column.type.unsigned else 1)


def counter_mask(column: Column) -> int:
    """Return the bits of an AUTO_RANDOM id that hold the counter."""
    return (1 << random_counter_bits(column)) - 1


def shard_prefix(seed: int, table: Table, now_ms: int, bits: int) -> int:
    """Return the shard of a transaction's ids. It is random in TiDB; here it depends on the seed and the time."""
    digest = hashlib.blake2b(f"{seed}/{table.schema}.{table.name}/{now_ms}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") & ((1 << bits) - 1)


class RunOut(Exception):
    """A sequence without CYCLE has no more values."""


class SequenceValues:
    """The values of one sequence."""

    def __init__(self, info: SequenceInfo) -> None:
        self.info = info
        self._limits = sequence_limits(info)
        self._stored = self._limits.start - self._sign
        """The last value that any server has reserved."""
        self._stored_round = self._round = 0
        """How often the sequence has begun anew: as stored, and of the reserved values."""
        self._base = self._end = 0
        """The last value that was given, and the last one that is reserved; equal if there are none."""

    @property
    def _sign(self) -> int:
        return 1 if self._limits.increment > 0 else -1

    def altered(self, info: SequenceInfo) -> None:
        """Take another definition, which begins with the options of the one before."""
        added = info.options[len(self.info.options) :]
        self.info, self._limits = info, sequence_limits(info)
        self._base = self._end = 0
        for name, value in added:
            if name in ("RESTART", "RESTART WITH"):
                self._stored = (self._limits.start if value is None else value) - self._sign
                self._stored_round = 0

    def next(self) -> int:
        """Return the next value. Raises RunOut."""
        value = None if self._base == self._end else self._first_reserved()
        if value is None:
            self._reserve()
            value = self._first_reserved()
            assert value is not None, "a reserved range has a value"
        self._base = value
        return value

    def set(self, value: int) -> int | None:
        """Go on after a value, and return it; None if the sequence is there already."""
        ahead = self._sign * value
        if ahead <= self._sign * self._base and (self._base, self._end) != (0, 0):
            return None
        if ahead <= self._sign * self._end and self._base != self._end:
            self._base = value
            return value
        self._base = self._end
        if ahead <= self._sign * self._stored:
            return None
        self._stored = self._base = self._end = value
        return value

    def _first_reserved(self) -> int | None:
        return _first(self._limits, self._base, self._end, self._offset(self._round))

    def _offset(self, round: int) -> int:
        """Return the value that increments are counted from."""
        limits = self._limits
        if limits.cycle and round > 0:
            return limits.least if limits.increment > 0 else limits.most
        return limits.start

    def _reserve(self) -> None:
        limits, base, round = self._limits, self._stored, self._stored_round
        size = _batch(limits, base, self._offset(round))
        if size is None and limits.cycle:
            round += 1
            base = self._offset(round) - self._sign
            size = _batch(limits, base, self._offset(round))
        if size is None:
            raise RunOut
        self._base, self._end, self._round = base, base + self._sign * size, round
        self._stored, self._stored_round = self._end, round


def _first(limits: SequenceLimits, base: int, end: int, offset: int) -> int | None:
    """Return the first value after `base`, at most `end`; None if there is none (SeekToFirstSequenceValue)."""
    increment = limits.increment
    if increment > 0:
        if base >= end or base >= limits.most:
            return None
        value = max(offset + -(-(base + 1 - offset) // increment) * increment, offset) if base >= offset else offset
        return value if value <= min(end, limits.most) else None
    if base <= end or base <= limits.least:
        return None
    value = min(offset + -(-(base - 1 - offset) // increment) * increment, offset) if base <= offset else offset
    return value if value >= max(end, limits.least) else None


def _batch(limits: SequenceLimits, base: int, offset: int) -> int | None:
    """Return how many numbers are reserved behind a base; None if no value is left (CalcSequenceBatchSize)."""
    size, step = limits.cache or 1, abs(limits.increment)
    bound = limits.most if limits.increment > 0 else limits.least
    value = _first(limits, base, bound, offset)
    if value is None:
        return None
    rest, distance = abs(bound - base), abs(value - base)
    return rest if abs(bound - value) < (size - 1) * step else distance + (size - 1) * step
