"""MySQL's functions of numbers (rounding, logarithms, powers, angles), and TiDB's of vectors (tidb
pkg/expression/builtin_math.go, builtin_vec.go).

Doubles but those of TAN and COT may differ from Go's in the last bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import lru_cache, reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from simulator.tidb.errors import FunctionProblem
from simulator.tidb.expressions import numbers
from simulator.tidb.expressions.arithmetic import as_bits, calculate, check_range
from simulator.tidb.expressions.conversions import as_int32, as_number, as_real, as_text
from simulator.tidb.expressions.expression import (
    MAX_DIGITS,
    MAX_SCALE,
    WARNED,
    Context,
    Evaluate,
    Expression,
    Function,
    apply,
    apply_in_context,
    call,
    checked_real,
    decimal,
    display_name,
    fixed,
    integer,
    real,
    string,
)
from simulator.tidb.expressions.numbers import bits


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
    if not math.isfinite(float(number)):  # as Go prints the variance of very large numbers
        return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}[str(float(number))]
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


INVALID_LOGARITHM = "3020 Invalid argument for logarithm"
MOST_WHOLE_DIGITS = 18
"""Digits before the point that a decimal may have for CEILING and FLOOR to be an integer (getEvalTp4FloorAndCeil)."""


def _to_places(value: Expression, places: Expression | None, rounding: str) -> Expression:
    """Return ROUND or TRUNCATE."""
    number = as_number(value)
    digits = as_int32(places) if places else fixed(0)
    if number.kind == "real":
        to_places = round_real if rounding == ROUND_HALF_UP else truncate_real
        return real(apply(to_places, number.evaluate, digits))
    if number.kind != "decimal":
        if places is None:
            return integer(number.evaluate, number.kind)
        whole, kind = _round_whole if rounding == ROUND_HALF_UP else _truncate_whole, number.kind
        return integer(apply(lambda each, count: bits(whole(each, count), kind), number.evaluate, digits), kind)
    scale = number.scale
    if places is None or places.constant is not None:
        scale = min(max(digits((), Context()) or 0, 0), MAX_SCALE)

    def rounded(each: Decimal, count: int) -> Decimal:
        shown = min(count, scale)
        result = numbers.quantize(each, max(shown, -MAX_DIGITS), rounding)
        return result if shown >= 0 else numbers.quantize(result, 0)

    more = max(scale - number.scale, 0) if number.digits else 0
    return decimal(apply(rounded, number.evaluate, digits), scale, number.digits + more)


def round_real(number: float, digits: int) -> float:
    """Round half to even at a decimal place (tidb pkg/types/helper.go, Round)."""
    return _at_place(round, number, digits)


def truncate_real(number: float, digits: int) -> float:
    """Cut a double off at a decimal place (tidb pkg/types/helper.go, Truncate)."""
    return _at_place(math.trunc, number, digits)


def _at_place(cut: Callable[[float], int], number: float, digits: int) -> float:
    power = 10.0 ** max(min(digits, 308), -330)
    moved = number * power
    if not power or not math.isfinite(moved):
        return number if power else 0.0
    return _signed(cut(moved), number) / power


def _signed(whole: int, number: float) -> float:
    """Return a whole number as a double; zero has the sign of the number that it comes from."""
    return float(whole) if whole else math.copysign(0.0, number)


def _round_whole(number: int, digits: int) -> int:
    """Round the 64 bits of a number as a signed double (builtinRoundWithFracIntSig)."""
    if digits >= 0:
        return number
    rounded = int(round_real(float(bits(number, "int")), digits))
    return rounded if -(2**63) <= rounded < 2**63 else -(2**63)


def _truncate_whole(number: int, digits: int) -> int:
    power: int = 10 ** min(max(-digits, 0), 38)
    return abs(number) // power * power * (-1 if number < 0 else 1)


def _ceiling_or_floor(rounding: str) -> Callable[[Expression], Expression]:
    """Return CEILING or FLOOR: an integer or decimal for an exact number, a double for a double."""
    of_real = math.ceil if rounding == ROUND_CEILING else math.floor

    def rounded(value: Expression) -> Expression:
        number = as_number(value)
        if number.kind in ("int", "uint"):
            return integer(number.evaluate, number.kind)
        if number.kind == "real":
            return real(apply(lambda each: _signed(of_real(each), each), number.evaluate))
        evaluate = apply(lambda each: numbers.quantize(each, 0, rounding), number.evaluate)
        if number.digits and number.digits - number.scale <= MOST_WHOLE_DIGITS:
            return integer(apply(int, evaluate))
        return decimal(evaluate, 0)

    return rounded


def _abs(value: Expression) -> Expression:
    number = as_number(value)
    evaluate = apply(abs if number.kind != "decimal" else Decimal.copy_abs, number.evaluate)
    if number.kind == "int":
        return integer(check_range(evaluate, "int", f"abs({display_name(value)})"))
    return Expression(evaluate, number.kind, scale=number.scale, shown_scale=number.shown_scale, digits=number.digits)


def _sign(value: Expression) -> Expression:
    return integer(apply(lambda number: (number > 0) - (number < 0), as_real(value)))


def _double(name: str) -> Callable[..., Expression]:
    """Return a function of doubles whose result may be out of range."""
    compute = DOUBLE_FUNCTIONS[name]

    def function(*values: Expression) -> Expression:
        shown = f"{name}({', '.join(map(display_name, values))})"
        return checked_real(apply(compute, *map(as_real, values)), shown)

    return function


def _partial(name: str, is_valid: Callable[[float], bool], problem: str = "") -> Callable[[Expression], Expression]:
    """Return a function of doubles that is NULL, with the problem if there is one, for arguments that are not valid."""
    compute = DOUBLE_FUNCTIONS[name]

    def computed(context: Context, number: float) -> float | None:
        if is_valid(number):
            return compute(number)
        if problem:
            context.problem(WARNED, problem)
        return None

    return lambda value: real(apply_in_context(computed, as_real(value)))


def _logarithm(name: str) -> Callable[[Expression], Expression]:
    return _partial(name, lambda number: number > 0, INVALID_LOGARITHM)


def _log(base: Expression, value: Expression | None = None) -> Expression:
    if value is None:
        return _logarithm("ln")(base)
    logarithm = DOUBLE_FUNCTIONS["ln"]

    def computed(context: Context, base: float, number: float) -> float | None:
        if base > 0 and base != 1 and number > 0:
            return logarithm(number) / logarithm(base)
        context.problem(WARNED, INVALID_LOGARITHM)
        return None

    return real(apply_in_context(computed, as_real(base), as_real(value)))


def _atan(first: Expression, second: Expression | None = None) -> Expression:
    if second is None:
        return real(apply(DOUBLE_FUNCTIONS["atan"], as_real(first)))
    return real(apply(DOUBLE_FUNCTIONS["atan2"], as_real(first), as_real(second)))


NUMBER_FUNCTIONS: dict[str, Function] = {
    "ABS": Function(1, 1, _abs),
    **dict.fromkeys(("CEIL", "CEILING"), Function(1, 1, _ceiling_or_floor(ROUND_CEILING))),
    "FLOOR": Function(1, 1, _ceiling_or_floor(ROUND_FLOOR)),
    "ROUND": Function(1, 2, lambda value, places=None: _to_places(value, places, ROUND_HALF_UP)),
    "TRUNCATE": Function(2, 2, lambda value, places: _to_places(value, places, ROUND_DOWN)),
    "SIGN": Function(1, 1, _sign),
    **dict.fromkeys(("POW", "POWER"), Function(2, 2, _double("pow"))),
    **{name.upper(): Function(1, 1, _double(name)) for name in "exp sin cos tan cot degrees radians".split()},
    **{name: Function(1, 1, _partial(name.lower(), lambda number: -1 <= number <= 1)) for name in ("ASIN", "ACOS")},
    "ATAN": Function(1, 2, _atan),
    "ATAN2": Function(2, 2, _atan),
    "SQRT": Function(1, 1, _partial("sqrt", lambda number: number >= 0)),
    "LN": Function(1, 1, _logarithm("ln")),
    "LOG": Function(1, 2, _log),
    **{name: Function(1, 1, _logarithm(name.lower())) for name in ("LOG2", "LOG10")},
    "PI": Function(0, 0, lambda: Expression(fixed(math.pi), "real", shown_scale=6)),
    "BIT_COUNT": Function(1, 1, lambda value: integer(apply(int.bit_count, as_bits(value)))),
    "MOD": Function(2, 2, lambda left, right: calculate("%", left, right)),
}
"""By TiDB's names."""


def _of(compute: Callable[..., Any], count: int, gives: Callable[[Evaluate], Expression]) -> Function:
    return Function(count, count, lambda *values: gives(call(compute, *map(as_text, values))))


Vector: TypeAlias = npt.NDArray[np.float32]
MOST = 16383
"""The largest number of dimensions."""


def _failed(text: str) -> FunctionProblem:
    return FunctionProblem(1105, text)


@lru_cache(1 << 10)
def parse(text: str) -> Vector:
    """Parse a vector. Raises FunctionProblem 1105."""
    try:
        numbers = json.loads(text, parse_constant=str)
    except ValueError:
        numbers = None
    if not isinstance(numbers, list) or any(type(number) not in (int, float) for number in numbers):
        raise _failed(f"Invalid vector text: {text}")
    with np.errstate(over="ignore"):
        vector = np.array(numbers, np.float64).astype(np.float32)
    if not np.isfinite(vector).all():
        raise _failed("infinite value not allowed in vector")
    if len(vector) > MOST:
        raise _failed(f"vector cannot have more than {MOST} dimensions")
    return vector


def vec_as_text(text: str) -> str:
    """Return VEC_AS_TEXT and VEC_FROM_TEXT: the vector with the shortest digits of float32."""
    return f"[{','.join(np.format_float_positional(number, unique=True, trim='-') for number in parse(text))}]"


def _pair(one: str, other: str) -> tuple[Vector, Vector]:
    first, second = parse(one), parse(other)
    if len(first) != len(second):
        raise _failed(f"vectors have different dimensions: {len(first)} and {len(second)}")
    return first, second


def _total(numbers: Vector) -> float:
    """Return a sum of float32, in which each addition is rounded."""
    return float(np.add.accumulate(numbers)[-1]) if len(numbers) else 0.0


def vec_l1_distance(one: str, other: str) -> float:
    first, second = _pair(one, other)
    return _total(np.abs(first - second))


def vec_l2_distance(one: str, other: str) -> float:
    first, second = _pair(one, other)
    return math.sqrt(_total((first - second) ** 2))


def vec_negative_inner_product(one: str, other: str) -> float:
    first, second = _pair(one, other)
    return -_total(first * second)


def vec_cosine_distance(one: str, other: str) -> float | None:
    """Return VEC_COSINE_DISTANCE; NULL beside a vector of zeros."""
    first, second = _pair(one, other)
    sizes = math.sqrt(_total(first * first) * _total(second * second))
    return 1.0 - max(min(_total(first * second) / sizes, 1.0), -1.0) if sizes else None


VECTOR_FUNCTIONS: dict[str, Function] = {
    "VEC_AS_TEXT": _of(vec_as_text, 1, string),
    "VEC_FROM_TEXT": _of(vec_as_text, 1, string),
    "VEC_DIMS": _of(lambda text: len(parse(text)), 1, integer),
    "VEC_L1_DISTANCE": _of(vec_l1_distance, 2, real),
    "VEC_L2_DISTANCE": _of(vec_l2_distance, 2, real),
    "VEC_L2_NORM": _of(lambda text: math.sqrt(sum(number * number for number in parse(text).tolist())), 1, real),
    "VEC_COSINE_DISTANCE": _of(vec_cosine_distance, 2, real),
    "VEC_NEGATIVE_INNER_PRODUCT": _of(vec_negative_inner_product, 2, real),
}
"""By TiDB's names."""
