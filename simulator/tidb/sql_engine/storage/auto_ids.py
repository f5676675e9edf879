"""Ids that TiDB assigns: AUTO_INCREMENT, AUTO_RANDOM and `_tidb_rowid`.

An id is never assigned twice, even if its row is deleted. AUTO_INCREMENT and `_tidb_rowid` share one allocator unless
AUTO_ID_CACHE is 1, so AUTO_INCREMENT has gaps in tables that store rows under `_tidb_rowid` (tidb
pkg/meta/model/table.go, SepAutoInc, since 6.4.0; before it the two always share one). An AUTO_RANDOM id is sign, shard
and counter (pkg/meta/autoid, ShardIDFormat).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SqlError
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.errors import sql_error, sql_error_with_text
from simulator.tidb.sql_engine.storage.allocators import CACHE_SIZE, Allocator, Counters
from simulator.tidb.sql_engine.storage.state import SqlSession, StoredRows, Upstream
from simulator.tidb.syntax.tables import TableOption
from simulator.tidb.values.conversion import tidb_text
from simulator.tidb.values.numbers import bounds

Ids = npt.NDArray[np.int64]
"""int64, or uint64 for an UNSIGNED column."""

Mask = npt.NDArray[np.bool_]

RANGE_BITS = 64
"""The default range of AUTO_RANDOM."""


class AssignedIds(NamedTuple):
    """The ids of a statement's rows."""

    texts: pa.Array
    """binary: the column with all ids filled in."""

    counters: Counters
    first: int | None
    """The first generated id, for LAST_INSERT_ID(); None if the statement has explicit ids only."""

    error: SqlError | None = None
    """The error if ids are missing. The ids that were assigned before it are used up."""


def counters(table: Table, stored: StoredRows | None) -> Counters:
    return initial_counters(table) if stored is None else stored.counters


def initial_counters(table: Table) -> Counters:
    """Return the counters of a new table with the options AUTO_INCREMENT, AUTO_RANDOM_BASE and AUTO_ID_CACHE."""
    options, before = dict(table.options), unused_counters(table)
    first = max(int(options.get("AUTO_INCREMENT", 1)), int(options.get("AUTO_RANDOM_BASE", 1)), 1)
    return with_auto_allocator(table, before, auto_allocator(table, before).starting_at(first))


def unused_counters(table: Table) -> Counters:
    """Return counters that start at 1, without the table's first id."""
    cache, column = int(dict(table.options).get("AUTO_ID_CACHE", 0)) or CACHE_SIZE, auto_column(table)
    own = Allocator(step=cache, unsigned=column is not None and column.type.unsigned)
    return Counters(own, replace(own, step=CACHE_SIZE if cache == 1 else cache))


def counters_with_options(table: Table, before: Counters, options: Iterable[TableOption]) -> Counters:
    """Return the counters after ALTER TABLE with table options (tidb pkg/ddl/table.go, onRebaseAutoID;
    pkg/infoschema/builder.go, filterAllocators)."""
    for option in options:
        if option.name in ("AUTO_INCREMENT", "AUTO_RANDOM_BASE"):
            before = with_auto_allocator(
                table, before, auto_allocator(table, before).starting_at(int(option.value), option.force)
            )
        if option.name == "AUTO_ID_CACHE":
            before = restarted_counters(
                Counters(*(replace(each, step=int(option.value) or CACHE_SIZE) for each in before))
            )
    return before


def restarted_counters(before: Counters) -> Counters:
    """Return the counters of a restarted server."""
    return Counters(*(each.restarted() for each in before))


def counters_after(table: Table, row_id: int, auto: int) -> Counters:
    """Return the counters of a table that has ids up to `row_id` and `auto`."""
    before = initial_counters(table)
    before = before._replace(row_id=before.row_id.advance_past(row_id))
    return with_auto_allocator(table, before, auto_allocator(table, before).advance_past(auto))


def highest_counters(one: Counters, other: Counters) -> Counters:
    """Return counters above the ids of both tables."""
    return Counters(
        *(
            replace(
                mine, **{name: max(getattr(mine, name), getattr(theirs, name)) for name in ("base", "end", "stored")}
            )
            for mine, theirs in zip(one, other)
        )
    )


def has_auto_random(table: Table) -> bool:
    return any(column.auto_random for column in table.columns)


def has_own_allocator(table: Table) -> bool:
    """Return whether AUTO_INCREMENT or AUTO_RANDOM does not share the allocator of `_tidb_rowid`."""
    return has_auto_random(table) or dict(table.options).get("AUTO_ID_CACHE") == "1"


def auto_allocator(table: Table, before: Counters) -> Allocator:
    """Return the allocator of AUTO_INCREMENT or AUTO_RANDOM."""
    return before.auto if has_own_allocator(table) else before.row_id


def next_auto_id(table: Table, stored: StoredRows | None) -> int:
    """Return the id that a new server would assign first, as SHOW CREATE TABLE and information_schema show it; 0 without
    AUTO_INCREMENT and AUTO_RANDOM (tidb pkg/meta/autoid/autoid.go, NextGlobalAutoID)."""
    if auto_column(table) is None:
        return 0
    allocator = auto_allocator(table, counters(table, stored))
    return (allocator.base if allocator.step == 1 else allocator.stored) + 1


def with_auto_allocator(table: Table, before: Counters, auto: Allocator) -> Counters:
    return before._replace(auto=auto) if has_own_allocator(table) else before._replace(row_id=auto)


def auto_column(table: Table) -> Column | None:
    """Return the AUTO_INCREMENT or AUTO_RANDOM column."""
    return next((column for column in table.columns if column.auto_increment or column.auto_random), None)


class IdRequest(NamedTuple):
    """How a statement requests ids."""

    lenient: bool = False
    """Whether an id outside the column's range is clipped."""

    ignore: bool = False
    """Whether the statement has IGNORE: if no ids are left, rows get 0."""

    updates: bool = False
    """Whether the statement has ON DUPLICATE KEY UPDATE: a clipped id is not refused then."""

    one_by_one: bool = False
    """Whether each row requests its id on its own, as the rows of INSERT … SELECT do."""


def assign_ids(
    table: Table,
    column: Column,
    texts: pa.Array,
    upstream: Upstream,
    before: Counters,
    now_ms: int,
    request: IdRequest = IdRequest(),
) -> AssignedIds:
    """Return the column with an id for each NULL, and for each 0 without NO_AUTO_VALUE_ON_ZERO.

    An explicit id advances the counter (tidb pkg/executor/insert_common.go, lazyAdjustAutoIncrementDatum,
    adjustAutoRandomDatum).
    """
    missing, numbers = _missing_ids(column, texts, upstream)
    ids = _IdAssigner(column, upstream.session, auto_allocator(table, before), request, numbers)
    try:
        for start, stop in _runs(missing):
            if missing[start]:
                ids.generate(start, stop)
            else:
                ids.keep_explicit(start, stop)
        if column.auto_random:
            ids.add_shard(missing, shard_prefix(upstream.seed, table, now_ms, column.shard_bits))
    except SqlError as error:
        return AssignedIds(texts, with_auto_allocator(table, before, ids.allocator), None, error)
    numbers_filled = ids.numbers if missing.all() else ids.numbers[missing | (numbers == 0)]
    id_texts = pa.array(numbers_filled).cast(pa.string())
    id_texts = (id_texts if _is_integer(column) else tidb_text(column.type, id_texts)).cast(pa.binary())
    if len(numbers_filled) < len(texts):
        id_texts = pc.replace_with_mask(texts, pa.array(missing | (numbers == 0)), id_texts)
    return AssignedIds(id_texts, with_auto_allocator(table, before, ids.allocator), ids.first)


class _IdAssigner:
    """The ids of a statement's rows, assigned one run of rows after another."""

    def __init__(
        self, column: Column, session: SqlSession, allocator: Allocator, request: IdRequest, numbers: Ids
    ) -> None:
        self.allocator, self.numbers, self._column, self._request = allocator, numbers.copy(), column, request
        self.first: int | None = None
        self._increment, self._offset = increment_and_offset(session)
        self._explicit = session.settings.get("allow_auto_random_explicit_insert", "OFF").upper() in ("ON", "1")

    def keep_explicit(self, start: int, stop: int) -> None:
        """Keep the explicit ids of a run of rows."""
        numbers = self.numbers[start:stop]
        if self._column.auto_random:
            if not self._explicit:
                raise sql_error(
                    8216,
                    "Explicit insertion on auto_random column is disabled. Try to set "
                    "@@allow_auto_random_explicit_insert = true.",
                )
            numbers = np.where(numbers < 0, 0, numbers & numbers.dtype.type(_counter_mask(self._column)))
        top = np.maximum.accumulate(numbers)
        at = 0
        while at < len(top):
            within_range = int(np.searchsorted(top[at:], top.dtype.type(self.allocator.end), "right")) + at
            last = min(within_range, len(top) - 1)
            self.allocator = self.allocator.advance_past(int(top[last]))
            at = last + 1

    def generate(self, start: int, stop: int) -> None:
        """Allocate ids for a run of rows."""
        while start < stop:
            size = stop - start
            if self._column.auto_random or self._request.one_by_one:
                size = max(1, min(size, (self.allocator.end - self.allocator.base) // self._increment))
            try:
                first, self.allocator = self.allocator.allocate(size, self._increment, self._offset)
            except SqlError:
                if not self._request.ignore or self._column.auto_random:
                    raise
                first = 0
            self.first = self.first or first or None
            ids = [first + place * self._increment * bool(first) for place in range(size)]
            self.numbers[start : start + size] = self._fit_column(ids)
            start += size

    def _fit_column(self, ids: Sequence[int]) -> Sequence[int]:
        """Return the ids that fit the column (setDatumAutoIDAndCast)."""
        column, last = self._column, ids[-1]
        if column.auto_random:
            if last > _counter_mask(column):
                raise sql_error(8059)
            return ids
        most = bounds(column.type)[1] if _is_integer(column) else last
        if last <= most:
            return ids
        if not self._request.lenient:
            over = next(number for number in ids if number > most)
            raise sql_error_with_text(1690, f"constant {over} overflows {column.type.name}")
        if self._request.updates:
            return [min(number, most) for number in ids]
        raise sql_error(1467)

    def add_shard(self, generated: Mask, shard: int) -> None:
        self.numbers[generated] |= self.numbers.dtype.type(shard << random_counter_bits(self._column))


def increment_and_offset(session: SqlSession) -> tuple[int, int]:
    """Return auto_increment_increment and auto_increment_offset, from 1 to 65535."""
    increment, offset = (
        min(max(int(session.settings.get(name, "1")), 1), 65535)
        for name in ("auto_increment_increment", "auto_increment_offset")
    )
    return increment, offset


def counters_after_update(
    table: Table,
    changed: Container[str],
    texts: Mapping[str, pa.Array],
    existing: Mapping[str, pa.Array],
    before: Counters,
) -> Counters:
    """Return the counters after an UPDATE. A changed AUTO_INCREMENT or AUTO_RANDOM value advances its counter (tidb
    pkg/executor/write.go, updateRecord)."""
    column = auto_column(table)
    if column is None or column.name not in changed or not len(texts[column.name]):
        return before
    differs = pc.fill_null(pc.not_equal(texts[column.name], existing[column.name]), True)
    numbers = _integers(column, texts[column.name].filter(differs).drop_null(), np.trunc)
    if column.auto_random:
        numbers = np.where(numbers < 0, 0, numbers & numbers.dtype.type(_counter_mask(column)))
    auto = auto_allocator(table, before)
    for number in numbers.tolist():
        auto = auto.advance_past(number)
    return with_auto_allocator(table, before, auto)


def _missing_ids(column: Column, texts: pa.Array, upstream: Upstream) -> tuple[Mask, Ids]:
    """Return which rows need an id, and the explicit ids of the others."""
    if texts.null_count == len(texts):
        return np.ones(len(texts), np.bool_), np.zeros(len(texts), _id_dtype(column))
    numbers = _integers(column, pc.fill_null(texts, b"0"), _round_half_away)
    if "NO_AUTO_VALUE_ON_ZERO" in upstream.session.sql_mode:
        return np.asarray(texts.is_null(), bool), numbers
    return numbers == 0, numbers


def _runs(missing: Mask) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each run of rows that all need an id or all have one."""
    ends = [*(np.flatnonzero(np.diff(missing)) + 1).tolist(), len(missing)]
    return zip([0, *ends[:-1]], ends) if len(missing) else iter(())


def _is_integer(column: Column) -> bool:
    return column.type.name not in ("float", "double")


def _id_dtype(column: Column) -> type[np.int64] | type[np.uint64]:
    return np.uint64 if column.type.unsigned else np.int64


def _round_half_away(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.copysign(np.floor(np.abs(numbers) + 0.5), numbers)


def _integers(
    column: Column, texts: pa.Array, whole: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
) -> Ids:
    """Return the cells as integers; `whole` rounds FLOAT and DOUBLE."""
    if not _is_integer(column):
        numbers = whole(np.asarray(texts.cast(pa.string()).cast(pa.float64())))
        with np.errstate(invalid="ignore"):
            integers: Ids = numbers.astype(np.int64).astype(_id_dtype(column))
        return integers
    integers = np.asarray(texts.cast(pa.string()).cast(pa.uint64() if column.type.unsigned else pa.int64()))
    return integers


def random_counter_bits(column: Column) -> int:
    """Return the number of bits of an AUTO_RANDOM id that hold the counter."""
    return RANGE_BITS - column.shard_bits - (0 if column.type.unsigned else 1)


def _counter_mask(column: Column) -> int:
    return (1 << random_counter_bits(column)) - 1


def shard_prefix(seed: int, table: Table, now_ms: int, bits: int) -> int:
    """Return the shard of a transaction's ids. It is random in TiDB; here it depends on the seed and the time."""
    digest = hashlib.blake2b(f"{seed}/{table.schema}.{table.name}/{now_ms}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") & ((1 << bits) - 1)


def allocate_row_ids(
    table: Table, rows: int, upstream: Upstream, before: Counters, now_ms: int
) -> tuple[Ids, Counters]:
    """Return the `_tidb_rowid`s of new rows, and the counters after them.

    An id is the counter with a shard of SHARD_ROW_ID_BITS above it. Raises SqlError 1467.
    """
    if not rows:
        return np.zeros(0, np.int64), before
    first, after = before.row_id.allocate(rows)
    ids = first + np.arange(rows, dtype=np.int64)
    bits = int(dict(table.options).get("SHARD_ROW_ID_BITS", 0))
    if bits:
        ids |= np.int64(shard_prefix(upstream.seed, table, now_ms, bits) << (63 - bits))
    return ids, before._replace(row_id=after)
