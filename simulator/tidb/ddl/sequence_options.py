"""The options of a sequence with TiDB's defaults filled in (tidb pkg/ddl/sequence.go, handleSequenceOptions)."""

from __future__ import annotations

from typing import NamedTuple

from simulator.tidb.ddl.catalog import SequenceInfo

CACHE = 1000


class SequenceLimits(NamedTuple):
    start: int
    least: int
    most: int
    increment: int
    cache: int
    """0 for NOCACHE."""

    cycle: bool


def sequence_limits(sequence: SequenceInfo) -> SequenceLimits:
    """Return the options of a sequence. Of two that exclude each other the last one counts."""
    given = dict(sequence.options)
    increment = given.get("INCREMENT BY") or 1
    least = _limit(sequence, "MINVALUE", 1 if increment > 0 else -(2**63) + 1)
    most = _limit(sequence, "MAXVALUE", 2**63 - 2 if increment > 0 else -1)
    start = given.get("START WITH")
    start = (least if increment > 0 else most) if start is None else start
    cached = _last(sequence, "CACHE", "NOCACHE") != "NOCACHE"
    cache = (given.get("CACHE") or CACHE) if cached else 0
    return SequenceLimits(start, least, most, increment, cache, _last(sequence, "CYCLE", "NOCYCLE") == "CYCLE")


def is_valid(sequence: SequenceInfo) -> bool:
    """Return whether the options go together (tidb pkg/ddl/sequence.go, validateSequenceOptions)."""
    given, limits = dict(sequence.options), sequence_limits(sequence)
    if given.get("INCREMENT BY") == 0 or limits.cache <= 0 and _last(sequence, "CACHE", "NOCACHE") == "CACHE":
        return False
    step = abs(limits.increment)
    return (
        limits.least <= limits.start <= limits.most
        and limits.least < limits.most < 2**63 - 1
        and limits.least > -(2**63)
        and limits.cache < (2**63 - 1 - step) // step
    )


def _limit(sequence: SequenceInfo, name: str, usual: int) -> int:
    value = dict(sequence.options).get(name) if _last(sequence, name, f"NO {name}") == name else None
    return usual if value is None else value


def _last(sequence: SequenceInfo, *names: str) -> str:
    """Return the last of these options, or an empty text without any."""
    return next((name for name, _ in reversed(sequence.options) if name in names), "")
