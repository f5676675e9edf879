"""Parse units of time, and calls of the time functions that have a grammar of their own."""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.syntax.expressions import Call, Literal, Node, Word

COMPOUND = tuple(
    """
    SECOND_MICROSECOND MINUTE_MICROSECOND MINUTE_SECOND HOUR_MICROSECOND HOUR_SECOND HOUR_MINUTE DAY_MICROSECOND
    DAY_SECOND DAY_MINUTE DAY_HOUR YEAR_MONTH
    """.split()
)
UNITS = frozenset(("MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", *COMPOUND))


def parse_unit(cursor: Cursor) -> Word:
    """Parse a unit of time."""
    spelled = cursor.word()
    word = spelled.removeprefix("SQL_TSI_")
    if word not in UNITS or word != spelled and word in ("MICROSECOND", *COMPOUND):
        cursor.unexpected("a unit of time", UNITS)
    cursor.take()
    return Word(word)


def _parse_optional_parentheses(cursor: Cursor, name: str) -> Node:
    """Parse the rest of `CURRENT_DATE` or `CURRENT_DATE()`."""
    cursor.accept("( )")
    return Call(name)


def _parse_with_precision(cursor: Cursor, name: str) -> Node:
    """Parse the rest of `CURRENT_TIMESTAMP`, `NOW()` or `NOW(6)`."""
    if not cursor.accept("(") or cursor.accept(")"):
        return Call(name)
    digits = cursor.integer("a number of digits or ')'")
    cursor.expect(")")
    return Call(name, (Literal("integer", str(digits)),))


def _parse_date_arithmetic(cursor: Cursor, name: str) -> Node:
    """Parse the rest of `DATE_ADD(x, INTERVAL 1 DAY)` or `ADDDATE(x, 1)`, which adds days."""
    cursor.expect("(")
    time = cursor.grammar.expression(cursor)
    cursor.expect(",")
    unit = Word("DAY")
    if cursor.word() == "INTERVAL" and (cursor.word_after() != "(" or name.startswith("DATE_")):
        cursor.take()
        amount = cursor.grammar.expression(cursor)
        unit = parse_unit(cursor)
    elif name.startswith("DATE_"):
        cursor.unexpected("'INTERVAL'")
    else:
        amount = cursor.grammar.expression(cursor)
    cursor.expect(")")
    return Call(name, (time, amount, unit))


def _parse_extract(cursor: Cursor, name: str) -> Node:
    return Call(name, cursor.sequence("(", parse_unit, "FROM", cursor.grammar.expression, ")"))


def _parse_timestamp_arithmetic(cursor: Cursor, name: str) -> Node:
    """Parse the rest of `TIMESTAMPADD(DAY, 1, x)`."""
    cursor.expect("(")
    at = cursor.next_token()
    unit = parse_unit(cursor)
    if "_" in unit.text:
        cursor.fail(f"{name} takes no unit {unit.text}", at)
    expression = cursor.grammar.expression
    return Call(name, (unit, *cursor.sequence(",", expression, ",", expression, ")")))


def _parse_get_format(cursor: Cursor, name: str) -> Node:
    cursor.expect("(")
    kind = cursor.one_of("DATE", "DATETIME", "TIME", "TIMESTAMP")
    (region,) = cursor.sequence(",", cursor.grammar.expression, ")")
    return Call(name, (Word("DATETIME" if kind == "TIMESTAMP" else kind), region))


WITHOUT_PRECISION = ("CURRENT_USER", "CURRENT_DATE", "CURRENT_ROLE", "UTC_DATE", "TIDB_CURRENT_TSO")
WITH_PRECISION = ("CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_TIME", "UTC_TIMESTAMP")

TIME_FORMS: dict[str, Callable[[Cursor, str], Node]] = {
    **dict.fromkeys(WITHOUT_PRECISION, _parse_optional_parentheses),
    **dict.fromkeys((*WITH_PRECISION, "CURTIME", "SYSDATE"), _parse_with_precision),
    **dict.fromkeys(("ADDDATE", "SUBDATE", "DATE_ADD", "DATE_SUB"), _parse_date_arithmetic),
    **dict.fromkeys(("TIMESTAMPADD", "TIMESTAMPDIFF"), _parse_timestamp_arithmetic),
    "CURDATE": lambda cursor, name: Call(name, cursor.sequence("( )")),
    "EXTRACT": _parse_extract,
    "GET_FORMAT": _parse_get_format,
}
"""By the name of the function."""
