"""Strings, ENUM and SET as TiDB keeps them.

One law: each function gives TiDB text (bytes of a binary column as their Latin-1 text), or null for what strict mode
would reject.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.schema.table import ColumnType

BYTES = {"tinytext": 2**8 - 1, "text": 2**16 - 1, "mediumtext": 2**24 - 1, "longtext": 2**32 - 1}


def text(type: ColumnType, value: Column) -> Column:
    """CHAR, VARCHAR or a TEXT: valid UTF-8 of no more characters (a TEXT: bytes) than the column holds."""
    known = F.is_valid_utf8(value)
    if type.charset == "ascii":
        known = known & (F.octet_length(value) == F.char_length(value))
    if type.charset in ("utf8", "utf8mb3"):
        known = known & ~value.rlike("[\\x{10000}-\\x{10FFFF}]")
    if type.name in BYTES:
        return F.when(known & (F.octet_length(value) <= BYTES[type.name]), value)
    if type.name == "char":
        value = F.rtrim(value)
    fits = (F.octet_length(value) <= type.length) | (F.char_length(value) <= type.length)
    cut = F.when(known & (F.char_length(F.rtrim(value)) <= type.length), F.substring(value, 1, type.length))
    return F.when(known & fits, value).otherwise(cut)


def binary(type: ColumnType, value: Column) -> Column:
    """BINARY (padded with zero bytes), VARBINARY or a BLOB from its bytes."""
    limit = BYTES.get(type.name, type.length)
    if type.name == "char":
        value = F.when(F.octet_length(value) <= limit, F.rpad(value, limit, F.lit(b"\x00")))
    return F.when(F.octet_length(value) <= limit, F.decode(value, "ISO-8859-1"))


def _ignores_case(type: ColumnType) -> bool:
    return type.collation.endswith("_ci")


def _folded(type: ColumnType, value: Column) -> Column:
    return F.lower(value) if _ignores_case(type) else value


def enum(type: ColumnType, value: Column) -> Column:
    """ENUM by name, or by number where no member has that name; 0 is the empty string."""
    members = F.array(*(F.lit(member) for member in type.elements))
    number = F.when(value.rlike(r"^\d{1,5}$"), value.cast("int"))
    by_number = F.when(number == 0, "").when(number.between(1, len(type.elements)), F.element_at(members, number))
    return F.when(value.isin("", *type.elements), value).otherwise(F.coalesce(_same_member(type, value), by_number))


def _same_member(type: ColumnType, value: Column) -> Column:
    """The member that equals the value under the column's collation (trailing spaces never count)."""
    value = F.rtrim(value)
    if not _ignores_case(type):
        return F.when(value.isin(*type.elements), value)
    names = F.array(*(F.lit(member) for member in type.elements))
    place = F.array_position(F.array(*(F.lit(member.lower()) for member in type.elements)), F.lower(value))
    return F.when(place > 0, F.element_at(names, place.cast("int")))


def set_of(type: ColumnType, value: Column) -> Column:
    """SET: members in the order of the definition, each once; a number is a bitmap."""
    given = F.split(_folded(type, value), ",")
    members = F.array(*(F.lit(member) for member in type.elements))
    folded = F.array(*(F.lit(member.lower() if _ignores_case(type) else member) for member in type.elements))
    named = F.filter(members, lambda member: F.array_contains(given, _folded(type, member)))
    known = F.size(F.array_except(given, folded)) == 0
    bits = F.when(value.rlike(r"^\d{1,20}$"), value.try_cast("decimal(20,0)"))
    chosen = F.filter(members, lambda member, index: _bit(bits, index))
    by_number = F.when(bits < F.lit(str(2**len(type.elements))).cast("decimal(20,0)"), F.array_join(chosen, ","))
    return F.when(value == "", "").when(known, F.array_join(named, ",")).otherwise(by_number)


def _bit(bits: Column, index: Column) -> Column:
    return F.floor(bits / F.pow(F.lit(2.0), index).cast("decimal(20,0)")) % 2 == 1
