"""Functions of IP addresses and UUIDs, the modes of AES_ENCRYPT and AES_DECRYPT, and VITESS_HASH.

Sources: tidb pkg/expression/builtin_miscellaneous.go, pkg/util/encrypt/aes.go.
"""

from __future__ import annotations

import re
from functools import cache, reduce
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from simulator.tidb.errors import incorrect_string

BLOCK = 16
MODES = {f"aes-{size}-{mode}": (mode, size // 8) for size in (128, 192, 256) for mode in ("ecb", "cbc", "ofb", "cfb")}
"""How AES combines blocks, and the bytes of its key, by block_encryption_mode."""


def derived_key(password: bytes, size: int) -> bytes:
    """Return a key of `size` bytes, which is a password folded as MySQL does."""
    parts = [password[place : place + size].ljust(size, b"\0") for place in range(0, len(password), size)]
    return reduce(_xor, parts, bytes(size))


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))


def encrypt(mode: str, data: bytes, key: bytes, start: bytes = b"") -> bytes:
    """Return bytes encrypted with a key of 16, 24 or 32 bytes. `start` is the initialization vector."""
    if mode == "ofb":
        return _xor(data, _encrypted(bytes(len(data) + -len(data) % BLOCK), key, start))
    if mode == "cfb":
        result = b""
        for place in range(0, len(data), BLOCK):
            start = _xor(data[place : place + BLOCK], _encrypted(start, key))
            result += start
        return result
    more = BLOCK - len(data) % BLOCK
    return _encrypted(data + bytes([more]) * more, key, start)


def decrypt(mode: str, data: bytes, key: bytes, start: bytes = b"") -> bytes | None:
    """Return what `encrypt` was given, None for other bytes than it returns."""
    if mode == "ofb":
        return encrypt(mode, data, key, start)
    if mode == "cfb":
        return _xor(data, _encrypted(start + data[: len(data) // BLOCK * BLOCK], key))
    if not data or len(data) % BLOCK:
        return None
    result: bytes = _aes(key, start).decryptor().update(data)
    more = result[-1]
    return result[:-more] if 0 < more <= BLOCK and result.endswith(bytes([more]) * more) else None


def _encrypted(data: bytes, key: bytes, start: bytes = b"") -> bytes:
    """Return whole blocks encrypted, each mixed with the one before if there is a start."""
    result: bytes = _aes(key, start).encryptor().update(data)
    return result


def _aes(key: bytes, start: bytes) -> Any:
    """Return AES by ECB, or by CBC if there is a start; the library gives up its OFB and CFB."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # few statements need it

    return Cipher(algorithms.AES(key), modes.CBC(start) if start else modes.ECB())


def vitess_hash(number: int) -> int:
    """Return VITESS_HASH: DES of 64 bits with a key of zeros (TiDB: pkg/util/vitess/vitess_hash.go)."""
    return int.from_bytes(_des().encryptor().update(number.to_bytes(8, "big")), "big")


@cache
def _des() -> Any:
    """Return DES by ECB: TripleDES with one key three times."""
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    return Cipher(TripleDES(bytes(24)), modes.ECB())


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
