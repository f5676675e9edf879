"""Patterns that repeat for ever, and permutations without a table."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.columns.change_frame import Ints
from simulator.generate.cycle import cycle, permuted, restored, shuffled, spread

patterns = st.lists(st.integers(0, 4), min_size=1, max_size=30).map(np.array)
far = st.integers(0, 10**13)


@given(patterns, far, st.integers(0, 100))
def test_a_kind_its_number_and_its_place_are_found_from_each_other(pattern: Ints, first: int, end: int) -> None:
    """Kinds are counted from the start."""
    found, positions = cycle(pattern, 5), np.arange(first, first + 40)
    kinds, ordinals = found.at(positions)

    assert kinds.tolist() == [pattern[position % len(pattern)] for position in positions.tolist()]
    assert found.before(kinds, positions).tolist() == ordinals.tolist()
    assert found.position(kinds, ordinals).tolist() == positions.tolist()
    seen = Counter(pattern[position % len(pattern)] for position in range(end))
    assert found.before(np.arange(5), np.full(5, end)).tolist() == [seen[kind] for kind in range(5)]


def test_a_pattern_has_as_many_of_each_kind_as_asked_at_even_distances() -> None:
    evenly, by_seed = spread([90, 9, 1]), spread([90, 9, 1], seed=7)

    assert np.bincount(evenly).tolist() == np.bincount(by_seed).tolist() == [90, 9, 1]
    assert set(np.diff(np.flatnonzero(evenly == 1))) <= {10, 11, 12}
    assert by_seed.tolist() != spread([90, 9, 1], seed=8).tolist()


@given(st.integers(1, 3000), st.integers(-(2**63), 2**63 - 1))
def test_a_permutation_takes_each_number_to_another_and_back(size: int, key: int) -> None:
    numbers, keys = np.arange(size), np.array([key])

    moved = permuted(numbers, size, keys)

    assert sorted(moved.tolist()) == numbers.tolist()
    assert restored(moved, size, keys).tolist() == numbers.tolist()


def test_permutations_of_several_sizes_are_found_at_once() -> None:
    sizes = np.array([1, 2, 3, 1000, 2_000_000_000, 1 << 40])
    keys = np.arange(6)

    moved = permuted(sizes - 1, sizes, keys)

    assert np.all((0 <= moved) & (moved < sizes))
    assert restored(moved, sizes, keys).tolist() == (sizes - 1).tolist()
    assert moved.tolist() == [permuted(sizes[at : at + 1] - 1, int(sizes[at]), keys[at : at + 1])[0] for at in range(6)]


def test_permutations_of_different_keys_have_little_in_common() -> None:
    numbers = np.arange(10_000)

    first, second = (permuted(numbers, 10_000, np.array([key])) for key in (1, 2))

    assert np.sum(first == second) < 20
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05
    assert abs(np.corrcoef(numbers, first)[0, 1]) < 0.05
    assert sorted(shuffled(100, 1).tolist()) == list(range(100))
