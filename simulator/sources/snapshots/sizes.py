"""How many bytes the files of a snapshot become when they are read, so that a small file of many rows does not pass for
a small snapshot.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from simulator.sources.snapshots import parquet, streams
from simulator.sources.snapshots.streams import COMPRESSIONS, FilePart

ENOUGH = 1 << 29
"""Bytes from which on a snapshot is large, and no further file is looked into."""


def decompressed(files: Iterable[tuple[str, int]]) -> int:
    """Return the bytes of files, given with their sizes on disk: at least as many as they have there, and exact below
    ENOUGH. Raise SnapshotError.
    """
    total = 0
    for path, size in files:
        total += max(size, _size(path, ENOUGH - total) if total < ENOUGH else 0)
    return total


def _size(path: str, most: int) -> int:
    """Return the bytes of a file that a reader sees, or somewhat more than `most`; 0 for a plain one."""
    suffix = os.path.splitext(path)[1]
    if suffix == ".parquet":
        return parquet.size_in_memory(FilePart(path))
    if suffix not in COMPRESSIONS:
        return 0
    size = 0
    for block in streams.blocks(FilePart(path)):
        size += len(block)
        if size > most:
            break
    return size
