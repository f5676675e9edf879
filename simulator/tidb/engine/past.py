"""Reading the past: AS OF TIMESTAMP (tidb pkg/sessiontxn/staleread/processor.go)."""

from __future__ import annotations

from datetime import datetime

from simulator import tso
from simulator.tidb import syntax
from simulator.tidb.engine.scope import QueryScope
from simulator.tidb.exprs.comparisons import as_moment
from simulator.tidb.exprs.compile import compile_expression
from simulator.tidb.exprs.moments import as_datetime
from simulator.tidb.sql_engine.errors import sql_error_with_text
from simulator.tidb.sql_engine.sessions.clock import time_zone


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
    ts = _ts_of(moment, scope)
    if context.as_of not in (None, ts):
        raise sql_error_with_text(8135, "can not set different time in the as of")
    if tso.physical(ts) > context.now_ms:
        raise sql_error_with_text(1105, "cannot set read timestamp to a future time")
    context.as_of = ts
    context.read_at(ts)


def _ts_of(moment: syntax.Node, scope: QueryScope) -> int:
    value = compile_expression(moment, QueryScope(scope.compilation))
    shown = as_moment(value)((), scope.context) if value.kind != "null" else None
    instant: datetime | None = None if shown is None else as_datetime(shown)
    if instant is None:
        raise sql_error_with_text(8135, "invalid as of timestamp: as of timestamp cannot be NULL")
    seconds = instant.replace(tzinfo=time_zone(scope.context.zone)).timestamp()
    return int(tso.compose(round(seconds * 1000)))
