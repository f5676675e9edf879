"""Functions of MySQL on Spark: control, numbers, text, JSON.

One law: an entry gives what MySQL gives, NULL for NULL; what Spark cannot compute so has no entry.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.mysql_arithmetic import calculated
from simulator.filters.mysql_comparisons import as_bytes_alike, collation_of, compared, texts
from simulator.filters.mysql_json import extracted, unquoted
from simulator.filters.mysql_values import (
    Value,
    as_integer,
    as_real,
    as_text,
    boolean,
    integer,
    null,
    numeric,
    real,
    string,
    truth,
)


class Function(NamedTuple):
    least: int
    """Arguments it takes at least."""

    most: int
    compute: Callable[..., Value]
    constants: tuple[int, ...] = ()
    """Places of the arguments that must be literals."""


MANY = 255


def united(*values: Value) -> Value:
    """What several branches have in common, the column still to be chosen: the widest kind."""
    known = [value for value in values if value.kind != "null"]
    kinds = {value.kind for value in known}
    if not known:
        return null()
    if len(kinds) == 1:
        return Value(known[0].column, known[0].kind, known[0].collation, known[0].strength, bytes=known[0].bytes)
    if kinds <= {"bool", "int"}:
        return Value(F.lit(None), "int")
    if kinds <= {"bool", "int", "uint", "decimal"}:
        return Value(F.lit(None), "decimal")
    if kinds <= {"bool", "int", "uint", "decimal", "real"}:
        return Value(F.lit(None), "real")
    if kinds <= {"date", "datetime"}:
        return Value(F.lit(None), "datetime")
    return string(F.lit(None), *(value for value in known if value.kind == "string"))


def as_kind(value: Value, kind: str) -> Column:
    """The column of a value in another kind."""
    if value.kind == "null":
        return F.lit(None)
    if value.kind == kind or kind in ("date", "datetime", "time", "json"):
        return value.column
    if kind == "string":
        return as_text(value)
    return as_real(value) if kind == "real" else numeric(value).column


def chosen(branches: list[tuple[Column, Value]], otherwise: Value) -> Value:
    """The value of the first branch whose condition is true."""
    result = united(*(value for _, value in branches), otherwise)
    column = as_kind(otherwise, result.kind)
    for condition, value in reversed(branches):
        column = F.when(condition, as_kind(value, result.kind)).otherwise(column)
    return Value(column, result.kind, result.collation, result.strength, bytes=result.bytes)


def _coalesce(*values: Value) -> Value:
    return chosen([(as_known(value), value) for value in values[:-1]], values[-1])


def as_known(value: Value) -> Column:
    """Whether the value is not NULL."""
    return F.lit(False) if value.kind == "null" else value.column.isNotNull()


def _nullif(value: Value, other: Value) -> Value:
    return chosen([(F.coalesce(compared("=", value, other), F.lit(False)), null())], value)


def _extreme(operator: str) -> Callable[..., Value]:
    """GREATEST, LEAST: NULL if any is."""
    def extreme(*values: Value) -> Value:
        best = values[0]
        for value in values[1:]:
            unknown = ~as_known(best) | ~as_known(value)
            best = chosen([(unknown, null()), (compared(operator, best, value), best)], value)
        return best

    return extreme


def _round(value: Value, places: Value | None = None) -> Value:
    number = numeric(value)
    digits = int(places.constant or 0) if places else 0
    return Value(F.round(number.column, digits), number.kind)


def _truncate(value: Value, places: Value) -> Value:
    number = numeric(value)
    factor = F.lit(float(10 ** int(places.constant or 0)))
    cut = number.column.cast("double") * factor
    return Value((F.when(cut < 0, F.ceil(cut)).otherwise(F.floor(cut)) / factor).cast("double"), "real")


def _whole(function: Callable[[Column], Column]) -> Callable[[Value], Value]:
    """CEILING, FLOOR: whole numbers of exact ones, doubles of doubles."""
    def rounded(value: Value) -> Value:
        number = numeric(value)
        found = function(number.column)
        return real(found) if number.kind == "real" else integer(found)

    return rounded


def _absolute(value: Value) -> Value:
    number = numeric(value)
    return Value(F.abs(number.column), number.kind)


def _double(function: Callable[..., Column]) -> Callable[..., Value]:
    return lambda *values: real(function(*map(as_real, values)))


def _logarithm(base: Value, value: Value | None = None) -> Value:
    return real(F.ln(as_real(base)) if value is None else F.ln(as_real(value)) / F.ln(as_real(base)))


def _concat(*values: Value) -> Value:
    return string(F.concat(*map(as_text, values)), *_strings(values))


def _concat_ws(separator: Value, *values: Value) -> Value:
    joined = F.concat_ws("\x00", *map(as_text, values))
    glued = F.replace(joined, F.lit("\x00"), as_text(separator))
    return string(F.when(as_text(separator).isNotNull(), glued), *_strings((separator, *values)))


def _strings(values: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(value for value in values if value.kind == "string")


def _text(function: Callable[..., Column]) -> Callable[..., Value]:
    """A function of text and whole numbers that gives text of the first one's collation."""
    def called(first: Value, *others: Value) -> Value:
        return string(function(as_text(first), *map(_argument, others)), first)

    return called


def _argument(value: Value) -> Column:
    return as_integer(value).cast("int") if value.kind in ("int", "uint", "decimal", "real", "bool") else as_text(value)


def _substring(text: Value, start: Value, length: Value | None = None) -> Value:
    first = as_integer(start).cast("int")
    count = as_integer(length).cast("int") if length else F.lit(2 ** 31 - 1)
    size = F.length(as_text(text))
    found = F.when((first == 0) | (count <= 0) | (-first > size), F.lit("")).otherwise(
        F.substring(as_text(text), first, count))
    return string(F.when(first.isNotNull() & count.isNotNull(), found), text)


def _left(text: Value, length: Value) -> Value:
    return string(F.left(as_text(text), F.greatest(as_integer(length).cast("int"), F.lit(0))), text)


def _right(text: Value, length: Value) -> Value:
    return string(F.right(as_text(text), F.greatest(as_integer(length).cast("int"), F.lit(0))), text)


def _trim(text: Value, pattern: Value | None = None, side: Value | None = None) -> Value:
    """TRIM of a constant text, from one side or both."""
    part = pattern.constant if pattern else " "
    where = side.constant if side else "BOTH"
    if not part:
        return text
    found = as_text(text)
    if where != "TRAILING":
        found = F.regexp_replace(found, F.lit(f"^(?:{_quoted(part)})+"), F.lit(""))
    if where != "LEADING":
        found = F.regexp_replace(found, F.lit(f"(?:{_quoted(part)})+$"), F.lit(""))
    return string(found, text)


def _quoted(text: str) -> str:
    return "".join(f"\\x{{{ord(character):x}}}" for character in text)


def _size(value: Value) -> Value:
    """Bytes of a text."""
    return integer(F.length(as_text(value)) if value.bytes else F.octet_length(as_text(value)))


def _place(part: Value, text: Value, start: Value | None = None) -> Value:
    """LOCATE: the place of a text in another, by the collation of both."""
    first, second = as_bytes_alike(part, text)
    name = collation_of(part, text)
    if not (name == "binary" or name.endswith("_bin")):
        first, second = F.lower(first), F.lower(second)
    begin = as_integer(start).cast("int") if start else F.lit(1)
    return integer(F.call_function("locate", first, second, begin))


def _field(value: Value, *others: Value) -> Value:
    found: Column = F.lit(0)
    for place in range(len(others), 0, -1):
        found = F.when(compared("=", value, others[place - 1]), F.lit(place)).otherwise(found)
    return integer(found)


def _elt(place: Value, *values: Value) -> Value:
    return chosen([(as_integer(place) == count, value) for count, value in enumerate(values, 1)], null())


def _in_set(text: Value, members: Value) -> Value:
    first, second = texts(text, members)
    return integer(F.find_in_set(first, second))


def _strcmp(left: Value, right: Value) -> Value:
    first, second = texts(left, right)
    return integer(F.when(first < second, F.lit(-1)).when(first > second, F.lit(1)).when(first == second, F.lit(0)))


def _bytes(value: Value) -> Column:
    return F.encode(as_text(value), "ISO-8859-1" if value.bytes else "UTF-8")


def _hex(value: Value) -> Value:
    number = value.kind in ("bool", "int", "uint", "decimal", "real")
    return string(F.hex(as_integer(value)) if number else F.hex(_bytes(value)))


def _json_extract(document: Value, *paths: Value) -> Value:
    return Value(extracted(as_text(document), paths[0].constant or ""), "json")


def _json_length(document: Value) -> Value:
    text = as_text(document)
    return integer(F.when(text.startswith("["), F.json_array_length(text)).when(
        text.startswith("{"), F.size(F.json_object_keys(text))).when(text.isNotNull(), F.lit(1)))


def _if(condition: Value, yes: Value, no: Value) -> Value:
    return chosen([(truth(condition), yes)], no)


FUNCTIONS: dict[str, Function] = {
    "IF": Function(3, 3, _if),
    "IFNULL": Function(2, 2, _coalesce),
    "COALESCE": Function(1, MANY, _coalesce),
    "NULLIF": Function(2, 2, _nullif),
    "ISNULL": Function(1, 1, lambda value: boolean(~as_known(value))),
    "GREATEST": Function(2, MANY, _extreme(">")),
    "LEAST": Function(2, MANY, _extreme("<")),
    "ABS": Function(1, 1, _absolute),
    "CEIL": Function(1, 1, _whole(F.ceil)),
    "CEILING": Function(1, 1, _whole(F.ceil)),
    "FLOOR": Function(1, 1, _whole(F.floor)),
    "ROUND": Function(1, 2, _round, (1,)),
    "TRUNCATE": Function(2, 2, _truncate, (1,)),
    "SIGN": Function(1, 1, lambda value: integer(F.signum(as_real(value)))),
    "POW": Function(2, 2, _double(F.pow)),
    "POWER": Function(2, 2, _double(F.pow)),
    "SQRT": Function(1, 1, lambda value: real(F.when(as_real(value) >= 0, F.sqrt(as_real(value))))),
    "EXP": Function(1, 1, _double(F.exp)),
    "LN": Function(1, 1, _double(F.ln)),
    "LOG": Function(1, 2, _logarithm),
    "LOG2": Function(1, 1, _double(F.log2)),
    "LOG10": Function(1, 1, _double(F.log10)),
    "PI": Function(0, 0, lambda: real(F.pi())),
    "CRC32": Function(1, 1, lambda value: integer(F.crc32(_bytes(value)))),
    "BIT_COUNT": Function(1, 1, lambda value: integer(F.bit_count(as_integer(value)))),
    "CONCAT": Function(1, MANY, _concat),
    "CONCAT_WS": Function(2, MANY, _concat_ws),
    "LENGTH": Function(1, 1, _size),
    "OCTET_LENGTH": Function(1, 1, _size),
    "BIT_LENGTH": Function(1, 1, lambda value: integer(_size(value).column * 8)),
    "CHAR_LENGTH": Function(1, 1, lambda value: integer(F.length(as_text(value)))),
    "CHARACTER_LENGTH": Function(1, 1, lambda value: integer(F.length(as_text(value)))),
    "LOWER": Function(1, 1, _text(F.lower)),
    "LCASE": Function(1, 1, _text(F.lower)),
    "UPPER": Function(1, 1, _text(F.upper)),
    "UCASE": Function(1, 1, _text(F.upper)),
    "TRIM": Function(1, 3, _trim, (1, 2)),
    "LTRIM": Function(1, 1, _text(F.ltrim)),
    "RTRIM": Function(1, 1, _text(F.rtrim)),
    "LEFT": Function(2, 2, _left),
    "RIGHT": Function(2, 2, _right),
    "SUBSTRING": Function(2, 3, _substring),
    "SUBSTR": Function(2, 3, _substring),
    "MID": Function(3, 3, _substring),
    "SUBSTRING_INDEX": Function(3, 3, _text(functools.partial(F.call_function, "substring_index"))),
    "REPLACE": Function(3, 3, _text(F.replace)),
    "REVERSE": Function(1, 1, _text(F.reverse)),
    "REPEAT": Function(2, 2, _text(F.repeat)),
    "SPACE": Function(1, 1, lambda value: string(F.repeat(F.lit(" "), as_integer(value).cast("int")))),
    "LPAD": Function(3, 3, _text(functools.partial(F.call_function, "lpad"))),
    "RPAD": Function(3, 3, _text(functools.partial(F.call_function, "rpad"))),
    "INSTR": Function(2, 2, lambda text, part: _place(part, text)),
    "LOCATE": Function(2, 3, _place),
    "POSITION": Function(2, 2, _place),
    "FIELD": Function(2, MANY, _field),
    "ELT": Function(2, MANY, _elt),
    "FIND_IN_SET": Function(2, 2, _in_set),
    "STRCMP": Function(2, 2, _strcmp),
    "ASCII": Function(1, 1, lambda value: integer(F.conv(F.substring(F.hex(_bytes(value)), 1, 2), 16, 10))),
    "HEX": Function(1, 1, _hex),
    "MD5": Function(1, 1, lambda value: string(F.md5(_bytes(value)))),
    "SHA": Function(1, 1, lambda value: string(F.sha1(_bytes(value)))),
    "SHA1": Function(1, 1, lambda value: string(F.sha1(_bytes(value)))),
    "BIN": Function(1, 1, lambda value: string(F.bin(as_integer(value)))),
    "JSON_EXTRACT": Function(2, 2, _json_extract, (1,)),
    "JSON_UNQUOTE": Function(1, 1, lambda value: string(unquoted(value))),
    "JSON_VALID": Function(1, 1, lambda value: boolean(
        F.when(as_text(value).isNotNull(), F.try_parse_json(as_text(value)).isNotNull()))),
    "JSON_LENGTH": Function(1, 1, _json_length),
    "MOD": Function(2, 2, lambda left, right: calculated("%", left, right)),
}
"""By TiDB's names."""
