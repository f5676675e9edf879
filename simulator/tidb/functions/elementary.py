"""Functions of doubles with the same bits as Go's (math/sin.go, tan.go, atan.go, log.go, exp.go: Cephes and FreeBSD's
msun), and the conversion of numbers to text.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

_SIN = (
    1.58962301576546568060e-10,
    -2.50507477628578072866e-8,
    2.75573136213857245213e-6,
    -1.98412698295895385996e-4,
    8.33333333332211858878e-3,
    -1.66666666666666307295e-1,
)
_COS = (
    -1.13585365213876817300e-11,
    2.08757008419747316778e-9,
    -2.75573141792967388112e-7,
    2.48015872888517045348e-5,
    -1.38888888888730564116e-3,
    4.16666666666665929218e-2,
)
_TAN_P = (-1.30936939181383734205e4, 1.15351664838587416140e6, -1.79565251976484877988e7)
_TAN_Q = (1.36812963470692954678e4, -1.32089234440210967447e6, 2.50083801823357915839e7, -5.38695755929454629881e7)
_PI4 = (7.85398125648498535156e-1, 3.77489470793079817668e-8, 2.69515142907905952645e-15)
_ATAN_P = (
    -8.750608600031904122785e-01,
    -1.615753718733365076637e01,
    -7.500855792314704667340e01,
    -1.228866684490136173410e02,
    -6.485021904942025371773e01,
)
_ATAN_Q = (
    2.485846490142306297962e01,
    1.650270098316988542046e02,
    4.328810604912902668951e02,
    4.853903996359136964868e02,
    1.945506571482613964425e02,
)
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_LARGEST = 1 << 29
"""From here on, angles are reduced with all digits of pi (math/trig_reduce.go)."""


def _polynomial(x: float, factors: tuple[float, ...]) -> float:
    result = factors[0]
    for factor in factors[1:]:
        result = result * x + factor
    return result


def _octant(x: float) -> tuple[int, float]:
    """Return the octant of an angle that is not negative, and the rest of the angle."""
    if x >= _LARGEST:
        return _reduced(x)
    octant = int(x * (4 / math.pi))
    octant += octant & 1
    count = float(octant)
    return octant & 7, ((x - count * _PI4[0]) - count * _PI4[1]) - count * _PI4[2]


def _reduced(x: float) -> tuple[int, float]:
    """Reduce an angle by the digits of 4/pi; the rest is truncated to 53 bits."""
    whole, exponent = math.frexp(x)
    product = int(whole * 2**53) * _four_over_pi() >> _BITS - (exponent - 53) - 128
    octant, rest = (product >> 128) & 7, product & 2**128 - 1
    shift = max(rest.bit_length() - 53, 0)
    z = math.ldexp(float(rest >> shift), shift - 128)
    return ((octant + 1) & 7, (z - 1) * (math.pi / 4)) if octant & 1 else (octant, z * (math.pi / 4))


_BITS = 1300


@functools.cache
def _four_over_pi() -> int:
    """Return 4/pi with `bits` behind the point (Machin's series)."""
    unit = 1 << _BITS + 64
    pi = 4 * (4 * _arc_of_inverse(5, unit) - _arc_of_inverse(239, unit))
    return (4 * unit << _BITS) // pi


def _arc_of_inverse(number: int, unit: int) -> int:
    result = term = unit // number
    divisor, sign = 3, -1
    while term:
        term //= number * number
        result += sign * (term // divisor)
        divisor, sign = divisor + 2, -sign
    return result


def sine(x: float) -> float:
    if x == 0 or math.isnan(x):
        return x
    octant, z = _octant(abs(x))
    negative = (x < 0) != (octant > 3)
    octant &= 3
    square = z * z
    result = _cos_of(square) if octant in (1, 2) else z + z * square * _polynomial(square, _SIN)
    return -result if negative else result


def cosine(x: float) -> float:
    octant, z = _octant(abs(x))
    negative = octant > 3
    octant &= 3
    negative = negative != (octant > 1)
    square = z * z
    result = z + z * square * _polynomial(square, _SIN) if octant in (1, 2) else _cos_of(square)
    return -result if negative else result


def _cos_of(square: float) -> float:
    return 1.0 - 0.5 * square + square * square * _polynomial(square, _COS)


def tangent(x: float) -> float:
    if x == 0:
        return x
    octant, z = _octant(abs(x))
    square = z * z
    result = z
    if square > 1e-14:
        below = ((((square + _TAN_Q[0]) * square + _TAN_Q[1]) * square + _TAN_Q[2]) * square) + _TAN_Q[3]
        result = z + z * (square * (((_TAN_P[0] * square) + _TAN_P[1]) * square + _TAN_P[2]) / below)
    if octant & 2:
        result = -1 / result
    return -result if x < 0 else result


def _small_arc(x: float) -> float:
    z = x * x
    below = ((((z + _ATAN_Q[0]) * z + _ATAN_Q[1]) * z + _ATAN_Q[2]) * z + _ATAN_Q[3]) * z + _ATAN_Q[4]
    return x * (z * _polynomial(z, _ATAN_P) / below) + x


def _positive_arc(x: float) -> float:
    more, tan_3pi8 = 6.123233995736765886130e-17, 2.41421356237309504880
    if x <= 0.66:
        return _small_arc(x)
    if x > tan_3pi8:
        return math.pi / 2 - _small_arc(1 / x) + more
    return math.pi / 4 + _small_arc((x - 1) / (x + 1)) + 0.5 * more


def arctangent(x: float) -> float:
    if x == 0:
        return x
    return _positive_arc(x) if x > 0 else -_positive_arc(-x)


def arctangent_of(y: float, x: float) -> float:
    if y == 0:
        return math.copysign(0 if x >= 0 and math.copysign(1, x) > 0 else math.pi, y)
    if x == 0:
        return math.copysign(math.pi / 2, y)
    result = arctangent(y / x)
    if x < 0:
        return result + math.pi if result <= 0 else result - math.pi
    return result


def arcsine(x: float) -> float:
    if x == 0 or abs(x) > 1:
        return x if x == 0 else math.nan
    size = abs(x)
    root = math.sqrt(1 - size * size)
    result = math.pi / 2 - _positive_arc(root / size) if size > 0.7 else _positive_arc(size / root)
    return -result if x < 0 else result


def logarithm(x: float) -> float:
    if x <= 0:
        return math.nan
    fraction, exponent = math.frexp(x)
    if fraction < math.sqrt(2) / 2:
        fraction *= 2
        exponent -= 1
    f, k = fraction - 1, float(exponent)
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    t1 = s2 * (_LOG[0] + s4 * (_LOG[2] + s4 * (_LOG[4] + s4 * _LOG[6])))
    t2 = s4 * (_LOG[1] + s4 * (_LOG[3] + s4 * _LOG[5]))
    half = 0.5 * f * f
    return k * _LN2[0] - ((half - (s * (half + (t1 + t2)) + k * _LN2[1])) - f)


def binary_logarithm(x: float) -> float:
    if x <= 0:
        return math.nan
    fraction, exponent = math.frexp(x)
    if fraction == 0.5:
        return float(exponent - 1)
    return logarithm(fraction) * 1.44269504088896340735992468100189214 + float(exponent)


def decimal_logarithm(x: float) -> float:
    return binary_logarithm(x) * 0.30102999566398119521373889472449302676


_EXP = (
    2.4801587301587301587e-5,
    1.9841269841269841270e-4,
    1.3888888888888888889e-3,
    8.3333333333333333333e-3,
    4.1666666666666666667e-2,
    1.6666666666666666667e-1,
    0.5,
    1.0,
)
_LN2_PARTS = (0.69314718055966295651160180568695068359375, 0.28235290563031577122588448175013436025525412068e-12)


def _fused(a: float, b: float, c: float) -> float:
    """Return a * b + c rounded once, as the fused instruction does that Go uses (math/exp_amd64.s)."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def exponential(x: float) -> float:
    if x > 7.09782712893384e02:
        return math.inf
    if x < -745.2:
        return 0.0
    power = round(x * 1.4426950408889634)
    for part in _LN2_PARTS:
        x = _fused(-part, float(power), x)
    x *= 0.0625
    result = _EXP[0]
    for factor in _EXP[1:]:
        result = _fused(result, x, factor)
    x *= result
    for _ in range(3):
        x *= x + 2.0
    return math.ldexp(_fused(x, x + 2.0, 1.0), power)


def power(x: float, y: float) -> float:
    if y == 0 or x == 1:
        return 1.0
    if y == 1:
        return x
    if y in (0.5, -0.5):
        return math.nan if x < 0 else math.sqrt(x) if y > 0 else 1 / math.sqrt(x) if x else math.inf
    whole, fraction = math.floor(abs(y)), abs(y) % 1
    if x == 0:
        odd = not fraction and whole % 2 == 1
        return (math.copysign(0.0, x) if odd else 0.0) if y > 0 else math.copysign(math.inf, x if odd else 1)
    if fraction and x < 0:
        return math.nan
    if abs(y) >= 2.0**63:
        return 1.0 if x == -1 else 0.0 if (abs(x) < 1) == (y > 0) else math.inf
    result, exponent = 1.0, 0
    if fraction:
        if fraction > 0.5:
            fraction, whole = fraction - 1, whole + 1
        result = exponential(fraction * logarithm(x))
    base, scale = math.frexp(x)
    while whole:
        if abs(scale) > 1 << 12:
            exponent += scale
            break
        if whole & 1:
            result, exponent = result * base, exponent + scale
        base, scale = base * base, scale << 1
        if base < 0.5:
            base, scale = base + base, scale - 1
        whole >>= 1
    if y < 0:
        result, exponent = 1 / result, -exponent
    try:
        return math.ldexp(result, exponent)
    except OverflowError:
        return math.copysign(math.inf, result)


def _real_power(x: float, y: float) -> float:
    """Return the power; NaN is out of range."""
    result = power(x, y)
    return math.inf if math.isnan(result) else result


def _cotangent(x: float) -> float:
    result = tangent(x)
    return 1 / result if result else math.inf


def shown(number: str) -> str:
    """Return a very large or very small double as a client is shown it."""
    if math.isinf(float(number)):
        return "+Inf" if float(number) > 0 else "-Inf"  # as Go prints the variance of very large numbers
    mantissa, _, exponent = np.format_float_scientific(float(number), unique=True, trim="-").partition("e")
    return f"{mantissa}e{int(exponent)}"


DOUBLE_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sin": sine,
    "cos": cosine,
    "tan": tangent,
    "atan": arctangent,
    "atan2": arctangent_of,
    "asin": arcsine,
    "acos": lambda x: math.pi / 2 - arcsine(x),
    "ln": logarithm,
    "log2": binary_logarithm,
    "log10": decimal_logarithm,
    "cot": _cotangent,
    "exp": exponential,
    "pow": _real_power,
    "sqrt": math.sqrt,
    "degrees": lambda x: x * 180 / math.pi,
    "radians": lambda x: x * math.pi / 180,
}
"""By their names in errors."""
