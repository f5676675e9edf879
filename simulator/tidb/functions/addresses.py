"""Functions of IP addresses and UUIDs (TiDB: pkg/expression/builtin_miscellaneous.go).

Bytes are texts with one character per byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

from simulator.tidb.functions.problems import FunctionProblem
from simulator.tidb.functions.strict import Text, strict

PART = re.compile(r"0|[1-9]\d{0,2}", re.ASCII)


def _incorrect_string(text: str, function: str, kind: str = "T") -> FunctionProblem:
    return FunctionProblem(1411, f"Incorrect string value: '{text}' for function {function}", kind)


@strict
def inet_aton(text: str) -> Text:
    parts = text.split(".")
    if (
        not text
        or text.endswith(".")
        or len(parts) > 4
        or not all(not part or part.isascii() and part.isdigit() and int(part) <= 255 for part in parts)
    ):
        raise _incorrect_string(text, "inet_aton")
    numbers = [int(part or 0) for part in parts]
    if len(numbers) > 1:
        numbers[-1:-1] = [0] * (4 - len(numbers))
    return str(sum(number << 8 * place for place, number in enumerate(reversed(numbers))))


def inet_ntoa(number: Text) -> Text:
    return None if number is None or not 0 <= int(number) < 2**32 else str(IPv4Address(int(number)))


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


@strict
def inet6_aton(text: str) -> Text:
    result = _parse_ipv4(text) or (_parse_ipv6(text) if ":" in text else None)
    if result is None:
        raise _incorrect_string(text, "inet_aton6")
    return result.decode("latin-1")


@strict
def inet6_ntoa(text: str) -> Text:
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


def _predicate(test: Callable[[str], bool]) -> Callable[[Text], Text]:
    return lambda text: str(int(text is not None and test(text)))


def _starts(prefix: bytes) -> Callable[[str], bool]:
    return lambda text: len(text) == 16 and text.encode("latin-1").startswith(prefix)


UUID = re.compile(r"(?:urn:uuid:)?([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})", re.I)


def _uuid(text: str) -> str | None:
    """Return the 32 digits of a UUID (github.com/google/uuid, Parse)."""
    if re.fullmatch(r"[0-9a-fA-F]{32}", text):
        return text
    inner = text[1:-1] if len(text) == 38 else text
    result = UUID.fullmatch(inner) if len(inner) in (36, 45) else None
    return "".join(result.groups()) if result else None


@strict
def is_uuid(text: str) -> Text:
    return str(int(_uuid(text) is not None))


def uuid_to_bin(text: Text, swapped: Text) -> Text:
    if text is None:
        return None
    digits = _uuid(text)
    if digits is None:
        raise _incorrect_string(text, "uuid_to_bin", "E")
    data = bytes.fromhex(digits)
    if swapped not in (None, "0"):
        data = data[6:8] + data[4:6] + data[:4] + data[8:]
    return data.decode("latin-1")


def bin_to_uuid(text: Text, swapped: Text) -> Text:
    if text is None:
        return None
    data = text.encode("latin-1")
    if len(data) != 16:
        raise _incorrect_string(text, "bin_to_uuid", "E")
    if swapped not in (None, "0"):
        data = data[4:8] + data[2:4] + data[:2] + data[8:]
    digits = data.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _is_ipv4(text: str) -> bool:
    """Return whether a text is an IPv4 address. IS_IPV4 accepts leading zeros."""
    parts = text.split(".")
    return len(parts) == 4 and all(re.fullmatch(r"\d{1,3}", part, re.ASCII) and int(part) < 256 for part in parts)


ADDRESS_FUNCTIONS: dict[str, Callable[..., Text]] = {
    "inet_aton": inet_aton,
    "inet_ntoa": inet_ntoa,
    "inet6_aton": inet6_aton,
    "inet6_ntoa": inet6_ntoa,
    "is_ipv4": _predicate(_is_ipv4),
    "is_ipv6": _predicate(lambda text: ":" in text and _parse_ipv6(text) is not None),
    "is_ipv4_compat": _predicate(_starts(bytes(12))),
    "is_ipv4_mapped": _predicate(_starts(bytes(10) + b"\xff\xff")),
    "is_uuid": is_uuid,
    "uuid_to_bin": uuid_to_bin,
    "bin_to_uuid": bin_to_uuid,
}
"""By their names in SQL."""
