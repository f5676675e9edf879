"""Binary strings: one character per byte, as TiDB texts of binary columns are; and the bytes of either kind of text.

One law: text in ASCII is its own bytes, so only other text is taken apart.
"""

from __future__ import annotations

from simulator.tidb.expressions.sql import Sql, sql, when
from simulator.tidb.expressions.values import Value, as_text


def latin1(found: Sql) -> Sql:
    """The bytes of a text, one character per byte."""
    pairs = sql("regexp_extract_all(hex(encode({})), '..')", found)
    return when(_is_ascii(found), found,
                sql("array_to_string(list_transform({}, lambda h: chr(('0x' || h)::INTEGER)), '')", pairs))


def blob(value: Value) -> Sql:
    """The bytes of a value's text, as a BLOB."""
    found = as_text(value)
    if not value.bytes:
        return sql("encode({})", found)
    pairs = sql("list_transform(regexp_extract_all({}, '(?s).'), lambda c: printf('%02X', unicode(c)))", found)
    return when(_is_ascii(found), sql("encode({})", found), sql("unhex(array_to_string({}, ''))", pairs))


def shown(bytes: Sql) -> Sql:
    """A BLOB, one character per byte."""
    pairs = sql("regexp_extract_all(hex({}), '..')", bytes)
    return when(sql("{} IS NOT NULL", bytes),
                sql("array_to_string(list_transform({}, lambda h: chr(('0x' || h)::INTEGER)), '')", pairs))


def _is_ascii(found: Sql) -> Sql:
    return sql("strlen({}) = length({})", found, found)
