"""TiDB's column types: codes, names, sizes, families, changes of them; character sets and collations.

Everything that depends only on a type is in TYPES. The name of a collation begins with the name of its character set
(TiDB: pkg/parser/charset/charset.go).
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.errors import SchemaError, did_you_mean


@dataclass(frozen=True)
class ColumnType:
    """The type of a column, with TiDB's defaults filled in."""

    name: str
    """TiDB's base name in lower case: a key of TYPES. BINARY is char, VARBINARY varchar and a BLOB a text, with the
    character set `binary` (TiDB: pkg/parser/types/field_type.go)."""

    length: int = -1
    """Display width, characters, bytes, bits, precision or dimension. -1 if TiDB stores none."""

    decimal: int = -1
    """Scale of a number, or digits of fractional seconds. -1 if TiDB stores none."""

    unsigned: bool = False
    zerofill: bool = False

    charset: str = "binary"
    """`binary` for everything that is not text: numbers, times, JSON, binary strings."""

    collation: str = "binary"

    elements: tuple[str, ...] = ()
    """The members of an ENUM or SET."""


@dataclass(frozen=True)
class TypeInfo:
    name: str
    code: int
    """TiDB's type byte, `"t"` of Open Protocol (TiDB: pkg/parser/mysql/type.go)."""

    sql_type: int
    """The java.sql.Types code of canal's sqlType, before unsigned values promote it (tiflow 5.4+: codec/canal, type
    tables). Earlier releases and binary strings have others."""

    family: str
    """integer, float, decimal, bit, year, date, time, datetime, string, text, enum, set, json or vector."""

    binary_name: str = ""
    """The name of the type with the character set `binary`."""

    length: int = -1
    """TiDB's default length: display width of numbers, bytes of a text, 1 for CHAR and BIT."""

    unsigned_length: int = -1
    maximum: int = -1
    """The largest length (precision, dimension, member count) of a declaration, or -1."""

    synonyms: str = ""
    """Its other names in statements, which `name` and `binary_name` are not."""


TYPES = {
    row.name: row
    for row in (
        TypeInfo("tinyint", 1, -6, "integer", length=4, unsigned_length=3, maximum=255, synonyms="INT1 BOOL BOOLEAN"),
        TypeInfo("smallint", 2, 5, "integer", length=6, unsigned_length=5, maximum=255, synonyms="INT2"),
        TypeInfo("mediumint", 9, 4, "integer", length=9, unsigned_length=8, maximum=255, synonyms="INT3 MIDDLEINT"),
        TypeInfo("int", 3, 4, "integer", length=11, unsigned_length=10, maximum=255, synonyms="INTEGER INT4"),
        TypeInfo("bigint", 8, -5, "integer", length=20, unsigned_length=20, maximum=255, synonyms="INT8 SERIAL"),
        TypeInfo("float", 4, 7, "float", maximum=255, synonyms="FLOAT4"),
        TypeInfo("double", 5, 8, "float", maximum=255, synonyms="FLOAT8 REAL"),
        TypeInfo("decimal", 246, 3, "decimal", length=10, unsigned_length=10, maximum=65, synonyms="DEC NUMERIC FIXED"),
        TypeInfo("bit", 16, -7, "bit", length=1, maximum=64),
        TypeInfo("year", 13, 12, "year", length=4, maximum=4, synonyms="SQL_TSI_YEAR"),
        TypeInfo("date", 10, 91, "date"),
        TypeInfo("time", 11, 92, "time"),
        TypeInfo("datetime", 12, 93, "datetime"),
        TypeInfo("timestamp", 7, 93, "datetime"),
        TypeInfo("char", 254, 1, "string", "binary", length=1, maximum=255, synonyms="CHARACTER NCHAR"),
        TypeInfo("varchar", 15, 12, "string", "varbinary", maximum=65535, synonyms="VARCHARACTER NVARCHAR"),
        TypeInfo("tinytext", 249, 2005, "text", "tinyblob", length=255),
        TypeInfo("text", 252, 2005, "text", "blob", length=65535),
        TypeInfo("mediumtext", 250, 2005, "text", "mediumblob", length=16777215, synonyms="LONG"),
        TypeInfo("longtext", 251, 2005, "text", "longblob", length=4294967295),
        TypeInfo("enum", 247, 4, "enum", maximum=65535),
        TypeInfo("set", 248, -7, "set", maximum=64),
        TypeInfo("json", 245, 12, "json"),
        TypeInfo("vector", 225, 12, "vector", maximum=16383),
    )
}

BIGINT, UNSIGNED_BIGINT = ColumnType("bigint", 20), ColumnType("bigint", 20, unsigned=True)

INTEGER_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

DEFAULT_SIZES = {
    **{row.name: (row.length, 0) for row in TYPES.values() if row.length >= 0 and row.family != "year"},
    **{"float": (12, -1), "double": (22, -1), "time": (10, 0), "datetime": (19, 0), "timestamp": (19, 0)},
    "varchar": (5, 0),
}
"""Length and scale that TiDB takes for those of a type whose declaration has none (tidb pkg/parser/mysql/util.go,
GetDefaultFieldLengthAndDecimal)."""

MEMBER_ESCAPES = str.maketrans({"'": "''", "\0": "\\0", "\n": "\\n", "\r": "\\r"})
"""How TiDB escapes members of ENUM and SET. It does not escape backslashes (TiDB: pkg/parser/format)."""


def type_code(type: ColumnType) -> int:
    """Return TiDB's type byte, `"t"` of Open Protocol."""
    return TYPES[type.name].code


def family(type: ColumnType) -> str:
    return TYPES[type.name].family


def is_binary(type: ColumnType) -> bool:
    """Whether values are byte strings: BINARY, VARBINARY and the BLOBs."""
    row = TYPES[type.name]
    return bool(row.binary_name) and type.charset == "binary"


def is_text(type: ColumnType) -> bool:
    """Whether values are strings, binary or not."""
    return family(type) in ("string", "text")


def is_blob(type: ColumnType) -> bool:
    """Whether the type is a TEXT or a BLOB of any size (type codes 249 to 252)."""
    return family(type) == "text"


def is_unsigned(type: ColumnType) -> bool:
    """Whether TiDB's unsigned flag is set. BIT and YEAR always have it."""
    return type.unsigned or type.name in ("bit", "year")


def exceeds_int64(type: ColumnType) -> bool:
    """Whether values may be larger than those of a signed integer of 64 bits."""
    return type.unsigned and INTEGER_BITS.get(type.name) == 64


def bounds(type: ColumnType) -> tuple[int, int]:
    """Return the smallest and largest value of an integer type."""
    bits = INTEGER_BITS[type.name]
    return (0, 2**bits - 1) if type.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def bare_name(type: ColumnType) -> str:
    """Return the name without arguments and attributes: `int`, `varbinary`."""
    return TYPES[type.name].binary_name if is_binary(type) else type.name


def mysql_type(type: ColumnType, full: bool) -> str:
    """Return the type as TiDB names it: `int unsigned`, or with `full` `int(10) unsigned`."""
    attributes = (" unsigned" if type.unsigned else "") + (" zerofill" if type.zerofill else "")
    return bare_name(type) + (type_arguments(type) if full else "") + attributes


def type_arguments(type: ColumnType) -> str:
    """Return `(10,2)` and the like, as TiDB prints them (TiDB: pkg/parser/types/field_type.go, CompactStr)."""
    kind = family(type)
    if kind in ("enum", "set"):
        return "(" + ",".join(f"'{member.translate(MEMBER_ESCAPES)}'" for member in type.elements) + ")"
    if kind in ("time", "datetime"):
        return f"({type.decimal})" if type.decimal > 0 else ""
    if kind == "decimal" or kind == "float" and type.length >= 0 and type.decimal >= 0:
        return f"({type.length},{type.decimal})"
    if kind in ("float", "date", "text", "json") or type.length < 0:
        return ""
    return f"({type.length})"


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


# -- changes of types (TiDB v8.5: pkg/types/field_type.go, CheckModifyTypeCompatible; pkg/ddl/modify_column.go) --------


TEXTUAL = ("string", "text")
TO_BIT = ("date", "datetime", "time", "year", *TEXTUAL, "json")
TO_MEMBERS = ("date", "datetime", "time", "year", "decimal", "float", "json", "bit")
TO_TIME = ("enum", "set", "bit", "decimal", "float")
"""Families whose values TiDB does not convert to a BIT, to an ENUM or SET, to a DATE or DATETIME."""


def is_convertible(old: ColumnType, new: ColumnType) -> bool:
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
    """Return whether TiDB rewrites the rows (needChangeColumnData)."""
    old_family, new_family = family(old), family(new)
    if old.name == new.name:
        return _same_name_needs_reorganization(old, new)
    if {old.name, new.name} == {"char", "varchar"}:
        return True
    if old_family in TEXTUAL and new_family in TEXTUAL:
        return is_narrower(old, new)
    if old_family == new_family == "integer":
        return TYPES[new.name].length < TYPES[old.name].length or old.unsigned != new.unsigned
    return True


def _same_name_needs_reorganization(old: ColumnType, new: ColumnType) -> bool:
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
    lengths = {"float": 12, "double": 22, "date": 10, "time": 10 + fraction}
    return lengths.get(type.name, 19 + fraction if family(type) == "datetime" else -1)
