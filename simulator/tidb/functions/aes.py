"""AES (FIPS 197) of bytes, in the modes of AES_ENCRYPT and AES_DECRYPT (TiDB: pkg/util/encrypt/aes.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache, reduce

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
