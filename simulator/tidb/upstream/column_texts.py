"""What a column keeps of the values that SQL gives it, by strict mode's rules.

One law: `tidb/values` reads a value; here is only where a statement differs from a file: numbers as dates and members,
zero dates, the error value of an ENUM, the session's time zone.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family, is_text
from simulator.tidb.upstream.clock import ZERO, utc
from simulator.tidb.upstream.single_values import FEW, few_texts
from simulator.tidb.upstream.state import SqlSession
from simulator.tidb.values import numbers, spellings
from simulator.tidb.values.conversion import shown, tidb_text
from simulator.tidb.values.kernels import each_distinct, only


def column_texts(columns: Sequence[Column], values: Sequence[pa.Array], session: SqlSession) -> list[pa.Array]:
    """TiDB text (binary) of each column's values; null where it is NULL or strict mode refuses it."""
    return [_texts(column.type, value, session) for column, value in zip(columns, values)]


def _texts(type: ColumnType, value: pa.Array, session: SqlSession) -> pa.Array:
    if value.null_count == len(value):
        return pa.nulls(len(value), pa.binary())
    if len(value) <= FEW and (type.name != "timestamp" or session.time_zone == "UTC"):
        found = few_texts(type, value)
        if found is not None:
            return found
    value, kind = _prepared(type, value), family(type)
    text = tidb_text(type, value)
    if kind in ("date", "datetime"):
        text = _of_mode(_with_any_day(type, value, text, session), session)
        text = utc(session, text) if type.name == "timestamp" else text
    elif kind == "enum" and "" not in type.elements:
        text = only(pc.not_equal(text, ""), text)
    return text.cast(pa.binary())


def _prepared(type: ColumnType, value: pa.Array) -> pa.Array:
    """Numbers as what they stand for in a date, an ENUM, a SET or a text."""
    kind, given = family(type), value.type
    if pa.types.is_integer(given) or pa.types.is_floating(given) or pa.types.is_decimal(given):
        if kind in ("date", "datetime"):
            return each_distinct(shown(value), spellings.number)
        if is_text(type) and pa.types.is_floating(given):
            return numbers.positional(numbers.shortest(value))
        if kind == "integer" and pa.types.is_floating(given):
            return numbers.positional(numbers.shortest(pc.round(value, round_mode="half_to_even")))
        if kind == "enum":
            names = pa.array(type.elements, pa.string())
            zero, most = (pa.scalar(bound).cast(given) for bound in (0, len(type.elements)))
            known = pc.and_(pc.greater(value, zero), pc.less_equal(value, most))
            return names.take(pc.subtract(only(known, value).cast(pa.int64()), 1))
        if kind == "set":
            return _members(type, value)
    return value


def _members(type: ColumnType, value: pa.Array) -> pa.Array:
    def joined(number: str) -> str | None:
        bits = int(number)
        if not 0 <= bits < 1 << len(type.elements):
            return None
        return ",".join(member for place, member in enumerate(type.elements) if bits >> place & 1)

    return each_distinct(value.cast(pa.string()), joined)


def _with_any_day(type: ColumnType, value: pa.Array, text: pa.Array, session: SqlSession) -> pa.Array:
    """With ALLOW_INVALID_DATES every month has 31 days, but not in a TIMESTAMP."""
    if type.name == "timestamp" or "ALLOW_INVALID_DATES" not in session.sql_mode:
        return text
    length = 10 if type.name == "date" else None

    def read(cell: str) -> str | None:
        found = spellings.moment(cell, max(type.decimal, 0), any_day=True)
        return found and found[:length]

    return pc.coalesce(text, each_distinct(only(text.is_null(), shown(value)), read))


def _of_mode(text: pa.Array, session: SqlSession) -> pa.Array:
    """Without the zero dates that the sql_mode refuses."""
    if not pc.any(pc.match_substring(text, "-00")).as_py():
        return text
    zero = pc.starts_with(text, ZERO)
    if "NO_ZERO_DATE" in session.sql_mode:
        text = only(pc.invert(zero), text)
    if "NO_ZERO_IN_DATE" in session.sql_mode:
        partly = pc.match_substring_regex(text, "^([0-9]{4}-00|[0-9]{4}-[0-9]{2}-00)")
        text = only(pc.or_(pc.invert(partly), zero), text)
    return text
