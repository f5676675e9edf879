"""TiDB's character sets and collations.

One law: a collation belongs to one charset, and its name begins with it (TiDB: pkg/parser/charset/charset.go).
"""

from __future__ import annotations

from simulator.errors import SchemaError, did_you_mean

CHARSETS = {
    "utf8mb4": ("utf8mb4_bin", 4),
    "utf8": ("utf8_bin", 3),
    "latin1": ("latin1_bin", 1),
    "ascii": ("ascii_bin", 1),
    "binary": ("binary", 1),
    "gbk": ("gbk_chinese_ci", 2),
    "gb18030": ("gb18030_chinese_ci", 4),
}
"""Default collation, and most bytes a character takes."""

ALIASES = {"utf8mb3": "utf8"}

COLLATIONS = frozenset(
    """
    ascii_bin binary gb18030_bin gb18030_chinese_ci gbk_bin gbk_chinese_ci latin1_bin utf8_bin utf8_general_ci
    utf8_unicode_ci utf8mb4_0900_ai_ci utf8mb4_0900_bin utf8mb4_bin utf8mb4_general_ci utf8mb4_unicode_ci
    """.split()
)
"""Those that TiDB compares by; MySQL's others it knows by name alone (tidb pkg/util/collate/collate.go)."""


def charset(name: str, where: str, number: int = 1115) -> str:
    """The charset's name as TiDB keeps it; raises SchemaError of that number with the known ones."""
    known = ALIASES.get(name.lower(), name.lower())
    if known not in CHARSETS:
        raise SchemaError(
            f"{where}: unknown character set {name!r}.{did_you_mean(known, CHARSETS)} Known: {', '.join(CHARSETS)}",
            number=number,
        )
    return known


def charset_of(collation: str, where: str) -> str:
    """The charset a collation belongs to; raises SchemaError if there is none."""
    return charset(collation.lower().partition("_")[0], f"{where}: collation {collation!r}", 1273)


def collation(name: str) -> str:
    """The collation's name as TiDB keeps it."""
    prefix, underline, rest = name.lower().partition("_")
    return ALIASES.get(prefix, prefix) + underline + rest


def resolve(charset_name: str, collation_name: str, default: tuple[str, str], where: str) -> tuple[str, str]:
    """Charset and collation of a column or table that names one of them, both or none; raises SchemaError."""
    if not charset_name and not collation_name:
        return default
    if not collation_name:
        found = charset(charset_name, where)
        return found, CHARSETS[found][0]
    found = charset_of(collation_name, where)
    if charset_name and charset(charset_name, where) != found:
        raise SchemaError(
            f"{where}: collation {collation_name!r} is not one of character set {charset_name!r}", number=1253
        )
    return found, collation(collation_name)
