"""Members of ENUM and SET as TiDB keeps them: by number.

One law: what is no member is 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places
from simulator.columns.hashing import Hashes


def enum_numbers(elements: Sequence[str], texts: pa.Array) -> Places:
    """The place of each member, from 1; 0 for the empty error value."""
    found: Places = _places(elements, texts) + 1
    return found


def set_bits(elements: Sequence[str], texts: pa.Array) -> Hashes:
    """The bitmap of the members that a comma joins."""
    lists = pc.split_pattern(pc.fill_null(texts.cast(pa.string()), ""), ",")
    places = _places(elements, lists.flatten())
    bits = np.where(places < 0, np.uint64(0), np.uint64(1) << np.maximum(places, 0).astype(np.uint64))
    before = np.concatenate((np.zeros(1, np.uint64), np.cumsum(bits, dtype=np.uint64)))
    ends = np.concatenate(([0], np.cumsum(pc.list_value_length(lists).to_numpy())))
    return before[ends[1:]] - before[ends[:-1]]


def _places(elements: Sequence[str], texts: pa.Array) -> Places:
    """Where each text stands among the elements, -1 for one that does not."""
    found = pc.fill_null(pc.index_in(texts.cast(pa.string()), pa.array(elements, pa.string())), -1)
    places: Places = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return places
