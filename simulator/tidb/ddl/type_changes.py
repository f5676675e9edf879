"""Changes of column types: whether TiDB supports them, and whether they rewrite the rows.

Source: TiDB v8.5: pkg/types/field_type.go, CheckModifyTypeCompatible; pkg/ddl/modify_column.go, needChangeColumnData.
"""

from __future__ import annotations

from simulator.tidb.errors import unsupported_error
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import TYPES, ColumnType, bare_name, family, is_binary, type_arguments

TO_BIT = ("date", "datetime", "time", "year", "string", "text", "json")
TO_MEMBERS = ("date", "datetime", "time", "year", "decimal", "float", "json", "bit")
TO_TIME = ("enum", "set", "bit", "decimal", "float")
TEXTUAL = ("string", "text")
CHARSETS = {("utf8", "utf8mb4"), ("utf8", "utf8"), ("utf8mb4", "utf8mb4"), ("latin1", "utf8mb4")}
"""Changes of charsets that do not rewrite the rows."""

ALIKE = (
    ("utf8mb4_general_ci", "utf8_general_ci"),
    ("utf8mb4_unicode_ci", "utf8_unicode_ci"),
    ("utf8mb4_bin", "utf8_bin", "latin1_bin"),
)
"""Collations of the same order."""


def check_change(before: Column, after: Column, primary: bool, indexed: bool) -> None:
    """Raise DdlError for a change that TiDB does not support.

    `primary` is whether the column is part of the primary key, `indexed` whether it is in any index.
    """
    old, new = before.type, after.type
    if not is_supported(old, new):
        texts = [bare_name(type) + type_arguments(type) for type in (old, new)]
        change = f"change from original type {texts[0]} to {texts[1]} is currently unsupported yet"
        raise unsupported_error(f"modify column: [ddl:8200]Unsupported modify column: {change}")
    reorganized = can_reorganize(old, new)
    if primary and (reorganized or needs_reorganization(old, new)):
        raise unsupported_error("modify column: this column has primary key flag")
    if reorganized and "gbk" not in (old.charset, new.charset):
        return
    if indexed and not order_alike(old.collation, new.collation):
        raise unsupported_error(
            f"modifying collation of column '{before.name.lower()}' from"
            f" '{old.collation}' to '{new.collation}' when index is defined on it."
        )
    check_charset(old.charset, old.collation, new.charset, new.collation)


def check_charset(charset: str, collation: str, to_charset: str, to_collation: str) -> None:
    """Raise DdlError for an unsupported change of charset or collation (checkModifyCharsetAndCollation)."""
    if (charset, to_charset) in CHARSETS:
        return
    if charset != to_charset:
        raise unsupported_error(f"modify charset from {charset} to {to_charset}")
    if collation != to_collation:
        raise unsupported_error(f"modify change collate from {collation} to {to_collation}")


def order_alike(collation: str, other: str) -> bool:
    return collation == other or any(collation in group and other in group for group in ALIKE)


def is_supported(old: ColumnType, new: ColumnType) -> bool:
    """Return whether TiDB can convert values of one type to the other (checkTypeChangeSupported)."""
    old_family, new_family = family(old), family(new)
    if old.name == new.name:
        return True
    if new_family == "bit" and old_family in TO_BIT or new_family in ("enum", "set") and old_family in TO_MEMBERS:
        return False
    if new_family in ("date", "datetime") and old_family in TO_TIME:
        return False
    if new_family == "time" and old_family in ("enum", "set", "bit"):
        return False
    return "vector" not in (old_family, new_family) or old_family in TEXTUAL


def can_reorganize(old: ColumnType, new: ColumnType) -> bool:
    """Return whether TiDB may rewrite the rows for another charset (CheckModifyTypeCompatible)."""
    kind = family(old)
    if old.name != new.name and not (kind in TEXTUAL and family(new) in TEXTUAL or kind == family(new) == "integer"):
        return True
    if kind in ("enum", "set", "decimal", "integer"):
        return needs_reorganization(old, new)
    if {old.name, new.name} == {"char", "varchar"}:
        return True
    length = field_length(new)
    if old.name == new.name == "char" and is_binary(old) and is_binary(new) and length != field_length(old):
        return True
    return 0 < length < field_length(old) or 0 < new.decimal < old.decimal or old.unsigned != new.unsigned


def needs_reorganization(old: ColumnType, new: ColumnType) -> bool:
    old_family, new_family = family(old), family(new)
    if old.name == new.name:
        return same_type_reorganized(old, new)
    if {old.name, new.name} == {"char", "varchar"}:
        return True
    if old_family in TEXTUAL and new_family in TEXTUAL:
        return is_narrower(old, new)
    if old_family == new_family == "integer":
        return TYPES[new.name].length < TYPES[old.name].length or old.unsigned != new.unsigned
    return True


def same_type_reorganized(old: ColumnType, new: ColumnType) -> bool:
    kind = family(old)
    if kind == "decimal":
        return (old.length, old.decimal, old.unsigned) != (new.length, new.decimal, new.unsigned)
    if kind in ("enum", "set"):
        return new.elements[: len(old.elements)] != old.elements
    if kind == "integer":
        return old.unsigned != new.unsigned
    if old.name == "char" and is_binary(old):
        return old.length != new.length
    if kind == "vector":
        return new.length >= 0 and old.length != new.length
    return is_narrower(old, new)


def is_narrower(old: ColumnType, new: ColumnType) -> bool:
    """Return whether the new type has fewer characters or digits, or another sign."""
    length = field_length(new)
    return length > 0 and (length < field_length(old) or new.decimal < old.decimal) or old.unsigned != new.unsigned


def field_length(type: ColumnType) -> int:
    """Return TiDB's flen."""
    if type.length >= 0:
        return type.length
    fraction = type.decimal + 1 if type.decimal > 0 else 0
    return {
        "float": 12,
        "double": 22,
        "date": 10,
        "time": 10 + fraction,
        "datetime": 19 + fraction,
        "timestamp": 19 + fraction,
    }.get(type.name, -1)
