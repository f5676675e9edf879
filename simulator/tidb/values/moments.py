"""Parse and print single dates and times (CoreTime), as tidb pkg/types/time.go does.

The month or the day may be 0. Only `in_range` checks the calendar.
"""

from __future__ import annotations

import re
from calendar import isleap
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from string import punctuation as PUNCTUATION
from typing import NamedTuple

DAYS = (31, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""The days of months in a leap year. Month 0 may have 31 (checkMonthDay)."""

SPACES = "\t\n\v\f\r "

_WIDTHS = {14: (4, 2, 2, 2, 2, 2), 8: (4, 2, 2), **{size: (2,) * -(-size // 2) for size in (12, 11, 10, 9, 7, 6, 5)}}
"""The widths of the parts of consecutive digits, by their number. The last part may be a digit short."""

_ZONE = re.compile(r"(?:Z|([+-])(\d\d)(:?)(\d\d)|([+-])(\d\d))\Z", re.ASCII)
_BITS = (1 << 14, 1 << 4, 1 << 5, 1 << 5, 1 << 6, 1 << 6)
"""The limits of the parts of a stored CoreTime (FromDateChecked)."""


class CoreTime(NamedTuple):
    year: int
    month: int
    day: int
    hour: int = 0
    minute: int = 0
    second: int = 0
    micros: int = 0
    digits: int = 0
    """The number of fractional digits."""

    @property
    def clock(self) -> int:
        """The microseconds since midnight."""
        return ((self.hour * 60 + self.minute) * 60 + self.second) * 1_000_000 + self.micros

    def at_clock(self, clock: int) -> CoreTime:
        """Return the same day at so many microseconds since midnight."""
        seconds, micros = divmod(clock, 1_000_000)
        return self._replace(
            hour=seconds // 3600, minute=seconds // 60 % 60, second=seconds % 60, micros=micros, digits=6
        )

    def is_zero(self) -> bool:
        return not any(self[:7])

    def go_time(self) -> datetime | None:
        """Return the datetime 2000 years later, so that year 0 exists, or None if it is not in the calendar (GoTime)."""
        try:
            return datetime(2000 + self.year % 400, *self[1:7])
        except ValueError:
            return None

    def later(self, span: timedelta) -> CoreTime | None:
        """Return the time after `span`, or None if this one is not in the calendar."""
        before = self.go_time()
        if before is None:
            return None
        moved = before + span
        return _core_time(moved, self.digits)._replace(year=self.year + moved.year - before.year)

    def rounded(self, digits: int) -> CoreTime | None:
        """Round to so many digits, half up (RoundFrac). None if the result is not in the calendar."""
        if self.is_zero() or digits == self.digits:
            return self
        unit: int = 10 ** (6 - digits)
        micros = (self.micros + unit // 2) // unit * unit
        made = self._replace(micros=micros % 1_000_000, digits=digits)
        if micros < 1_000_000:
            return made
        if made.go_time() is None and (self.hour, self.minute, self.second) != (23, 59, 59):
            seconds = self.hour * 3600 + self.minute * 60 + self.second + 1
            return made._replace(hour=seconds // 3600, minute=seconds // 60 % 60, second=seconds % 60)
        return made.later(timedelta(seconds=1))

    def text(self) -> str:
        shown = f"{self.year:04}-{self.month:02}-{self.day:02} {self.hour:02}:{self.minute:02}:{self.second:02}"
        return shown + (f".{self.micros:06}"[: self.digits + 1] if self.digits else "")


def _core_time(at: datetime, digits: int) -> CoreTime:
    return CoreTime(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond, digits)


ZERO = CoreTime(0, 0, 0)


class InvalidDigits(Exception):
    """A text for which TiDB's conversion of digits fails with an error that MySQL does not have."""


def parse_stored_moment(text: str) -> CoreTime:
    """Parse a date, or a date and time, as TiDB prints it."""
    date, _, clock = text.partition(" ")
    year, month, day = map(int, date.split("-"))
    if not clock:
        return CoreTime(year, month, day)
    whole, _, fraction = clock.partition(".")
    hour, minute, second = map(int, whole.split(":"))
    return CoreTime(year, month, day, hour, minute, second, int(fraction.ljust(6, "0")), len(fraction))


def moment_number(moment: CoreTime, is_date: bool = False) -> str:
    """Return the number YYYYMMDDhhmmss (ToNumber)."""
    if moment.is_zero():
        return "0"
    date = f"{moment.year:04}{moment.month:02}{moment.day:02}"
    if is_date:
        return date
    shown = f"{date}{moment.hour:02}{moment.minute:02}{moment.second:02}"
    return shown + (f".{moment.micros:06}"[: moment.digits + 1] if moment.digits else "")


def in_range(moment: CoreTime, zero_in_date: bool = True, any_day: bool = False) -> bool:
    """Whether the time is a valid DATE or DATETIME (checkDatetimeType)."""
    year, month, day = moment[:3]
    if not (year or month or day):
        return moment.hour < 24 and moment.minute < 60 and moment.second < 60
    if not zero_in_date and not (month and day):
        return False
    days = 31 if any_day else DAYS[month] - (month == 2 and not isleap(year)) if month <= 12 else 0
    return (
        year <= 9999
        and month <= 12
        and day <= days
        and (moment.hour < 24 and moment.minute < 60 and moment.second < 60)
    )


EARLIEST = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
LATEST = datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC)
"""The first TIMESTAMP, and the first time after the last one."""


def as_utc(moment: CoreTime, zone: tzinfo) -> CoreTime | None:
    """Convert a TIMESTAMP from a zone to UTC; None if it is out of range or the zone skips it (checkTimestampType)."""
    if moment.is_zero():
        return moment
    try:
        there = as_go(datetime(*moment[:7], tzinfo=zone))
        utc = there.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    if not EARLIEST <= utc < LATEST or utc.astimezone(zone).replace(tzinfo=None) != there.replace(tzinfo=None):
        return None
    return _core_time(utc, moment.digits)


def as_local(moment: CoreTime, zone: tzinfo) -> CoreTime:
    """Convert a TIMESTAMP from UTC to a zone."""
    return moment if moment.is_zero() else _core_time(datetime(*moment[:7], tzinfo=UTC).astimezone(zone), moment.digits)


def as_go(there: datetime) -> datetime:
    """Resolve an ambiguous local time as Go's time.Date: with the zone's offset at the same time in UTC.

    That is the later one in the east, the earlier one in the west.
    """
    late = there.replace(fold=1)
    if late.utcoffset() == there.utcoffset():
        return there
    offset = there.replace(tzinfo=UTC).astimezone(there.tzinfo).utcoffset()
    return late if offset == late.utcoffset() else there


def number_moment(number: int) -> CoreTime | None:
    """Convert an integer YYMMDD or YYYYMMDD, with or without hhmmss (parseDateTimeFromNum)."""
    if number == 0:
        return ZERO
    if number <= 99991231:
        if number < 101 or 691231 < number < 700101:
            return None
        century = 20000000 if number <= 691231 else 19000000 if number <= 991231 else 0
        number = (number + century) * 1_000_000
    elif number <= 991231_235959:
        if number < 101_000000 or 691231_235959 < number < 700101_000000:
            return None
        number += 20000000_000000 if number <= 691231_235959 else 19000000_000000
    date, clock = divmod(number, 1_000_000)
    parts = (date // 10000, date // 100 % 100, date % 100, clock // 10000, clock // 100 % 100, clock % 100)
    if any(part >= most for part, most in zip(parts, _BITS, strict=True)):
        return None
    return CoreTime(*parts)


def text_moment(text: str, digits: int, zone: tzinfo | None = None, number: bool = False) -> CoreTime | None:
    """Parse a date and time in any spelling of MySQL, rounded to so many digits, or return None (parseDatetime).

    A time with a time zone is converted to the session's `zone`. `number`: whether the text is that of a decimal.
    Raises InvalidDigits.
    """
    head, named = _without_zone(text)
    head, fraction = _without_fraction(head)
    pieces = _pieces(head)
    if fraction and not number and _goes_on(pieces):
        pieces, fraction = [*pieces, fraction], ""
    if named is not None and named.sign and not named.joined and _goes_on(pieces):
        pieces, named = [*pieces, named.hours, *([named.minutes] if named.minutes else [])], None
    if len(pieces) == 1:
        read = _of_number(pieces[0]) if number else _undelimited(pieces[0], fraction)
        if read is None:
            return None
        parts, has_clock = read
    elif len(pieces) in (0, 2):
        return None
    else:
        parts, has_clock = [_whole(piece) for piece in pieces[:6]], len(pieces) > 5
        parts += [0] * (6 - len(parts))
    if len(pieces[0]) <= 2 and not number and (any(parts) or fraction):
        parts[0] = in_century(parts[0])
    micros = fraction_micros(fraction, digits) if has_clock else 0
    if any(part >= most for part, most in zip(parts, _BITS, strict=True)):
        return None
    year, month, day, hour, minute, second = parts
    made: CoreTime | None = CoreTime(year, month, day, hour, minute, second, micros % 1_000_000, digits)
    if made is not None and micros == 1_000_000:
        made = made.later(timedelta(seconds=1))
    if named is None or made is None:
        return made
    return _in_zone(made, named, zone) if has_clock and zone is not None else None


def in_century(year: int) -> int:
    """Return the year of two digits, from 1970 to 2069."""
    return year + (2000 if year < 70 else 1900) if year < 100 else year


def _goes_on(pieces: list[str]) -> bool:
    """Whether digits after a point or a sign may be the next part."""
    return len(pieces) < 6 and not (len(pieces) == 1 and len(pieces[0]) > 4)


def _whole(piece: str) -> int:
    if not piece.isascii() or not piece.isdigit() or len(piece) > 18:
        raise InvalidDigits
    return int(piece)


def fraction_micros(fraction: str, digits: int) -> int:
    """Return the microseconds of fractional digits, rounded half up to so many of them, up to 1,000,000.

    Source: pkg/types/fsp.go, ParseFrac.
    """
    if not fraction:
        return 0
    if digits >= len(fraction):
        return int(fraction.ljust(6, "0"))
    unit: int = 10 ** (6 - digits)
    return (int(fraction[: digits + 1]) + 5) // 10 * unit


class _Zone(NamedTuple):
    sign: str
    hours: str
    minutes: str
    joined: bool
    """Whether there is no colon between hours and minutes."""


def _without_zone(text: str) -> tuple[str, _Zone | None]:
    """Split the text and its time zone (GetTimezone, splitDateTime)."""
    match = _ZONE.search(text)
    if match is None or not match.start():
        return text, None
    joined = bool(match[4]) and not match[3]
    zone = _Zone(match[1] or match[5] or "", match[2] or match[6] or "", match[4] or "", joined)
    return text[: match.start()].rstrip(PUNCTUATION), zone


def _without_fraction(text: str) -> tuple[str, str]:
    """Split the text and the digits after its last point, which only signs may follow (GetFracIndex)."""
    zone = _ZONE.search(text)
    last = zone.start() if zone and zone.start() else len(text)
    at = next((at for at in range(last - 1, -1, -1) if text[at] in PUNCTUATION and text[at] not in "+-"), -1)
    if at <= 0 or text[at] != ".":
        return text, ""
    rest = text[at + 1 :]
    end = next((end for end, character in enumerate(rest) if character not in "0123456789"), len(rest))
    return text[:at].rstrip(PUNCTUATION), rest[:end]


def _pieces(text: str) -> list[str]:
    """Return the numbers between the separators, or none if the text does not begin with a number (ParseDateFormat)."""
    text = text.strip(SPACES + "\x85\xa0")
    if not text or text[0] not in "0123456789":
        return []
    pieces, start, at = list[str](), 0, 1
    while at < len(text) - 1:
        if _separates(text[at], len(pieces)):
            before = len(pieces)
            pieces.append(text[start:at])
            start = at + 1
            while start < len(text) and _separates(text[start], before):
                start += 1
            at = start
            continue
        if text[at] not in "0123456789":
            return []
        at += 1
    return [*pieces, text[start:]]


def _separates(character: str, before: int) -> bool:
    return (
        character in PUNCTUATION
        or before == 2
        and character in "T" + SPACES
        or (before > 4 and character not in "0123456789")
    )


def _undelimited(piece: str, fraction: str) -> tuple[list[int], bool] | None:
    """Split `YYYYMMDDhhmmss` and shorter. Fractional digits continue an incomplete time."""
    widths = _WIDTHS.get(len(piece))
    if widths is None:
        return None
    parts = _cut(piece, widths)
    if len(piece) in (5, 6, 8):
        parts += _cut(fraction, (2, 2, 2))
    elif len(piece) in (9, 10):
        parts += _cut(fraction, (2,))
    if widths[0] == 2:
        parts[0] = in_century(parts[0])
    return parts + [0] * (6 - len(parts)), len(piece) in (11, 12, 14)


def _cut(piece: str, widths: tuple[int, ...]) -> list[int]:
    """Split a text into numbers of the given widths, as far as it goes."""
    numbers = []
    for width in widths:
        if piece:
            numbers.append(int("".join(filter(str.isdigit, piece[:width])) or 0))
        piece = piece[width:]
    return numbers


def _of_number(piece: str) -> tuple[list[int], bool] | None:
    """Split the whole part of a decimal."""
    moment = number_moment(int(piece)) if piece.isascii() and piece.isdigit() and len(piece) < 19 else None
    if moment is None or not in_range(moment, any_day=True):
        return None
    return list(moment[:6]), piece == "0" or 9 <= len(piece) <= 14


def _in_zone(moment: CoreTime, named: _Zone, zone: tzinfo) -> CoreTime | None:
    """Convert a time from its own zone to the session's."""
    hours, minutes = int(named.hours or 0), int(named.minutes or 0)
    if hours > 14 or minutes > 59 or hours == 14 and minutes or named.sign == "-" and not hours and not minutes:
        return None
    offset = timedelta(hours=hours, minutes=minutes) * (-1 if named.sign == "-" else 1)
    try:
        there = datetime(*moment[:7], tzinfo=timezone(offset)).astimezone(zone)
    except (ValueError, OverflowError):
        return None
    return _core_time(there, moment.digits)
