"""Comparisons and patterns of texts by collation, conversions to and from bytes, arguments of functions of texts.

A binary string is a text with one character per byte. Bytes of a text that are not UTF-8 are lone surrogates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from simulator.tidb import collations
from simulator.tidb.collations import BASIC, WEIGHTS
from simulator.tidb.errors import packet_overflow
from simulator.tidb.expressions.collations import derive_collation
from simulator.tidb.expressions.conversions import as_text, converted
from simulator.tidb.expressions.expression import (
    CONNECTION_COLLATION,
    TRUNCATED,
    Context,
    Evaluate,
    Expression,
    Function,
    apply,
    apply_in_context,
    call,
    string,
)
from simulator.tidb.functions import texts
from simulator.tidb.functions.texts import bytes_as_text, like_matcher, regexp_like

TextFunction = Callable[[str], str]


class _Keys(dict[int, str]):
    """The weights of characters as texts, for `str.translate`."""

    def __init__(self, collation: str) -> None:
        super().__init__()
        self.table = WEIGHTS[collation]()

    def __missing__(self, code: int) -> str:
        place = min(code, self.table.last)
        start, end = self.table.places[place], self.table.places[place + 1]
        self[code] = "".join(map(chr, self.table.weights[start:end].tolist()))
        return self[code]


class _Alike(dict[int, str]):
    """The first character of those that are equal to one, for `str.translate`."""

    def __init__(self, collation: str) -> None:
        super().__init__()
        self.table, self.keeps_others = WEIGHTS[collation](), collation.endswith("_unicode_ci")

    def __missing__(self, code: int) -> str:
        keeps = self.keeps_others and code >= BASIC
        self[code] = chr(code if keeps else int(self.table.firsts[min(code, self.table.last)]))
        return self[code]


@cache
def collation_key(collation: str) -> TextFunction | None:
    """Return the function from texts to texts that compare as the collation compares those; None if it is the identity.

    See `collations.compare.sort_keys`.
    """
    if collations.has_weights(collation):
        keys = _Keys(collation)
        if collations.pads_spaces(collation):
            return lambda text: text.rstrip(" ").translate(keys)
        return lambda text: text.translate(keys)
    return (lambda text: text.rstrip(" ")) if collations.pads_spaces(collation) else None


@cache
def fold_case(collation: str) -> TextFunction | None:
    """Return the function that replaces each character by one for all that the collation finds equal; None if it is the
    identity. LIKE compares single characters; in _unicode_ci those outside of the basic plane stay different (tidb
    pkg/util/collate/unicode_0400_ci_impl.go)."""
    if not collations.has_weights(collation):
        return None
    alike = _Alike(collation)
    return lambda text: text.translate(alike)


def compared_text(value: Expression, evaluate: Evaluate, collation: str) -> Evaluate:
    """Return the key of a text of a value."""
    key = collation_key(collation or "utf8mb4_bin")
    return evaluate if key is None else converted(value, apply(key, evaluate))


def text_operands(left: Expression, right: Expression, operation: str) -> tuple[Evaluate, Evaluate]:
    """Return two values as texts that compare as their collation compares them. Raises SqlError 1267."""
    collation = derive_collation(operation, (left, right)).collation
    first, second = unify_bytes(left, right, collation)
    return compared_text(left, first, collation), compared_text(right, second, collation)


def unify_bytes(left: Expression, right: Expression, collation: str) -> tuple[Evaluate, Evaluate]:
    """Return both as bytes or both as text, as the collation requires."""
    if left.is_binary == right.is_binary:
        return as_text(left), as_text(right)
    if collation == "binary":
        return as_bytes(left), as_bytes(right)
    charset = collation.partition("_")[0]
    first, second = (
        call(lambda text: bytes_as_text(text, charset), value.evaluate) if value.is_binary else as_text(value)
        for value in (left, right)
    )
    return first, second


def like(value: Expression, pattern: Expression, escape: str) -> Evaluate:
    collation = derive_collation("like", (value, pattern)).collation
    text, shown = unify_bytes(value, pattern, collation)
    fold = fold_case(collation)
    text, fold = (text, str) if fold is None else (apply(fold, text), fold)
    if pattern.constant is not None and pattern.is_binary <= value.is_binary:
        return apply(like_matcher(pattern.constant, escape, fold), text)
    return apply(lambda each, wanted: like_matcher(wanted, escape, fold)(each), text, shown)


def regexp(value: Expression, pattern: Expression) -> Evaluate:
    ignores_case = not is_exact(derive_collation("regexp", (value, pattern)).collation)
    return call(lambda text, wanted: regexp_like(ignores_case, text, wanted, ""), as_text(value), as_text(pattern))


def is_exact(collation: str) -> bool:
    """Return whether the collation distinguishes upper and lower case."""
    return collation in (CONNECTION_COLLATION, "binary") or collation.endswith("_bin")


def bytes_as_characters(text: str) -> str:
    """Return the bytes of a text, one character per byte."""
    return text if text.isascii() else encode(text).decode("latin-1")


def encode(text: str) -> bytes:
    """Return the bytes of a text, among them those that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def legacy_charset(value: Expression) -> str:
    """Return the charset of a text that is not stored as UTF-8, else the empty text (tidb
    pkg/expression/builtin_convert_charset.go, isLegacyCharset)."""
    charset = value.collation.partition("_")[0]
    return charset if value.kind == "string" and not value.is_binary and charset in ("gbk", "gb18030") else ""


def as_bytes(value: Expression) -> Evaluate:
    """Return the bytes of a value's text in its charset, one character per byte."""
    charset = legacy_charset(value)
    if charset:
        return apply(lambda text: text.encode(charset, "replace").decode("latin-1"), value.evaluate)
    return as_text(value) if value.is_binary else apply(bytes_as_characters, as_text(value))


def as_blob(value: Expression) -> Evaluate:
    """Return the bytes of a value's text in its charset, as bytes."""
    charset = legacy_charset(value)
    if charset:
        return apply(lambda text: text.encode(charset, "replace"), value.evaluate)
    return apply((lambda text: text.encode("latin-1")) if value.is_binary else encode, as_text(value))


FEW = 1024 // 4
"""Characters that are never too many: max_allowed_packet is 1024 at least."""

# -- sizes -------------------------------------------------------------------------------------------------------------


def byte_size(text: str, is_binary: bool) -> int:
    return len(text) if is_binary or text.isascii() else len(encode(text))


def fits(context: Context, name: str, size: int) -> bool:
    """Return whether a result of that many bytes is allowed; else note 1301."""
    if size <= FEW or size <= (most := int(context.variable("max_allowed_packet"))):
        return True
    context.problem(TRUNCATED, f"1301 {packet_overflow(name, most)}")
    return False


def limited(name: str, evaluate: Evaluate, is_binary: bool) -> Evaluate:
    """Return a text; NULL with 1301 if it is larger than max_allowed_packet."""

    def checked(context: Context, text: str) -> str | None:
        if len(text) <= FEW or fits(context, name, byte_size(text, is_binary)):
            return text
        return None

    return apply_in_context(checked, evaluate)


# -- texts and bytes ---------------------------------------------------------------------------------------------------


def strings(values: Sequence[Expression]) -> tuple[Expression, ...]:
    return tuple(value for value in values if value.kind == "string")


def unify_texts(values: Sequence[Expression]) -> list[Expression]:
    """Return all values as bytes or all as text, as the value of the lowest coercibility."""
    if not any(value.is_binary for value in values):
        return list(values)
    best = min(value.coercibility for value in strings(values))
    if any(value.is_binary for value in strings(values) if value.coercibility == best):
        return [Expression(as_bytes(value), "string", "binary", 2, is_binary=True) for value in values]
    return [string(call(texts.bytes_as_text, as_text(value))) if value.is_binary else value for value in values]


# -- BIT ---------------------------------------------------------------------------------------------------------------


def _bit_to_bytes(value: Expression) -> Expression:
    """Return a BIT as bytes, as functions of text take it, or any other value unchanged."""
    if value.kind != "uint" or value.column_type is None or value.column_type.name != "bit":
        return value
    size = (max(value.column_type.length, 1) + 7) // 8
    shown = apply(lambda number: texts.bit_bytes(number, size), value.evaluate)
    return Expression(shown, "string", "binary", 2, number=value.evaluate, is_binary=True)


def with_bits_as_bytes(functions: dict[str, Function]) -> dict[str, Function]:
    """Return the functions so that they take a BIT as bytes."""

    def converting(compute: Callable[..., Expression]) -> Callable[..., Expression]:
        return lambda *values: compute(*map(_bit_to_bytes, values))

    return {name: replace(function, compute=converting(function.compute)) for name, function in functions.items()}
