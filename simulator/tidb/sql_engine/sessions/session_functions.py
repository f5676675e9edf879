"""Functions and variables whose value depends on the session: NOW(), DATABASE(), RAND(), @a, @@sql_mode.

A value depends only on the upstream, the millisecond of the statement and the row, so runs are repeatable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from simulator import tso
from simulator.errors import SqlError
from simulator.releases import Release
from simulator.tidb.expressions.sql.graph import NULL, Sql, sql, text
from simulator.tidb.expressions.values.literals import number_value
from simulator.tidb.expressions.values.value import Value, decimal, real, string
from simulator.tidb.sql_engine.sessions import clock
from simulator.tidb.sql_engine.sessions.session_variables import new_session, shown_text, variable_text
from simulator.tidb.sql_engine.sessions.variable_validation import is_text
from simulator.tidb.sql_engine.storage.state import SqlSession, Upstream
from simulator.tidb.syntax.queries import Variable

PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d{0,18})(\.\d{1,18})?")


def _datetime_value(moment: datetime, digits: int) -> Value:
    full_text = moment.strftime("%Y-%m-%d %H:%M:%S.%f").rjust(26, "0")
    padded = f"{full_text[:20]}{full_text[20 : 20 + digits]:0<6}"
    return Value(
        text(padded), "datetime", text=text(full_text[: 20 + digits] if digits else full_text[:19]), scale=digits
    )


def _date_value(moment: datetime, digits: int) -> Value:
    day = moment.strftime("%Y-%m-%d").rjust(10, "0")
    return Value(text(f"{day} 00:00:00.000000"), "date", text=text(day))


def _time_value(moment: datetime, digits: int) -> Value:
    full_text = moment.strftime("%H:%M:%S.%f")
    fraction = int(full_text[9 : 9 + digits].ljust(6, "0"))
    micros = (moment.hour * 3600 + moment.minute * 60 + moment.second) * 1_000_000 + fraction
    return Value(
        sql(f"{micros}::BIGINT"), "time", text=text(full_text[: 9 + digits] if digits else full_text[:8]), scale=digits
    )


CLOCKS: dict[str, tuple[Callable[[datetime, int], Value], bool]] = {
    **dict.fromkeys(("NOW", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "SYSDATE"), (_datetime_value, False)),
    **dict.fromkeys(("CURDATE", "CURRENT_DATE"), (_date_value, False)),
    **dict.fromkeys(("CURTIME", "CURRENT_TIME"), (_time_value, False)),
    "UTC_TIMESTAMP": (_datetime_value, True),
    "UTC_DATE": (_date_value, True),
    "UTC_TIME": (_time_value, True),
}
"""The value that each function returns, and whether it is in UTC instead of the session's time zone."""


def _clock_function(name: str, upstream: Upstream, now_ms: int, arguments: Sequence[Value]) -> Value:
    show, in_utc = CLOCKS[name]
    digits = int(arguments[0].constant or 0) if arguments else 0
    if digits > 6:
        raise SqlError(1426, "42000", f"Too-big precision {digits} specified for '{name.lower()}'. Maximum is 6.")
    moment = clock.statement_time(upstream.session, now_ms)
    return show(moment if in_utc else moment.astimezone(clock.time_zone(upstream.session.time_zone)), digits)


def session_function(
    name: str, arguments: Sequence[Value], upstream: Upstream, now_ms: int, row: Callable[[], Sql]
) -> Value | None:
    """Return the value of a function of the session; None for any other function.

    `row` returns text that identifies the row and the place in the statement.
    """
    if name in CLOCKS:
        return _clock_function(name, upstream, now_ms, arguments)
    if name == "UNIX_TIMESTAMP" and not arguments:
        return number_value(str(clock.statement_micros(upstream.session, now_ms) // 1_000_000))
    if name in ("DATABASE", "SCHEMA"):
        return string(text(upstream.session.database)) if upstream.session.database else string(NULL)
    if name == "LAST_INSERT_ID" and not arguments:
        return Value(sql(f"{upstream.session.last_insert_id}::UBIGINT"), "uint")
    if name in SERVER_TEXTS:
        return string(text(SERVER_TEXTS[name](upstream)))
    if name in STATEMENT_NUMBERS:
        number, kind = STATEMENT_NUMBERS[name](upstream, now_ms), "int" if name == "ROW_COUNT" else "uint"
        return Value(sql(f"'{number}'::{'BIGINT' if kind == 'int' else 'UBIGINT'}"), kind)
    seconds = arguments[0].constant or "-" if name == "SLEEP" and len(arguments) == 1 else "-"
    if PLAIN_NUMBER.fullmatch(seconds) and not seconds.startswith("-"):
        return number_value("0")
    if name == "RAND" and not arguments:
        digest = _random_digest(upstream, now_ms, row())
        return real(sql(f"('0x' || left({{}}, 13))::BIGINT / {16**13}::DOUBLE", digest))
    if name == "UUID":
        digest = _random_digest(upstream, now_ms, row())
        return string(sql(r"regexp_replace({}, '^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*', '\1-\2-1\3-8\4-\5')", digest))
    return None


def server_version(release: Release) -> str:
    """Return VERSION()."""
    return f"{release.mysql_version}-TiDB-{release.name}"


def _version_comment(release: Release) -> str:
    compatible = release.mysql_version.rpartition(".")[0]
    return f"TiDB Server (Apache License 2.0) Community Edition, MySQL {compatible} compatible"


def _tidb_version(release: Release) -> str:
    """Return TIDB_VERSION(), of a server whose build sets no more than the version (tidb pkg/util/printer/printer.go)."""
    return (
        f"Release Version: {release.name}\nEdition: Community\nGit Commit Hash: None\nGit Branch: None\n"
        "UTC Build Time: None\nGoVersion: None\nRace Enabled: false\nCheck Table Before Drop: false\nStore: tikv"
    )


SERVER_TEXTS: dict[str, Callable[[Upstream], str]] = {
    "VERSION": lambda upstream: server_version(upstream.release),
    "TIDB_VERSION": lambda upstream: _tidb_version(upstream.release),
    "CURRENT_ROLE": lambda upstream: "NONE",
    "CURRENT_RESOURCE_GROUP": lambda upstream: "default",
    "CURRENT_USER": lambda upstream: upstream.session.account,
    **dict.fromkeys(("USER", "SESSION_USER", "SYSTEM_USER"), lambda upstream: upstream.session.user),
}
STATEMENT_NUMBERS: dict[str, Callable[[Upstream, int], int]] = {
    "CONNECTION_ID": lambda upstream, now: upstream.session.connection_id,
    "ROW_COUNT": lambda upstream, now: upstream.session.last.affected,
    "FOUND_ROWS": lambda upstream, now: upstream.session.last.found,
    "TIDB_CURRENT_TSO": lambda upstream, now: current_ts(upstream, now),
}


def current_ts(upstream: Upstream, now_ms: int) -> int:
    """Return @@tidb_current_ts: the TSO at which the open transaction began, 0 outside of one."""
    transaction = upstream.transaction
    return 0 if transaction is None else tso.compose(transaction.started_ms or now_ms)


def _random_digest(upstream: Upstream, now_ms: int, row: Sql) -> Sql:
    return sql("md5({} || {})", text(f"{upstream.seed} {now_ms} "), row)


def variable_value(node: Variable, upstream: Upstream, now_ms: int) -> Value:
    """Return the value of `@a` or `@@sql_mode`. Raises SqlError."""
    session, name = upstream.session, node.name.lower()
    if node.scope == "user":
        value = session.variables.get(name)
        if value is None:
            return string(NULL)
        value_text = value.decode("utf-8", "replace")
        return (
            number_value(value_text)
            if PLAIN_NUMBER.fullmatch(value_text)
            else Value(text(value_text), "string", coercibility=2)
        )
    is_global = node.scope == "global"
    setting = (
        VARIABLES[name](upstream, now_ms) if name in VARIABLES else variable_text(_session_of(session, is_global), name)
    )
    if name == "timestamp":
        return decimal(sql(f"'{setting}'"), 6)
    is_number = PLAIN_NUMBER.fullmatch(setting) and not is_text(name)
    return number_value(setting) if is_number else string(text(setting))


VARIABLES: dict[str, Callable[[Upstream, int], str]] = {
    "timestamp": lambda upstream, now: f"{clock.statement_micros(upstream.session, now) / 1_000_000:.6f}",
    "version": lambda upstream, now: server_version(upstream.release),
    "version_comment": lambda upstream, now: _version_comment(upstream.release),
    "tidb_current_ts": lambda upstream, now: str(current_ts(upstream, now)),
    "warning_count": lambda upstream, now: str(len(upstream.session.last.warnings)),
    "error_count": lambda upstream, now: str(int(upstream.session.last.error is not None)),
}
"""System variables whose value depends on the clock, the release or the last statement."""


def shown_variable(name: str, is_global: bool, upstream: Upstream, now_ms: int) -> str | None:
    """Return a variable as SHOW VARIABLES shows it, or None if its value is not known. ON and OFF are words here."""
    if name in VARIABLES:
        return VARIABLES[name](upstream, now_ms)
    return shown_text(_session_of(upstream.session, is_global), name)


def _session_of(session: SqlSession, is_global: bool) -> SqlSession:
    """Return the session, or one that has the global variables."""
    return new_session(SqlSession(), session.global_settings) if is_global else session
