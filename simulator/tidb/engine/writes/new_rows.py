"""The rows of INSERT … VALUES: each value is a literal, DEFAULT or an expression, and ids are assigned where they lack.

Source: tidb pkg/executor/insert_common.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain

from simulator.errors import SqlError
from simulator.tidb.datums.numbers import float_text
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries.relation import table_fields
from simulator.tidb.engine.scope import Field, Fields, QueryScope
from simulator.tidb.engine.settings import SqlSession
from simulator.tidb.engine.writes.assign import Cell, RowValues, fixed_defaults, has_default, is_automatic, zero_cell
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.expressions.casts import NotLiteral, datum_of, literal_datum
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.expression import Evaluate, fixed, null
from simulator.tidb.expressions.literals import column_value
from simulator.tidb.model.table import Cells, Column, visible_columns
from simulator.tidb.model.types import bounds
from simulator.tidb.storage.ids import (
    auto_allocator,
    auto_column,
    counter_mask,
    random_counter_bits,
    shard_prefix,
    with_auto_allocator,
)
from simulator.tidb.storage.tables import StoredTable
from simulator.tidb.syntax.expressions import Literal, Node, names_in
from simulator.tidb.syntax.queries import DefaultValue

PLAIN = ("", "utf8mb4", "utf8")
"""Character sets of string literals that are UTF-8."""

NOWHERE = (0, 0)
"""The location of a row that is not stored yet."""

Load = Callable[[Node, int], Cell]
"""Returns the cell that a value of VALUES is, given the number of its row."""


class ValueRows:
    """Makes rows of the values for some columns of a table."""

    def __init__(self, values: RowValues, columns: Sequence[Column], rows: Sequence[tuple[Node, ...]]) -> None:
        """Raises SqlError 1364 and 3105 for values that are refused before any row is looked at."""
        self._values, self._rows = values, rows
        kinds = set(map(type, chain.from_iterable(rows)))
        if DefaultValue in kinds or not all(rows) or any(column.generated for column in columns):
            self._check_defaults(columns)
        self._evaluated: dict[tuple[str, Node | int], Evaluate] = {}
        self._seen: list[object] = []
        """The row as the expressions of VALUES see it."""

        self._references = kinds != {Literal} and any(
            type(node) is not Literal and names_in(node) for row in rows for node in row
        )

    @cached_property
    def _scope(self) -> QueryScope:
        table = self._values.table
        fields = Fields(map(_without_value, table_fields(table, table.name, table.schema)))
        inserted = Fields(field._replace(read=lambda start: null()) for field in fields)
        return QueryScope(self._values.compilation, fields).changed(inserted=inserted)

    def _check_defaults(self, columns: Sequence[Column]) -> None:
        """Refuse a generated column with a value other than DEFAULT (tidb pkg/planner/core/planbuilder.go,
        ErrBadGeneratedColumn), and DEFAULT of a column without one."""
        for number, column in enumerate(columns):
            if column.generated:
                if any(row and not is_default(row[number], column) for row in self._rows):
                    raise sql_error(3105, column.name, self._values.table.name)
            elif not has_default(column) and not is_automatic(column):
                if any(not row or is_default(row[number]) for row in self._rows):
                    self._values.default(column)()

    def rows(self, named: Sequence[Column]) -> Iterator[Cells]:
        """Yield the rows. Raises SqlError for the first one that does not fit."""
        start, place_of = self._values.start({column.name for column in named}), self._values.place_of
        targets = [
            (number, place_of[column.name], column, self._loader(column))
            for number, column in enumerate(named)
            if not column.generated
        ]
        referenced = self._referenced() if self._references else []
        for number, nodes in enumerate(self._rows, 1):
            cells = [*start]
            if referenced:
                self._seen = [*referenced]
            for position, place, column, load in targets:
                cells[place] = cell = load(nodes[position], number) if nodes else self._values.default(column)()
                if referenced and not (nodes and is_default(nodes[position])):
                    self._seen[place] = cell
            self._values.complete(cells, number)
            yield cells

    def _referenced(self) -> list[object]:
        """Return what names of columns mean before they have values: their defaults, and without a default the zero of the
        type of a NOT NULL column (setValueForRefColumn)."""
        seen: list[object] = [*fixed_defaults(self._values.table), NOWHERE]
        for place, column in enumerate(self._values.columns):
            if is_automatic(column):
                seen[place] = b"0"
            elif column.default is not None and not column.generated:
                seen[place] = self._values.default(column)()
        return seen

    def _loader(self, column: Column) -> Load:
        quick = self._values.quick[column.name]
        integer, string = quick.get("int"), quick.get("string")

        def load(node: Node, number: int) -> Cell:
            if type(node) is Literal:
                cell = None
                if integer is not None and node.kind == "integer":
                    cell = integer(b"%d" % int(node.text))
                elif string is not None and node.kind == "string" and node.charset in PLAIN and node.text.isascii():
                    cell = string(node.text.encode())
                if cell is not None:
                    return cell
            try:
                datum = literal_datum(node)
            except NotLiteral:
                if is_default(node):
                    return self._values.default(column)()
                datum = self._compiled(node, column)(self._seen, self._values.context)
            return self._values.cast(column, datum, number)

        return load

    def _compiled(self, node: Node, column: Column) -> Evaluate:
        """Return an expression for a column. Those that are equal are one."""
        try:
            hash(node)
            key: tuple[str, Node | int] = (column.name, node)
        except RecursionError:  # hash calls itself through C, 500 levels deep in Python 3.12
            key = (column.name, id(node))
        evaluate = self._evaluated.get(key)
        if evaluate is None:
            evaluate = self._evaluated[key] = datum_of(compile_expression(node, self._scope), column)
        return evaluate


def _without_value(field: Field) -> Field:
    """Return a column as the values of a new row see it: a generated one has no value yet."""
    column = field.column
    if column is None or not column.generated:
        return field
    value = column_value(column, fixed(zero_cell(column) if column.not_null else None))
    return field._replace(read=lambda start: value)


def is_default(value: Node, column: Column | None = None) -> bool:
    """Return whether a value is DEFAULT; for a generated column DEFAULT(column) is the same (tidb
    pkg/planner/core/planbuilder.go, checkOnlyDefaultValue)."""
    if not isinstance(value, DefaultValue) or value.column is None:
        return isinstance(value, DefaultValue)
    return column is not None and bool(column.generated) and value.column.parts[-1].lower() == column.name.lower()


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
        number = _integer(column, cell, lambda number: int(math.copysign(math.floor(abs(number) + 0.5), number)))
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


def _integer(column: Column, cell: bytes, whole: Callable[[float], int]) -> int:
    """Return a cell as an integer; `whole` rounds FLOAT and DOUBLE."""
    return int(cell) if _is_integer(column) else whole(float(cell))


def _text(column: Column, number: int) -> bytes:
    if _is_integer(column):
        return b"%d" % number
    return float_text(float(number), column.type.name == "float").encode()
