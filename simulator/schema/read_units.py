"""Units of time from a cursor.

One law: SQL_TSI_DAY is DAY.
"""

from __future__ import annotations

from simulator.schema.cursor import TiDBParser
from simulator.schema.expression_tree import Word

UNITS = frozenset((
    "MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "SECOND_MICROSECOND",
    "MINUTE_MICROSECOND", "MINUTE_SECOND", "HOUR_MICROSECOND", "HOUR_SECOND", "HOUR_MINUTE", "DAY_MICROSECOND",
    "DAY_SECOND", "DAY_MINUTE", "DAY_HOUR", "YEAR_MONTH",
))


def read_unit(parser: TiDBParser) -> Word:
    """A unit of time."""
    word = parser.word().removeprefix("SQL_TSI_")
    if word not in UNITS:
        parser.unexpected("a unit of time", UNITS)
    parser.take()
    return Word(word)
