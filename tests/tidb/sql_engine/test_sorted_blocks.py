"""Sorted blocks hold the rows that sorted columns without blocks would hold, whatever edits come before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.tidb.sql_engine.storage import sorted_blocks
from simulator.tidb.sql_engine.storage.sorted_blocks import SortedBlocks

NUMBERS = st.lists(st.integers(0, 400), unique=True, max_size=90)


def key(number: int) -> bytes:
    return b"%03d" % number


def rows(numbers: Sequence[int]) -> tuple[pa.Array, pa.Array]:
    ascending = sorted(numbers)
    return pa.array(map(key, ascending), pa.binary()), pa.array(ascending, pa.int64())


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_blocks, "BLOCK_ROWS", 4)
    monkeypatch.setattr(sorted_blocks, "FEW", 16)


@settings(max_examples=60, deadline=None)
@given(NUMBERS, st.lists(st.tuples(NUMBERS, NUMBERS), max_size=4), NUMBERS)
def test_edited_blocks_find_and_return_the_rows_that_remain(
    first: list[int], edits: list[tuple[list[int], list[int]]], wanted: list[int]
) -> None:
    present, blocks = set(first), SortedBlocks.of(rows(first))
    for removed, added in edits:
        gone, new = present & set(removed), set(added) - (present - set(removed))
        places = blocks.find(pa.array(map(key, sorted(gone)), pa.binary()))
        blocks, present = blocks.edited(places, rows([*new])), present - gone | new

    ascending = sorted(present)
    expected = [ascending.index(number) if number in present else -1 for number in wanted]
    assert len(blocks) == len(present)
    assert [column.to_pylist() for column in blocks.columns] == [column.to_pylist() for column in rows(ascending)]
    assert blocks.chunks(1).to_pylist() == ascending
    assert blocks.find(pa.array([*map(key, wanted), None], pa.binary())).tolist() == [*expected, -1]
    places = np.array([place for place in expected if place >= 0], np.int64)
    assert blocks.take(places)[1].to_pylist() == [number for number in wanted if number in present]
