"""Row images, cut and packed alike as whole columns and row by row; the frames they flow in, and their hashes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.columns import row_image
from simulator.columns.cells import lengths
from simulator.columns.change_frame import (
    COLUMNS,
    DELETE,
    EVENTS,
    INSERT,
    PAIRED_ROWS,
    PLACED_ROWS,
    ROW_DIFFERENCES,
    SLICED_ROWS,
    SNAPSHOT_ROWS,
    UPDATE,
    op_of,
    row_changes_schema,
)
from simulator.columns.hashing import stable_order
from simulator.errors import EncodeError

Cells = list[bytes | None]

cells = st.none() | st.text(max_size=4).map(str.encode)
rows = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=6)
)


def columns_of(rows: list[Cells]) -> list[pa.Array]:
    """The rows as columns."""
    return [pa.array(column, pa.binary()) for column in zip(*rows, strict=True)]


@given(rows)
def test_a_row_has_the_image_that_its_columns_give_it(rows: list[Cells]) -> None:
    assert row_image.pack(columns_of(rows)).to_pylist() == [row_image.image_of(row) for row in rows]
    assert [row_image.cells_of(row_image.image_of(row)) for row in rows] == rows


@given(rows)
def test_images_are_cut_into_the_columns_they_are_made_of(rows: list[Cells]) -> None:
    """All at one go, by name, one alone, or as they are asked for; of a slice of images, too."""
    columns = columns_of(rows)
    names = [f"c{place}" for place in range(len(columns))]
    for first in (0, 1):
        images, wanted = row_image.pack(columns)[first:], [column[first:] for column in columns]
        lazy = row_image.LazyCells(images, names, {names[0]: wanted[0]})
        for place, name in enumerate(names):
            assert row_image.named(images, names)[name].to_pylist() == wanted[place].to_pylist()
            assert row_image.cell(images, len(names), place).to_pylist() == wanted[place].to_pylist()
            assert lazy[name].to_pylist() == wanted[place].to_pylist()
            alone = row_image.LazyCells(images, names)[name]
            assert alone.to_pylist() == wanted[place].to_pylist()
            assert lengths(alone).tolist() == [len(cell or b"") for cell in wanted[place].to_pylist()]
        assert list(lazy) == names


def test_an_image_with_another_number_of_cells_is_an_error_that_says_which() -> None:
    images = pa.array([row_image.image_of([b"1", b"2"]), row_image.image_of([b"1"])], pa.binary())
    with pytest.raises(EncodeError, match="row image 1 has 1 cells: the table has 2 visible columns"):
        row_image.split(images, 2)
    for name in "ab":
        with pytest.raises(EncodeError, match="row image 1 has 1 cells"):
            row_image.LazyCells(images, "ab")[name]


def test_null_is_the_same_as_null_and_as_nothing_else() -> None:
    old, new = (pa.array(texts, pa.string()) for texts in (["a", None, None, "a"], ["a", None, "a", "b"]))
    assert row_image.same(old, new).tolist() == [True, True, False, False]


def test_a_column_has_one_type_in_every_frame() -> None:
    changes = row_changes_schema("op", "rank", "row_id")
    frames = (SNAPSHOT_ROWS, PLACED_ROWS, PAIRED_ROWS, SLICED_ROWS, ROW_DIFFERENCES, changes, EVENTS)
    assert {name for frame in frames for name in frame.names} == COLUMNS.keys()
    assert all(frame.field(name).type == COLUMNS[name] for frame in frames for name in frame.names)


def test_the_images_of_a_change_say_what_it_is() -> None:
    before, after = (pa.array(images, pa.binary()) for images in ([b"1", b"1", None], [None, b"2", b"2"]))
    assert op_of(before, after).tolist() == [DELETE, UPDATE, INSERT]


FAR = st.integers(0, 2**64 - 1)
NEAR = st.sampled_from([0, 1, 2, 3, 1 << 63, (1 << 63) + 1, 2**64 - 2, 2**64 - 1])


@given(st.lists(FAR | NEAR, max_size=50))
def test_hashes_are_sorted_as_by_a_stable_argsort(numbers: list[int]) -> None:
    """Equal ones, too, and those that differ in their lowest bits only."""
    hashes = np.array(numbers, np.uint64)
    assert stable_order(hashes).tolist() == np.argsort(hashes, kind="stable").tolist()
