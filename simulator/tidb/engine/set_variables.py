"""SET: the assignments of a statement, with their warnings (tidb pkg/executor/set.go, pkg/sessionctx/variable).

Its assignments are computed one after another, and none is kept if one is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.engine.names import snapshot_ts, with_user_variable
from simulator.tidb.engine.queries.plans import evaluate_alone, reading_context
from simulator.tidb.engine.session import Session
from simulator.tidb.engine.settings import NAMES, SqlSession, check_name, set_variable, variable_text
from simulator.tidb.errors import not_simulated, sql_error
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.system_variables import VARIABLES

NOOP_VARIABLES = {
    **dict.fromkeys(("tx_read_only", "transaction_read_only", "read_only", "super_read_only"), "READ ONLY"),
    "offline_mode": "OFFLINE MODE",
    "sql_auto_is_null": "sql_auto_is_null",
}
"""Variables that do nothing in TiDB, which may be ON only if tidb_enable_noop_functions is, and their names in the error."""

INSTANCE_VARIABLES = frozenset(
    """
    ddl_slow_threshold max_connections tidb_check_mb4_value_in_utf8 tidb_enable_collect_execution_info
    tidb_enable_slow_log tidb_expensive_query_time_threshold tidb_expensive_txn_time_threshold tidb_force_priority
    tidb_general_log tidb_log_file_max_days tidb_pprof_sql_cpu tidb_record_plan_in_slow_log tidb_slow_log_threshold
    """.split()
)
"""Variables of a server, which SET SESSION sets, too, with a warning (tidb_enable_legacy_instance_scope)."""

ISOLATION = ("tx_isolation", "transaction_isolation", "tx_isolation_one_shot")
UNSUPPORTED_LEVELS = ("SERIALIZABLE", "READ-UNCOMMITTED")


def set_variables(
    assignments: Sequence[syntax.VariableAssignment], session: Session
) -> tuple[SqlSession, tuple[str, ...]]:
    """Return the settings with all variables set, and the warnings. Raises SqlError."""
    before, warnings = session.settings, list[str]()
    try:
        for assignment in assignments:
            session.settings = _with_variable(assignment, session, warnings)
        return session.settings, tuple(warnings)
    finally:
        session.settings = before


def _with_variable(assignment: syntax.VariableAssignment, session: Session, warnings: list[str]) -> SqlSession:
    node, name, shown = assignment.value, assignment.name, None
    if node is not None:
        context = reading_context(session)
        value, result = evaluate_alone(node, context)
        shown = None if result is None else as_text(value)((), context)
        if context.given_id is not None:
            session.settings = replace(session.settings, last_insert_id=context.given_id)
        if assignment.scope == "user":
            return with_user_variable(session.settings, name, value, shown)
        if shown is None:
            shown = ""
    settings = session.settings
    if name in NAMES:
        return NAMES[name](settings, name, shown or "utf8mb4")
    return system_variable_set(session, name, assignment.scope, shown, warnings)


def system_variable_set(session: Session, name: str, scope: str, value: str | None, warnings: list[str]) -> SqlSession:
    """Return the settings with a system variable set; a value of None means DEFAULT. Raises SqlError."""
    settings = session.settings
    check_name(name, "global" if name in INSTANCE_VARIABLES else scope)
    if name in NOOP_VARIABLES and value is not None and value.upper() in ("ON", "1"):
        warnings += noop_warnings(settings, NOOP_VARIABLES[name])
    if name == "tx_isolation_one_shot" and session.transaction is not None:
        raise sql_error(1568)
    if name in ISOLATION and value is not None and value.upper() in UNSUPPORTED_LEVELS:
        try:
            return set_variable(settings, name, scope, value)
        except SqlError as error:
            if error.number != 8048 or variable_text(settings, "tidb_skip_isolation_level_check") != "1":
                raise
            warnings.append(f"{error.number} {error.text}")
            stored = "transaction_isolation" if name == "tx_isolation" else name
            return replace(settings, settings={**settings.settings, stored: value.upper()})
    if name in INSTANCE_VARIABLES and scope != "global":
        warnings.append(f"8142 modifying {name} will require SET GLOBAL in a future version of TiDB")
        scope = "global"
    if name == "tidb_snapshot" and value:
        snapshot_ts(value, session)
    after = set_variable(settings, name, scope, value)
    if value is not None and _is_clipped(name, value):
        warnings.append(f"1292 Truncated incorrect {name} value: '{value}'")
    return after


def _is_clipped(name: str, value: str) -> bool:
    """Return whether a number is outside of the bounds of its variable, which takes the nearest one."""
    variable = VARIABLES.get(name)
    if variable is None or variable.type != "number" or len(variable.accepted) != 2:
        return False
    try:
        return not int(variable.accepted[0]) <= int(value) <= int(variable.accepted[1])
    except ValueError:
        return False


def noop_warnings(settings: SqlSession, what: str) -> tuple[str, ...]:
    """Return the warnings of a feature that does nothing in TiDB. Raises SqlError 1235 unless
    tidb_enable_noop_functions allows it (tidb pkg/expression/errors.go, ErrFunctionsNoopImpl)."""
    allowed = variable_text(settings, "tidb_enable_noop_functions").upper()
    if allowed in ("ON", "1"):
        return ()
    error = not_simulated(
        f"function {what} has only noop implementation in tidb now, use tidb_enable_noop_functions to enable these"
        " functions"
    )
    if allowed in ("WARN", "2"):
        return (f"1235 {error.text}",)
    raise error
