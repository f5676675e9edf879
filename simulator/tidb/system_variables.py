"""TiDB's system variables, and the values that SET accepts.

`system_variables.tsv` lists the variables (tidb v8.5 pkg/sessionctx/variable/sysvar.go, noop.go; types and values of
v8.0). Values are validated as in tidb v8.0 pkg/sessionctx/variable/variable.go, ValidateFromType. A mode of sql_mode
that stands for others is kept beside them (pkg/parser/mysql/const.go).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from importlib import resources
from typing import NamedTuple

from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.model.types import ALIASES, CHARSETS, COLLATIONS, canonical_collation

_INTEGER = re.compile(r"[+-]?[0-9]+\Z")


class SystemVariable(NamedTuple):
    scope: str
    """Who may set it: `global`, `session`, `both`, or `read-only`."""

    type: str
    """`boolean`, `number`, `word`, `text` for any text, or empty for any text whose value on a new server is not known."""

    new: str | None
    """The value of a new server; None if it is not known."""

    accepted: tuple[str, ...]
    """The least and the greatest number, or the words. A number from 0 stands for one of the words."""


def _read_variables() -> Mapping[str, SystemVariable]:
    with resources.files(__package__).joinpath("system_variables.tsv").open(encoding="utf-8") as lines:
        return {
            row["name"]: SystemVariable(
                row["scope"],
                row["type"] or "",
                row["new"] if row["type"] else None,
                tuple("" if word == "-" else word for word in (row["accepted"] or "").split()),
            )
            for row in csv.DictReader(lines, delimiter="\t")
        }


VARIABLES = _read_variables()
"""By name in lower case. `-` among the accepted words is the empty one."""


def is_boolean(name: str) -> bool:
    return name in VARIABLES and VARIABLES[name].type == "boolean"


def is_text(name: str) -> bool:
    """Return whether the value of @@name is a string, also if it looks like a number."""
    return name in VARIABLES and VARIABLES[name].type == "text"


def new_server_value(name: str) -> str | None:
    """Return the value of a variable on a new server; None if it is not known."""
    new = VARIABLES[name].new if name in VARIABLES else None
    return new if new is None or not is_boolean(name) else str(int(new == "ON"))


def validate_value(name: str, value: str) -> str:
    """Return the value as TiDB stores it: ON or OFF, a number within its bounds, a word as TiDB spells it. Raises
    SqlError."""
    validators = {"boolean": _boolean, "number": _number, "word": _word}
    validate = VALIDATORS.get(name) or validators.get(VARIABLES[name].type if name in VARIABLES else "")
    return value if validate is None else validate(name, value)


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
    least, most = VARIABLES[name].accepted
    return str(min(max(int(value), int(least)), int(most)))


def _word(name: str, value: str) -> str:
    for number, word in enumerate(VARIABLES[name].accepted):
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


def _mpp(shown: str, options: str, words: tuple[str, ...]) -> Callable[[str, str], str]:
    def validate(name: str, value: str) -> str:
        if value.upper() not in words:
            raise sql_error_with_text(1105, f"incorrect value: {shown.format(value)}. {name} options: {options}")
        return value

    return validate


VALIDATORS: Mapping[str, Callable[[str, str], str]] = {
    "tx_isolation": _isolation,
    "transaction_isolation": _isolation,
    "tx_isolation_one_shot": lambda name, value: _isolation("transaction_isolation", value),
    "last_insert_id": _insert_id,
    "insert_id": _insert_id,
    "max_allowed_packet": _session_is_read_only,
    **dict.fromkeys(
        ("autocommit", "foreign_key_checks", "tidb_enable_check_constraint", "tidb_translate_softdelete_sql"), _boolean
    ),
    **{f"character_set_{each}": _charset for each in ("client", "results", "connection", "database", "server")},
    **{f"collation_{each}": _collation for each in ("connection", "database", "server")},
    "default_collation_for_utf8mb4": _default_collation,
    "mpp_version": _mpp("{}", "-1 (unspecified), 0, 1, 2", ("-1", "0", "1", "2", "UNSPECIFIED")),
    "mpp_exchange_compression_mode": _mpp(
        "`{}`", "NONE, FAST, HIGH_COMPRESSION, UNSPECIFIED", ("NONE", "FAST", "HIGH_COMPRESSION", "UNSPECIFIED")
    ),
}
"""Variables with a rule of their own."""


SQL_MODES = """
REAL_AS_FLOAT PIPES_AS_CONCAT ANSI_QUOTES IGNORE_SPACE NOT_USED ONLY_FULL_GROUP_BY NO_UNSIGNED_SUBTRACTION
NO_DIR_IN_CREATE POSTGRESQL ORACLE MSSQL DB2 MAXDB NO_KEY_OPTIONS NO_TABLE_OPTIONS NO_FIELD_OPTIONS MYSQL323 MYSQL40
ANSI NO_AUTO_VALUE_ON_ZERO NO_BACKSLASH_ESCAPES STRICT_TRANS_TABLES STRICT_ALL_TABLES NO_ZERO_IN_DATE NO_ZERO_DATE
INVALID_DATES ERROR_FOR_DIVISION_BY_ZERO TRADITIONAL NO_AUTO_CREATE_USER HIGH_NOT_PRECEDENCE NO_ENGINE_SUBSTITUTION
PAD_CHAR_TO_FULL_LENGTH ALLOW_INVALID_DATES
""".split()
"""The modes of sql_mode."""

_OTHER_DATABASES = tuple(
    "PIPES_AS_CONCAT ANSI_QUOTES IGNORE_SPACE NO_KEY_OPTIONS NO_TABLE_OPTIONS NO_FIELD_OPTIONS".split()
)

COMBINED_MODES = {
    "ANSI": ("REAL_AS_FLOAT", "PIPES_AS_CONCAT", "ANSI_QUOTES", "IGNORE_SPACE", "ONLY_FULL_GROUP_BY"),
    **dict.fromkeys(("DB2", "MSSQL", "POSTGRESQL"), _OTHER_DATABASES),
    **dict.fromkeys(("MAXDB", "ORACLE"), (*_OTHER_DATABASES, "NO_AUTO_CREATE_USER")),
    "MYSQL323": ("MYSQL323", "HIGH_NOT_PRECEDENCE"),
    "MYSQL40": ("MYSQL40", "HIGH_NOT_PRECEDENCE"),
    "TRADITIONAL": (
        *("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES", "NO_ZERO_IN_DATE", "NO_ZERO_DATE"),
        *("ERROR_FOR_DIVISION_BY_ZERO", "NO_AUTO_CREATE_USER", "NO_ENGINE_SUBSTITUTION"),
    ),
}
"""Modes that stand for several others, which are listed before them."""

READING_MODES = frozenset(
    "ANSI_QUOTES PIPES_AS_CONCAT IGNORE_SPACE NO_BACKSLASH_ESCAPES HIGH_NOT_PRECEDENCE REAL_AS_FLOAT".split()
)
"""The modes that change how a text is parsed."""


def mode_flags(text: str) -> frozenset[str]:
    """Return the modes of a text exactly as they are spelled, where ANSI is no ANSI_QUOTES (GetSQLMode).

    Raises ValueError for an unknown mode.
    """
    modes = frozenset(mode for mode in text.split(",") if mode)
    if not modes.issubset(SQL_MODES):
        raise ValueError(f"unknown modes of sql_mode in {text!r}")
    return modes
