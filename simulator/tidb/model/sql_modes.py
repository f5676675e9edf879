"""The modes of sql_mode (tidb pkg/parser/mysql/const.go).

TiDB keeps a mode that stands for others as a mode of its own, beside the others.
"""

from __future__ import annotations

from types import MappingProxyType

SQL_MODES = """
REAL_AS_FLOAT PIPES_AS_CONCAT ANSI_QUOTES IGNORE_SPACE NOT_USED ONLY_FULL_GROUP_BY NO_UNSIGNED_SUBTRACTION
NO_DIR_IN_CREATE POSTGRESQL ORACLE MSSQL DB2 MAXDB NO_KEY_OPTIONS NO_TABLE_OPTIONS NO_FIELD_OPTIONS MYSQL323 MYSQL40
ANSI NO_AUTO_VALUE_ON_ZERO NO_BACKSLASH_ESCAPES STRICT_TRANS_TABLES STRICT_ALL_TABLES NO_ZERO_IN_DATE NO_ZERO_DATE
INVALID_DATES ERROR_FOR_DIVISION_BY_ZERO TRADITIONAL NO_AUTO_CREATE_USER HIGH_NOT_PRECEDENCE NO_ENGINE_SUBSTITUTION
PAD_CHAR_TO_FULL_LENGTH ALLOW_INVALID_DATES
""".split()
"""The modes of sql_mode."""

_OTHER_DATABASES = (
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "NO_FIELD_OPTIONS",
)

COMBINED_MODES = MappingProxyType(
    {
        "ANSI": ("REAL_AS_FLOAT", "PIPES_AS_CONCAT", "ANSI_QUOTES", "IGNORE_SPACE", "ONLY_FULL_GROUP_BY"),
        "DB2": _OTHER_DATABASES,
        "MSSQL": _OTHER_DATABASES,
        "POSTGRESQL": _OTHER_DATABASES,
        "MAXDB": (*_OTHER_DATABASES, "NO_AUTO_CREATE_USER"),
        "ORACLE": (*_OTHER_DATABASES, "NO_AUTO_CREATE_USER"),
        "MYSQL323": ("MYSQL323", "HIGH_NOT_PRECEDENCE"),
        "MYSQL40": ("MYSQL40", "HIGH_NOT_PRECEDENCE"),
        "TRADITIONAL": (
            "STRICT_TRANS_TABLES",
            "STRICT_ALL_TABLES",
            "NO_ZERO_IN_DATE",
            "NO_ZERO_DATE",
            "ERROR_FOR_DIVISION_BY_ZERO",
            "NO_AUTO_CREATE_USER",
            "NO_ENGINE_SUBSTITUTION",
        ),
    }
)
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
