"""TiDB's character sets and collations (TiDB: pkg/parser/charset/charset.go).

The name of a collation begins with the name of its character set.
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
"""The default collation of each character set, and the largest number of bytes of a character."""

ALIASES = {"utf8mb3": "utf8"}

COLLATIONS = frozenset(
    """
    ascii_bin binary gb18030_bin gb18030_chinese_ci gbk_bin gbk_chinese_ci latin1_bin utf8_bin utf8_general_ci
    utf8_unicode_ci utf8mb4_0900_ai_ci utf8mb4_0900_bin utf8mb4_bin utf8mb4_general_ci utf8mb4_unicode_ci
    """.split()
)
"""The collations that TiDB implements (tidb pkg/util/collate/collate.go). It knows MySQL's others only by name."""


def canonical_charset(name: str, where: str, number: int = 1115) -> str:
    """Return the character set's name as TiDB stores it; raises SchemaError with the error number if it is unknown."""
    charset = ALIASES.get(name.lower(), name.lower())
    if charset not in CHARSETS:
        raise SchemaError(
            f"{where}: unknown character set {name!r}.{did_you_mean(charset, CHARSETS)} Known: {', '.join(CHARSETS)}",
            number=number,
        )
    return charset


def charset_of(collation: str, where: str) -> str:
    """Return the character set of a collation; raises SchemaError if there is none."""
    return canonical_charset(collation.lower().partition("_")[0], f"{where}: collation {collation!r}", 1273)


def canonical_collation(name: str) -> str:
    """Return the collation's name as TiDB stores it."""
    prefix, underline, rest = name.lower().partition("_")
    return ALIASES.get(prefix, prefix) + underline + rest


def resolve_charset_and_collation(
    charset_name: str, collation_name: str, default: tuple[str, str], where: str
) -> tuple[str, str]:
    """Return the character set and collation of a column or table that names both, one or none; raises SchemaError."""
    if not charset_name and not collation_name:
        return default
    if not collation_name:
        name = canonical_charset(charset_name, where)
        return name, CHARSETS[name][0]
    name = charset_of(collation_name, where)
    if charset_name and canonical_charset(charset_name, where) != name:
        raise SchemaError(
            f"{where}: collation {collation_name!r} is not one of character set {charset_name!r}", number=1253
        )
    return name, canonical_collation(collation_name)
