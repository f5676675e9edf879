"""Which type a column may be changed to, and whether its rows must be written anew for it.

One law: both are TiDB's answers, by type alone (TiDB v8.5: pkg/types/field_type.go, CheckModifyTypeCompatible;
pkg/ddl/modify_column.go, needChangeColumnData).
"""

from __future__ import annotations

from simulator.tidb.ddl.tidb_errors import unsupported, worded
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, TYPES, arguments, family, is_binary


TO_BIT = ("date", "datetime", "time", "year", "string", "text", "json")
TO_MEMBERS = ("date", "datetime", "time", "year", "decimal", "float", "json", "bit")
TO_TIME = ("enum", "set", "bit", "decimal", "float")
TEXTUAL = ("string", "text")
CHARSETS = {("utf8", "utf8mb4"), ("utf8", "utf8"), ("utf8mb4", "utf8mb4"), ("latin1", "utf8mb4")}
"""Character sets that TiDB changes from and to without writing rows anew."""

ALIKE = tuple(
    tuple(f"{charset}_{rest}" for charset in charsets)
    for rest, charsets in (("general_ci", ("utf8mb4", "utf8")), ("unicode_ci", ("utf8mb4", "utf8")),
                           ("bin", ("utf8mb4", "utf8", "latin1")))
)
"""Collations that order alike."""


def check_change(before: Column, after: Column, primary: bool, indexed: bool) -> None:
    """Raises DdlError where TiDB does not change the one type into the other; `primary` says that the column is one of
    the primary key's, `indexed` that it is in any index."""
    one, two = before.type, after.type
    if not supported(one, two):
        raise unsupported(f"modify column: change from original type {spelled(one)} to {spelled(two)} is currently"
                          " unsupported yet")
    rewritten = needs_reorganization(one, two)
    if rewritten and primary:
        raise unsupported("modify column: this column has primary key flag")
    if rewritten and "gbk" not in (one.charset, two.charset):
        return
    if indexed and not alike(one.collation, two.collation):
        raise worded("ddl:8200", f"Unsupported modifying collation of column '{before.name.lower()}' from"
                                 f" '{one.collation}' to '{two.collation}' when index is defined on it.")
    check_charset(one.charset, one.collation, two.charset, two.collation)


def check_charset(charset: str, collation: str, to_charset: str, to_collation: str) -> None:
    """Raises DdlError for a change of charset or collation that TiDB does not make (checkModifyCharsetAndCollation)."""
    if (charset, to_charset) in CHARSETS:
        return
    if charset != to_charset:
        raise unsupported(f"modify charset from {charset} to {to_charset}")
    if collation != to_collation:
        raise unsupported(f"modify change collate from {collation} to {to_collation}")


def alike(one: str, two: str) -> bool:
    return one == two or any(one in group and two in group for group in ALIKE)


def spelled(type: ColumnType) -> str:
    """The type as TiDB prints it in errors: `decimal(10,2)`."""
    return (TYPES[type.name].binary_name if is_binary(type) else type.name) + arguments(type)


def supported(one: ColumnType, two: ColumnType) -> bool:
    """Whether TiDB can convert values of the one type to the other (checkTypeChangeSupported)."""
    old, new = family(one), family(two)
    if one.name == two.name:
        return True
    if new == "bit" and old in TO_BIT or new in ("enum", "set") and old in TO_MEMBERS:
        return False
    if new in ("date", "datetime") and old in TO_TIME or new == "time" and old in ("enum", "set", "bit"):
        return False
    return "vector" not in (old, new) or old in TEXTUAL


def needs_reorganization(one: ColumnType, two: ColumnType) -> bool:
    """Whether TiDB writes every row anew for the change."""
    old, new = family(one), family(two)
    if one.name == two.name:
        return same_kind_rewritten(one, two)
    if {one.name, two.name} == {"char", "varchar"}:
        return True
    if old in TEXTUAL and new in TEXTUAL:
        return narrower(one, two)
    if old == new == "integer":
        return TYPES[two.name].length < TYPES[one.name].length or one.unsigned != two.unsigned
    return True


def same_kind_rewritten(one: ColumnType, two: ColumnType) -> bool:
    kind = family(one)
    if kind == "decimal":
        return (one.length, one.decimal, one.unsigned) != (two.length, two.decimal, two.unsigned)
    if kind in ("enum", "set"):
        return two.elements[:len(one.elements)] != one.elements
    if kind == "integer":
        return one.unsigned != two.unsigned
    if one.name == "char" and is_binary(one):
        return one.length != two.length
    if kind == "vector":
        return two.length >= 0 and one.length != two.length
    return narrower(one, two)


def narrower(one: ColumnType, two: ColumnType) -> bool:
    """Whether the new type has fewer characters or digits, or another sign."""
    length = width(two)
    return length > 0 and (length < width(one) or two.decimal < one.decimal) or one.unsigned != two.unsigned


def width(type: ColumnType) -> int:
    """TiDB's flen."""
    if type.length >= 0:
        return type.length
    fraction = type.decimal + 1 if type.decimal > 0 else 0
    return {"float": 12, "double": 22, "date": 10, "time": 10 + fraction, "datetime": 19 + fraction,
            "timestamp": 19 + fraction}.get(type.name, -1)
