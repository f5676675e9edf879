"""Validates the values of SET as TiDB does.

Source: tidb v8.0 pkg/sessionctx/variable/variable.go, ValidateFromType.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from simulator.tidb.model.charsets import ALIASES, CHARSETS, COLLATIONS, canonical_collation
from simulator.tidb.sql_engine.errors import sql_error, sql_error_with_text
from simulator.tidb.sql_engine.sessions.variable_types import BOOLEANS, NUMBERS, WORDS

EFFECTIVE_BOOLEANS = frozenset(("autocommit", "foreign_key_checks", "tidb_enable_check_constraint"))
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")


def new_server_value(name: str) -> str | None:
    """Return the value of a variable on a new server; None if it is not known."""
    if name in BOOLEANS:
        return str(int(BOOLEANS[name] == "ON"))
    if name in NUMBERS:
        return NUMBERS[name][2]
    return WORDS[name][0] if name in WORDS else None


def validate_value(name: str, value: str) -> str:
    """Return the value as TiDB stores it: ON or OFF, a number within its bounds, a word as TiDB spells it. Raises
    SqlError."""
    if name in VALIDATORS:
        return VALIDATORS[name](name, value)
    if name in BOOLEANS or name in EFFECTIVE_BOOLEANS:
        return _boolean(name, value)
    if name in NUMBERS:
        return _number(name, value)
    return _word(name, value) if name in WORDS else value


def _boolean(name: str, value: str) -> str:
    if value.upper() in ("ON", "1"):
        return "ON"
    if value.upper() in ("OFF", "0"):
        return "OFF"
    raise sql_error(1231, name, value)


def _number(name: str, value: str) -> str:
    """Return the number, or the nearest bound if it is outside."""
    if not _INTEGER.match(value):
        raise sql_error(1232, name)
    least, most, _ = NUMBERS[name]
    return str(min(max(int(value), least), most))


def _word(name: str, value: str) -> str:
    words = WORDS[name][1]
    for number, word in enumerate(words):
        if value.lower() == word.lower() or value == str(number):
            return word
    raise sql_error(1231, name, value)


def _isolation(name: str, value: str) -> str:
    level = _word(name, value)
    if level in ("SERIALIZABLE", "READ-UNCOMMITTED"):
        raise sql_error_with_text(
            8048,
            f"The isolation level '{level}' is not supported. Set tidb_skip_isolation_level_check=1 to skip this error",
        )
    return level


def _insert_id(name: str, value: str) -> str:
    if not _INTEGER.match(value):
        raise sql_error(1232, name)
    return str(max(int(value), 0))


def _session_is_read_only(name: str, value: str) -> str:
    raise sql_error_with_text(1621, f"SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value")


def _charset(name: str, value: str) -> str:
    if value and value.lower() not in CHARSETS and value.lower() not in ALIASES:
        raise sql_error_with_text(1105, f"Unknown charset {value}")
    return value.lower()


def _collation(name: str, value: str) -> str:
    if canonical_collation(value) not in COLLATIONS:
        raise sql_error(1273, value)
    return canonical_collation(value)


def _default_collation(name: str, value: str) -> str:
    if value.lower() not in ("utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_0900_ai_ci"):
        raise sql_error_with_text(
            3721, f"Invalid default collation {value}: utf8mb4_0900_ai_ci or utf8mb4_general_ci or utf8mb4_bin expected"
        )
    return value.lower()


def _noop(name: str, value: str) -> str:
    if _boolean(name, value) == "ON":
        raise sql_error_with_text(
            1235,
            f"function {name} has only noop implementation in tidb now, use tidb_enable_noop_functions"
            " to enable these functions",
        )
    return "OFF"


VALIDATORS: Mapping[str, Callable[[str, str], str]] = MappingProxyType(
    {
        "tx_isolation": _isolation,
        "transaction_isolation": _isolation,
        "last_insert_id": _insert_id,
        "insert_id": _insert_id,
        "max_allowed_packet": _session_is_read_only,
        "sql_auto_is_null": _noop,
        **dict.fromkeys(
            (
                "character_set_client",
                "character_set_results",
                "character_set_connection",
                "character_set_database",
                "character_set_server",
            ),
            _charset,
        ),
        **dict.fromkeys(("collation_connection", "collation_database", "collation_server"), _collation),
        "default_collation_for_utf8mb4": _default_collation,
    }
)
"""Variables with a rule of their own."""
