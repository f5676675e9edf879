"""Units of time from a cursor.

One law: SQL_TSI_DAY is DAY.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.syntax.expressions import Word

COMPOUND = (
    "SECOND_MICROSECOND", "MINUTE_MICROSECOND", "MINUTE_SECOND", "HOUR_MICROSECOND", "HOUR_SECOND", "HOUR_MINUTE",
    "DAY_MICROSECOND", "DAY_SECOND", "DAY_MINUTE", "DAY_HOUR", "YEAR_MONTH",
)
UNITS = frozenset((
    "MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", *COMPOUND,
))


def read_unit(cursor: Cursor) -> Word:
    """A unit of time."""
    spelled = cursor.word()
    word = spelled.removeprefix("SQL_TSI_")
    if word not in UNITS or word != spelled and word in ("MICROSECOND", *COMPOUND):
        cursor.unexpected("a unit of time", UNITS)
    cursor.take()
    return Word(word)
