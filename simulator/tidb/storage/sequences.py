"""The values of a sequence: what a server has reserved of them, and what it has given (tidb pkg/meta/autoid/autoid.go,
alloc4Sequence, CalcSequenceBatchSize; pkg/table/tables/tables.go, GetSequenceNextVal, SetSequenceVal).

Values are outside of transactions. A server reserves CACHE of them at a time, and loses the rest when the sequence is
altered.
"""

from __future__ import annotations

from simulator.tidb.ddl.catalog import SequenceInfo
from simulator.tidb.ddl.views_and_sequences import SequenceLimits, sequence_limits


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
        value = None if self._base == self._end else _first(self._limits, self._base, self._end, self._offset)
        if value is None:
            self._reserve()
            value = _first(self._limits, self._base, self._end, self._offset)
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

    @property
    def _offset(self) -> int:
        """The value that increments are counted from."""
        limits = self._limits
        if limits.cycle and self._round > 0:
            return limits.least if limits.increment > 0 else limits.most
        return limits.start

    def _reserve(self) -> None:
        limits, base, round = self._limits, self._stored, self._stored_round
        offset = limits.start
        if limits.cycle and round > 0:
            offset = limits.least if limits.increment > 0 else limits.most
        size = _batch(limits, base, offset)
        if size is None:
            if not limits.cycle:
                raise RunOut
            offset = limits.least if limits.increment > 0 else limits.most
            base, round = offset - self._sign, round + 1
            size = _batch(limits, base, offset)
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
