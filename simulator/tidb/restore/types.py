"""Types of columns as TiDB writes them back.

One law: synonyms are gone, what the statement leaves out stays out (TiDB: pkg/parser/types/field_type.go, Restore).
"""

from __future__ import annotations

from simulator.tidb.restore.restoring import string
from simulator.tidb.syntax.definitions import TypeSyntax

CHARACTERS = ("char", "varchar")
TEXTS = ("tinytext", "text", "mediumtext", "longtext")
WIDEST_FLOAT = 24
WIDEST_DOUBLE = 53
"""Bits of precision that make FLOAT(p) a FLOAT or a DOUBLE (TiDB: pkg/parser/mysql/const.go)."""


def restored_type(type: TypeSyntax) -> str:
    """The type with its arguments and attributes; charsets of ENUM and SET are lost, as TiDB loses them."""
    name, length = named(type)
    flags = (" UNSIGNED" if type.unsigned else "") + (" ZEROFILL" if type.zerofill else "")
    binary = " BINARY" if type.binary_collation and type.charset != "binary" else ""
    known = type.name in CHARACTERS + TEXTS and type.charset not in ("", "binary")
    charset = f" CHARACTER SET {type.charset.upper()}" if known else ""
    return f"{name}{arguments(type, length)}{flags}{binary}{charset}"


def named(type: TypeSyntax) -> tuple[str, int]:
    """TiDB's word for the type, and its length."""
    if type.name == "float" and type.decimal < 0 and type.length <= WIDEST_DOUBLE:
        return "DOUBLE" if type.length > WIDEST_FLOAT else "FLOAT", -1
    length = 1 if type.name == "bit" and type.length < 0 else type.length
    if type.charset == "binary" and type.name in CHARACTERS:
        return type.name.replace("char", "binary").upper(), length
    if type.charset == "binary" and type.name in TEXTS:
        return type.name.replace("text", "blob").upper(), length
    return type.name.upper(), length


def arguments(type: TypeSyntax, length: int) -> str:
    """What stands in parentheses."""
    if type.name in ("enum", "set"):
        return f"({','.join(map(string, type.elements))})"
    if type.name in ("time", "datetime", "timestamp"):
        return f"({type.decimal})" if type.decimal >= 0 else ""
    scale = f",{type.decimal}" if type.decimal >= 0 else ""
    return f"({length}{scale})" if length >= 0 else ""
