"""MySQL's functions of bytes: charsets, digits, addresses, hashes, encryption, and what a value says of itself.

Source: tidb pkg/expression/builtin_encryption.go.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable
from typing import Any

from simulator.tidb import collations
from simulator.tidb.errors import not_simulated, sql_error
from simulator.tidb.expressions.arithmetic import as_bits
from simulator.tidb.expressions.collations import value_collation
from simulator.tidb.expressions.conversions import as_int32, as_integer, as_real, as_text, signed_bits
from simulator.tidb.expressions.expression import (
    ALWAYS,
    NULL_VALUE,
    NUMERIC_KINDS,
    UNLIMITED,
    WARNED,
    Context,
    Evaluate,
    Expression,
    Function,
    Row,
    apply,
    boolean,
    call,
    call_with_nulls,
    fixed,
    integer,
    string,
)
from simulator.tidb.expressions.texts import as_blob, as_bytes, collation_key, encode, fits, limited, with_bits_as_bytes
from simulator.tidb.functions import byte_strings, texts
from simulator.tidb.model.types import CHARSETS

HEXADECIMAL = re.compile(r"[0-9a-fA-F]*")


def byte_string(evaluate: Evaluate) -> Expression:
    return Expression(evaluate, "string", "binary", is_binary=True)


_READ: dict[str, Callable[[Expression], Evaluate]] = {"t": as_text, "b": as_bytes, "n": signed_bits, "r": as_real}


def _of(
    compute: Callable[..., Any],
    letters: str,
    gives: Callable[[Evaluate], Expression] = string,
    takes: Callable[..., Evaluate] = call,
) -> Callable[..., Expression]:
    """Return a function with a letter for each argument: `t` text, `b` bytes, `n` an integer, `r` a double."""

    def called(*values: Expression) -> Expression:
        return gives(takes(compute, *(_READ[letter](value) for letter, value in zip(letters, values, strict=False))))

    return called


# -- charsets ----------------------------------------------------------------------------------------------------------


def _in_charset(evaluate: Evaluate, charset: str) -> Expression:
    """Return a text in a charset. Raises SqlError 1115."""
    if charset not in CHARSETS:
        raise sql_error(1115, charset)
    return Expression(evaluate, "string", CHARSETS[charset][0], 2)


def _char(*values: Expression) -> Expression:
    """Return CHAR: bytes, or text of the charset that the last argument names."""
    *codes, charset = values
    result = call_with_nulls(texts.char, *map(signed_bits, codes))
    name = charset.constant
    if name is None or name == "binary":
        return byte_string(result)
    return _in_charset(call(lambda text: texts.as_charset(text, name), result), name)


def _convert_using(value: Expression, charset: Expression) -> Expression:
    """Return CONVERT(value USING charset)."""
    name = charset.constant or ""
    if name == "binary":
        return byte_string(as_bytes(value))
    convert = texts.as_charset if value.is_binary else texts.into_charset
    return _in_charset(call(lambda text: convert(text, name), as_text(value)), name)


def _collation(value: Expression) -> str:
    return "binary" if value.kind == "json" else value_collation(value).collation


def _weight_string(value: Expression, kind: Expression | None = None, size: Expression | None = None) -> Expression:
    """Return WEIGHT_STRING: the sort key of a text, NULL for numbers."""
    if value.kind in NUMERIC_KINDS and not value.is_year or value.kind == "null":
        return byte_string(NULL_VALUE)
    result = as_text(value)
    if kind is not None and size is not None:
        result = as_bytes(value) if kind.constant == "BINARY" else result
        width, fill = int(size.constant or 0), " " if kind.constant == "CHAR" else "\0"
        result = _cut(result, width, fill)
        if kind.constant == "BINARY":
            return byte_string(result)
    name = _collation(value) if value.kind == "string" else "utf8mb4_bin"
    if name.endswith("_unicode_ci") or name.startswith(("gbk", "gb18030")):
        raise not_simulated(f"WEIGHT_STRING by {name} is not computed; that by other collations is")
    return byte_string(result if value.is_binary else apply(_weights(name), result))


def _cut(evaluate: Evaluate, width: int, fill: str) -> Evaluate:
    """Return a text of so many characters."""
    text = apply(lambda each: each[:width].ljust(width, fill), evaluate)
    return lambda row, context: text(row, context) if fits(context, "weight_string", width) else None


def _weights(collation: str) -> Callable[[str], str]:
    """Return the function that gives the bytes by which a collation sorts a text."""
    key = collation_key(collation)
    if not collations.has_weights(collation):
        return lambda text: encode(text if key is None else key(text)).decode("latin-1")
    assert key is not None
    less = int(collation.endswith("_general_ci"))

    def weights(text: str) -> str:
        return "".join(chr(weight >> 8) + chr(weight & 255) for weight in (ord(each) - less for each in key(text)))

    return weights


# -- digits ------------------------------------------------------------------------------------------------------------


def _hex(value: Expression) -> Expression:
    if value.kind in NUMERIC_KINDS:
        return string(apply(lambda bits: f"{bits:X}", as_bits(value)))
    return string(limited("hex", apply(lambda data: data.hex().upper(), as_blob(value)), True))


def _unhex(text: str) -> str | None:
    if not HEXADECIMAL.fullmatch(text):
        return None
    return bytes.fromhex("0" + text if len(text) % 2 else text).decode("latin-1")


ENCODING_FUNCTIONS: dict[str, Function] = {
    "CHAR_FUNC": Function(1, UNLIMITED, _char),
    "FORMAT_BYTES": Function(1, 1, _of(texts.format_bytes, "r")),
    "ANY_VALUE": Function(1, 1, lambda value: value),
    "WEIGHT_STRING": Function(1, 3, _weight_string),
    "HEX": Function(1, 1, _hex),
    **with_bits_as_bytes(
        {
            "CONVERT": Function(2, 2, _convert_using, (1,)),
            "COLLATION": Function(1, 1, lambda value: string(fixed(_collation(value)))),
            "CHARSET": Function(1, 1, lambda value: string(fixed(_collation(value).partition("_")[0]))),
            "COERCIBILITY": Function(1, 1, lambda value: integer(fixed(int(value_collation(value).coercibility)))),
            "NAME_CONST": Function(2, 2, lambda name, value: value),
            "BENCHMARK": Function(
                2, 2, lambda count, value: integer(apply(lambda times: 0 if times >= 0 else None, as_integer(count)))
            ),
            "UNHEX": Function(1, 1, _of(_unhex, "t", byte_string)),
            "TO_BASE64": Function(
                1, 1, lambda value: string(limited("to_base64", apply(texts.to_base64, as_bytes(value)), True))
            ),
            "FROM_BASE64": Function(
                1, 1, lambda value: byte_string(limited("from_base64", apply(texts.from_base64, as_text(value)), True))
            ),
            "LOAD_FILE": Function(1, 1, lambda name: string(NULL_VALUE)),
            "INET_ATON": Function(1, 1, _of(byte_strings.inet_aton, "t", integer)),
            "INET_NTOA": Function(1, 1, _of(byte_strings.inet_ntoa, "n")),
            "INET6_ATON": Function(1, 1, _of(byte_strings.inet6_aton, "t", byte_string)),
            "INET6_NTOA": Function(1, 1, _of(byte_strings.inet6_ntoa, "b")),
            "IS_IPV4": Function(1, 1, _of(byte_strings.is_ipv4, "t", boolean, call_with_nulls)),
            "IS_IPV6": Function(1, 1, _of(byte_strings.is_ipv6, "t", boolean, call_with_nulls)),
            "IS_IPV4_COMPAT": Function(1, 1, _of(byte_strings.is_ipv4_compat, "b", boolean, call_with_nulls)),
            "IS_IPV4_MAPPED": Function(1, 1, _of(byte_strings.is_ipv4_mapped, "b", boolean, call_with_nulls)),
            "IS_UUID": Function(1, 1, _of(byte_strings.is_uuid, "t", boolean)),
            "UUID_TO_BIN": Function(1, 2, _of(byte_strings.uuid_to_bin, "tn", byte_string, call_with_nulls)),
            "BIN_TO_UUID": Function(1, 2, _of(byte_strings.bin_to_uuid, "bn", string, call_with_nulls)),
        }
    ),
}
"""By TiDB's names."""


SHARDS = 256


def _digest(name: str) -> Function:
    return Function(1, 1, lambda value: string(apply(lambda data: hashlib.new(name, data).hexdigest(), as_blob(value))))


def _sha2(value: Expression, size: Expression) -> Expression:
    """Return SHA2; NULL for an invalid size."""

    def digest(data: bytes, bits: int) -> str | None:
        return hashlib.new(f"sha{bits or 256}", data).hexdigest() if bits in (0, 224, 256, 384, 512) else None

    return string(apply(digest, as_blob(value), as_int32(size)))


def _aes(name: str, compute: Callable[..., bytes | None]) -> Function:
    """Return AES_ENCRYPT or AES_DECRYPT, in the mode that block_encryption_mode names."""

    def called(value: Expression, password: Expression, *start: Expression) -> Expression:
        data, key, vectors = as_blob(value), as_blob(password), [as_blob(each) for each in start]

        def evaluate(row: Row, context: Context) -> str | None:
            text, secret = data(row, context), key(row, context)
            if text is None or secret is None:
                return None
            variable = (context.variable("block_encryption_mode") or "").lower()
            mode, size = byte_strings.MODES.get(variable, ("", 0))
            vector: bytes | None = b""
            if not mode:
                context.problem(ALWAYS, f"1105 unsupported block encryption mode - {variable}")
            elif mode == "ecb":
                if vectors:
                    context.problem(WARNED, "1618 <IV> option ignored")
            else:
                vector = _vector(name, vectors, row, context)
                if vector is None:
                    return None
            result = compute(mode, text, byte_strings.derived_key(secret, size), vector)
            return None if result is None else result.decode("latin-1")

        return byte_string(evaluate)

    return Function(2, 3, called)


def _vector(name: str, vectors: list[Evaluate], row: Row, context: Context) -> bytes | None:
    """Return the initialization vector. Raises SqlError 1582 and 1210."""
    if not vectors:
        context.problem(ALWAYS, f"1582 Incorrect parameter count in the call to native function '{name}'")
    vector: bytes | None = vectors[0](row, context)
    if vector is not None and len(vector) < byte_strings.BLOCK:
        shown = f"The initialization vector supplied to {name} is too short. Must be at least {byte_strings.BLOCK} bytes long"
        context.problem(ALWAYS, f"1210 {shown}")
    return vector and vector[: byte_strings.BLOCK]


def _of_bytes(compute: Callable[..., Any], gives: Callable[[Evaluate], Expression]) -> Function:
    return Function(1, 1, lambda value: gives(call(compute, as_bytes(value))))


def _vitess(compute: Callable[[int], int]) -> Function:
    return Function(
        1, 1, lambda value: integer(apply(lambda number: compute(number % 2**64), signed_bits(value)), "uint")
    )


CIPHER_FUNCTIONS: dict[str, Function] = {
    **with_bits_as_bytes(
        {
            "CRC32": Function(1, 1, lambda value: integer(apply(zlib.crc32, as_blob(value)))),
            "MD5": _digest("md5"),
            "SHA": _digest("sha1"),
            "SHA1": _digest("sha1"),
            "SHA2": Function(2, 2, _sha2),
            "SM3": _digest("sm3"),
            "PASSWORD_FUNC": Function(1, 1, lambda value: string(call_with_nulls(texts.password, as_text(value)))),
            "AES_ENCRYPT": _aes("aes_encrypt", byte_strings.encrypt),
            "AES_DECRYPT": _aes("aes_decrypt", byte_strings.decrypt),
            "UNCOMPRESS": _of_bytes(texts.uncompress, byte_string),
            "UNCOMPRESSED_LENGTH": _of_bytes(texts.uncompressed_length, integer),
        }
    ),
    "VITESS_HASH": _vitess(byte_strings.vitess_hash),
    "TIDB_SHARD": _vitess(lambda number: byte_strings.vitess_hash(number) % SHARDS),
}
"""By TiDB's names."""
