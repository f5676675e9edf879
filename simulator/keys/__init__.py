"""Which rows are one, and where they stand: handle keys by TiDB's rules, row ids, and the hashes made of them.

One law: everything is a function of whole columns of TiDB text.
"""

from __future__ import annotations

from simulator.keys.cells import columns, latin1, undisguised
from simulator.keys.handles import Texts, handle, parts_of, row_ids, told_by_handle
from simulator.keys.hashing import crc32, xxhash64

__all__ = [
    "Texts", "columns", "crc32", "handle", "latin1", "parts_of", "row_ids", "told_by_handle", "undisguised", "xxhash64",
]
