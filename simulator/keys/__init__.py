"""Which rows are one, and where they stand: handle keys by TiDB's rules, row ids, and the hashes made of them.

One law: everything is a function of whole columns of TiDB text.
"""

from __future__ import annotations

from simulator.keys.cells import binary, buffers, columns, latin1, undisguised
from simulator.keys.collation import alike, is_weighed, padded, pads, sortable
from simulator.keys.handles import Texts, handle, numbered, parts_of, row_ids, told_by_handle, told_by_row_id
from simulator.keys.hashing import crc32, xxhash64
from simulator.keys.members import enum_numbers, set_bits
from simulator.keys.weights import WEIGHTS

__all__ = [
    "Texts", "WEIGHTS", "alike", "binary", "buffers", "columns", "crc32", "enum_numbers", "handle", "is_weighed",
    "latin1", "numbered", "padded", "pads", "parts_of", "row_ids", "set_bits", "sortable", "told_by_handle",
    "told_by_row_id", "undisguised", "xxhash64",
]
