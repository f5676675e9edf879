"""TiDB's functions of vectors."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from simulator.tidb.expressions.calls import call
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.expression import Evaluate, Expression, Function, integer, real, string
from simulator.tidb.functions.problems import FunctionProblem


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


def vec_dims(text: str) -> int:
    return len(parse(text))


def vec_l2_norm(text: str) -> float:
    return math.sqrt(sum(number * number for number in parse(text).tolist()))


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
    "VEC_DIMS": _of(vec_dims, 1, integer),
    "VEC_L1_DISTANCE": _of(vec_l1_distance, 2, real),
    "VEC_L2_DISTANCE": _of(vec_l2_distance, 2, real),
    "VEC_L2_NORM": _of(vec_l2_norm, 1, real),
    "VEC_COSINE_DISTANCE": _of(vec_cosine_distance, 2, real),
    "VEC_NEGATIVE_INNER_PRODUCT": _of(vec_negative_inner_product, 2, real),
}
"""By TiDB's names."""
