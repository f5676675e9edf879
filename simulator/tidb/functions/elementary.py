"""Functions of doubles, and their results as text. All but TAN and COT may differ from Go's in the last bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np


def _exponential(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _power(x: float, y: float) -> float:
    """Return the power; infinity for one that is out of range or no number."""
    try:
        return math.pow(x, y)
    except (OverflowError, ValueError):
        return math.inf


_TAN_P = (-1.30936939181383734205e4, 1.15351664838587416140e6, -1.79565251976484877988e7)
_TAN_Q = (1.0, 1.36812963470692954678e4, -1.32089234440210967447e6, 2.50083801823357915839e7, -5.38695755929454629881e7)
_PI4 = (7.85398125648498535156e-1, 3.77489470793079817668e-8, 2.69515142907905952645e-15)
"""Pi / 4 in three parts."""

_LARGEST = 1 << 29
"""From here on, Go reduces angles by another way."""


def _polynomial(x: float, factors: Sequence[float]) -> float:
    return reduce(lambda result, factor: result * x + factor, factors)


def _tangent(x: float) -> float:
    """Return the tangent with the bits of Go's, by which TiDB prints 1.557407724654902 for TAN(1) (math/tan.go)."""
    if not x or abs(x) >= _LARGEST:
        return math.tan(x)
    octant = int(abs(x) * (4 / math.pi))
    octant += octant & 1
    rest = reduce(lambda rest, part: rest - octant * part, _PI4, abs(x))
    square, result = rest * rest, rest
    if square > 1e-14:
        result = rest + rest * (square * _polynomial(square, _TAN_P) / _polynomial(square, _TAN_Q))
    return math.copysign(1, x) * (-1 / result if octant & 2 else result)


def _cotangent(x: float) -> float:
    result = _tangent(x)
    return 1 / result if result else math.inf


def shown(number: str) -> str:
    """Return a very large or very small double as a client is shown it."""
    if math.isinf(float(number)):
        return "+Inf" if float(number) > 0 else "-Inf"  # as Go prints the variance of very large numbers
    mantissa, _, exponent = np.format_float_scientific(float(number), unique=True, trim="-").partition("e")
    return f"{mantissa}e{int(exponent)}"


DOUBLE_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": _tangent,
    "atan": math.atan,
    "atan2": math.atan2,
    "asin": math.asin,
    "acos": lambda x: math.pi / 2 - math.asin(x),  # as Go (math/asin.go)
    "ln": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "cot": _cotangent,
    "exp": _exponential,
    "pow": _power,
    "sqrt": math.sqrt,
    "degrees": lambda x: x * 180 / math.pi,
    "radians": lambda x: x * math.pi / 180,
}
"""By their names in errors."""
