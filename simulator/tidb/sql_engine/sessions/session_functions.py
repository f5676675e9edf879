"""Functions and variables whose value depends on the session: NOW(), DATABASE(), RAND(), @a, @@sql_mode.

A value depends only on the upstream, the millisecond of the statement and the row, so runs are repeatable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from simulator.errors import SqlError
from simulator.tidb.expressions.sql.graph import NULL, Sql, sql, text
from simulator.tidb.expressions.values.literals import number_value
from simulator.tidb.expressions.values.value import Value, decimal, real, string
from simulator.tidb.sql_engine.sessions import clock
from simulator.tidb.sql_engine.sessions.session_variables import variable_text
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
    if name == "VERSION":
        return string(text(f"8.0.11-TiDB-{upstream.release.name}"))
    if name in ("USER", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER"):
        return string(text("root@%"))
    if name == "CONNECTION_ID":
        return number_value("1")
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
    read = VARIABLES.get(name)
    if read is not None:
        return read(session, now_ms, upstream)
    setting = variable_text(session, name)
    if setting is None:
        return string(NULL)
    return number_value(setting) if PLAIN_NUMBER.fullmatch(setting) else string(text(setting))


VARIABLES: dict[str, Callable[[SqlSession, int, Upstream], Value]] = {
    "timestamp": lambda session, now, upstream: decimal(
        sql(f"'{clock.statement_micros(session, now) / 1_000_000:.6f}'"), 6
    ),
    "version": lambda session, now, upstream: string(text(f"8.0.11-TiDB-{upstream.release.name}")),
}
"""System variables whose value depends on the clock or the release."""
