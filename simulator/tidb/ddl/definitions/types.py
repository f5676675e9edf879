"""Column types with TiDB's defaults filled in, so that all spellings of a type are equal, and checked.

Source: tidb pkg/ddl/add_column.go, pkg/parser/types/field_type.go.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.model.charsets import CHARSETS, canonical_collation, charset_of, resolve_charset_and_collation
from simulator.tidb.model.types import TYPES, ColumnType, TypeInfo

TEXT_SIZES = tuple((TYPES[name].length, name) for name in ("tinytext", "text", "mediumtext", "longtext"))


def build_type(field: syntax.FieldType, collation_name: str, default: tuple[str, str], where: str) -> ColumnType:
    """Return the complete type of a column. Raises SchemaError, with a text that begins with `where`.

    `default` is the charset and collation of the table.
    """
    built = complete_type(field, collation_name, default, where)
    check_type(built, TYPES[built.name], field, where)
    return built


def complete_type(field: syntax.FieldType, collation_name: str, default: tuple[str, str], where: str) -> ColumnType:
    """Return the complete type of a column without a check of sizes and members."""
    row = TYPES[field.name]
    if row.family == "float":
        field = sized_float(field, where)
    charset, collate = ("binary", "binary")
    if row.family in ("string", "text", "enum", "set"):
        charset, collate = text_charset(field, collation_name, default, where)
    elif collation_name:
        charset_of(collation_name, where)
    length, decimal, name = complete_sizes(field, TYPES[field.name], charset)
    return ColumnType(name, length, decimal, field.unsigned, field.zerofill, charset, collate, field.elements)


def text_charset(field: syntax.FieldType, collation_name: str, default: tuple[str, str], where: str) -> tuple[str, str]:
    """Return the charset and collation of a text column. The attribute BINARY means the default collation here."""
    if field.charset == "binary" and field.spelled.split("(")[0].split()[0].upper() not in ("ENUM", "SET"):
        if collation_name and canonical_collation(collation_name) != "binary":
            raise SchemaError(f"{where}: type {field.spelled} takes no collation {collation_name!r}")
        return "binary", "binary"
    charset, collate = resolve_charset_and_collation(field.charset, collation_name, default, where)
    if field.binary_collation and not (field.charset and collation_name):
        collate = CHARSETS[charset][0]
    return charset, collate


def sized_float(field: syntax.FieldType, where: str) -> syntax.FieldType:
    """Return the type of FLOAT(p), which is FLOAT up to 24 bits and DOUBLE up to 53, or another type unchanged."""
    if field.length < 0 or field.decimal >= 0:
        return field
    if field.name == "double":
        raise SchemaError(f"{where}: DOUBLE({field.length}) is not a type; accepted: DOUBLE, DOUBLE(m,d)")
    if field.length > 53:
        raise SchemaError(f"{where}: FLOAT({field.length}) is too wide; accepted: up to FLOAT(53)")
    return replace(field, name="float" if field.length <= 24 else "double", length=-1)


def complete_sizes(field: syntax.FieldType, row: TypeInfo, charset: str) -> tuple[int, int, str]:
    """Return length, decimal and name with TiDB's defaults; TEXT(n) and BLOB(n) become the smallest type that fits."""
    if row.family == "text":
        bytes_needed = field.length * CHARSETS[charset][1] if field.name == "text" and field.length >= 0 else row.length
        size, name = next((size for size in TEXT_SIZES if bytes_needed <= size[0]), TEXT_SIZES[-1])
        return size, -1, name
    if row.family in ("time", "datetime"):
        return -1, max(field.decimal, 0), row.name
    length = field.length
    if length < 0 or length == 0 and row.family in ("bit", "decimal"):
        length = row.unsigned_length if field.unsigned else row.length
    return length, max(field.decimal, 0) if row.family == "decimal" else field.decimal, row.name


def check_type(type: ColumnType, row: TypeInfo, field: syntax.FieldType, where: str) -> None:
    spelled = field.spelled
    if row.family in ("enum", "set"):
        return check_members(type, row, where)
    if type.name == "varchar":
        return check_varchar(type, where, spelled)
    limited = row.maximum >= 0 and row.family != "integer"
    if limited and type.length > row.maximum or row.family == "year" and type.length != 4:
        raise SchemaError(f"{where}: {spelled} is too long or too wide; accepted: up to {row.maximum}")
    if row.family == "text" and field.length > 4294967295:
        raise SchemaError(f"{where}: {spelled} is too long; accepted: up to 4294967295")
    if row.family in ("time", "datetime") and type.decimal > 6:
        raise SchemaError(f"{where}: {spelled} has too many digits of a second; accepted: 0 to 6")
    if row.family in ("decimal", "float") and type.decimal > min(30, type.length):
        raise SchemaError(f"{where}: {spelled} has too many decimals; accepted: up to 30, and no more than digits")


def check_varchar(type: ColumnType, where: str, spelled: str) -> None:
    """Raise SchemaError for a VARCHAR without a length, or of more than 65535 bytes."""
    most = 65535 // CHARSETS[type.charset][1]
    if type.length < 0:
        raise SchemaError(f"{where}: {spelled} needs a length, as in {spelled}(255)")
    if type.length > most:
        raise SchemaError(f"{where}: {spelled} is too long; accepted: up to {most}, or TEXT or BLOB")


def check_members(type: ColumnType, row: TypeInfo, where: str) -> None:
    """Raise SchemaError for no members, duplicate members, and a SET with commas or more than 64 members."""
    members = type.elements
    if not members:
        raise SchemaError(f"{where}: {type.name.upper()} needs its members, as in {type.name.upper()}('a','b')")
    if len(members) > row.maximum:
        raise SchemaError(f"{where}: {len(members)} members are too many; accepted: up to {row.maximum}")
    fold = str.lower if type.collation.endswith("_ci") else str
    if len({fold(member) for member in members}) < len(members):
        raise SchemaError(f"{where}: {type.name.upper()} has the same member twice: {', '.join(map(repr, members))}")
    if type.name == "set" and any("," in member for member in members):
        raise SchemaError(f"{where}: a member of a SET holds a comma; accepted: members without commas")
