"""Hashes are sorted as by a stable argsort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.columns.hashing import stable_order

FAR = st.integers(0, 2**64 - 1)
NEAR = st.sampled_from([0, 1, 2, 3, 1 << 63, (1 << 63) + 1, 2**64 - 2, 2**64 - 1])


@given(st.lists(FAR | NEAR, max_size=50))
def test_the_order_is_that_of_a_stable_argsort(numbers: list[int]) -> None:
    """This holds for equal hashes, and for those that differ in their lowest bits only."""
    hashes = np.array(numbers, np.uint64)
    assert stable_order(hashes).tolist() == np.argsort(hashes, kind="stable").tolist()
