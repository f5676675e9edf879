"""MySQL's functions of text and JSON, on Spark.

One law: text that comes out has the collation of the text that goes in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.mysql_branches import MANY, Function
from simulator.filters.mysql_comparisons import as_bytes_alike, collation_of, compared, texts
from simulator.filters.mysql_json import extracted, unquoted
from simulator.filters.mysql_values import NUMBERS, Value, as_integer, as_text, boolean, integer, string


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
    return as_integer(value).cast("int") if value.kind in NUMBERS else as_text(value)


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


def _in_set(text: Value, members: Value) -> Value:
    first, second = texts(text, members)
    return integer(F.find_in_set(first, second))


def _strcmp(left: Value, right: Value) -> Value:
    first, second = texts(left, right)
    return integer(F.when(first < second, F.lit(-1)).when(first > second, F.lit(1)).when(first == second, F.lit(0)))


def _bytes(value: Value) -> Column:
    return F.encode(as_text(value), "ISO-8859-1" if value.bytes else "UTF-8")


def _hex(value: Value) -> Value:
    number = value.kind in NUMBERS
    return string(F.hex(as_integer(value)) if number else F.hex(_bytes(value)))


def _json_extract(document: Value, *paths: Value) -> Value:
    return Value(extracted(as_text(document), paths[0].constant or ""), "json")


def _json_length(document: Value) -> Value:
    text = as_text(document)
    return integer(F.when(text.startswith("["), F.json_array_length(text)).when(
        text.startswith("{"), F.size(F.json_object_keys(text))).when(text.isNotNull(), F.lit(1)))


TEXT_FUNCTIONS: dict[str, Function] = {
    "CRC32": Function(1, 1, lambda value: integer(F.crc32(_bytes(value)))),
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
}
"""By TiDB's names."""
