"""The partition of one row, as plain functions.

One law: the Spark columns of `columns.py` give the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.dispatch.hashing import NULL, inertia, value_bytes
from simulator.dispatch.routing import Route
from simulator.dispatch.single_column import json_text
from simulator.schema.table import Table

MASK = 0xFFFFFFFF


def hash_row(route: Route, table: Table, row: Mapping[str, str | bytes | None]) -> int:
    """The dispatch hash (unsigned) of a row, its TiDB texts by column name: the new row, or of a DELETE the old one."""
    types = {column.name: column for column in table.columns}
    texts = [(name, source, row[source] if source else None) for name, source in route.hashed]
    if route.dispatcher == "single-column":
        return inertia([[json_text(types[source], value_bytes(types[source], text))] for _, source, text in texts])
    named = [
        (name.encode(), value_bytes(types[source], text, route.hashing) if source else NULL)
        for name, source, text in texts
        if text is not None or route.hashing.nulls
    ]
    return inertia([(table.schema.encode(), table.name.encode()), *named])


def partition_of(route: Route, hash: int, commit_ts: int, n: int, row_id: int | None = None) -> int:
    """The partition among `n`; `hash` and `row_id` may be signed or unsigned."""
    if route.dispatcher == "key":
        return 0
    if route.dispatcher == "row-id":
        return (row_id or 0) % (1 << 64) % n
    return (commit_ts if route.dispatcher == "ts" else hash & MASK) % n


def partition_key(route: Route, table: Table, hash: int, commit_ts: int) -> str:
    """What rows of one message share (release.group_by_partition_key): `schema.table`, the hash, or the commit-ts."""
    keys = {"table": f"{table.schema}.{table.name}", "hash": str(hash & MASK), "commit_ts": str(commit_ts)}
    return route.key or keys[route.groups_by]
