"""Functions of texts and bits, and regular expressions, which RE2 computes, whose syntax Go shares.

Sources: TiDB pkg/expression/builtin_string.go, builtin_math.go, builtin_info.go, builtin_regexp.go.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import itertools
import re
import zlib
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, TypeAlias

import re2

from simulator.tidb.errors import MAX_ALLOWED_PACKET, FunctionProblem, packet_overflow, regexp_error

_EXACTLY = Context(prec=400)
Number: TypeAlias = int | float
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _change_case(fold: Callable[[str], str]) -> Callable[[str], str]:
    """Return UPPER or LOWER, which as in Go change a character only to a single one."""

    def folded(text: str) -> str:
        result = fold(text)
        if len(result) == len(text) and text.isascii():
            return result
        return "".join(other if len(other := fold(each)) == 1 else _titled(each, fold) for each in text)

    return folded


def _titled(character: str, fold: Callable[[str], str]) -> str:
    title = character.title()
    return title if len(title) == 1 and fold is str.upper else "i" if character == "İ" else character


upper, lower = _change_case(str.upper), _change_case(str.lower)


def trim(text: str, part: str, side: str) -> str:
    if not part:
        return text
    while side != "TRAILING" and text.startswith(part):
        text = text.removeprefix(part)
    while side != "LEADING" and text.endswith(part):
        text = text.removesuffix(part)
    return text


def insert(text: str, place: int, length: int, new: str) -> str:
    if not 1 <= place <= len(text):
        return text
    if not 0 <= length <= len(text) - place + 1:
        length = len(text) - place + 1
    return text[: place - 1] + new + text[place + length - 1 :]


def make_set(bits: int | None, *members: str | None) -> str | None:
    if bits is None:
        return None
    return ",".join(member for place, member in enumerate(members[:64]) if member is not None and bits >> place & 1)


def export_set(bits: int, on: str, off: str, separator: str, count: int) -> str:
    most = count if 0 <= count <= 64 else 64
    return separator.join(on if place < 63 and bits >> place & 1 else off for place in range(most))


def ordinal(text: str) -> int:
    """Return ORD, the bytes of the first character as a number."""
    return int.from_bytes(text[:1].encode("utf-8", "replace"), "big")


def ordinal_byte(text: str) -> int:
    return ord(text[0]) if text else 0


def _leading_digits(text: str, base: int) -> str:
    """Return the sign and the digits of a base that a text begins with."""
    result = re.match(r"[+-]?[0-9A-Za-z]*", text.strip())
    shown = result[0].upper() if result else ""
    size = next(
        (place for place, each in enumerate(shown) if each not in "+-" and DIGITS.index(each) >= base), len(shown)
    )
    shown = shown[:size]
    return "" if shown in ("+", "-") else shown.removeprefix("+")


def conv(text: str, source: int, target: int) -> str | None:
    if not 2 <= abs(source) <= 36 or not 2 <= abs(target) <= 36:
        return None
    shown = _leading_digits(text, abs(source))
    if not shown:
        return "0"
    negative, digits = shown.startswith("-"), shown.removeprefix("-")
    number = int(digits, abs(source))
    if number >= 2**64:
        raise FunctionProblem(1690, f"BIGINT UNSIGNED value is out of range in '{digits}'")
    if source < 0:
        number = min(number, 2**63 if negative else 2**63 - 1)
    if negative:
        number = -number % 2**64
    below = number >= 2**63
    if target < 0 and below:
        number = 2**64 - number
    return ("-" if target < 0 and below else "") + _in_base(number, abs(target))


def _in_base(number: int, base: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, base)
        digits = DIGITS[digit] + digits
        if not number:
            return digits


def octal(number: int) -> str:
    return _in_base(number % 2**64, 8)


def octal_text(text: str) -> str:
    """Return OCT of the digits that a text begins with."""
    shown = _leading_digits(text, 10)
    negative, digits = shown.startswith("-"), shown.removeprefix("-") or "0"
    number = int(digits)
    if number >= 2**64:
        return _in_base(2**64 - 1, 8)
    return _in_base(-number % 2**64 if negative else number, 8)


def format_number(number: str, places: int) -> str:
    """Return FORMAT: rounded and with commas; every locale is treated as en_US."""
    digits = min(max(places, 0), 30)
    return f"{Decimal(number).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _EXACTLY):,f}"


def char(*codes: int | None) -> str:
    """Return CHAR: the bytes of numbers of 32 bits."""
    result = b""
    for code in codes:
        if code is not None:
            number = code % 2**64
            size = 4 if number >= 2**32 else max((number.bit_length() + 7) // 8, 1)
            result += (number % 2**32).to_bytes(size, "big")
    return result.decode("latin-1")


def as_charset(text: str, charset: str) -> str:
    """Decode bytes of a charset; NULL if they are invalid.

    TiDB's latin1 keeps all bytes (tidb pkg/parser/charset/encoding_latin1.go); here it keeps valid UTF-8 only.
    """
    data = text.encode("latin-1")
    codec = {"utf8mb4": "utf-8", "utf8": "utf-8", "latin1": "utf-8", "gbk": "gbk"}.get(charset, "ascii")
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        if charset == "latin1":
            raise FunctionProblem(
                1235, "bytes that are no UTF-8 are no text of latin1 here; its columns take them"
            ) from None
        shown = "".join(f"\\x{byte:02X}" for byte in data[error.start : error.start + 6])
        raise FunctionProblem(1300, f"Invalid {charset} character string: '{shown}'", "W") from None


def into_charset(text: str, charset: str) -> str:
    """Return CONVERT(text USING charset): unknown characters become `?`; latin1 changes nothing."""
    return text.encode(charset, "replace").decode(charset) if charset in ("gbk", "ascii") else text


def bit_bytes(number: int, size: int) -> str:
    """Return the bytes of a BIT."""
    return number.to_bytes(size, "big").decode("latin-1")


def bytes_as_text(text: str, charset: str = "") -> str:
    """Decode bytes that are compared with text. Raises FunctionProblem 3854."""
    data = text.encode("latin-1")
    own = charset if charset in ("gbk", "gb18030") else "utf8mb4"
    try:
        return data.decode("utf-8" if own == "utf8mb4" else own)
    except UnicodeDecodeError:
        shown = "".join(chr(byte) if byte < 0x80 else f"\\x{byte:02X}" for byte in data)
        raise FunctionProblem(3854, f"Cannot convert string '{shown}' from binary to {own}") from None


def interval(fixed: bool, value: Number | None, *others: Number | None) -> int:
    """Return INTERVAL. `fixed` numbers are literals, which TiDB assumes sorted and bisects."""
    if value is None:
        return -1
    less = [other is not None and value < other for other in others]
    if not fixed:
        return next((place for place, result in enumerate(less) if result), len(less))
    low, high = 0, len(less)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if less[middle] else (middle + 1, high)
    return low


def to_base64(text: str) -> str:
    """Return base64 in lines of 76 characters."""
    result = base64.b64encode(text.encode("latin-1")).decode()
    return "\n".join(result[place : place + 76] for place in range(0, len(result), 76))


def from_base64(text: str) -> str | None:
    try:
        return base64.b64decode(re.sub(r"[ \t\r\n]", "", text), validate=True).decode("latin-1")
    except ValueError:
        return None


def format_bytes(number: float) -> str:
    names = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    place = max((place for place in range(len(names)) if abs(number) >= 1024.0**place), default=0)
    if not place:
        return f"{number:.0f} {names[0]}"
    shown = number / 1024.0**place
    return f"{shown:.2e} {names[place]}" if abs(shown) >= 100000 else f"{shown:.2f} {names[place]}"


def password(text: str | None) -> str:
    if not text:
        return ""
    twice = hashlib.sha1(hashlib.sha1(text.encode()).digest()).hexdigest()
    raise FunctionProblem(
        1681, "PASSWORD is deprecated and will be removed in a future release.", "W", f"*{twice.upper()}"
    )


def uncompress(text: str) -> str:
    if not text:
        return text
    data = text.encode("latin-1")
    decompressor, result = zlib.decompressobj(), None
    try:
        result = decompressor.decompress(data[4:], MAX_ALLOWED_PACKET + 1)
    except zlib.error:
        pass
    if result is not None and len(result) > MAX_ALLOWED_PACKET:
        raise FunctionProblem(1301, packet_overflow("uncompress"), "T")
    if result is None or not decompressor.eof or int.from_bytes(data[:4], "little") < len(result):
        raise FunctionProblem(1259, "ZLIB: Input data corrupted", "W")
    return result.decode("latin-1")


def uncompressed_length(text: str) -> int:
    data = text.encode("latin-1")
    if 0 < len(data) <= 4:
        raise FunctionProblem(1259, "ZLIB: Input data corrupted", "W", 0)
    return int.from_bytes(data[:4], "little")


GO_ERRORS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
"""Go's texts for RE2's errors (RE2: re2/regexp.cc)."""

BINARY_COLLATION = "Not support binary collation so far"


@functools.lru_cache(256)
def _compiled(pattern: str, flags: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(f"(?{flags}){pattern}" if flags else pattern, options)
    except re2.error as error:
        message = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error.args[0])
        what, _, where = message.partition(": ")
        raise regexp_error(f"error parsing regexp: {GO_ERRORS.get(what, what)}: `{where}`") from None


def _pattern(pattern: str, match_type: str, ignore_case: bool) -> Any:
    """Compile a pattern with match_type. Raises FunctionProblem 1139."""
    if not pattern:
        raise regexp_error("Empty pattern is invalid")
    flags = {"i"} if ignore_case else set()
    for letter in match_type:
        if letter not in "icms":
            raise regexp_error("Invalid match type")
        flags = flags - {"i"} if letter == "c" else flags | {letter}
    return _compiled(pattern, "".join(sorted(flags)))


def _from_position(text: str, place: int) -> str:
    """Return the text from a position, counted from 1. Raises FunctionProblem 1139."""
    if not 1 <= place <= len(text) and (text or place != 1):
        raise regexp_error("Index out of bounds in regular expression search")
    return text[place - 1 :]


def regexp_like(ignore_case: bool, text: str, pattern: str, match_type: str) -> bool:
    return _pattern(pattern, match_type, ignore_case).search(text) is not None


def regexp_substr(
    ignore_case: bool, text: str, pattern: str, place: int, occurrence: int, match_type: str
) -> str | None:
    if not pattern:
        raise regexp_error("Empty pattern is invalid")
    rest = _from_position(text, place)
    result = _nth_match(_pattern(pattern, match_type, ignore_case), rest, occurrence)
    return None if result is None else str(result.group(0))


def _nth_match(pattern: Any, text: str, occurrence: int) -> Any:
    return next(itertools.islice(pattern.finditer(text), max(occurrence - 1, 0), None), None)


def regexp_instr(
    ignore_case: bool, text: str, pattern: str, place: int, occurrence: int, end: int, match_type: str
) -> int:
    if not pattern:
        raise regexp_error("Empty pattern is invalid")
    rest = _from_position(text, place) if text or place < 1 else ""
    if end not in (0, 1):
        raise regexp_error("Incorrect arguments to regexp_instr: return_option must be 1 or 0")
    result = _nth_match(_pattern(pattern, match_type, ignore_case), rest, occurrence)
    return 0 if result is None else int(result.end() if end else result.start()) + place


def regexp_replace(
    ignore_case: bool, text: str, pattern: str, new: str, place: int, occurrence: int, match_type: str
) -> str:
    if not pattern:
        raise regexp_error("Empty pattern is invalid")
    rest = _from_position(text, place)
    number_wanted, pieces, last = max(occurrence, 0), [text[: place - 1]], 0
    for number, result in enumerate(_pattern(pattern, match_type, ignore_case).finditer(rest), 1):
        if not number_wanted or number == number_wanted:
            pieces += [rest[last : result.start()], _expand(new, result)]
            last = result.end()
    return "".join([*pieces, rest[last:]])


def _expand(new: str, match: Any) -> str:
    """Expand a replacement: `\\1` is a group; any other character behind a backslash stands for itself."""

    def piece(escape: re.Match[str]) -> str:
        if not escape[1]:
            return ""
        if not escape[1].isdigit():
            return escape[1]
        if int(escape[1]) > len(match.groups()):
            raise regexp_error("[expression:1139]Got error 'Substitution number is out of range' from regexp")
        return match.group(int(escape[1])) or ""

    return re.sub(r"(?s)\\(.?)", piece, new)


@functools.lru_cache(1 << 10)
def like_matcher(pattern: str, escape: str, fold: Callable[[str], str] = str) -> Callable[[str], bool]:
    """Return the function that matches texts against a LIKE pattern, whose letters `fold` changes as those of the texts
    are. An escape character at its end stands for itself."""
    pieces, characters = list[str](), iter(pattern)
    for character in characters:
        if character in "%_" and character != escape:
            pieces.append(character)
        else:
            pieces.append("\\" + fold(next(characters, escape) if character == escape else character))
    literal = "".join(piece[1:] for piece in pieces)
    wildcards = "".join(piece if piece in ("%", "_") else "." for piece in pieces)
    if not wildcards.strip("."):
        return lambda text: text == literal
    if wildcards.rstrip("%").strip(".") == "":
        return lambda text: text.startswith(literal)
    if wildcards.strip("%").strip(".") == "":
        at_end = not wildcards.endswith("%")
        return (lambda text: text.endswith(literal)) if at_end else (lambda text: literal in text)
    regexp = "".join({"%": ".*", "_": "."}.get(piece) or re.escape(piece[1:]) for piece in pieces)
    matches = re.compile(regexp, re.DOTALL).fullmatch
    return lambda text: matches(text) is not None
