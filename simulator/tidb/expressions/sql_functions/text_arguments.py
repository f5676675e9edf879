"""Arguments and results of functions of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from simulator.tidb.expressions.calls import call
from simulator.tidb.expressions.context import TRUNCATED, Context
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.expression import Evaluate, Expression, Function, apply, apply_in_context, string
from simulator.tidb.expressions.texts import as_bytes, encode
from simulator.tidb.functions import texts
from simulator.tidb.functions.problems import packet_overflow

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
