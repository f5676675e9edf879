"""Cast datums to strings, binary or not (tidb pkg/types/datum.go, convertToString)."""

from __future__ import annotations

from simulator.columns.cells import escaped, unescaped
from simulator.tidb.datums.kinds import Datum, datum_text
from simulator.tidb.datums.numbers import literal_number
from simulator.tidb.datums.problems import CastProblem, Mode, too_long
from simulator.tidb.model.types import ColumnType
from simulator.tidb.values.strings import BYTES

SPACES = b" \t\n\r"


class Invalid(Exception):
    """Bytes that are invalid in a charset, and the text that replaces the value."""

    def __init__(self, bytes: bytes, instead: bytes) -> None:
        super().__init__(bytes)
        self.bytes, self.instead = bytes, instead


def cast_string(type: ColumnType, column: str, datum: Datum, mode: Mode) -> tuple[bytes, CastProblem | None]:
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
