"""`--rate`: rows a second over simulated time.

  60000                             rows a second
  190MiB                            of keys and values a second
  max                               as many as the sink takes
  0s:1000, 60s:20000, 5m:max        steps: each holds until the next one
  0s:1000..20000, 5m:20000          a ramp: from one to the other until the next entry
  1000, every 30s: 100000 for 2s    bursts that repeat, the first one after 30 s

Rates depend on simulated time only, whatever a machine reaches of them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from simulator import tso
from simulator.errors import UserError
from simulator.generate.transactions import Segment

MAX = "max"
MOST_ROWS_PER_SECOND = 100_000_000
"""Of simulated time."""

MOST_SEGMENTS = 10_000

EXPECTED = (
    "expected rows a second (60000), bytes a second (190MiB), max, steps ('0s:1000, 60s:20000, 5m:max'), a ramp "
    "('0s:1000..20000, 5m:20000') or bursts ('1000, every 30s: 100000 for 2s')"
)

_AMOUNT = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?) ?(?:(KiB|MiB|GiB)(?:/s)?|rows/s)?")
_BURST = re.compile(r"every\s+(\S+?)\s*:\s*(.+?)\s+for\s+(\S+)")
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


ROWS, BYTES = "rows", "bytes"


@dataclass(frozen=True)
class RateAmount:
    number: float
    """The amount a second."""

    unit: str
    """ROWS, BYTES or MAX."""

    @property
    def is_paced(self) -> bool:
        return self.unit != MAX


@dataclass(frozen=True)
class RateStep:
    from_ms: int
    first: RateAmount
    last: RateAmount
    """The rate where the next entry begins; equal to `first` for a step."""


@dataclass(frozen=True)
class RateBurst:
    every_ms: int
    for_ms: int
    amount: RateAmount


@dataclass(frozen=True)
class RateSpec:
    entries: tuple[RateStep, ...]
    burst: RateBurst | None = None

    @property
    def amounts(self) -> Iterator[RateAmount]:
        for entry in self.entries:
            yield from (entry.first, entry.last)
        if self.burst:
            yield self.burst.amount

    @property
    def has_bytes(self) -> bool:
        """Whether any amount is in bytes, so that the size of a row is needed."""
        return any(amount.unit == BYTES for amount in self.amounts)


@dataclass(frozen=True)
class RateSegments:
    segments: tuple[Segment, ...]
    paced: tuple[bool, ...]
    """Parallel to `segments`: whether rows are paced. Otherwise they go out as fast as the sink takes them, and the
    rate of the segment is that of simulated time.
    """

    def pace_at(self, ms: int) -> tuple[bool, int | None]:
        """Return whether rows are paced at a millisecond, and where the next segment begins."""
        begins, begin_ms = [each.from_ms for each in self.segments], 0
        number = bisect_right(begins, ms) - 1
        around = next((each for each in reversed(self.segments[: number + 1]) if each.again_ms), None)
        if around is not None:
            begin_ms = (ms - around.from_ms) // around.again_ms * around.again_ms
            number = bisect_right(begins, ms - begin_ms) - 1
            if number + 1 == len(begins):
                return self.paced[number], begin_ms + around.from_ms + around.again_ms
        return self.paced[number], begin_ms + begins[number + 1] if number + 1 < len(begins) else None


def parse_rate(text: str) -> RateSpec:
    """Parse `--rate`; raise UserError."""
    entries: list[RateStep] = []
    bursts: list[RateBurst] = []
    for part in filter(None, map(str.strip, text.split(","))):
        burst = _BURST.fullmatch(part)
        if burst:
            bursts.append(_burst(burst, text))
        else:
            entries.append(_entry(part, text, not entries))
    if not entries and not bursts:
        raise UserError(f"bad rate {text!r}: {EXPECTED}")
    _check(entries, bursts, text)
    return RateSpec(tuple(entries), bursts[0] if bursts else None)


def _amount(text: str, whole: str) -> RateAmount:
    if text == MAX:
        return RateAmount(0.0, MAX)
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise UserError(f"bad rate {whole!r}: {text!r} is no rate; {EXPECTED}")
    number = float(match[1].replace("_", ""))
    if match[2]:
        return RateAmount(number * _UNITS[match[2]], BYTES)
    if number > MOST_ROWS_PER_SECOND:
        raise UserError(f"bad rate {whole!r}: at most {MOST_ROWS_PER_SECOND:,} rows/s are accepted, or max")
    return RateAmount(number, ROWS)


def _entry(part: str, whole: str, first: bool) -> RateStep:
    at, colon, rate = part.rpartition(":")
    if part.startswith("every"):
        raise UserError(f"bad rate {whole!r}: {part!r} is no burst; expected 'every 30s: 100000 for 2s'")
    if not colon and not first:
        raise UserError(
            f"bad rate {whole!r}: {part!r} does not say from when on, such as 60s:{part}, or every 60s: {part} for 5s"
        )
    begin, dots, end = (text.strip() for text in rate.partition(".."))
    from_ms = _moment(at.strip()) if colon else 0
    amount = _amount(begin, whole)
    last = _amount(end, whole) if dots else amount
    if dots and not (amount.is_paced and last.is_paced):
        raise UserError(f"bad rate {whole!r}: a ramp leads from a number to a number, not to or from max")
    return RateStep(from_ms, amount, last)


def _moment(text: str) -> int:
    return 0 if re.fullmatch(r"0(ms|s|m|h|d)?", text) else tso.duration_ms(text)


def _burst(match: re.Match[str], whole: str) -> RateBurst:
    every_ms, for_ms = tso.duration_ms(match[1]), tso.duration_ms(match[3])
    if for_ms >= every_ms:
        raise UserError(f"bad rate {whole!r}: a burst every {match[1]} takes less than that, not {match[3]}")
    return RateBurst(every_ms, for_ms, _amount(match[2], whole))


def _check(entries: Sequence[RateStep], bursts: Sequence[RateBurst], text: str) -> None:
    wrong = ""
    if len(bursts) > 1:
        wrong = "one kind of burst is accepted, not several"
    elif not entries:
        wrong = f"the rate between the bursts is expected before them, such as '1000, {text.strip()}'"
    elif entries[0].from_ms:
        wrong = "the first entry begins at 0s"
    elif any(before.from_ms >= after.from_ms for before, after in pairwise(entries)):
        wrong = "each entry begins later than the one before"
    elif entries[-1].first != entries[-1].last:
        wrong = "a ramp ends where the next entry begins, and after the last one there is none"
    elif not bursts and entries[-1].first.is_paced and not entries[-1].first.number:
        wrong = "nothing would be sent any more; 0 is accepted between others, or between bursts"
    if wrong:
        raise UserError(f"bad rate {text!r}: {wrong}")


def resolve_rates(spec: RateSpec, rows_per_second: float, bytes_per_row: float = 0.0) -> RateSegments:
    """Convert a rate to segments; raise UserError for too many bursts.

    `rows_per_second` is the rate of simulated time for `max`. `bytes_per_row` converts amounts in bytes.
    """
    segments = [_segment(entry, rows_per_second, bytes_per_row) for entry in spec.entries]
    if spec.burst is None:
        return RateSegments(tuple(segment for segment, _ in segments), tuple(paced for _, paced in segments))
    burst, rows = spec.burst, _rows(spec.burst.amount, rows_per_second, bytes_per_row)
    if burst.for_ms * rows + (burst.every_ms - burst.for_ms) * segments[-1][0].first < 1000:
        raise UserError("from one burst to the next there is less than a row")
    return _with_bursts(segments, burst, rows)


def _segment(entry: RateStep, rows_per_second: float, bytes_per_row: float) -> tuple[Segment, bool]:
    first, last = (_rows(amount, rows_per_second, bytes_per_row) for amount in (entry.first, entry.last))
    return Segment(entry.from_ms, first, last), entry.first.is_paced


def _rows(amount: RateAmount, rows_per_second: float, bytes_per_row: float) -> float:
    return {ROWS: amount.number, MAX: rows_per_second}.get(amount.unit, amount.number / (bytes_per_row or 1.0))


def _with_bursts(segments: Sequence[tuple[Segment, bool]], burst: RateBurst, rows: float) -> RateSegments:
    """Insert bursts into the segments. After the last segment they repeat forever."""
    last, paced = segments[-1]
    again_ms = burst.every_ms * max(1, -(-last.from_ms // burst.every_ms))
    if again_ms // burst.every_ms + len(segments) > MOST_SEGMENTS:
        raise UserError(
            f"the rate has more than {MOST_SEGMENTS:,} bursts before its last step: let them be fewer, or the steps "
            "end earlier"
        )
    begins = range(burst.every_ms, again_ms, burst.every_ms)
    parts = [*_cut(segments, begins, burst, rows, again_ms)]
    parts.append((Segment(again_ms, rows, rows, burst.every_ms), burst.amount.is_paced))
    parts.append((Segment(again_ms + burst.for_ms, last.first, last.first), paced))
    return RateSegments(tuple(segment for segment, _ in parts), tuple(is_paced for _, is_paced in parts))


def _cut(
    segments: Sequence[tuple[Segment, bool]], begins: Sequence[int], burst: RateBurst, rows: float, until_ms: int
) -> Iterator[tuple[Segment, bool]]:
    """Yield the segments outside of the bursts, and the bursts."""
    own = [segment.from_ms for segment, _ in segments]
    edges = sorted({*own, *begins, *(begin + burst.for_ms for begin in begins), until_ms})
    for edge, following in pairwise(each for each in edges if each <= until_ms):
        begin = edge // burst.every_ms * burst.every_ms
        if begin and edge < begin + burst.for_ms:
            if edge == begin:
                yield Segment(edge, rows, rows), burst.amount.is_paced
            continue
        at = bisect_right(own, edge) - 1
        end_ms = own[at + 1] if at + 1 < len(own) else None
        first, last = (_rate(segments[at][0], end_ms, ms) for ms in (edge, following))
        yield Segment(edge, first, last), segments[at][1]


def _rate(segment: Segment, end_ms: int | None, ms: int) -> float:
    """Return the rate of a segment at that millisecond."""
    if end_ms is None or segment.first == segment.last:
        return segment.first
    return segment.first + (segment.last - segment.first) * (ms - segment.from_ms) / (end_ms - segment.from_ms)
