"""Calls of functions from a cursor, in all the forms that TiDB's grammar gives them.

One law: a function keeps the name that the text gives it, in capitals, unless TiDB's parser itself renames it.
"""

from __future__ import annotations

from simulator.tidb.parser.aggregates import AGGREGATES, WINDOWS, read_aggregate, read_window
from simulator.tidb.parser.call_forms import FORMS, read_arguments, read_sequence_name
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.reserved import NOT_CALLED, RESERVED
from simulator.tidb.syntax.expressions import Call, ColumnName, Fragment, Node

CALLABLE = frozenset((
    "CONVERT", "DEFAULT", "VALUES", "INSERT", "MOD", "CHAR", "CURRENT_USER", "CURRENT_DATE", "CURRENT_ROLE", "UTC_DATE",
    "TIDB_CURRENT_TSO", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_TIME",
    "UTC_TIMESTAMP", "DATABASE", "SCHEMA", "IF", "INTERVAL", "LEFT", "REPEAT", "REPLACE", "RIGHT",
))
"""Reserved words that are functions before a `(` (pkg/parser/parser.y, FunctionCallKeyword)."""

WITHOUT_PARENTHESES = frozenset((
    "CURRENT_USER", "CURRENT_DATE", "CURRENT_ROLE", "UTC_DATE", "TIDB_CURRENT_TSO", "CURRENT_TIME",
    "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_TIME", "UTC_TIMESTAMP", "NEXT",
))
"""Functions that may stand without `()`; NEXT only as NEXT VALUE FOR."""

TOUCHING = frozenset((
    "CAST", "CURDATE", "CURTIME", "DATE_ADD", "DATE_SUB", "EXTRACT", "NOW", "POSITION", "SUBSTR", "SUBSTRING", "TRIM",
    "BIT_AND", "BIT_OR", "BIT_XOR", "GROUP_CONCAT", "MAX", "MIN", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "SUM",
    "VARIANCE", "VAR_POP", "VAR_SAMP", "APPROX_COUNT_DISTINCT", "APPROX_PERCENTILE",
))
"""Functions whose `(` must stand right behind the name."""

GENERIC_APART = frozenset(("COUNT", "MID", "SYSDATE", "TRANSLATE"))
"""Functions that have a grammar of their own only if their `(` stands right behind the name."""


def is_function(cursor: Cursor) -> bool:
    """Whether the next word, which has a `(` behind it, is the name of a function."""
    word = cursor.word()
    if word in NOT_CALLED:
        return False
    return cursor.is_name() and (word not in RESERVED or word in CALLABLE or word in WINDOWS)


def read_call(cursor: Cursor) -> Node:
    """The call that begins here."""
    word = cursor.word()
    if word == "NEXT":
        return _next_value(cursor)
    touching = cursor.touches_next()
    at = cursor.next_token()
    cursor.take()
    if word in TOUCHING and not touching:
        cursor.fail(f"{word} takes its '(' right behind its name", at)
    if word in WINDOWS:
        return read_window(cursor, word)
    if word in AGGREGATES and (touching or word not in GENERIC_APART):
        return read_aggregate(cursor, word)
    read = FORMS.get(word)
    return read(cursor, word) if read and (touching or word not in GENERIC_APART) else _plain(cursor, word)


def _plain(cursor: Cursor, name: str) -> Node:
    return Call("PASSWORD_FUNC" if name == "PASSWORD" else name, read_arguments(cursor))


def _next_value(cursor: Cursor) -> Node:
    """`NEXT VALUE FOR s`"""
    if not cursor.accept("NEXT VALUE FOR"):
        return ColumnName((cursor.name(),))
    return Fragment(f"NEXTVAL({read_sequence_name(cursor)})", "a sequence")
