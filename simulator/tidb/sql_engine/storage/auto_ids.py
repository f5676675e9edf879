"""Ids that TiDB gives: AUTO_INCREMENT, AUTO_RANDOM and `_tidb_rowid`.

What was given once is never given back, whatever becomes of its row. AUTO_INCREMENT and `_tidb_rowid` come from one
allocator unless AUTO_ID_CACHE is 1, so that AUTO_INCREMENT has gaps where rows are stored under `_tidb_rowid` (tidb
pkg/meta/model/table.go, SepAutoInc, since 6.4.0; before it the two were never apart). An AUTO_RANDOM id is sign, shard
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
"""Or of uint64, where the column is UNSIGNED."""

Mask = npt.NDArray[np.bool_]

RANGE_BITS = 64
"""Of AUTO_RANDOM where it does not say."""


class AssignedIds(NamedTuple):
    texts: pa.Array
    """binary: the column with its ids."""

    counters: Counters
    first: int | None
    """The first id that was made, for LAST_INSERT_ID(); None where the statement gave all."""

    error: SqlError | None = None
    """Why there are no ids for all rows; those that were given until then are used up."""


def counters(table: Table, stored: StoredRows | None) -> Counters:
    """What the table gives next."""
    return initial_counters(table) if stored is None else stored.counters


def initial_counters(table: Table) -> Counters:
    """Of a new table: AUTO_INCREMENT = n, AUTO_RANDOM_BASE = n and AUTO_ID_CACHE n of its definition minded."""
    options, held = dict(table.options), unused_counters(table)
    first = max(int(options.get("AUTO_INCREMENT", 1)), int(options.get("AUTO_RANDOM_BASE", 1)), 1)
    return with_auto_allocator(table, held, auto_allocator(table, held).starting_at(first))


def unused_counters(table: Table) -> Counters:
    """Of a table of which nothing was given."""
    cache, column = int(dict(table.options).get("AUTO_ID_CACHE", 0)) or CACHE_SIZE, auto_column(table)
    own = Allocator(step=cache, unsigned=column is not None and column.type.unsigned)
    return Counters(own, replace(own, step=CACHE_SIZE if cache == 1 else cache))


def counters_with_options(table: Table, held: Counters, options: Iterable[TableOption]) -> Counters:
    """Behind ALTER TABLE with table options (tidb pkg/ddl/table.go, onRebaseAutoID; pkg/infoschema/builder.go,
    filterAllocators)."""
    for option in options:
        if option.name in ("AUTO_INCREMENT", "AUTO_RANDOM_BASE"):
            held = with_auto_allocator(
                table, held, auto_allocator(table, held).starting_at(int(option.value), option.force)
            )
        if option.name == "AUTO_ID_CACHE":
            held = restarted_counters(Counters(*(replace(each, step=int(option.value) or CACHE_SIZE) for each in held)))
    return held


def restarted_counters(held: Counters) -> Counters:
    """Of a server that begins anew."""
    return Counters(*(each.renewed() for each in held))


def counters_after(table: Table, row_id: int, auto: int) -> Counters:
    """Of a table whose rows have ids up to these."""
    held = initial_counters(table)
    held = held._replace(row_id=held.row_id.passed(row_id))
    return with_auto_allocator(table, held, auto_allocator(table, held).passed(auto))


def highest_counters(one: Counters, other: Counters) -> Counters:
    """What neither of two tables has given."""
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
    """Whether AUTO_INCREMENT or AUTO_RANDOM does not share the allocator of `_tidb_rowid`."""
    return has_auto_random(table) or dict(table.options).get("AUTO_ID_CACHE") == "1"


def auto_allocator(table: Table, held: Counters) -> Allocator:
    """The allocator of AUTO_INCREMENT or AUTO_RANDOM."""
    return held.auto if has_own_allocator(table) else held.row_id


def with_auto_allocator(table: Table, held: Counters, auto: Allocator) -> Counters:
    return held._replace(auto=auto) if has_own_allocator(table) else held._replace(row_id=auto)


def auto_column(table: Table) -> Column | None:
    """The AUTO_INCREMENT or AUTO_RANDOM column."""
    return next((column for column in table.columns if column.auto_increment or column.auto_random), None)


class IdRequest(NamedTuple):
    """How a statement asks for ids."""

    lenient: bool = False
    """Whether an id that the column does not hold is cut."""

    ignore: bool = False
    """Whether it says IGNORE: where no numbers are left, rows get 0."""

    updates: bool = False
    """Whether it has ON DUPLICATE KEY UPDATE, too: an id that is cut is none to refuse."""

    one_by_one: bool = False
    """Whether each row asks by itself, as those of a query do."""


def assign_ids(
    table: Table,
    column: Column,
    texts: pa.Array,
    upstream: Upstream,
    before: Counters,
    now_ms: int,
    asked: IdRequest = IdRequest(),
) -> AssignedIds:
    """The column with an id for each NULL, and for each 0 without NO_AUTO_VALUE_ON_ZERO (tidb
    pkg/executor/insert_common.go, lazyAdjustAutoIncrementDatum, adjustAutoRandomDatum).

    A number that the statement gives moves the counter.
    """
    wanted, numbers = _missing_ids(column, texts, upstream)
    ids = _IdAssigner(column, upstream.session, auto_allocator(table, before), asked, numbers)
    try:
        for start, stop in _runs(wanted):
            if wanted[start]:
                ids.make(start, stop)
            else:
                ids.take(start, stop)
        if column.auto_random:
            ids.add_shard(wanted, shard_prefix(upstream.seed, table, now_ms, column.shard_bits))
    except SqlError as error:
        return AssignedIds(texts, with_auto_allocator(table, before, ids.allocator), None, error)
    made = ids.numbers if wanted.all() else ids.numbers[wanted | (numbers == 0)]
    shown = pa.array(made).cast(pa.string())
    shown = (shown if _is_integer(column) else tidb_text(column.type, shown)).cast(pa.binary())
    if len(made) < len(texts):
        shown = pc.replace_with_mask(texts, pa.array(wanted | (numbers == 0)), shown)
    return AssignedIds(shown, with_auto_allocator(table, before, ids.allocator), ids.first)


class _IdAssigner:
    """The numbers of the rows of a statement, one run of rows after another."""

    def __init__(
        self, column: Column, session: SqlSession, allocator: Allocator, asked: IdRequest, numbers: Ids
    ) -> None:
        self.allocator, self.numbers, self._column, self._asked = allocator, numbers.copy(), column, asked
        self.first: int | None = None
        self._increment, self._offset = increment_and_offset(session)
        self._explicit = session.settings.get("allow_auto_random_explicit_insert", "OFF").upper() in ("ON", "1")

    def take(self, start: int, stop: int) -> None:
        """Numbers that the statement gives."""
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
            found = int(np.searchsorted(top[at:], top.dtype.type(self.allocator.end), "right")) + at
            last = min(found, len(top) - 1)
            self.allocator = self.allocator.passed(int(top[last]))
            at = last + 1

    def make(self, start: int, stop: int) -> None:
        """Numbers that the allocator gives."""
        while start < stop:
            size = stop - start
            if self._column.auto_random or self._asked.one_by_one:
                size = max(1, min(size, (self.allocator.end - self.allocator.base) // self._increment))
            try:
                first, self.allocator = self.allocator.given(size, self._increment, self._offset)
            except SqlError:
                if not self._asked.ignore or self._column.auto_random:
                    raise
                first = 0
            self.first = self.first or first or None
            made = [first + place * self._increment * bool(first) for place in range(size)]
            self.numbers[start : start + size] = self._held(made)
            start += size

    def _held(self, made: Sequence[int]) -> Sequence[int]:
        """Numbers that the column holds (setDatumAutoIDAndCast)."""
        column, last = self._column, made[-1]
        if column.auto_random:
            if last > _counter_mask(column):
                raise sql_error(8059)
            return made
        most = bounds(column.type)[1] if _is_integer(column) else last
        if last <= most:
            return made
        if not self._asked.lenient:
            over = next(number for number in made if number > most)
            raise sql_error_with_text(1690, f"constant {over} overflows {column.type.name}")
        if self._asked.updates:
            return [min(number, most) for number in made]
        raise sql_error(1467)

    def add_shard(self, made: Mask, shard: int) -> None:
        self.numbers[made] |= self.numbers.dtype.type(shard << random_counter_bits(self._column))


def increment_and_offset(session: SqlSession) -> tuple[int, int]:
    """auto_increment_increment and auto_increment_offset, from 1 to 65535."""
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
    """The counters after an UPDATE: an AUTO_INCREMENT or AUTO_RANDOM column that it really changes moves its own (tidb
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
        auto = auto.passed(number)
    return with_auto_allocator(table, before, auto)


def _missing_ids(column: Column, texts: pa.Array, upstream: Upstream) -> tuple[Mask, Ids]:
    """Which rows want an id, and the numbers of the others."""
    if texts.null_count == len(texts):
        return np.ones(len(texts), np.bool_), np.zeros(len(texts), _id_dtype(column))
    numbers = _integers(column, pc.fill_null(texts, b"0"), _round_half_away)
    if "NO_AUTO_VALUE_ON_ZERO" in upstream.session.sql_mode:
        return np.asarray(texts.is_null(), bool), numbers
    return numbers == 0, numbers


def _runs(wanted: Mask) -> Iterator[tuple[int, int]]:
    """Where rows follow each other that all want an id, or all have one."""
    ends = [*(np.flatnonzero(np.diff(wanted)) + 1).tolist(), len(wanted)]
    return zip([0, *ends[:-1]], ends) if len(wanted) else iter(())


def _is_integer(column: Column) -> bool:
    return column.type.name not in ("float", "double")


def _id_dtype(column: Column) -> type[np.int64] | type[np.uint64]:
    return np.uint64 if column.type.unsigned else np.int64


def _round_half_away(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """To the nearest, a half away from zero."""
    return np.copysign(np.floor(np.abs(numbers) + 0.5), numbers)


def _integers(
    column: Column, texts: pa.Array, whole: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
) -> Ids:
    """The integers of cells; of a FLOAT or DOUBLE what `whole` makes of it."""
    if not _is_integer(column):
        numbers = whole(np.asarray(texts.cast(pa.string()).cast(pa.float64())))
        with np.errstate(invalid="ignore"):
            found: Ids = numbers.astype(np.int64).astype(_id_dtype(column))
        return found
    found = np.asarray(texts.cast(pa.string()).cast(pa.uint64() if column.type.unsigned else pa.int64()))
    return found


def random_counter_bits(column: Column) -> int:
    """The bits of an AUTO_RANDOM id that count."""
    return RANGE_BITS - column.shard_bits - (0 if column.type.unsigned else 1)


def _counter_mask(column: Column) -> int:
    return (1 << random_counter_bits(column)) - 1


def shard_prefix(seed: int, table: Table, now_ms: int, bits: int) -> int:
    """The shard of all ids that a transaction makes: random in TiDB, here of the seed and the time."""
    digest = hashlib.blake2b(f"{seed}/{table.schema}.{table.name}/{now_ms}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") & ((1 << bits) - 1)


def allocate_row_ids(
    table: Table, rows: int, upstream: Upstream, before: Counters, now_ms: int
) -> tuple[Ids, Counters]:
    """`_tidb_rowid` of so many new rows: a shard of SHARD_ROW_ID_BITS above the counter, and what is given next.

    Raises SqlError 1467.
    """
    if not rows:
        return np.zeros(0, np.int64), before
    first, after = before.row_id.given(rows)
    ids = first + np.arange(rows, dtype=np.int64)
    bits = int(dict(table.options).get("SHARD_ROW_ID_BITS", 0))
    if bits:
        ids |= np.int64(shard_prefix(upstream.seed, table, now_ms, bits) << (63 - bits))
    return ids, before._replace(row_id=after)
