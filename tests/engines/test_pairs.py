"""Rows of two snapshots that are paired while they are read: whatever the order of the files, the differences stay."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.columns.change_frame import PAIRED_ROWS, PLACED_ROWS, Ints
from simulator.engines import pairs

Row = tuple[int, int, str]
"""Place, key and image; a table at an odd place has no handle key."""

Difference = tuple[int, str | None, str | None]
"""Place, and images before and after."""

rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30), st.sampled_from("xyz")), max_size=60)
cuts = st.lists(st.integers(1, 7), min_size=1, max_size=5)


def batches(found: Sequence[Row], sizes: Sequence[int], hashes: int = 1 << 62) -> Iterator[pa.RecordBatch]:
    """The rows as PLACED_ROWS in batches of those sizes, again and again; with few `hashes` different keys share one."""
    number, start = 0, 0
    while start < len(found):
        part = found[start : start + sizes[number % len(sizes)]]
        start, number = start + len(part), number + 1
        handles = [f"{key}" if place % 2 == 0 else f"{key}{image}" for place, key, image in part]
        columns: dict[str, Sequence[object]] = {
            "row_hash": [int.from_bytes(handle.encode()) % hashes for handle in handles],
            "place": [place for place, *_ in part],
            "handle": [handle.encode() for handle in handles],
            "image": [f"{key}{image}".encode() for _, key, image in part],
            "unaltered": [f"unaltered {image}".encode() for *_, image in part],
        }
        yield pa.RecordBatch.from_pydict(columns, schema=PLACED_ROWS)


def is_keyed(place: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(place % 2 == 0)


def distinct(found: Sequence[Row]) -> list[Row]:
    """The rows without those that repeat the key of another one."""
    seen, kept = set(), []
    for place, key, image in found:
        if place % 2 or (place, key) not in seen:
            kept.append((place, key, image))
        seen.add((place, key))
    return kept


def expected(before: Sequence[Row], after: Sequence[Row], every: bool = False) -> Counter[Difference]:
    """The differences, or the images of `every` row; equal rows of a table without a handle key are a multiset."""
    sides = [
        [((place, key, image if place % 2 else ""), f"{key}{image}") for place, key, image in side]
        for side in (before, after)
    ]
    return differences(sides, every)


def merged(found: Sequence[pa.RecordBatch], every: bool = False) -> Counter[Difference]:
    """The same of PAIRED_ROWS, whose pairs are brought together."""
    rows = pa.Table.from_batches(found, PAIRED_ROWS).to_pylist()
    sides = [
        [((row["place"], row["handle"]), row[name].decode()) for row in rows if row[name] is not None]
        for name in ("before", "after")
    ]
    return differences(sides, every)


def differences(sides: Sequence[Sequence[tuple[tuple[Any, ...], str]]], every: bool) -> Counter[Difference]:
    """Pair images by their keys; the first of a key is its place."""
    found: Counter[Difference] = Counter()
    images: defaultdict[tuple[Any, ...], tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for number, side in enumerate(sides):
        for key, image in side:
            images[key][number].append(image)
    for key, both in images.items():
        for was, now in zip_longest(*both):
            if every or was != now:
                found[key[0], was, now] += 1
    return found


@given(rows, rows, cuts, cuts, st.sampled_from([1, 5, 1 << 62]), st.booleans())
def test_the_differences_of_two_snapshots_are_the_same_in_any_order_and_batches(
    before: list[Row], after: list[Row], some: list[int], others: list[int], hashes: int, every: bool
) -> None:
    sides = distinct(before), distinct(after)
    read = batches(sides[0], some, hashes), batches(sides[1], others, hashes)
    found = list(pairs.paired_rows(*read, is_keyed, every))
    assert merged(found, every) == expected(*sides, every)


def test_all_rows_of_files_with_ascending_keys_are_paired_while_they_are_read() -> None:
    """Though each side has rows that the other one lacks, and batches of its own sizes."""
    before = [(0, key, "x") for key in range(10, 99) if key % 10]
    after = [(0, key, "x" if key % 3 else "y") for key in range(10, 99) if key % 7]
    found = pa.Table.from_batches(pairs.paired_rows(batches(before, [5]), batches(after, [4]), is_keyed)).to_pylist()
    images = (tuple(row[name] and row[name].decode() for name in ("before", "after")) for row in found)
    assert Counter((0, *pair) for pair in images) == expected(before, after)
    assert {row["unaltered"] for row in found if row["before"]} == {b"unaltered x"}
    assert {row["unaltered"] for row in found if not row["before"]} == {None}


def test_rows_wait_for_their_pairs_in_a_limited_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of one side ascend, those of the other one descend."""
    monkeypatch.setattr(pairs, "WAITING_ROWS", 8)
    before, after = [(0, key, "x") for key in range(60)], [(0, key, "y") for key in reversed(range(60))]
    read = 0

    def counted(side: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        nonlocal read
        for batch in side:
            read += batch.num_rows
            yield batch

    found, waiting = [], []
    for rows in pairs.paired_rows(counted(batches(before, [3])), counted(batches(after, [3])), is_keyed):
        found.append(rows)
        read -= sum(len(rows) - rows.column(name).null_count for name in ("before", "after"))
        waiting.append(read)
    assert max(waiting) <= 2 * (8 + 3)
    assert merged(found) == expected(before, after)
