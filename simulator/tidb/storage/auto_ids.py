"""Ids that TiDB assigns: AUTO_INCREMENT, AUTO_RANDOM and `_tidb_rowid`.

An id is never assigned twice, even if its row is deleted. AUTO_INCREMENT and `_tidb_rowid` share one allocator unless
AUTO_ID_CACHE is 1, so AUTO_INCREMENT has gaps in tables that store rows under `_tidb_rowid` (tidb
pkg/meta/model/table.go, SepAutoInc, since 6.4.0; before it the two always share one). An AUTO_RANDOM id is sign, shard
and counter (pkg/meta/autoid, ShardIDFormat).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.table_keys import cached_by_table
from simulator.tidb.storage.allocators import CACHE_SIZE, Allocator, Counters
from simulator.tidb.syntax.tables import TableOption


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
            auto = auto_allocator(table, before).starting_at(int(option.value), option.force)
            before = with_auto_allocator(table, before, auto)
        if option.name == "AUTO_ID_CACHE":
            step = int(option.value) or CACHE_SIZE
            before = restarted_counters(Counters(*(replace(each, step=step) for each in before)))
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
    names = ("base", "end", "stored")
    pairs = zip(one, other, strict=True)
    return Counters(
        *(
            replace(mine, **{name: max(getattr(mine, name), getattr(its, name)) for name in names})
            for mine, its in pairs
        )
    )


def has_auto_random(table: Table) -> bool:
    return any(column.auto_random for column in table.columns)


@cached_by_table
def has_own_allocator(table: Table) -> bool:
    """Return whether AUTO_INCREMENT or AUTO_RANDOM does not share the allocator of `_tidb_rowid`."""
    return has_auto_random(table) or dict(table.options).get("AUTO_ID_CACHE") == "1"


def auto_allocator(table: Table, before: Counters) -> Allocator:
    """Return the allocator of AUTO_INCREMENT or AUTO_RANDOM."""
    return before.auto if has_own_allocator(table) else before.row_id


def with_auto_allocator(table: Table, before: Counters, auto: Allocator) -> Counters:
    return before._replace(auto=auto) if has_own_allocator(table) else before._replace(row_id=auto)


def next_auto_id(table: Table, counters: Counters) -> int:
    """Return the id that a new server would assign first, as SHOW CREATE TABLE and information_schema show it; 0 without
    AUTO_INCREMENT and AUTO_RANDOM (tidb pkg/meta/autoid/autoid.go, NextGlobalAutoID)."""
    if auto_column(table) is None:
        return 0
    return auto_allocator(table, counters).following


@cached_by_table
def auto_column(table: Table) -> Column | None:
    """Return the AUTO_INCREMENT or AUTO_RANDOM column."""
    return next((column for column in table.columns if column.auto_increment or column.auto_random), None)


def random_counter_bits(column: Column) -> int:
    """Return the number of bits of an AUTO_RANDOM id that hold the counter."""
    return column.range_bits - column.shard_bits - (0 if column.type.unsigned else 1)


def counter_mask(column: Column) -> int:
    """Return the bits of an AUTO_RANDOM id that hold the counter."""
    return (1 << random_counter_bits(column)) - 1


def shard_prefix(seed: int, table: Table, now_ms: int, bits: int) -> int:
    """Return the shard of a transaction's ids. It is random in TiDB; here it depends on the seed and the time."""
    digest = hashlib.blake2b(f"{seed}/{table.schema}.{table.name}/{now_ms}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") & ((1 << bits) - 1)
