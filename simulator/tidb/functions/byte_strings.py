"""Functions of IP addresses and UUIDs, and AES (FIPS 197) in the modes of AES_ENCRYPT and AES_DECRYPT.

Sources: tidb pkg/expression/builtin_miscellaneous.go, pkg/util/encrypt/aes.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, reduce
from ipaddress import IPv4Address, IPv6Address

from simulator.tidb.errors import incorrect_string

BLOCK = 16
MODES = ("ecb", "cbc", "ofb", "cfb")
SIZES = ("128", "192", "256")
"""Bits of a key."""

_SHIFTED = [(place + 4 * (place % 4)) % BLOCK for place in range(BLOCK)]


def derived_key(password: bytes, size: int) -> bytes:
    """Return a key of `size` bytes, which is a password folded as MySQL does."""
    parts = [password[place : place + size].ljust(size, b"\0") for place in range(0, len(password), size)]
    return reduce(_xor, parts, bytes(size))


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))


def _double(number: int) -> int:
    """Return the product with x in GF(2^8)."""
    return number << 1 ^ (0x11B if number & 0x80 else 0)


@cache
def _boxes() -> tuple[bytes, bytes]:
    """Return the substitution of bytes, and its inverse."""
    box, inverse = bytearray([0x63] * 256), bytearray(256)
    power = reciprocal = 1
    for _ in range(255):
        spread = reciprocal * 0x101
        box[power] = (reciprocal ^ spread >> 4 ^ spread >> 5 ^ spread >> 6 ^ spread >> 7) & 0xFF ^ 0x63
        power ^= _double(power)
        reciprocal = _third(reciprocal)
    for place, byte in enumerate(box):
        inverse[byte] = place
    return bytes(box), bytes(inverse)


def _third(number: int) -> int:
    """Return the quotient by x + 1 in GF(2^8), whose inverse is 0xF6."""
    result = 0
    for bit in range(8):
        result ^= number if 0xF6 >> bit & 1 else 0
        number = _double(number)
    return result


@lru_cache(64)
def _round_keys(key: bytes) -> list[bytes]:
    box, words = _boxes()[0], [key[place : place + 4] for place in range(0, len(key), 4)]
    count, constant = len(words), 1
    for place in range(count, 4 * (count + 7)):
        word = words[-1]
        if place % count == 0:
            word = _xor((word[1:] + word[:1]).translate(box), bytes((constant, 0, 0, 0)))
            constant = _double(constant)
        elif count > 6 and place % count == 4:
            word = word.translate(box)
        words.append(_xor(word, words[-count]))
    return [b"".join(words[place : place + 4]) for place in range(0, len(words), 4)]


def _mixed(state: bytes) -> bytes:
    """Return MixColumns, which gives the state again when it is done four times."""
    result = bytearray()
    for place in range(0, BLOCK, 4):
        a, b, c, d = state[place : place + 4]
        every = a ^ b ^ c ^ d
        result += bytes(one ^ every ^ _double(one ^ other) for one, other in ((a, b), (b, c), (c, d), (d, a)))
    return bytes(result)


def _encrypt_block(block: bytes, keys: list[bytes]) -> bytes:
    box, state = _boxes()[0], _xor(block, keys[0])
    for key in keys[1:-1]:
        state = state.translate(box)
        state = _xor(_mixed(bytes(state[place] for place in _SHIFTED)), key)
    state = state.translate(box)
    return _xor(bytes(state[place] for place in _SHIFTED), keys[-1])


def _decrypt_block(block: bytes, keys: list[bytes]) -> bytes:
    inverse, state = _boxes()[1], _xor(block, keys[-1])
    for key in reversed(keys[:-1]):
        moved = bytearray(BLOCK)
        for place, source in enumerate(_SHIFTED):
            moved[source] = state[place]
        state = _xor(bytes(moved).translate(inverse), key)
        if key is not keys[0]:
            state = _mixed(_mixed(_mixed(state)))
    return state


def _blocks(data: bytes) -> Iterator[bytes]:
    return (data[place : place + BLOCK] for place in range(0, len(data), BLOCK))


def encrypt(mode: str, data: bytes, key: bytes, start: bytes = b"") -> bytes:
    """Return bytes encrypted with a key of 16, 24 or 32 bytes. `start` is the initialization vector."""
    keys = _round_keys(key)
    if mode in ("ofb", "cfb"):
        return _streamed(data, keys, start, lambda stream, sent: stream if mode == "ofb" else sent)
    more = BLOCK - len(data) % BLOCK
    result, previous = b"", start or bytes(BLOCK)
    for block in _blocks(data + bytes([more]) * more):
        sent = _encrypt_block(_xor(block, previous), keys)
        previous = sent if mode == "cbc" else previous
        result += sent
    return result


def decrypt(mode: str, data: bytes, key: bytes, start: bytes = b"") -> bytes | None:
    """Return what `encrypt` was given, None for other bytes than it returns."""
    keys = _round_keys(key)
    if mode == "ofb":
        return _streamed(data, keys, start, lambda stream, sent: stream)
    if mode == "cfb":
        previous = (start, *_blocks(data))
        return b"".join(
            _xor(block, _encrypt_block(last, keys)) for last, block in zip(previous, _blocks(data), strict=False)
        )
    if not data or len(data) % BLOCK:
        return None
    result, last = b"", start or bytes(BLOCK)
    for block in _blocks(data):
        result += _xor(_decrypt_block(block, keys), last)
        last = block if mode == "cbc" else last
    more = result[-1]
    return result[:-more] if 0 < more <= BLOCK and result.endswith(bytes([more]) * more) else None


def _streamed(data: bytes, keys: list[bytes], start: bytes, following: Callable[[bytes, bytes], bytes]) -> bytes:
    result = b""
    for block in _blocks(data):
        stream = _encrypt_block(start, keys)
        sent = _xor(block, stream)
        start = following(stream, sent)
        result += sent
    return result


PART = re.compile(r"0|[1-9]\d{0,2}", re.ASCII)


def inet_aton(text: str) -> int | None:
    parts = text.split(".")
    if (
        not text
        or text.endswith(".")
        or len(parts) > 4
        or not all(not part or part.isascii() and part.isdigit() and int(part) <= 255 for part in parts)
    ):
        return None
    numbers = [int(part or 0) for part in parts]
    if len(numbers) > 1:
        numbers[-1:-1] = [0] * (4 - len(numbers))
    return sum(number << 8 * place for place, number in enumerate(reversed(numbers)))


def inet_ntoa(number: int) -> str | None:
    return str(IPv4Address(number)) if 0 <= number < 2**32 else None


def _parse_ipv4(text: str) -> bytes | None:
    parts = text.split(".")
    if len(parts) != 4 or not all(PART.fullmatch(part) and int(part) < 256 for part in parts):
        return None
    return bytes(map(int, parts))


def _parse_ipv6(text: str) -> bytes | None:
    try:
        return None if "%" in text or "/" in text else IPv6Address(text).packed
    except ValueError:
        return None


def inet6_aton(text: str) -> str | None:
    result = _parse_ipv4(text) or (_parse_ipv6(text) if ":" in text else None)
    return None if result is None else result.decode("latin-1")


def inet6_ntoa(text: str) -> str | None:
    data = text.encode("latin-1")
    if len(data) == 4:
        return ".".join(map(str, data))
    if len(data) != 16:
        return None
    if data[:12] == bytes(10) + b"\xff\xff":
        return f"::ffff:{'.'.join(map(str, data[12:]))}"
    return _shortest(data)


def _shortest(data: bytes) -> str:
    """Return an IPv6 address as Go prints it, without the first longest run of two or more zero fields."""
    fields = [int.from_bytes(data[place : place + 2], "big") for place in range(0, 16, 2)]
    runs = [(end - start, -start) for start in range(8) for end in range(start + 2, 9) if not any(fields[start:end])]
    if not runs:
        return ":".join(f"{field:x}" for field in fields)
    length, start = max(runs)
    head, tail = fields[:-start], fields[-start + length :]
    return f"{':'.join(f'{field:x}' for field in head)}::{':'.join(f'{field:x}' for field in tail)}"


def is_ipv4(text: str | None) -> bool:
    """Return IS_IPV4, which accepts leading zeros."""
    parts = (text or "").split(".")
    is_address = all(re.fullmatch(r"\d{1,3}", part, re.ASCII) and int(part) < 256 for part in parts)
    return len(parts) == 4 and is_address


def is_ipv6(text: str | None) -> bool:
    return text is not None and ":" in text and _parse_ipv6(text) is not None


def is_ipv4_compat(text: str | None) -> bool:
    return _has_prefix(text, bytes(12))


def is_ipv4_mapped(text: str | None) -> bool:
    return _has_prefix(text, bytes(10) + b"\xff\xff")


def _has_prefix(text: str | None, prefix: bytes) -> bool:
    return text is not None and len(text) == 16 and text.encode("latin-1").startswith(prefix)


UUID = re.compile(r"(?:urn:uuid:)?([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})", re.I)


def _uuid(text: str) -> str | None:
    """Return the 32 digits of a UUID (github.com/google/uuid, Parse)."""
    if re.fullmatch(r"[0-9a-fA-F]{32}", text):
        return text
    inner = text[1:-1] if len(text) == 38 else text
    result = UUID.fullmatch(inner) if len(inner) in (36, 45) else None
    return "".join(result.groups()) if result else None


def is_uuid(text: str) -> bool:
    return _uuid(text) is not None


def uuid_to_bin(text: str | None, swapped: int | None = None) -> str | None:
    if text is None:
        return None
    digits = _uuid(text)
    if digits is None:
        raise incorrect_string(text, "uuid_to_bin")
    data = bytes.fromhex(digits)
    if swapped:
        data = data[6:8] + data[4:6] + data[:4] + data[8:]
    return data.decode("latin-1")


def bin_to_uuid(text: str | None, swapped: int | None = None) -> str | None:
    if text is None:
        return None
    data = text.encode("latin-1")
    if len(data) != 16:
        raise incorrect_string(text, "bin_to_uuid")
    if swapped:
        data = data[4:8] + data[2:4] + data[:2] + data[8:]
    digits = data.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
