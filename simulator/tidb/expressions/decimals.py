"""Arithmetic of TiDB's decimals, which have up to 81 digits before the point and 30 behind it (tidb
pkg/types/mydecimal.go)."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache

EXACT = Context(prec=700)
"""More digits than a double has before and behind its point."""

WORD, WORDS = 9, 9
"""Digits of a word of TiDB's decimals, and the words of the longest one."""

MOST = Decimal(10) ** (WORD * WORDS)
"""The first number that is too large."""


@lru_cache(128)
def _unit(scale: int) -> Decimal:
    return Decimal(1).scaleb(-scale)


def quantize(number: Decimal, scale: int, rounding: str = ROUND_HALF_UP) -> Decimal:
    """Return a number with `scale` digits behind the point (before it, if negative); no zero is negative."""
    try:
        result = number.quantize(_unit(scale), rounding, EXACT)
    except InvalidOperation:
        return number
    return result if result else result.copy_abs()


def truncate(number: Decimal, scale: int) -> Decimal:
    """Return a number without the digits behind `scale`."""
    return quantize(number, scale, ROUND_DOWN)


def fitted(number: Decimal) -> Decimal | None:
    """Return a number without the digits behind the point that do not fit into TiDB's nine words of nine digits; None if
    those before it do not (tidb pkg/types/mydecimal.go, FromString)."""
    whole = max(number.adjusted() + 1, 0) if number else 0
    if whole > WORD * WORDS:
        return None
    most = (WORDS - -(-whole // WORD)) * WORD
    return number if -int(number.as_tuple().exponent) <= most else truncate(number, most)


def of_real(number: float) -> Decimal:
    """Return the decimal that a double is printed as, at most the largest one (tidb pkg/types/mydecimal.go,
    FromFloat64)."""
    found = fitted(Decimal(repr(number)))
    return (MOST - 1).copy_sign(Decimal(number)) if found is None else found


def text(number: Decimal) -> str:
    return f"{number:f}"
