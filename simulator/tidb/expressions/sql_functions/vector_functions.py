"""TiDB's functions of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.tidb.expressions.calls import call
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.expression import Evaluate, Expression, Function, integer, real, string
from simulator.tidb.functions import vectors


def _of(compute: Callable[..., Any], count: int, gives: Callable[[Evaluate], Expression]) -> Function:
    return Function(count, count, lambda *values: gives(call(compute, *map(as_text, values))))


VECTOR_FUNCTIONS: dict[str, Function] = {
    "VEC_AS_TEXT": _of(vectors.vec_as_text, 1, string),
    "VEC_FROM_TEXT": _of(vectors.vec_as_text, 1, string),
    "VEC_DIMS": _of(vectors.vec_dims, 1, integer),
    "VEC_L1_DISTANCE": _of(vectors.vec_l1_distance, 2, real),
    "VEC_L2_DISTANCE": _of(vectors.vec_l2_distance, 2, real),
    "VEC_L2_NORM": _of(vectors.vec_l2_norm, 1, real),
    "VEC_COSINE_DISTANCE": _of(vectors.vec_cosine_distance, 2, real),
    "VEC_NEGATIVE_INNER_PRODUCT": _of(vectors.vec_negative_inner_product, 2, real),
}
"""By TiDB's names."""
