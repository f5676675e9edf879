"""Casts of datums to strings, ENUM, SET, BIT and JSON.

Sources: tidb pkg/types/datum.go (convertToString, convertToMysqlJSON), enum.go, set.go, binary_literal.go.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

import pyarrow as pa

from simulator.columns.cells import escaped, unescaped
from simulator.tidb.collations import sort_keys
from simulator.tidb.datums import TRUNCATED, CastProblem, Datum, datum_text, float_value, other_problem, too_long
from simulator.tidb.datums.numbers import MOST_UNSIGNED, IntegerRange, cast_integer, literal_number
from simulator.tidb.model.types import ColumnType
from simulator.tidb.values.documents import normal_json
from simulator.tidb.values.durations import duration_micros, duration_text
from simulator.tidb.values.kernels import BYTES

SPACES = b" \t\n\r"


class Invalid(Exception):
    """Bytes that are invalid in a charset, and the text that replaces the value."""

    def __init__(self, bytes: bytes, instead: bytes) -> None:
        super().__init__(bytes)
        self.bytes, self.instead = bytes, instead


def cast_string(type: ColumnType, column: str, datum: Datum) -> tuple[bytes, CastProblem | None]:
    """Cast a datum to the bytes of a binary string, or to text, which is UTF-8 for gbk, too.

    latin1 accepts any bytes (pkg/parser/charset/encoding_latin1.go). Invalid UTF-8 is `escaped`.
    """
    try:
        value = _encoded(type, datum)
    except Invalid as invalid:
        text = "".join(f"\\x{byte:02X}" for byte in invalid.bytes)
        problem = CastProblem(1366, f"Incorrect string value '{text}' for column '{column}'", "characters")
        return _trimmed(type, invalid.instead), problem
    value, cut = _of_length(type, value)
    value = _trimmed(type, value)
    return escaped(value) if type.charset == "latin1" and not value.isascii() else value, cut


def _trimmed(type: ColumnType, value: bytes) -> bytes:
    return value.rstrip(b" ") if type.name == "char" and type.charset != "binary" else value


def _encoded(type: ColumnType, datum: Datum) -> bytes:
    """Raises Invalid."""
    kind, charset = datum.kind, type.charset
    if kind in ("bytes", "literal"):
        return datum.body if charset == "binary" else _decoded(datum.body, charset)
    if kind == "bit":
        number, problem = literal_number(datum.body)
        return datum.body if problem else str(number).encode()
    if kind == "gbk" and charset == "binary":
        return datum.body.decode().encode("gbk", "ignore")
    if kind not in ("string", "gbk"):
        return datum_text(datum).encode()
    body = unescaped(datum.body)
    if charset not in ("binary", "latin1"):
        _check(body, charset)
    return body


def _decoded(body: bytes, charset: str) -> bytes:
    """Decode bytes in a charset, up to the first invalid ones (GetBinaryStringDecoded). Raises Invalid."""
    if charset == "latin1":
        return body
    if charset == "gbk":
        try:
            return body.decode("gbk").encode()
        except UnicodeDecodeError as error:
            raise Invalid(body[error.start : error.start + 2], body[: error.start].decode("gbk").encode()) from None
    for at, size, valid in _characters(body, charset):
        if not valid:
            raise Invalid(body[at : at + size], body[:at])
    return body


def _check(body: bytes, charset: str) -> None:
    """Raise Invalid if a character of a text is not in the charset, with question marks for it (GetStringWithCheck)."""
    if body.isascii():
        return
    first, parts = None, list[bytes]()
    for at, size, valid in _characters(body, charset):
        parts.append(body[at : at + size] if valid else b"?")
        if not valid and first is None:
            first = body[at : at + size]
    if first is not None:
        raise Invalid(first, b"".join(parts))


def _characters(body: bytes, charset: str) -> list[tuple[int, int, bool]]:
    """Return the offset and size of each character, and whether the charset has it (pkg/parser/charset)."""
    characters, at = [], 0
    while at < len(body):
        lead = body[at]
        size = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        size = min(size, len(body) - at)
        piece = body[at : at + size]
        try:
            character = piece.decode()
            valid = len(character) == 1
        except UnicodeDecodeError:
            character, valid = "", False
        if charset == "ascii":
            valid = lead < 0x80
        elif charset == "gbk":
            valid = valid and character != "€" and _in_gbk(character)
        else:
            valid = valid and (charset == "utf8mb4" or size < 4)
            size = size if valid or len(character) == 1 else 1
        characters.append((at, size, valid))
        at += size
    return characters


def _in_gbk(character: str) -> bool:
    try:
        character.encode("gbk")
    except UnicodeEncodeError:
        return False
    return True


def _of_length(type: ColumnType, value: bytes) -> tuple[bytes, CastProblem | None]:
    """Cut a value to the column's length. Only spaces are cut without a problem (ProduceStrWithSpecifiedTp)."""
    limit = BYTES.get(type.name, type.length)
    if type.charset == "binary" or type.name in BYTES:
        size, cut = len(value), value[:limit]
        while type.charset != "binary" and cut and size > limit and not _last_character(cut):
            cut = cut[:-1]
    else:
        cut, size = value, len(value)
        if size > limit:
            text = value.decode("utf-8", "surrogateescape")
            cut, size = text[:limit].encode("utf-8", "surrogateescape"), len(text)
    problem = None
    if size > limit:
        spaces = type.name in ("char", "varchar") and type.charset != "binary"
        if not spaces or value[len(cut) :].strip(SPACES):
            problem = too_long(limit, size)
    if type.name == "char" and type.charset == "binary":
        cut = cut.ljust(limit, b"\0")
    return cut, problem


def _last_character(value: bytes) -> bool:
    """Whether the last bytes are a complete character."""
    for size in range(1, 5):
        try:
            if len(value[-size:].decode()) == 1:
                return True
        except UnicodeDecodeError:
            continue
    return False


STRINGS = ("string", "gbk", "bytes", "literal")


def cast_enum(type: ColumnType, datum: Datum, lenient: bool) -> tuple[str, CastProblem | None]:
    """Cast a datum to ENUM (convertToMysqlEnum). The error value is the empty text."""
    if datum.kind == "enum" and datum.body.startswith(b"0:"):
        return "", None
    if datum.kind in (*STRINGS, "enum", "set"):
        name = datum_text(datum)
        place = _places(type, (name,))[0]
        number = place if place is not None else _whole_number(name)
        if place is not None:
            return type.elements[place], None
    else:
        number, problem = cast_integer(datum, IntegerRange(0, 65535, type), lenient)
        number = 0 if problem and not (lenient and problem.name == "wrong value") else number
    if number is None or not 0 < number <= len(type.elements):
        return "", TRUNCATED
    return type.elements[number - 1], None


def cast_set(type: ColumnType, datum: Datum, lenient: bool) -> tuple[str, CastProblem | None]:
    """Cast a datum to SET (convertToMysqlSet)."""
    if datum.kind in (*STRINGS, "enum", "set"):
        name = datum_text(datum)
        if not name:
            return "", None
        places = _places(type, tuple(name.split(",")))
        if None not in places:
            return _joined(type, {place for place in places if place is not None}), None
        bits = _whole_number(name)
    else:
        bits, problem = cast_integer(datum, IntegerRange(0, MOST_UNSIGNED, type), lenient)
        if problem and not (lenient and problem.name == "wrong value"):
            return "", TRUNCATED
    if bits is None or bits >> len(type.elements):
        return "", TRUNCATED
    return _joined(type, {place for place in range(len(type.elements)) if bits >> place & 1}), None


_NUMBER = re.compile(
    r"(?P<hex>0[xX])(_?[0-9a-fA-F])+|(?P<binary>0[bB])(_?[01])+|(?P<octal>0[oO]?)(_?[0-7])+"
    r"|[1-9](_?[0-9]){0,19}|0"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8}


def _whole_number(text: str) -> int | None:
    """Parse an integer of 64 bits with Go's prefixes and underscores (strconv.ParseUint, base 0)."""
    match = _NUMBER.fullmatch(text)
    if not match:
        return None
    base = next((base for name, base in _BASES.items() if match[name]), 10)
    number = int(text.replace("_", ""), base)
    return number if number < 2**64 else None


def _joined(type: ColumnType, places: set[int]) -> str:
    return ",".join(type.elements[place] for place in sorted(places))


def _places(type: ColumnType, names: tuple[str, ...]) -> list[int | None]:
    """Return the index of each name's member in the column's collation."""
    members = _keys(type)
    return [members.get(key) for key in sort_keys(type.collation, pa.array(names, pa.string())).to_pylist()]


@lru_cache(1024)
def _keys(type: ColumnType) -> dict[bytes, int]:
    keys = sort_keys(type.collation, pa.array(type.elements, pa.string())).to_pylist()
    return {key: place for place, key in reversed(list(enumerate(keys)))}


def cast_bit(type: ColumnType, datum: Datum, lenient: bool) -> tuple[str, CastProblem | None]:
    """Cast a datum to BIT (convertToMysqlBit). A text is its bytes, or the number of b'101' and 0b101."""
    length = max(type.length, 1)
    if datum.kind in ("string", "gbk", "bytes"):
        number, problem = _of_text(datum.body, length)
    elif datum.kind == "int":
        number, problem = int(datum.body) % 2**64, None
    else:
        number, problem = cast_integer(datum, IntegerRange(0, MOST_UNSIGNED, type), lenient)
    if number >> length:
        return str(2**length - 1), too_long(length, 0)._replace(text=f"Data Too Long, field len {length}")
    return str(number), problem


def _of_text(body: bytes, length: int) -> tuple[int, CastProblem | None]:
    if length == 1 and body.lower() in (b"true", b"1", b"false", b"0"):
        return int(body.lower() in (b"true", b"1")), None
    digits = body[1:].strip(b"'") if body[:1] in (b"b", b"B") else body[2:] if body.startswith(b"0b") else None
    if digits is None or digits.strip(b"01"):
        return literal_number(body)
    return literal_number(int(digits or b"0", 2).to_bytes(-(-len(digits) // 8), "big"))


EMPTY = other_problem(3140, "Invalid JSON text: The document is empty")
NONE = other_problem(3140, "Invalid JSON text: The document root must not be followed by other values.")
BINARY = other_problem(3144, "Cannot create a JSON value from a string with CHARACTER SET 'binary'.")


def cast_json(datum: Datum) -> tuple[str | None, CastProblem | None]:
    kind, text = datum.kind, datum_text(datum)
    if kind == "json":
        return text, None
    if kind == "literal":
        return None, BINARY
    if kind in ("string", "gbk", "bytes", "enum", "set"):
        document = normal_json(text)
        return (document, None) if document is not None else (None, NONE if text else EMPTY)
    if kind in ("int", "uint"):
        return text, None
    if kind == "decimal":
        return _number(float(text)), None
    if kind in ("double", "float"):
        return _number(float_value(datum)), None
    if kind in ("datetime", "timestamp"):
        whole, _, fraction = text.partition(".")
        return f'"{whole}.{fraction.ljust(6, "0")}"', None
    if kind == "time":
        return f'"{duration_text(duration_micros(text), 6)}"', None
    if kind == "bit":
        return _quoted(datum.body), None
    return f'"{text}"', None


def _quoted(bytes: bytes) -> str:
    """Return bytes as a JSON string, with Go's escapes for invalid UTF-8."""
    text = "".join(
        PRIVATE if "\udc80" <= letter <= "\udcff" else letter for letter in bytes.decode("utf-8", "surrogateescape")
    )
    return (normal_json(json.dumps(text)) or "").replace(PRIVATE, "\\ufffd")


PRIVATE = "\ue000"


def _number(number: float) -> str | None:
    return normal_json(repr(number))
