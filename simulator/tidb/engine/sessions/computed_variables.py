"""System variables whose values depend on the clock, the release or the last statement, and variables as SHOW shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from simulator.releases import Release
from simulator.tidb.engine.sessions import clock
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.session import Session
from simulator.tidb.engine.sessions.session_variables import new_session, shown_text
from simulator.tidb.engine.sessions.settings import SqlSession


def server_version(release: Release) -> str:
    """Return VERSION()."""
    return f"{release.mysql_version}-TiDB-{release.name}"


def version_comment(release: Release) -> str:
    compatible = release.mysql_version.rpartition(".")[0]
    return f"TiDB Server (Apache License 2.0) Community Edition, MySQL {compatible} compatible"


def tidb_version(release: Release) -> str:
    """Return TIDB_VERSION(), of a server whose build sets no more than the version (tidb pkg/util/printer/printer.go)."""
    return (
        f"Release Version: {release.name}\nEdition: Community\nGit Commit Hash: None\nGit Branch: None\n"
        "UTC Build Time: None\nGoVersion: None\nRace Enabled: false\nCheck Table Before Drop: false\nStore: tikv"
    )


def current_ts(session: Session) -> int:
    """Return @@tidb_current_ts: the TSO at which the open transaction began, 0 outside of one."""
    return 0 if session.transaction is None else session.transaction.start_ts


COMPUTED: Mapping[str, Callable[[Session, Any], str]] = MappingProxyType(
    {
        "timestamp": lambda session, context: (
            f"{clock.statement_micros(session.settings, context.now_ms) / 1_000_000:.6f}"
        ),
        "version": lambda session, context: server_version(session.database.release),
        "version_comment": lambda session, context: version_comment(session.database.release),
        "tidb_current_ts": lambda session, context: str(current_ts(session)),
        "warning_count": lambda session, context: str(len(session.settings.last.warnings)),
        "error_count": lambda session, context: str(int(session.settings.last.error is not None)),
    }
)
"""System variables whose value depends on the clock, the release or the last statement."""


def shown_variable(name: str, is_global: bool, context: StatementContext) -> str | None:
    """Return a variable as SHOW VARIABLES shows it, or None if its value is not known. ON and OFF are words here."""
    if name in COMPUTED:
        return COMPUTED[name](context.session, context)
    return shown_text(settings_of(context.session.settings, is_global), name)


def settings_of(settings: SqlSession, is_global: bool) -> SqlSession:
    """Return the session's settings, or some that have the global variables."""
    return new_session(SqlSession(), settings.global_settings) if is_global else settings
