"""What DuckDB asks Arrow and numpy for: functions of one argument, over the rows that it has at once.

One law: rows with NULL, which give NULL, DuckDB keeps to itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from simulator.columns import hashing
from simulator.tidb.collations import compare, weights


class Kernel(NamedTuple):
    takes: str
    gives: str
    compute: Callable[[pa.Array], pa.Array]

    def over(self, cells: pa.ChunkedArray) -> pa.Array:
        return self.compute(cells.combine_chunks())


def _crc32(cells: pa.Array) -> pa.Array:
    return pa.array(hashing.crc32(cells).astype(np.int64))


def _digest(name: str, cells: pa.Array) -> pa.Array:
    """Hexadecimal digests, each different value's made once."""
    distinct = cells.dictionary_encode()
    digests = [hashlib.new(name, value).hexdigest() for value in distinct.dictionary.to_pylist()]
    return pa.array(digests, pa.string()).take(distinct.indices)


KERNELS: dict[str, Kernel] = {
    "crc32_of": Kernel("BLOB", "BIGINT", _crc32),
    **{f"{name}_of": Kernel("BLOB", "VARCHAR", partial(_digest, name)) for name in ("sha224", "sha384", "sha512")},
    **{f"sort_key_{name}": Kernel("VARCHAR", "BLOB", partial(compare.sortable, name)) for name in weights.WEIGHTS},
    **{f"alike_{name}": Kernel("VARCHAR", "VARCHAR", partial(compare.alike, name)) for name in weights.WEIGHTS},
}
"""By their names in SQL."""
