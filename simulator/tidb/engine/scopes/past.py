"""Reading the past: AS OF TIMESTAMP (tidb pkg/sessiontxn/staleread/processor.go)."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from simulator import tso
from simulator.tidb import syntax
from simulator.tidb.engine.scopes.scope import QueryScope
from simulator.tidb.engine.sessions.clock import EPOCH, time_zone
from simulator.tidb.engine.sessions.settings import SqlSession
from simulator.tidb.errors import sql_error_with_text
from simulator.tidb.expressions.comparisons import as_moment
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.moments import as_datetime, moment_of_text
from simulator.tidb.storage.database import Database


def read_as_of(moment: syntax.Node | None, scope: QueryScope) -> None:
    """Let a statement read the moment of one of its tables, which is that of all. Raises SqlError 8135."""
    context = scope.context
    if moment is None and context.as_of is None:
        context.as_of = 0
    if moment is None or context.session.transaction is not None:
        if moment is not None:
            raise sql_error_with_text(8135, "invalid as of timestamp: as of timestamp can't be set in transaction.")
        if context.as_of:
            raise sql_error_with_text(8135, "can not set different time in the as of")
        return
    ts = moment_ts(moment, scope)
    if context.as_of not in (None, ts):
        raise sql_error_with_text(8135, "can not set different time in the as of")
    if tso.physical(ts) > context.now_ms:
        raise sql_error_with_text(1105, "cannot set read timestamp to a future time")
    context.as_of = ts
    context.read_at(ts)


def moment_ts(moment: syntax.Node, scope: QueryScope) -> int:
    """Return the ts of the moment of AS OF TIMESTAMP. Raises SqlError 8135."""
    value = compile_expression(moment, QueryScope(scope.compilation))
    shown = as_moment(value)((), scope.context) if value.kind != "null" else None
    instant: datetime | None = None if shown is None else as_datetime(shown)
    if instant is None:
        raise sql_error_with_text(8135, "invalid as of timestamp: as of timestamp cannot be NULL")
    return _ts(instant, scope.context.zone)


@lru_cache(64)
def _parsed_snapshot(text: str, zone: str) -> int | None:
    if text.isdecimal() and len(text) > 14:
        return int(text)
    shown = moment_of_text(text)
    instant: datetime | None = None if shown is None else as_datetime(shown)
    return None if instant is None else _ts(instant, zone)


def _ts(instant: datetime, zone: str) -> int:
    return int(tso.compose(round(instant.replace(tzinfo=time_zone(zone)).timestamp() * 1000)))


def snapshot_ts(text: str, settings: SqlSession, database: Database, now_ms: int) -> int:
    """Return the ts of tidb_snapshot (tidb pkg/sessionctx/variable/varsutil.go, setSnapshotTS). Raises SqlError 1292, and
    8055 if it is older than the history that is kept."""
    ts = _parsed_snapshot(text, settings.time_zone)
    if ts is None:
        raise sql_error_with_text(1292, f"Incorrect timestamp value: '{text}'")
    if tso.physical(ts) > now_ms:
        raise sql_error_with_text(1105, "cannot set read timestamp to a future time")
    if database.history_ms is not None and tso.physical(ts) < now_ms - database.history_ms:
        safe = EPOCH + timedelta(milliseconds=now_ms - database.history_ms)
        raise sql_error_with_text(8055, f"snapshot is older than GC safe point {safe:%Y-%m-%d %H:%M:%S +0000 UTC}")
    return ts


def past_of_session(settings: SqlSession, database: Database, now_ms: int) -> int | None:
    """Return the ts of the past that queries of a session read: by tidb_snapshot, or outside of a transaction
    tidb_read_staleness; None for the present."""
    known = settings.settings
    if snapshot := known.get("tidb_snapshot"):
        return snapshot_ts(snapshot, settings, database, now_ms)
    staleness = known.get("tidb_read_staleness", "")
    if staleness.lstrip("-").isdecimal() and int(staleness) < 0:
        return int(tso.compose(now_ms + int(staleness) * 1000))
    return None
