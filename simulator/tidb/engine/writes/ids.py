"""The ids of a statement's new rows, and `_tidb_rowid` of each (tidb pkg/executor/insert_common.go)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from simulator.errors import SqlError
from simulator.tidb.datums.floats import float_text
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.settings import SqlSession
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.model.table import Cells, Column, visible_columns
from simulator.tidb.storage.auto_ids import (
    auto_allocator,
    auto_column,
    counter_mask,
    random_counter_bits,
    shard_prefix,
    with_auto_allocator,
)
from simulator.tidb.storage.tables import StoredTable
from simulator.tidb.values.numbers import bounds

EXPLICIT_DISABLED = (
    "Explicit insertion on auto_random column is disabled. Try to set @@allow_auto_random_explicit_insert = true."
)


class AutoIds:
    """Fills the AUTO_INCREMENT or AUTO_RANDOM column of new rows."""

    def __init__(self, stored: StoredTable, context: StatementContext, updates: bool = False) -> None:
        """`updates` is true for ON DUPLICATE KEY UPDATE, with which an id that is clipped to its column is not refused."""
        self._stored, self._context, self._updates = stored, context, updates
        settings = context.session.settings
        self.column = auto_column(stored.table)
        self.place = -1
        if self.column is not None:
            self.place = [each.name for each in visible_columns(stored.table)].index(self.column.name)
        self.first = 0
        """The first id that was generated."""

        self.explicit = 0
        """The last id that a row had already."""

        self._keeps_zero = "NO_AUTO_VALUE_ON_ZERO" in settings.sql_mode
        self._increment, self._offset = increment_and_offset(settings)

    def fill(self, rows: Sequence[Cells]) -> None:
        """Give an id to each row with NULL, and with 0 without NO_AUTO_VALUE_ON_ZERO.

        An explicit id advances the counter (lazyAdjustAutoIncrementDatum, adjustAutoRandomDatum). Rows that need one and
        follow each other get ids that do. Raises SqlError; ids that were assigned before are used up.
        """
        column, start = self.column, 0
        assert column is not None
        while start < len(rows):
            number = self._number(column, rows[start][self.place])
            if number is not None:
                self._keep(column, number)
                if not number:
                    rows[start][self.place] = b"0"
                start += 1
                continue
            stop = start + 1
            while stop < len(rows) and self._number(column, rows[stop][self.place]) is None:
                stop += 1
            for row, number in zip(rows[start:stop], self._generated(column, stop - start), strict=True):
                row[self.place] = _text(column, number)
            start = stop

    def _number(self, column: Column, cell: bytes | None) -> int | None:
        """Return the id that a row has; None if it needs one."""
        if cell is None:
            return None
        number = _integer(column, cell, _round_half_away)
        return number if number or self._keeps_zero else None

    def _keep(self, column: Column, number: int) -> None:
        if column.auto_random:
            allowed = self._context.session.settings.settings.get("allow_auto_random_explicit_insert", "OFF")
            if allowed.upper() not in ("ON", "1"):
                raise sql_error(8216, EXPLICIT_DISABLED)
        elif number:
            self.explicit = number
        advance_counter(self._stored, column, number)

    def _allocate(self, count: int) -> int:
        table, ids = self._stored.table, self._stored.ids
        first, after = auto_allocator(table, ids.counters).allocate(count, self._increment, self._offset)
        ids.counters = with_auto_allocator(table, ids.counters, after)
        return first

    def _generated(self, column: Column, count: int) -> list[int]:
        table = self._stored.table
        try:
            first = _first_id(self._context, count, self._allocate)
        except SqlError:
            if not self._context.ignore or column.auto_random:
                raise
            first = 0
        self.first = self.first or first
        numbers = [first + place * self._increment * bool(first) for place in range(count)]
        if column.auto_random:
            if numbers[-1] > counter_mask(column):
                raise sql_error(8059)
            shard = shard_prefix(self._context.database.seed, table, self._context.now_ms, column.shard_bits)
            return [number | shard << random_counter_bits(column) for number in numbers]
        most = bounds(column.type)[1] if _is_integer(column) else numbers[-1]
        if numbers[-1] <= most:
            return numbers
        if not self._context.mode.lenient:
            over = next(number for number in numbers if number > most)
            raise sql_error_with_text(1690, f"constant {over} overflows {column.type.name}")
        if self._updates:
            return [min(number, most) for number in numbers]
        raise sql_error(1467)


def _first_id(context: StatementContext, count: int, allocate: Callable[[int], int]) -> int:
    """Return the first of some ids: those that an attempt of the statement was given before it waited for a lock, or new
    ones."""
    session = context.session
    if session.earlier_ids and session.earlier_ids[0][0] == count:
        first = session.earlier_ids.pop(0)[1]
    else:
        session.earlier_ids.clear()
        first = allocate(count)
    session.given_ids.append((count, first))
    return first


def increment_and_offset(session: SqlSession) -> tuple[int, int]:
    """Return auto_increment_increment and auto_increment_offset, from 1 to 65535."""
    settings = session.settings
    if "auto_increment_increment" not in settings and "auto_increment_offset" not in settings:
        return 1, 1
    names = ("auto_increment_increment", "auto_increment_offset")
    increment, offset = (min(max(int(settings.get(name, "1")), 1), 65535) for name in names)
    return increment, offset


def advance_counter(stored: StoredTable, column: Column, number: int) -> None:
    """Advance the counter of a column past an id that a statement gives it."""
    if column.auto_random:
        number = 0 if number < 0 else number & counter_mask(column)
    before = auto_allocator(stored.table, stored.ids.counters)
    after = before.advance_past(number)
    if after is not before:
        stored.ids.counters = with_auto_allocator(stored.table, stored.ids.counters, after)


def advance_after_update(stored: StoredTable, column: Column, before: bytes | None, after: bytes | None) -> None:
    """Advance the counter of a column to which UPDATE gives another value (tidb pkg/executor/write.go, updateRecord)."""
    if after is not None and after != before:
        advance_counter(stored, column, _integer(column, after, int))


def allocate_row_ids(stored: StoredTable, context: StatementContext, count: int) -> range | list[int]:
    """Return the `_tidb_rowid`s of new rows: a counter with a shard of SHARD_ROW_ID_BITS above it. Raises SqlError
    1467."""

    def allocate(count: int) -> int:
        first, after = stored.ids.counters.row_id.allocate(count)
        stored.ids.counters = stored.ids.counters._replace(row_id=after)
        return first

    first = _first_id(context, count, allocate)
    bits = int(dict(stored.table.options).get("SHARD_ROW_ID_BITS", 0))
    if not bits:
        return range(first, first + count)
    shard = shard_prefix(context.database.seed, stored.table, context.now_ms, bits) << (63 - bits)
    return [number | shard for number in range(first, first + count)]


def _is_integer(column: Column) -> bool:
    return column.type.name not in ("float", "double")


def _round_half_away(number: float) -> int:
    return int(math.copysign(math.floor(abs(number) + 0.5), number))


def _integer(column: Column, cell: bytes, whole: Callable[[float], int]) -> int:
    """Return a cell as an integer; `whole` rounds FLOAT and DOUBLE."""
    return int(cell) if _is_integer(column) else whole(float(cell))


def _text(column: Column, number: int) -> bytes:
    if _is_integer(column):
        return b"%d" % number
    return float_text(float(number), column.type.name == "float").encode()
