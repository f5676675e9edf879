"""The character sets of a client: its statements as text, and names and values as the bytes that it is sent.

A statement is decoded by character_set_client (tidb pkg/parser/lexer.go, convert2System, convert2Connection), results
are encoded by character_set_results (tidb pkg/server/internal/column/result_encoder.go). latin1 is UTF-8 in TiDB, and
so are the texts of errors, whatever the client reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial

from simulator.errors import SqlError
from simulator.tidb.ddl.session import STRICT_MODES
from simulator.tidb.engine import COLLATION_IDS, ResultColumn
from simulator.tidb.engine.settings import SqlSession, known_text
from simulator.tidb.model.types import ALIASES, CHARSETS, family

UTF8 = ("utf8mb4", "utf8")
ENCODED = ("gbk", "gb18030", "ascii")
"""The character sets whose bytes are not those of UTF-8."""

QUOTED = re.compile(
    r"""(?:_binary\s*)?('(?:[^'\\]|\\.|'')*+'|"(?:[^"\\]|\\.|"")*+")|/\*.*?\*/|--\s[^\n]*|`[^`]*`""",
    re.DOTALL | re.IGNORECASE,
)
ESCAPE = re.compile(r"\\(.)|''|\"\"", re.DOTALL)
ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}

WRONG = "\udcff"
"""Stands for bytes that are no character of a client's character set: no such character comes of decoding."""

PIECES = re.compile(rf"{QUOTED.pattern}|{WRONG}", QUOTED.flags)

UNITS = {
    "ascii": rb"[\x80-\xdf][\x80-\xff]?|[\xe0-\xef][\x80-\xff]{0,2}|[\xf0-\xff][\x80-\xff]{0,3}",
    "gbk": rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]|[\x80-\xff][\x80-\xff]?",
    "gb18030": rb"[\x81-\xfe][0-9][\x81-\xfe][0-9]|[\x81-\xfe][\x40-\x7e\x80-\xfe]|[\x80-\xff][\x80-\xff]?",
}
"""What TiDB takes for one character of a text that is not ASCII (tidb pkg/parser/charset, Peek)."""

REPLACED = (
    "1064 You have an error in your SQL syntax; check the manual that corresponds to your TiDB version for the right syntax"
    " to use [parser:1300]Invalid {} character string: '{}'"
)


# -- statements --------------------------------------------------------------------------------------------------------


def statement_text(data: bytes, session: SqlSession) -> tuple[str, tuple[str, ...]]:
    """Return the text of a query, and the warnings about bytes that are not of character_set_client, which become `?`.

    Raises SqlError 1300 for such bytes of a literal in strict mode. Quoted bytes of a client that sends UTF-8 which are
    none become a hexadecimal literal.
    """
    client = client_charset(session)
    if client in UTF8:
        return _utf8_text(data), ()
    connection = _charset(session, "character_set_connection")
    if client == connection and client not in ENCODED:
        return _utf8_text(data), ()
    if client not in ENCODED:
        return QUOTED.sub(partial(_held, connection), data.decode("utf-8", "surrogateescape")), ()
    strict = client == connection and not session.sql_mode.isdisjoint(STRICT_MODES)
    text, wrong = _decoded(data, client)
    warnings: list[str] = []
    if wrong:
        text = PIECES.sub(partial(_with_marks, client, strict, iter(wrong), warnings), text)
    if client != connection and connection not in UTF8:
        text = QUOTED.sub(partial(_held, connection), text)
    return text, tuple(warnings)


def name_text(data: bytes, session: SqlSession) -> str:
    """Return the name of a database that a packet has."""
    client = client_charset(session)
    if client not in ENCODED:
        return data.decode("utf-8", "surrogateescape")
    return _decoded(data, client)[0].replace(WRONG, "?")


def parameter_text(data: bytes, charset: str) -> bytes:
    """Return the text of a parameter in UTF-8; bytes that are not of the character set stay (tidb
    pkg/server/internal/util/util.go, DecodeInput)."""
    if charset not in ENCODED or data.isascii():
        return data
    text, wrong = _decoded(data, charset)
    return data if wrong else text.encode()


def client_charset(session: SqlSession) -> str:
    """Return character_set_client."""
    return _charset(session, "character_set_client")


def _charset(session: SqlSession, variable: str) -> str:
    charset = known_text(session, variable) or ""
    return ALIASES.get(charset, charset)


def _utf8_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return QUOTED.sub(_as_hexadecimal, data.decode("utf-8", "surrogateescape"))


def _as_hexadecimal(match: re.Match[str]) -> str:
    quoted = match[1]
    if quoted is None:
        return match[0]
    try:
        quoted.encode()
        return match[0]
    except UnicodeEncodeError:
        value = ESCAPE.sub(lambda each: ESCAPED.get(each[1], each[1]) if each[1] else each[0][0], quoted[1:-1])
        return f"X'{value.encode('utf-8', 'surrogateescape').hex()}'"


def _held(connection: str, match: re.Match[str]) -> str:
    """Return a literal with `?` for what the character set of the connection does not hold."""
    if match[1] is None or match[0].isascii() or connection not in (*UTF8, *ENCODED):
        return match[0]
    if connection in UTF8:
        return match[0].encode("utf-8", "replace").decode()
    return "".join(each if _encoded_character(each, connection) is not None else "?" for each in match[0])


def _with_marks(client: str, strict: bool, wrong: Iterator[bytes], warnings: list[str], match: re.Match[str]) -> str:
    """Return a piece of a statement with `?` for wrong bytes. Comments are not decoded."""
    bytes_of_piece = [next(wrong) for _ in range(match[0].count(WRONG))]
    if bytes_of_piece and not match[0].startswith(("/*", "--")):
        shown = bytes_of_piece[0].hex().upper()
        if match[1] is not None and strict:
            raise SqlError(1300, "HY000", f"Invalid {client} character string: '{shown}'")
        warnings.append(REPLACED.format(client, shown))
    return match[0].replace(WRONG, "?")


def _decoded(data: bytes, charset: str) -> tuple[str, list[bytes]]:
    """Return the text, with marks for bytes that are no characters, and these bytes."""
    try:
        return data.decode(charset), []
    except UnicodeDecodeError:
        wrong: list[bytes] = []
        units = re.finditer(rb"[\x00-\x7f]+|" + UNITS[charset], data, re.DOTALL)
        return "".join([_unit(each[0], charset, wrong) for each in units]), wrong


def _unit(unit: bytes, charset: str, wrong: list[bytes]) -> str:
    """Return the characters of a unit, or a mark after the unit is appended to `wrong`."""
    try:
        return unit.decode("gb18030" if charset == "gbk" and len(unit) == 2 else charset)
    except UnicodeDecodeError:
        wrong.append(unit)
        return WRONG


# -- results -----------------------------------------------------------------------------------------------------------


def results_charset(session: SqlSession) -> str:
    """Return character_set_results; empty if results are not converted."""
    return _charset(session, "character_set_results")


def sent_charset_id(column: ResultColumn, results: str) -> int:
    """Return the number of the character set that a client is told of a column."""
    if not results or not _is_text(column):
        return column.charset_id
    return COLLATION_IDS[CHARSETS[results][0]]


def sent_name(name: str, results: str) -> bytes:
    return name.encode("utf-8", "surrogateescape") if results not in ENCODED else _encoded(name, results)


def sent_rows(
    rows: Sequence[tuple[bytes | None, ...]], columns: Sequence[ResultColumn], results: str
) -> Sequence[tuple[bytes | None, ...]]:
    """Return rows with texts as a client is sent them."""
    encoders = [] if results in UTF8 else [_encoder(column, results) for column in columns]
    if not any(encoders):
        return rows
    return [
        tuple(
            value if encode is None or value is None else encode(value)
            for value, encode in zip(row, encoders, strict=True)
        )
        for row in rows
    ]


def _encoder(column: ResultColumn, results: str) -> Callable[[bytes], bytes] | None:
    """Return what encodes the values of a column; None if they are sent as they are."""
    if not _is_text(column) and column.type.name != "json":
        return None
    charset = results if results not in ("", "binary") else column.type.charset
    return partial(_encoded_value, charset) if charset in ENCODED else None


def _is_text(column: ResultColumn) -> bool:
    type = column.type
    return type.name != "null" and family(type) in ("string", "text", "enum", "set") and type.charset != "binary"


def _encoded_value(charset: str, value: bytes) -> bytes:
    return value if value.isascii() else _encoded(value.decode("utf-8", "surrogateescape"), charset)


def _encoded(text: str, charset: str) -> bytes:
    """Return a text in a character set, with `?` for what it does not have."""
    try:
        return text.encode(charset)
    except UnicodeEncodeError:
        return b"".join([_encoded_character(each, charset) or b"?" for each in text])


@lru_cache(1 << 12)
def _encoded_character(character: str, charset: str) -> bytes | None:
    """Return a character in a character set, None if there is none. Python's gbk lacks some of GBK's characters."""
    try:
        return character.encode(charset)
    except UnicodeEncodeError:
        if charset != "gbk" or character == "€":
            return None
    try:
        encoded = character.encode("gb18030")
    except UnicodeEncodeError:
        return None
    return encoded if len(encoded) == 2 else None
