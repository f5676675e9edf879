"""Tables as they are stored: their definition, their ids, their partitions, and in which of these a row is.

Source of the last: tidb pkg/table/tables/partition.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import structs

from simulator.columns.row_image import cells_of, image_of
from simulator.tidb.ddl.defaults import stored_value
from simulator.tidb.model.table import Cells, Table, cached_by_table, visible_columns
from simulator.tidb.storage.ids import Counters
from simulator.tidb.storage.rows import Entry, Handle, Layout, TableRows, Version
from simulator.tidb.values.documents import MARK, text_of_stored

if TYPE_CHECKING:
    from simulator.tidb.storage.row_keys import RowKey
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from simulator.errors import SchemaError, SqlError
from simulator.tidb.collations import has_weights, pads_spaces
from simulator.tidb.errors import not_simulated, sql_error
from simulator.tidb.expressions.casts import cast
from simulator.tidb.expressions.comparisons import comparison_operands
from simulator.tidb.expressions.expression import Context, Evaluate, Expression
from simulator.tidb.expressions.over_columns import (
    needed_columns,
    over_columns,
    places_of,
    table_column,
    table_expression,
)
from simulator.tidb.model.table import Column, Partitioning, columns_by_name

MARK_BYTES = MARK.encode()


@dataclass
class Ids:
    """The ids that a table has given. They are shared by all definitions of the table, and outlive a rollback."""

    counters: Counters


@dataclass(frozen=True, eq=False)
class StoredTable:
    """A table in one definition. DDL makes another one, which shares rows and ids, or has new ones (TRUNCATE)."""

    table: Table
    partitions: tuple[TableRows, ...]
    """The rows of each partition, one of a table without partitions."""

    ids: Ids
    unpartitioned: TableRows = field(default_factory=TableRows)
    """The entries of GLOBAL indexes, whose handle is the pair of a partition's ordinal and a handle."""

    changed: tuple[int, str] = (0, "")
    """The ts from which its rows have a column of another type, and that column's name."""

    def load(self, ordinal: int, handle: Handle, version: Version, entries: Iterable[tuple[RowKey, bytes]]) -> None:
        """Take a row that is there, with its entries, as if no transaction had written it."""
        self.partitions[ordinal].write(handle, version, 0)
        for key, value in entries:
            owner = (ordinal, handle) if key.unpartitioned else handle
            self.entries(ordinal, key.unpartitioned).write_entry(key.index_id, value, Entry(version.ts, owner), 0)

    def copy(self, ts: int, rows_of: dict[TableRows, TableRows]) -> StoredTable:
        """Return what a reader at `ts` sees, with rows and ids of its own; `rows_of` has the copies, and gets new ones."""
        for rows in (*self.partitions, self.unpartitioned):
            if rows not in rows_of:
                rows_of[rows] = rows.copy(ts)
        partitions = tuple(rows_of[rows] for rows in self.partitions)
        return StoredTable(self.table, partitions, Ids(self.ids.counters), rows_of[self.unpartitioned])

    def entries(self, ordinal: int, unpartitioned: bool) -> TableRows:
        """Return what has the entries of an index for rows of a partition."""
        return self.unpartitioned if unpartitioned else self.partitions[ordinal]


@cached_by_table
def layout_of(table: Table) -> Layout:
    """Return the layout in which rows of a table are written."""
    return tuple(column.id for column in visible_columns(table))


class RowReader:
    """Cuts images into the cells of a table's visible columns, whatever layout they were written in."""

    def __init__(self, table: Table) -> None:
        self._layout = layout_of(table)
        self._columns = visible_columns(table)
        self._places: dict[Layout, list[tuple[int, bytes | None]]] = {}

    def cells(self, version: Version) -> Cells:
        """Return the cells of a row."""
        assert version.image is not None, "a deleted row has none"
        cells = cells_of(version.image)
        if version.layout is self._layout or version.layout == self._layout:
            return cells
        places = self._places.get(version.layout) or self._placed(version.layout)
        return [default if place < 0 else cells[place] for place, default in places]

    def _placed(self, layout: Layout) -> list[tuple[int, bytes | None]]:
        """Return the place of each column in a layout, -1 with its origin default for a column that it lacks."""
        by_id = {id: place for place, id in enumerate(layout)}
        found = []
        for column in self._columns:
            origin = stored_value(column.origin_default, column.type)
            found.append((by_id.get(column.id, -1), None if origin is None else origin.encode()))
        self._places[layout] = found
        return found


@cached_by_table
def sent_images(table: Table) -> Callable[[bytes | None], bytes | None] | None:
    """Return how an image becomes the one that TiCDC sees, in which JSON is as TiDB prints it; None if all are."""
    places = [place for place, column in enumerate(visible_columns(table)) if column.type.name == "json"]

    def sent(image: bytes | None) -> bytes | None:
        if image is None or MARK_BYTES not in image:
            return image
        cells = cells_of(image)
        for place in places:
            cell = cells[place]
            if cell is not None:
                cells[place] = text_of_stored(cell.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
        return image_of(cells)

    return sent if places else None


KEY_TYPES = frozenset(
    "tinyint smallint mediumint int bigint decimal char varchar date datetime timestamp time year enum set".split()
)
"""The column types that PARTITION BY KEY is simulated for."""

Locate = Callable[[Cells], "int | None"]
"""Returns the ordinal of a row's partition, None if no partition takes it."""

_NO_STATEMENT = Context()


@cached_by_table
def partition_of(table: Table) -> Locate:
    """Return how a row has its partition; 0 for a table without partitions. Raises SqlError 1235 for a partitioning that
    is not simulated."""
    try:
        return _locate(table)
    except SchemaError as error:
        raise not_simulated(str(error)) from None


@cached_by_table
def _locate(table: Table) -> Locate:
    rule = table.partitioning
    return (lambda cells: 0) if rule is None else _ORDERS[rule.kind](table, rule)


def locate_partition(table: Table, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return the ordinal (int32) of each row's partition, null if no partition takes the row.

    `texts`: the TiDB text of each column. Raises SchemaError for a partitioning that is not simulated.
    """
    if table.partitioning is None:
        raise SchemaError(f"table {table.name!r} is not partitioned")
    rows = len(next(iter(texts.values())))
    return pa.array(over_columns(table, _locate(table), partition_columns(table), texts, rows), pa.int32())


def partition_columns(table: Table) -> frozenset[str]:
    """Return the columns that say in which partition a row of a partitioned table is."""
    rule = table.partitioning
    assert rule is not None, "a table without partitions has no such columns"
    named = [] if rule.expression else [column.name for column in _members(table, rule)]
    return needed_columns(table, [rule.expression] if rule.expression else [], named)


def no_partition_error(table: Table, cells: Cells) -> SqlError:
    """Return error 1526 for a row: the value of the expression, or `from column_list`."""
    rule = table.partitioning
    assert rule is not None, "a table without partitions takes all rows"
    if not rule.expression:
        return sql_error(1526, "from column_list")
    number = cast(table_expression(table, rule.expression), "SIGNED").evaluate(cells, _NO_STATEMENT)
    return sql_error(1526, "NULL" if number is None else number)


def _members(table: Table, rule: Partitioning) -> list[Column]:
    """Return the columns of RANGE COLUMNS, LIST COLUMNS or KEY."""
    names = rule.columns or (table.primary_key if rule.kind == "key" else ())
    return [columns_by_name(table)[name.lower()] for name in names]


# -- HASH and KEY ------------------------------------------------------------------------------------------------------


def _hash(table: Table, rule: Partitioning) -> Locate:
    evaluate, count = cast(table_expression(table, rule.expression), "SIGNED").evaluate, len(rule.partitions)

    def locate(cells: Cells) -> int:
        number = evaluate(cells, _NO_STATEMENT)
        return 0 if number is None else abs(number) % count

    return locate


def _key(table: Table, rule: Partitioning) -> Locate:
    """Take the CRC32 of the columns' sort keys, with a zero byte for NULL (TiDB ForKeyPruning.LocateKeyPartition)."""
    parts = [_hashed(table, column) for column in _members(table, rule)]
    count = len(rule.partitions)
    return lambda cells: zlib.crc32(b"".join([part(cells) for part in parts])) % count


def _hashed(table: Table, column: Column) -> Callable[[Cells], bytes]:
    type, place = column.type, places_of(table).get(column.name, -1)
    if place < 0 or type.name not in KEY_TYPES or type.collation.endswith("_ci") or has_weights(type.collation):
        raise SchemaError(
            f"table {table.name!r}: PARTITION BY KEY on column {column.name!r} is not computed for "
            f"{type.name} with collation {type.collation}; numbers, times and strings of a _bin or binary "
            f"collation of UTF-8, Latin-1 or ASCII are"
        )
    is_bytes = type.charset == "binary" and type.name in ("char", "varchar")
    pads = pads_spaces(type.collation)

    def hashed(cells: Cells) -> bytes:
        cell = cells[place]
        if cell is None:
            return b"\0"
        return cell.decode().encode("latin-1") if is_bytes else cell.rstrip(b" ") if pads else cell

    return hashed


# -- RANGE and LIST ----------------------------------------------------------------------------------------------------

Part = tuple[int, Any]
"""A value or a bound as it sorts: NULL below all values, MAXVALUE above them."""

BELOW, MAXVALUE = (0, None), (2, None)


def _sortable(value: Any) -> Part:
    return BELOW if value is None else (1, value)


def _values(table: Table, rule: Partitioning) -> list[Expression]:
    """Return the values that are compared with bounds."""
    if rule.expression:
        return [table_expression(table, rule.expression)]
    return [table_column(table, column) for column in _members(table, rule)]


def _compared(
    table: Table, rule: Partitioning, members: Sequence[tuple[str, ...]]
) -> tuple[Callable[[Cells], tuple[Part, ...]], list[tuple[Part, ...]]]:
    """Return how a row has what sorts among the members of partitions, and what those are."""
    row_parts, columns = list[Evaluate](), list[list[Part]]()
    for value, bounds in zip(_values(table, rule), zip(*members, strict=True), strict=True):
        compared, parts = value.evaluate, list[Part]()
        for bound in bounds:
            if bound.upper() == "MAXVALUE":
                parts.append(MAXVALUE)
                continue
            limit = table_expression(table, bound)
            if limit.kind == "null":
                parts.append(BELOW)
                continue
            if value.kind == limit.kind == "string":
                limit = structs.replace(limit, collation=value.collation)
            compared, constant = comparison_operands(value, limit, "<")
            parts.append(_sortable(constant((), _NO_STATEMENT)))
        row_parts.append(compared)
        columns.append(parts)
    listed = list(zip(*columns, strict=True))
    if len(row_parts) == 1:
        only = row_parts[0]
        return lambda cells: (_sortable(only(cells, _NO_STATEMENT)),), listed
    return lambda cells: tuple(_sortable(part(cells, _NO_STATEMENT)) for part in row_parts), listed


def _range(table: Table, rule: Partitioning) -> Locate:
    """Find the first partition with a bound above the row. NULL is below every bound."""
    of_row, bounds = _compared(table, rule, [partition.values[0] for partition in rule.partitions])
    count = len(bounds)

    def locate(cells: Cells) -> int | None:
        ordinal = bisect_right(bounds, of_row(cells))
        return ordinal if ordinal < count else None

    return locate


def _list(table: Table, rule: Partitioning) -> Locate:
    """Find the partition that lists the row's values, else the default partition."""
    default, ordinals, members = None, list[int](), list[tuple[str, ...]]()
    for ordinal, partition in enumerate(rule.partitions):
        for member in partition.values:
            if tuple(bound.upper() for bound in member) == ("DEFAULT",):
                default = ordinal
            else:
                ordinals.append(ordinal)
                members.append(member)
    if not members:
        return lambda cells: default
    of_row, listed = _compared(table, rule, members)
    by_values = dict(reversed(list(zip(listed, ordinals, strict=True))))
    return lambda cells: by_values.get(of_row(cells), default)


_ORDERS: dict[str, Callable[[Table, Partitioning], Locate]] = {
    "hash": _hash,
    "key": _key,
    "list": _list,
    "range": _range,
}
