"""The settings of a session, which are immutable, and its system variables: SET and @@name.

A variable without an effect on rows is stored as it was set. A variable that has an effect and is not simulated is
refused unless it is set to TiDB's default. Source: tidb v8.5 pkg/sessionctx/variable/sysvar.go,
pkg/parser/mysql/const.go.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from simulator.errors import DdlError, SqlError
from simulator.tidb.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.model.types import ALIASES, CHARSETS, COLLATIONS, charset_of
from simulator.tidb.system_variables import (
    COMBINED_MODES,
    SQL_MODES,
    VARIABLES,
    is_boolean,
    new_server_value,
    validate_value,
)

DEFAULT_SQL_MODE = (
    *("ONLY_FULL_GROUP_BY", "STRICT_TRANS_TABLES", "NO_ZERO_IN_DATE", "NO_ZERO_DATE"),
    *("ERROR_FOR_DIVISION_BY_ZERO", "NO_AUTO_CREATE_USER", "NO_ENGINE_SUBSTITUTION"),
)
"""TiDB's default sql_mode (tidb pkg/parser/mysql/const.go, DefaultSQLMode)."""


@dataclass(frozen=True)
class PreparedStatement:
    text: str
    parameters: int
    """The number of `?` in the text."""

    sql_mode: frozenset[str]
    """The sql_mode in which PREPARE parsed the text."""


@dataclass(frozen=True)
class LastStatement:
    """What a session remembers of its last statement, for SHOW WARNINGS, ROW_COUNT() and FOUND_ROWS()."""

    warnings: tuple[str, ...] = ()
    """As `StatementOutcome.warnings`."""

    error: SqlError | DdlError | None = None
    affected: int = 0
    """-1 behind a query."""

    found: int = 0
    """The rows of the last query."""


@dataclass(frozen=True)
class SqlSession:
    """The variables of a session, and its current database."""

    database: str = ""
    sql_mode: frozenset[str] = frozenset(DEFAULT_SQL_MODE)
    time_zone: str = "UTC"
    """A name of Python's zoneinfo, or an offset such as `+08:00`. Stored TIMESTAMP cells are always UTC."""

    timestamp: float | None = None
    """SET TIMESTAMP: seconds since 1970; None for simulated time."""

    autocommit: bool = True
    foreign_key_checks: bool = True
    check_constraints: bool = False
    """tidb_enable_check_constraint, a global variable."""

    soft_deletes: bool = True
    """tidb_translate_softdelete_sql: whether DELETE only marks rows of tables with SOFTDELETE, and marked ones are
    hidden."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """System variables without an effect on rows, as set, by name in lower case."""

    global_settings: Mapping[str, str] = field(default_factory=dict)
    """System variables that SET GLOBAL has set, of all sessions, by name in lower case."""

    variables: Mapping[str, bytes | None] = field(default_factory=dict)
    """User variables (@a) by name in lower case, as TiDB text."""

    variable_kinds: Mapping[str, str] = field(default_factory=dict)
    """The kind of each user variable, named as the kinds of `Literal`."""

    prepared: Mapping[str, PreparedStatement] = field(default_factory=dict)
    """Prepared statements by name."""

    last_insert_id: int = 0
    last: LastStatement = field(default=LastStatement(), compare=False)
    connection_id: int = 1
    user: str = "root@%"
    """Name and host of the client, as USER() has them."""

    found_rows: bool = False
    """Whether rows that an UPDATE finds as they should be are affected (CLIENT_FOUND_ROWS)."""

    greeted: str = "utf8mb4_bin"
    """The collation of the client's handshake."""

    @property
    def account(self) -> str:
        """The account that the server took the client for, as CURRENT_USER() has it. It is of any host."""
        return f"{self.user.partition('@')[0]}@%"


class Process(NamedTuple):
    """A client, as SHOW PROCESSLIST shows it."""

    number: int
    user: str
    host: str
    database: str | None
    command: str
    seconds: int
    state: str
    statement: str | None


FIXED_VALUES = {"tidb_opt_write_row_id": "OFF"}
"""Variables with an effect on rows that is not simulated: other values are refused."""

ALIASES_OF_VARIABLES = {"tx_isolation": "transaction_isolation", "tx_read_only": "transaction_read_only"}
"""Other names of variables."""

EARLIEST_ZONE, LATEST_ZONE = -(12 * 60 + 59), 14 * 60
"""Minutes (tidb pkg/util/timeutil/time.go, ParseTimeZone)."""

Setter = Callable[[SqlSession, str, str], SqlSession]


def check_name(name: str, scope: str) -> None:
    """Raise SqlError for a variable that TiDB does not have, or not in that scope."""
    if name not in VARIABLES:
        raise sql_error(1193, name)
    match VARIABLES[name].scope:
        case "read-only":
            raise sql_error(1238, name, "read only")
        case "global" if scope != "global":
            raise sql_error(1229, name)
        case "session" if scope == "global":
            raise sql_error_with_text(
                1228, f"Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL"
            )


def set_variable(session: SqlSession, name: str, scope: str, value: str | None) -> SqlSession:
    """Return the session with a system variable set; a value of None means DEFAULT. Raises SqlError.

    SET GLOBAL applies to the sessions that begin later, and to all for variables that are only global.
    """
    check_name(name, scope)
    name = ALIASES_OF_VARIABLES.get(name, name)
    if scope != "global":
        return _with_setting(session, name, value)
    alone = _with_setting(SqlSession(), name, value)
    settings = {key: text for key, text in session.global_settings.items() if key != name}
    text = None if value is None else shown_text(alone, name)
    return with_global_settings(session, settings if text is None else {**settings, name: text})


def with_global_settings(session: SqlSession, settings: Mapping[str, str]) -> SqlSession:
    """Return an open session after SET GLOBAL."""
    for name in dict.fromkeys((*session.global_settings, *settings)):
        if VARIABLES[name].scope == "global":
            session = _with_setting(session, name, settings.get(name))
    return replace(session, global_settings=settings)


def new_session(session: SqlSession, settings: Mapping[str, str]) -> SqlSession:
    """Return a session that begins with the global variables."""
    for name, value in settings.items():
        if VARIABLES[name].scope == "both":
            session = _with_setting(session, name, value)
    return with_global_settings(session, settings)


def _with_setting(session: SqlSession, name: str, value: str | None) -> SqlSession:
    others = {key: text for key, text in session.settings.items() if key != name}
    if name in EFFECTIVE:
        setter, default = EFFECTIVE[name]
        return (
            replace(setter(session, name, default), settings=others) if value is None else setter(session, name, value)
        )
    checked = None if value is None else validate_value(name, value)
    if name in FIXED_VALUES and checked is not None and checked.lower() not in (FIXED_VALUES[name].lower(), ""):
        raise not_simulated(f"{name} = {value} is not simulated; accepted: {FIXED_VALUES[name] or 'an empty string'}")
    return replace(session, settings=others if checked is None else {**others, name: checked})


def variable_text(session: SqlSession, name: str) -> str:
    """Return the text of @@name. Raises SqlError for a variable that TiDB does not have, or whose value is not known."""
    value = known_text(session, name)
    if value is None:
        raise not_simulated(f"@@{name} is not known here") if name in VARIABLES else sql_error(1193, name)
    return value


def known_text(session: SqlSession, name: str) -> str | None:
    """Return the text of @@name, or None for one that TiDB does not have, or whose value is not known."""
    name = ALIASES_OF_VARIABLES.get(name, name)
    if name in FLAGS:
        return str(int(getattr(session, FLAGS[name])))
    if name in ("last_insert_id", "identity"):
        return str(session.last_insert_id)
    if name in ("sql_mode", "time_zone"):
        return session.settings.get(name, EFFECTIVE[name][1])
    if name in session.settings:
        value = session.settings[name]
        return str(int(value == "ON")) if is_boolean(name) else value
    return new_server_value(name)


def shown_text(session: SqlSession, name: str) -> str | None:
    """Return the text of a variable as SHOW VARIABLES has it, with ON and OFF as words; None as `known_text`."""
    value = known_text(session, name)
    return value if value is None or not is_boolean(name) else ("ON" if value == "1" else "OFF")


def parse_sql_mode(value: str) -> tuple[str, ...]:
    """Return the modes that a text lists, as TiDB lists them. Raises SqlError for an unknown mode.

    The error is 1231's text under another number (tidb pkg/parser/mysql/const.go, FormatSQLModeStr, GetSQLMode).
    """
    words = [word for word in value.upper().rstrip(" ").split(",") if word]
    modes = tuple(dict.fromkeys(mode for word in words for mode in (*COMBINED_MODES.get(word, ()), word)))
    for mode in modes:
        if mode not in SQL_MODES:
            raise sql_error_with_text(
                1105, f"ERROR 1231 (42000): Variable 'sql_mode' can't be set to the value of '{mode}'"
            )
    return modes


def parse_time_zone(value: str) -> str:
    """Return the zone as a session stores it. Raises SqlError."""
    if value.upper() in ("SYSTEM", ""):
        return "UTC"
    sign, digits = value[:1], value[1:]
    if sign in ("+", "-"):
        hours, _, minutes = digits.partition(":")
        if hours.isdecimal() and minutes.isdecimal() and len(minutes) == 2 and int(minutes) < 60:
            offset = (int(hours) * 60 + int(minutes)) * (1 if sign == "+" else -1)
            if EARLIEST_ZONE <= offset <= LATEST_ZONE:
                return f"{sign}{int(hours):02}:{minutes}"
        raise sql_error(1298, value)
    try:
        zoneinfo.ZoneInfo(value)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise sql_error(1298, value) from None
    return value


def _sql_mode(session: SqlSession, name: str, value: str) -> SqlSession:
    modes = parse_sql_mode(value)
    return replace(session, sql_mode=frozenset(modes), settings={**session.settings, name: ",".join(modes)})


def _time_zone(session: SqlSession, name: str, value: str) -> SqlSession:
    zone = parse_time_zone(value)
    display = "SYSTEM" if value.upper() == "SYSTEM" else value or "UTC"
    return replace(session, time_zone=zone, settings={**session.settings, name: display})


def _timestamp(session: SqlSession, name: str, value: str) -> SqlSession:
    """Set the session's timestamp. Zero or less returns to simulated time."""
    try:
        seconds = float(value)
    except ValueError:
        raise sql_error(1232, name) from None
    if not seconds <= 2**31 - 1:
        raise sql_error(1231, name, value)
    return replace(session, timestamp=seconds if seconds > 0 else None)


def _flag(session: SqlSession, name: str, value: str) -> SqlSession:
    fields: dict[str, Any] = {FLAGS[name]: validate_value(name, value) == "ON"}
    return replace(session, **fields)


def _last_insert_id(session: SqlSession, name: str, value: str) -> SqlSession:
    return replace(session, last_insert_id=int(validate_value("last_insert_id", value)))


def _names(session: SqlSession, name: str, value: str) -> SqlSession:
    """SET NAMES: set the character sets of the client and the collation of literals."""
    charset = value.lower()
    if charset not in CHARSETS and charset not in ALIASES:
        raise sql_error(1115, value)
    resolved = ALIASES.get(charset, charset)
    of_connection = resolved if name == "names" else "utf8mb4"
    return replace(
        session,
        settings={
            **session.settings,
            "character_set_client": resolved,
            "character_set_results": resolved,
            "character_set_connection": of_connection,
            "collation_connection": CHARSETS[of_connection][0],
        },
    )


def with_client(session: SqlSession, user: str, found_rows: bool, collation: str) -> SqlSession:
    """Return the new session of a client, whose handshake names a collation (tidb pkg/session/session.go,
    SetCollation). One that TiDB does not implement becomes utf8mb4_bin for the connection; its character set stays that
    of the client."""
    charset = collation.partition("_")[0]
    if charset in CHARSETS:
        names = {"character_set_client": charset, "character_set_results": charset}
        session = replace(session, settings={**session.settings, **names})
        connection = collation if collation in COLLATIONS else "utf8mb4_bin"
        session = _connection_collation(session, "collation_connection", connection)
    return replace(session, user=user, found_rows=found_rows, greeted=collation)


def _connection_charset(session: SqlSession, name: str, value: str) -> SqlSession:
    charset = validate_value(name, value)
    if not charset:
        raise sql_error(1231, name, "NULL")
    collation = CHARSETS[ALIASES.get(charset, charset)][0]
    return replace(session, settings={**session.settings, name: charset, "collation_connection": collation})


def _connection_collation(session: SqlSession, name: str, value: str) -> SqlSession:
    collation = validate_value(name, value)
    charset = charset_of(collation, "")
    return replace(session, settings={**session.settings, name: collation, "character_set_connection": charset})


FLAGS = {
    "autocommit": "autocommit",
    "foreign_key_checks": "foreign_key_checks",
    "tidb_enable_check_constraint": "check_constraints",
    "tidb_translate_softdelete_sql": "soft_deletes",
}
"""The fields of SqlSession that hold boolean variables."""

EFFECTIVE: Mapping[str, tuple[Setter, str]] = {
    "sql_mode": (_sql_mode, ",".join(DEFAULT_SQL_MODE)),
    "time_zone": (_time_zone, "SYSTEM"),
    "timestamp": (_timestamp, "0"),
    "autocommit": (_flag, "ON"),
    "foreign_key_checks": (_flag, "ON"),
    "tidb_enable_check_constraint": (_flag, "OFF"),
    "tidb_translate_softdelete_sql": (_flag, "ON"),
    "last_insert_id": (_last_insert_id, "0"),
    "identity": (_last_insert_id, "0"),
    "character_set_connection": (_connection_charset, "utf8mb4"),
    "collation_connection": (_connection_collation, "utf8mb4_bin"),
}
"""Setters and defaults of the variables that have an effect on rows."""

NAMES: Mapping[str, Setter] = {"names": _names, "charset": _names}
"""SET NAMES and SET CHARACTER SET."""


def noop_warning(session: SqlSession, feature: str) -> SqlError | None:
    """Return the warning of a feature that does nothing in TiDB; None for none. Raises it unless
    tidb_enable_noop_functions allows the feature (tidb pkg/expression/errors.go, ErrFunctionsNoopImpl)."""
    allowed = variable_text(session, "tidb_enable_noop_functions").upper()
    if allowed in ("ON", "1"):
        return None
    error = not_simulated(
        f"function {feature} has only noop implementation in tidb now, use tidb_enable_noop_functions to enable these"
        " functions"
    )
    if allowed not in ("WARN", "2"):
        raise error
    return error
