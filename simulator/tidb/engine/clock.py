"""The time of a statement: simulated time or SET TIMESTAMP, in the session's time zone or in UTC.

TIMESTAMP cells are stored and replicated as UTC. All other values are in the session's time zone.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.datums.kinds import Mode
from simulator.tidb.ddl.column_definitions import NOW
from simulator.tidb.engine.settings import SqlSession
from simulator.tidb.model.table import Column
from simulator.tidb.values.kernels import null_unless

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZERO = "0000-00-00"
EARLIEST, LATEST = "1970-01-01 00:00:01", "2038-01-19 03:14:08"
"""TIMESTAMP's range in UTC. LATEST is the first moment after it (tidb pkg/types/time.go, MaxTimestamp)."""

TODAY = ("CURRENT_DATE", "CURDATE")
CLOCK = ("CURRENT_TIME", "CURTIME")


def statement_micros(session: SqlSession, now_ms: int) -> int:
    """Return the time of a statement as microseconds since 1970. Only SET TIMESTAMP has more than milliseconds."""
    return now_ms * 1000 if session.timestamp is None else round(session.timestamp * 1_000_000)


def statement_time(session: SqlSession, now_ms: int) -> datetime:
    """Return the time of a statement in UTC."""
    return EPOCH + timedelta(microseconds=statement_micros(session, now_ms))


@lru_cache(64)
def time_zone(name: str) -> tzinfo:
    """Return the time zone that SqlSession names."""
    if name[:1] in "+-":
        hours, minutes = name[1:].split(":")
        return timezone((1 if name[0] == "+" else -1) * timedelta(hours=int(hours), minutes=int(minutes)))
    return ZoneInfo(name)


def session_mode(session: SqlSession, now_ms: int, ignore: bool = False, inserting: bool = True) -> Mode:
    """Return how a session casts values.

    A TIME cast to a moment takes the current day, even after SET TIMESTAMP (tidb pkg/types/time.go, ConvertToTime).
    """
    now = EPOCH + timedelta(milliseconds=now_ms)
    return Mode(frozenset(session.sql_mode), time_zone(session.time_zone), now, ignore, inserting)


def moment_text(moment: datetime, digits: int) -> str:
    """Return a moment with `digits` fractional digits. They are cut, not rounded (tidb pkg/expression/helper.go,
    getTimeCurrentTimeStamp)."""
    text = f"{moment:%Y-%m-%d %H:%M:%S.%f}"
    return text[: 20 + digits] if digits > 0 else text[:19]


def now_text(type_name: str, digits: int, session: SqlSession, now_ms: int) -> str:
    """Return CURRENT_TIMESTAMP as a TIMESTAMP, DATETIME, DATE or TIME column stores it."""
    moment = statement_time(session, now_ms)
    if type_name != "timestamp":
        moment = moment.astimezone(time_zone(session.time_zone))
    text = moment_text(moment, digits)
    return {"date": text[:10], "time": text[11:]}.get(type_name, text)


def to_utc(session: SqlSession, text: pa.Array) -> pa.Array:
    """Return TIMESTAMP texts of the session's time zone in UTC; null if the zone skips them, or outside the range."""
    shifted = text if session.time_zone == "UTC" else _shift_to_utc(text, session.time_zone)
    in_range = pc.and_(pc.greater_equal(shifted, EARLIEST), pc.less(shifted, LATEST))
    if pc.all(in_range).as_py():
        return shifted
    return null_unless(pc.or_(in_range, pc.starts_with(shifted, ZERO)), shifted)


def to_session_zone(session: SqlSession, text: pa.Array) -> pa.Array:
    """Return TIMESTAMP cells, which are UTC, in the session's time zone."""
    if session.time_zone == "UTC":
        return text
    zero = pc.starts_with(text, ZERO)
    moments = pc.assume_timezone(null_unless(pc.invert(zero), text).cast(pa.timestamp("us")), "UTC")
    local_texts = pc.local_timestamp(moments.cast(pa.timestamp("us", session.time_zone))).cast(pa.string())
    width = pc.max(pc.utf8_length(text)).as_py() or 19
    return pc.if_else(zero, text, pc.utf8_slice_codeunits(local_texts, 0, width))


def local_timestamp(text: str, session: SqlSession) -> str:
    """Return the text of a TIMESTAMP in UTC in the session's time zone."""
    shown: str = to_session_zone(session, pa.array([text]))[0].as_py()
    return shown


def _to_instants(local: pa.Array, name: str) -> pa.Array:
    """Return the instants of local times.

    Of two instants with the same local time it is the one that Go's time.Date returns with the offset at that time in
    UTC: the later one east of Greenwich, the earlier one west of it.
    """
    early, late = (
        pc.assume_timezone(local, name, ambiguous=which, nonexistent="earliest") for which in ("earliest", "latest")
    )
    if early.equals(late):
        return early
    local_in_utc = pc.local_timestamp(pc.assume_timezone(local, "UTC").cast(early.type))
    instants = pc.assume_timezone(pc.subtract(local, pc.subtract(local_in_utc, local)), "UTC").cast(early.type)
    return pc.if_else(pc.equal(instants, late), late, early)


def _shift_to_utc(text: pa.Array, name: str) -> pa.Array:
    zero = pc.starts_with(text, ZERO)
    kind = pa.timestamp("us")
    local_times = null_unless(pc.invert(zero), text).cast(kind)
    moments = _to_instants(local_times, name)
    round_trip = pc.local_timestamp(moments)
    shifted = null_unless(pc.equal(round_trip, local_times), moments.cast(pa.timestamp("us", "UTC")).cast(kind)).cast(
        pa.string()
    )
    width = pc.max(pc.utf8_length(text)).as_py() or 19
    return pc.if_else(zero, text, pc.utf8_slice_codeunits(shifted, 0, width))


def default_time_text(column: Column, session: SqlSession, now_ms: int) -> str | None:
    """Return the TiDB text of a default such as CURRENT_TIMESTAMP(3); None for any other default."""
    call, _, rest = (column.default or "").strip().strip("()").upper().partition("(")
    kind, digits = column.type.name, rest.strip(") ")
    accepted_calls = {"date": (*NOW, *TODAY), "datetime": NOW, "timestamp": NOW, "time": CLOCK}
    if (
        not column.default_expression
        or call.strip() not in accepted_calls.get(kind, ())
        or digits
        and not digits.isdecimal()
    ):
        return None
    return now_text(kind, max(column.type.decimal, 0), session, now_ms)
