"""Numbers as TiDB prints them, out of the text or the number a file has.

One law: each function gives TiDB text, or null for what strict mode would reject; the usual case costs one cast.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.schema.table import ColumnType
from simulator.snapshots.binding import let

BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

_NUMBER = r"^\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"


def bounds(type: ColumnType) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    bits = BITS[type.name]
    return (0, 2**bits - 1) if type.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def integer(type: ColumnType, text: Column) -> Column:
    """An integer type from text: `007` is 7, `1.5` is 2 (MySQL rounds)."""
    low, high = bounds(type)
    number = text.try_cast("bigint")
    exact = number.cast("string") == text
    if high >= 2**63:
        wide = text.try_cast("decimal(20,0)")
        exact_wide = (wide.cast("string") == text) & wide.between(_wide(0), _wide(high))
        return F.when(exact & (number >= 0), text).when(exact_wide, text).otherwise(_rounded(text, low, high))
    return F.when(exact & number.between(low, high), text).otherwise(_rounded(text, low, high))


def whole(type: ColumnType, number: Column) -> Column:
    """An integer type from an integral Spark column."""
    low, high = bounds(type)
    if high >= 2**63:
        return F.when(number >= 0, number.cast("string"))
    return F.when(number.between(low, high), number.cast("string"))


def _wide(number: int) -> Column:
    return F.lit(str(number)).cast("decimal(20,0)")


def _rounded(text: Column, low: int, high: int) -> Column:
    number = F.when(text.rlike(_NUMBER), F.round(F.trim(text).try_cast("decimal(38,10)")).try_cast("decimal(20,0)"))
    return F.when(number.between(_wide(low), _wide(high)), number.cast("string"))


def decimal(type: ColumnType, text: Column) -> Column:
    """DECIMAL from text: rounded half away from zero and padded to its scale; too many integer digits are refused."""
    precision, scale = type.length, max(type.decimal, 0)
    if precision > 38:
        return _long_decimal(precision, scale, type.unsigned, text)
    return fixed(type, text.try_cast(f"decimal({precision},{scale})"))


def fixed(type: ColumnType, number: Column) -> Column:
    """DECIMAL of at most 38 digits from a Spark decimal of its precision and scale."""
    scale = max(type.decimal, 0)
    plain = number.cast("string")
    if scale > 6:  # where Java's BigDecimal prints small numbers with an exponent
        small = number.try_cast(f"decimal({scale + 1},{scale})")
        digits = F.substring((F.abs(small) + F.lit(1).cast("decimal(1,0)")).cast("string"), 2, scale + 1)
        tiny = F.concat(F.when(number < 0, "-0").otherwise("0"), digits)
        plain = F.when(F.abs(number) < 1, tiny).otherwise(plain)
    return F.when(number >= 0, plain) if type.unsigned else plain


def _long_decimal(precision: int, scale: int, unsigned: bool, text: Column) -> Column:
    """DECIMAL of more digits than Spark has, by the digits of its text."""
    trimmed = F.trim(text)
    parts = F.regexp_extract(trimmed, r"^[+-]?0*(\d*)\.?(\d*)$", 1), F.regexp_extract(trimmed, r"\.(\d*)$", 1)
    kept = F.rpad(F.substring(parts[1], 1, scale), scale, "0") if scale else F.lit("")
    up = F.substring(parts[1], scale + 1, 1) >= "5"
    digits = F.lpad(F.concat(parts[0], kept), 74, "0")
    rounded = let(digits, lambda digits: F.when(up, _successor(digits)).otherwise(digits))
    fits = trimmed.rlike(r"^[+-]?(\d+(\.\d*)?|\.\d+)$") & (F.length(parts[0]) <= precision - scale)
    return F.when(fits, let(F.regexp_replace(rounded, "^0+", ""), lambda digits: _pointed(
        precision, scale, unsigned, trimmed.startswith("-"), digits)))


def _pointed(precision: int, scale: int, unsigned: bool, negative: Column, digits: Column) -> Column:
    """Digits without leading zeros with sign and point; null where there are too many or the sign is not taken."""
    padded = F.lpad(digits, scale + 1, "0")
    padded = F.when(F.length(digits) > scale, digits).otherwise(padded)
    point = F.length(padded) - scale
    number = padded.substr(F.lit(1), point)
    number = F.concat(number, F.lit("."), padded.substr(point + 1, F.lit(scale))) if scale else number
    negative = negative & (digits != "")
    fits = F.length(digits) <= precision
    return F.when(fits & ~(negative & F.lit(unsigned)), F.concat(F.when(negative, "-").otherwise(""), number))


def _successor(digits: Column) -> Column:
    """74 digits plus one, in two halves that Spark's decimals hold."""
    one = F.lit(1).cast("decimal(1,0)")
    high = (F.substring(digits, 1, 37).try_cast("decimal(37,0)") + one).cast("string")
    low = (F.substring(digits, 38, 37).try_cast("decimal(37,0)") + one).cast("string")
    carried = F.length(low) > 37
    return F.when(carried, F.concat(high, F.lit("0" * 37))).otherwise(
        F.concat(F.substring(digits, 1, 37), F.lpad(low, 37, "0")))


def floating(type: ColumnType, number: Column) -> Column:
    """FLOAT or DOUBLE from a Spark float or double, or from text that is a number."""
    kind = "float" if type.name == "float" else "double"
    value = number.try_cast("double").cast(kind)
    if type.decimal >= 0:
        value = F.round(value, type.decimal).cast(kind)
    finite = ~F.isnan(value) & (F.abs(value) < F.lit(float("inf")))
    return F.when(finite & (value >= 0) if type.unsigned else finite, value.cast("string"))


def number_text(text: Column) -> Column:
    """Text where it is a number as MySQL writes one, else null."""
    return F.when(text.rlike(_NUMBER), text)


def bit(type: ColumnType, tagged: Column) -> Column:
    """BIT from binary of which the first byte says whether a number's text (`n`) or big-endian bytes (`x`) follow."""
    body = F.substring(tagged, 2, 2**31 - 1)
    digits = F.regexp_replace(F.hex(body), "^0+(?=.)", "")
    value = F.when(F.length(digits) == 0, "0").when(F.length(digits) <= 16, F.conv(digits, 16, 10))
    number = integer(ColumnType("bigint", unsigned=True), body.cast("string"))
    text = F.when(F.substring(tagged.cast("string"), 1, 1) == "n", number).otherwise(value)
    return F.when(text.try_cast("decimal(20,0)") < F.lit(str(2**max(type.length, 1))).cast("decimal(20,0)"), text)


def year(text: Column) -> Column:
    """YEAR: 1901 to 2155, 0, and the two-digit forms (70 to 99 are 1970 to 1999)."""
    number = text.try_cast("int")
    two = F.length(text) <= 2
    return (F.when(~text.rlike(r"^\d{1,4}$"), None)
            .when(text.isin("0", "0000"), "0")
            .when(number.between(1901, 2155), number.cast("string"))
            .when(two & (number < 70), (number + 2000).cast("string"))
            .when(two, (number + 1900).cast("string")))
