"""MySQL's functions that hash, encrypt and compress bytes (tidb pkg/expression/builtin_encryption.go)."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from typing import Any

from simulator.tidb.expressions.calls import call, call_with_nulls
from simulator.tidb.expressions.context import ALWAYS, WARNED, Context
from simulator.tidb.expressions.conversions import as_int32, as_text, signed_bits
from simulator.tidb.expressions.expression import Evaluate, Expression, Function, Row, apply, integer, string
from simulator.tidb.expressions.sql_functions.encoding_functions import byte_string
from simulator.tidb.expressions.sql_functions.text_arguments import with_bits_as_bytes
from simulator.tidb.expressions.texts import as_blob, as_bytes
from simulator.tidb.functions import aes, hashes, texts

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
            variable = context.variable("block_encryption_mode").lower()
            size, mode = variable.split("-")[1:]
            vector: bytes | None = b""
            if size not in aes.SIZES or mode not in aes.MODES:
                context.problem(ALWAYS, f"1105 unsupported block encryption mode - {variable}")
            elif mode == "ecb":
                if vectors:
                    context.problem(WARNED, "1618 <IV> option ignored")
            else:
                vector = _vector(name, vectors, row, context)
                if vector is None:
                    return None
            result = compute(mode, text, aes.derived_key(secret, int(size) // 8), vector)
            return None if result is None else result.decode("latin-1")

        return byte_string(evaluate)

    return Function(2, 3, called)


def _vector(name: str, vectors: list[Evaluate], row: Row, context: Context) -> bytes | None:
    """Return the initialization vector. Raises SqlError 1582 and 1210."""
    if not vectors:
        context.problem(ALWAYS, f"1582 Incorrect parameter count in the call to native function '{name}'")
    vector: bytes | None = vectors[0](row, context)
    if vector is not None and len(vector) < aes.BLOCK:
        shown = f"The initialization vector supplied to {name} is too short. Must be at least {aes.BLOCK} bytes long"
        context.problem(ALWAYS, f"1210 {shown}")
    return vector and vector[: aes.BLOCK]


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
            "AES_ENCRYPT": _aes("aes_encrypt", aes.encrypt),
            "AES_DECRYPT": _aes("aes_decrypt", aes.decrypt),
            "UNCOMPRESS": _of_bytes(texts.uncompress, byte_string),
            "UNCOMPRESSED_LENGTH": _of_bytes(texts.uncompressed_length, integer),
        }
    ),
    "VITESS_HASH": _vitess(hashes.vitess_hash),
    "TIDB_SHARD": _vitess(lambda number: hashes.vitess_hash(number) % SHARDS),
}
"""By TiDB's names."""
