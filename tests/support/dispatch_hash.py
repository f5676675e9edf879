"""TiCDC's dispatch hash value by value, and what rows of one message share: what the columns of a run are held to."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np

from simulator.ticdc.dispatch import Route
from simulator.tidb.model.table import Table


def inertia(writes: Iterable[Sequence[bytes]]) -> int:
    """The hash (unsigned, 32 bits) of writes, each being byte strings that are hashed without separators; their order
    does not matter (tiflow v8.5.3 pkg/hash/position_inertia.go)."""
    state = 0
    for parts in writes:
        state ^= zlib.crc32(b"".join(parts))
    return state


def value_string(value: object) -> str:
    """A value as dispatchers hash it (`ColumnValueString`, tiflow v8.5.3 cdc/model/sink.go)."""
    if value is None:
        return "null"
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (float, np.floating)):
        return np.format_float_positional(value, unique=True, trim="-")
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def partition_key(route: Route, table: Table, hash: int, commit_ts: int) -> str:
    """What rows of one message share (release.group_by_partition_key): `schema.table`, the hash, or the commit-ts."""
    shared = {"table": f"{table.schema}.{table.name}", "hash": str(hash), "commit_ts": str(commit_ts)}
    return route.key or shared[route.groups_by]
