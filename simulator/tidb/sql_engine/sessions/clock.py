"""What time a statement is run at: simulated time or SET TIMESTAMP, in the session's time zone or in UTC.

One law: a TIMESTAMP is kept, and goes to the changefeed, as UTC text; everything else is text of the session's zone.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.datums.modes import Mode
from simulator.tidb.ddl.columns.definitions import NOW
from simulator.tidb.model.table import Column
from simulator.tidb.sql_engine.storage.state import SqlSession
from simulator.tidb.values.kernels import only

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ZERO = "0000-00-00"
EARLIEST, LATEST = "1970-01-01 00:00:01", "2038-01-19 03:14:08"
"""TIMESTAMP's range in UTC; the second one is the first moment beyond it (tidb pkg/types/time.go, MaxTimestamp)."""

TODAY = ("CURRENT_DATE", "CURDATE")
CLOCK = ("CURRENT_TIME", "CURTIME")


def statement_time(session: SqlSession, now_ms: int) -> datetime:
    """The time of a statement in UTC: microseconds only where SET TIMESTAMP says them."""
    if session.timestamp is not None:
        return EPOCH + timedelta(microseconds=round(session.timestamp * 1_000_000))
    return EPOCH + timedelta(milliseconds=now_ms)


@lru_cache(64)
def time_zone(name: str) -> tzinfo:
    """A time zone as SqlSession names it."""
    if name[:1] in "+-":
        hours, minutes = name[1:].split(":")
        return timezone((1 if name[0] == "+" else -1) * timedelta(hours=int(hours), minutes=int(minutes)))
    return ZoneInfo(name)


def session_mode(session: SqlSession, now_ms: int, ignore: bool = False, inserting: bool = True) -> Mode:
    """How a session casts values; a TIME becomes a moment of the day that it is, whatever SET TIMESTAMP says (tidb
    pkg/types/time.go, ConvertToTime)."""
    now = EPOCH + timedelta(milliseconds=now_ms)
    return Mode(frozenset(session.sql_mode), time_zone(session.time_zone), now, ignore, inserting)


def moment_text(moment: datetime, digits: int) -> str:
    """Cut, not rounded, to so many digits of a second (tidb pkg/expression/helper.go, getTimeCurrentTimeStamp)."""
    text = f"{moment:%Y-%m-%d %H:%M:%S.%f}"
    return text[: 20 + digits] if digits > 0 else text[:19]


def now_text(type_name: str, digits: int, session: SqlSession, now_ms: int) -> str:
    """CURRENT_TIMESTAMP as a TIMESTAMP, a DATETIME, a DATE or a TIME keeps it."""
    moment = statement_time(session, now_ms)
    if type_name != "timestamp":
        moment = moment.astimezone(time_zone(session.time_zone))
    text = moment_text(moment, digits)
    return {"date": text[:10], "time": text[11:]}.get(type_name, text)


def to_utc(session: SqlSession, text: pa.Array) -> pa.Array:
    """TIMESTAMP texts of the session's time zone in UTC; null for one that the zone skips, and outside the range."""
    moved = text if session.time_zone == "UTC" else _shift_to_utc(text, session.time_zone)
    known = pc.and_(pc.greater_equal(moved, EARLIEST), pc.less(moved, LATEST))
    if pc.all(known).as_py():
        return moved
    return only(pc.or_(known, pc.starts_with(moved, ZERO)), moved)


def to_session_zone(session: SqlSession, text: pa.Array) -> pa.Array:
    """TIMESTAMP cells, which are UTC, as the session shows them."""
    if session.time_zone == "UTC":
        return text
    zero = pc.starts_with(text, ZERO)
    moments = pc.assume_timezone(only(pc.invert(zero), text).cast(pa.timestamp("us")), "UTC")
    shown = pc.local_timestamp(moments.cast(pa.timestamp("us", session.time_zone))).cast(pa.string())
    width = pc.max(pc.utf8_length(text)).as_py() or 19
    return pc.if_else(zero, text, pc.utf8_slice_codeunits(shown, 0, width))


def _to_instants(local: pa.Array, name: str) -> pa.Array:
    """Moments of a zone's clock. Of two that it shows alike it is the one that Go finds with the offset at the same
    time in UTC: the later one in the east, the earlier one in the west (time.Date)."""
    early, late = (
        pc.assume_timezone(local, name, ambiguous=which, nonexistent="earliest") for which in ("earliest", "latest")
    )
    if early.equals(late):
        return early
    shown = pc.local_timestamp(pc.assume_timezone(local, "UTC").cast(early.type))
    found = pc.assume_timezone(pc.subtract(local, pc.subtract(shown, local)), "UTC").cast(early.type)
    return pc.if_else(pc.equal(found, late), late, early)


def _shift_to_utc(text: pa.Array, name: str) -> pa.Array:
    zero = pc.starts_with(text, ZERO)
    kind = pa.timestamp("us")
    there = only(pc.invert(zero), text).cast(kind)
    moments = _to_instants(there, name)
    back = pc.local_timestamp(moments)
    moved = only(pc.equal(back, there), moments.cast(pa.timestamp("us", "UTC")).cast(kind)).cast(pa.string())
    width = pc.max(pc.utf8_length(text)).as_py() or 19
    return pc.if_else(zero, text, pc.utf8_slice_codeunits(moved, 0, width))


def default_time_text(column: Column, session: SqlSession, now_ms: int) -> str | None:
    """CURRENT_TIMESTAMP(3) and its kin as a default, as TiDB text; None for any other default."""
    call, _, rest = (column.default or "").strip().strip("()").upper().partition("(")
    kind, digits = column.type.name, rest.strip(") ")
    shown = {"date": (*NOW, *TODAY), "datetime": NOW, "timestamp": NOW, "time": CLOCK}
    if not column.default_expression or call.strip() not in shown.get(kind, ()) or digits and not digits.isdecimal():
        return None
    return now_text(kind, max(column.type.decimal, 0), session, now_ms)
