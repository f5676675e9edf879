"""Ids that TiDB gives: AUTO_INCREMENT, AUTO_RANDOM and `_tidb_rowid`.

One law: ids count up from 1 without the steps of TiDB's caches, and what was given once is never given back, whatever
becomes of its row. Where rows are stored under `_tidb_rowid` and AUTO_ID_CACHE is not 1, both kinds of id come from one
counter, so that AUTO_INCREMENT has gaps (tidb pkg/meta/model/table.go, SepAutoInc, since 6.4.0; before it the two were
never apart). An AUTO_RANDOM id is sign, shard and counter (pkg/meta/autoid, ShardIDFormat).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.model.table import Column, Table
from simulator.tidb.upstream.refusals import refused
from simulator.tidb.upstream.state import StoredRows, Upstream
from simulator.tidb.values.numbers import bounds

Ids = npt.NDArray[np.int64]

RANGE_BITS = 64
"""Of AUTO_RANDOM where it does not say."""


class Counters(NamedTuple):
    """What a table gives next."""

    auto: int
    row_id: int


class Given(NamedTuple):
    texts: pa.Array
    """binary: the column with its ids."""

    counters: Counters
    first: int | None
    """The first id that was made, for LAST_INSERT_ID(); None where the statement gave all."""


def counters(table: Table, stored: StoredRows | None) -> Counters:
    """What the table gives next, AUTO_INCREMENT = n and AUTO_RANDOM_BASE = n of its definition minded."""
    options = dict(table.options)
    first = max(int(options.get("AUTO_INCREMENT", 1)), int(options.get("AUTO_RANDOM_BASE", 1)), 1)
    auto, row_id = (stored.next_auto, stored.next_row_id) if stored else (1, 1)
    auto = max(auto, first)
    return _together(auto, row_id) if shared(table) else Counters(auto, row_id)


def shared(table: Table) -> bool:
    """Whether `_tidb_rowid` and AUTO_INCREMENT come from one counter."""
    automatic = any(column.auto_increment for column in table.columns)
    return automatic and not table.clustered and dict(table.options).get("AUTO_ID_CACHE") != "1"


def _together(auto: int, row_id: int) -> Counters:
    both = max(auto, row_id)
    return Counters(both, both)


def automatic(table: Table) -> Column | None:
    """The AUTO_INCREMENT or AUTO_RANDOM column."""
    return next((column for column in table.columns if column.auto_increment or column.auto_random), None)


def with_ids(
    table: Table, column: Column, texts: pa.Array, upstream: Upstream, before: Counters, now_ms: int,
) -> Given:
    """The column with an id for each NULL, and for each 0 without NO_AUTO_VALUE_ON_ZERO.

    A number that the statement gives moves the counter. Raises SqlError 1467 once the type has no more ids, and 8216
    for a number in an AUTO_RANDOM column while allow_auto_random_explicit_insert is off.
    """
    if texts.null_count == len(texts):
        wanted, given = np.ones(len(texts), np.bool_), np.zeros(len(texts), np.int64)
    else:
        wanted, given = _wanted(column, texts, upstream)
    if column.auto_random:
        return _random(table, column, texts, wanted, given, upstream, before, now_ms)
    ids, after = _counted(wanted, given, before.auto, bounds(column.type)[1] if _whole(column) else 2 ** 53)
    counters = _together(after, before.row_id) if shared(table) else Counters(after, before.row_id)
    return Given(_filled(texts, wanted, ids), counters, _first(wanted, ids))


def moved(table: Table, changed: Iterable[str], texts: Mapping[str, pa.Array], before: Counters) -> Counters:
    """The counters after an UPDATE: an AUTO_INCREMENT column that it changes moves its own (tidb
    pkg/executor/write.go, updateRecord)."""
    column = next((column for column in table.columns if column.auto_increment and column.name in changed), None)
    if column is None or not len(texts[column.name]):
        return before
    after = max(before.auto, int(_integers(column, texts[column.name]).max()) + 1)
    return _together(after, before.row_id) if shared(table) else Counters(after, before.row_id)


def _wanted(column: Column, texts: pa.Array, upstream: Upstream) -> tuple[npt.NDArray[np.bool_], Ids]:
    """Which rows want an id, and the numbers of the others."""
    wanted = pc.is_null(texts)
    if "NO_AUTO_VALUE_ON_ZERO" not in upstream.session.sql_mode:
        wanted = pc.or_(wanted, pc.fill_null(pc.is_in(texts, pa.array([b"0", b"-0"])), False))
    return np.asarray(wanted), _integers(column, pc.if_else(wanted, b"0", texts))


def _whole(column: Column) -> bool:
    return column.type.name not in ("float", "double")


def _integers(column: Column, texts: pa.Array) -> Ids:
    """The 64 bits of integers; of a FLOAT or DOUBLE the nearest."""
    if not _whole(column):
        rounded: Ids = np.rint(np.asarray(texts.cast(pa.string()).cast(pa.float64()))).astype(np.int64)
        return rounded
    kind = pa.uint64() if column.type.unsigned else pa.int64()
    numbers: Ids = np.asarray(texts.cast(pa.string()).cast(kind)).view(np.int64)
    return numbers


def _counted(made: npt.NDArray[np.bool_], numbers: Ids, start: int, most: int) -> tuple[Ids, int]:
    """Ids in the order of rows, each above all that were given or made before it; and the next one."""
    if made.all():
        ids, after = start + np.arange(len(made), dtype=np.int64), start + len(made)
    else:
        count = np.cumsum(made)
        floor = np.maximum.accumulate(np.where(made, start, numbers + 1) - count) + count
        ids = np.where(made, np.maximum(floor, start + count) - 1, numbers)
        after = max(start, int(ids.max()) + 1) if len(ids) else start
    if made.any() and int(ids[made].max()) > min(most, 2 ** 63 - 1):
        raise refused(1467)
    return ids, min(after, 2 ** 63 - 1)


def _filled(texts: pa.Array, made: npt.NDArray[np.bool_], ids: Ids) -> pa.Array:
    if not made.any():
        return texts
    if made.all():
        return pa.array(ids).cast(pa.string()).cast(pa.binary())
    return pc.if_else(pa.array(made), pa.array(ids).cast(pa.string()).cast(pa.binary()), texts)


def _first(made: npt.NDArray[np.bool_], ids: Ids) -> int | None:
    return int(ids[made][0]) if made.any() else None


def _random(
    table: Table, column: Column, texts: pa.Array, made: npt.NDArray[np.bool_], numbers: Ids, upstream: Upstream,
    before: Counters, now_ms: int,
) -> Given:
    allowed = upstream.session.settings.get("allow_auto_random_explicit_insert", "OFF").upper() in ("ON", "1")
    if not made.all() and not allowed:
        raise refused(8216, "Explicit insertion on auto_random column is disabled. Try to set "
                            "@@allow_auto_random_explicit_insert = true.")
    counted = random_counter_bits(column)
    low = numbers & np.int64((1 << counted) - 1)
    ids, after = _counted(made, np.where(numbers < 0, 0, low), before.auto, (1 << counted) - 1)
    ids = np.where(made, ids | np.int64(shard(upstream.seed, table, now_ms, column.shard_bits) << counted), numbers)
    return Given(_filled(texts, made, ids), Counters(after, before.row_id), _first(made, ids))


def random_counter_bits(column: Column) -> int:
    """The bits of an AUTO_RANDOM id that count."""
    return RANGE_BITS - column.shard_bits - (0 if column.type.unsigned else 1)


def shard(seed: int, table: Table, now_ms: int, bits: int) -> int:
    """The shard of all ids that a transaction makes: random in TiDB, here of the seed and the time."""
    digest = hashlib.blake2b(f"{seed}/{table.schema}.{table.name}/{now_ms}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") & ((1 << bits) - 1)


def row_ids(table: Table, rows: int, upstream: Upstream, before: Counters, now_ms: int) -> tuple[Ids, Counters]:
    """`_tidb_rowid` of so many new rows: a shard of SHARD_ROW_ID_BITS above the counter, and what is given next."""
    ids = before.row_id + np.arange(rows, dtype=np.int64)
    after = before.row_id + rows
    bits = int(dict(table.options).get("SHARD_ROW_ID_BITS", 0))
    if bits:
        ids |= np.int64(shard(upstream.seed, table, now_ms, bits) << (63 - bits))
    return ids, _together(before.auto, after) if shared(table) else Counters(before.auto, after)
