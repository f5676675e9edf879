"""The keys of a row: its handle and its entries in unique indexes, for one row or as columns of many.

`tidb.keys` encodes columns of rows by the same rules; a property test holds both to each other. A key with NULL has
no entry, and conflicts with none.

A multi-valued index, `(CAST(… AS SIGNED ARRAY))`, has an entry for each value of a JSON array. Each value has to be
of the type; in a unique index no two rows have a value in common (tidb v8.5 pkg/expression/builtin_cast.go
castJSONAsArrayFunctionSig, convertJSON2Tp; pkg/table/tables/index.go getIndexedValue; pkg/executor/insert_common.go
completeError).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw, unescaped
from simulator.errors import SqlError
from simulator.tidb.collations import has_weights, pads_spaces
from simulator.tidb.errors import not_simulated, sql_error
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.expression import Context
from simulator.tidb.expressions.over_columns import (
    needed_columns,
    over_columns,
    places_of,
    table_cell,
    table_expression,
)
from simulator.tidb.expressions.texts import collation_key
from simulator.tidb.keys import encode_index_column
from simulator.tidb.model.table import (
    Cells,
    Column,
    Index,
    IndexColumn,
    Table,
    UniqueKey,
    cached_by_table,
    columns_by_name,
    has_common_handle,
    is_array,
    row_id_column,
)
from simulator.tidb.model.types import ColumnType, family, is_binary, is_text
from simulator.tidb.storage.rows import Handle

SIGN = 1 << 63
FULL = (1 << 64) - 1

NO_STATEMENT = Context()

Encode = Callable[[bytes], bytes]
"""Returns the part of a key that a cell is, so that equal values have equal bytes, and smaller ones smaller bytes."""

Evaluate = Callable[[Cells], "bytes | None"]
"""Returns the part of a key that a row has; None for NULL."""


class RowKey(NamedTuple):
    """A unique key of a table."""

    index_id: int
    """The id of the index; 0 for the handle."""

    name: str
    """The key's name in errors: `PRIMARY`, or the name of the index."""

    parts: tuple[Evaluate, ...]
    unpartitioned: bool = False
    """Whether its entries are those of a GLOBAL index, which is one over all partitions."""

    def of(self, cells: Cells) -> bytes | None:
        """Return the key of a row; None if it has NULL."""
        found = []
        for part in self.parts:
            encoded = part(cells)
            if encoded is None:
                return None
            found.append(encoded)
        return found[0] if len(found) == 1 else b"".join(found)


def _signed(cell: bytes) -> bytes:
    return (int(cell) + SIGN).to_bytes(8, "big")


def _unsigned(cell: bytes) -> bytes:
    return int(cell).to_bytes(8, "big")


def _ended(cell: bytes) -> bytes:
    return cell.replace(b"\0", b"\0\1") + b"\0\0"


def _padded(cell: bytes) -> bytes:
    return _ended(cell.rstrip(b" "))


@lru_cache(1 << 16)
def _by_columns(type: ColumnType, length: int, cell: bytes) -> bytes:
    """Encode a cell by the rules for columns of cells."""
    encoded: bytes = encode_index_column(type, length, pa.array([cell], pa.binary()))[0].as_py()
    return encoded


@lru_cache(4096)
def encoder(type: ColumnType, length: int = -1) -> Encode:
    """Return the encoder of a column's cells in an index, given the length of its prefix (-1 for none)."""
    if family(type) in ("integer", "year", "bit"):
        return _unsigned if type.unsigned or type.name == "bit" else _signed
    if family(type) in ("date", "datetime"):
        return bytes
    if is_text(type) and length < 0 and type.collation != "latin1_bin" and not has_weights(type.collation):
        return _padded if pads_spaces(type.collation) else _ended
    return partial(_by_columns, type, length)


def part_of(table: Table, part: IndexColumn) -> Evaluate:
    """Return how a row has a part of a key."""
    if part.expression:
        return _expression_part(table, part.expression)
    column = columns_by_name(table)[part.name.lower()]
    place, encode = places_of(table).get(column.name), encoder(column.type, part.length)
    if place is None:
        computed = table_cell(table, column)
        return lambda cells: None if (cell := computed(cells, NO_STATEMENT)) is None else encode(cell)

    def evaluate(cells: Cells) -> bytes | None:
        cell = cells[place]
        return None if cell is None else encode(cell)

    return evaluate


def _expression_part(table: Table, expression: str) -> Evaluate:
    value = table_expression(table, expression)
    text = as_text(value)
    key = collation_key(value.collation) if value.kind == "string" else None

    def evaluate(cells: Cells) -> bytes | None:
        shown = text(cells, NO_STATEMENT)
        if shown is None:
            return None
        return _ended((shown if key is None else key(shown)).encode("utf-8", "surrogatepass"))

    return evaluate


@cached_by_table
def handle_of(table: Table) -> Callable[[Cells], Handle]:
    """Return how a row of a table with a clustered key has its handle."""
    name = row_id_column(table)
    if name is not None:
        place = places_of(table)[name]

        def number(cells: Cells) -> Handle:
            return int(cells[place] or b"0")

        return number
    key = RowKey(0, "PRIMARY", tuple(part_of(table, part) for part in key_parts(table, 0)))

    def ordered(cells: Cells) -> Handle:
        handle = key.of(cells)
        assert handle is not None, "a primary key is never NULL"
        return handle

    return ordered


@cached_by_table
def entry_keys(table: Table) -> tuple[RowKey, ...]:
    """Return the unique keys that have entries, in the order of the table's indexes: all but the handle and those of
    arrays."""
    return tuple(
        RowKey(
            index.id,
            "PRIMARY" if index.primary else index.name,
            tuple(part_of(table, part) for part in index.columns),
            index.unpartitioned,
        )
        for index in table.indexes
        if index.unique and not (index.primary and table.clustered) and not any(map(is_array, index.columns))
    )


def key_parts(table: Table, index_id: int) -> tuple[IndexColumn, ...]:
    """Return the parts of an index, given its id, 0 for the primary key."""
    for index in table.indexes:
        if index.id == index_id or not index_id and index.primary:
            return index.columns
    return tuple(IndexColumn(name) for name in table.primary_key)


def shown_key(table: Table, key: RowKey | None, cells: Cells) -> str:
    """Return the values of a row in a key, the handle for None, as error 1062 shows them (tidb
    pkg/executor/batch_checker.go, formatDataForDupError: values joined by hyphens; pkg/table/tables/tables.go: only a
    handle is cut to the prefixes of its parts)."""
    parts = key_parts(table, key.index_id if key else 0)
    shown = (
        shown_part(table, part, cells)[: part.length if key is None and part.length > 0 else None] for part in parts
    )
    return "-".join(shown)


def shown_part(table: Table, part: IndexColumn, cells: Cells) -> str:
    r"""Return a row's value in a part of a key: all digits of a double, `\xNN` for bytes outside ASCII (tidb
    pkg/types/datum.go, ToString; pkg/kv/error.go, GenKeyExistsErr)."""
    if part.expression:
        text: str | None = as_text(table_expression(table, part.expression))(cells, NO_STATEMENT)
        return "NULL" if text is None else text
    column = columns_by_name(table)[part.name.lower()]
    cell: bytes | None = table_cell(table, column)(cells, NO_STATEMENT)
    if cell is None:
        return "NULL"
    if family(column.type) == "float":
        return f"{Decimal(cell.decode()):f}"
    if family(column.type) == "bit":
        cell = int(cell).to_bytes((column.type.length + 7) // 8, "big")
    elif is_binary(column.type):
        cell = cell.decode().encode("latin-1")
    else:
        return unescaped(cell).decode("utf-8", "replace")
    return "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02X}" for byte in cell)


@cached_by_table
def is_unsigned_handle(table: Table) -> bool:
    """Return whether the handles are unsigned integers."""
    name = row_id_column(table)
    return name is not None and columns_by_name(table)[name.lower()].type.unsigned


@cached_by_table
def handle_writer(table: Table) -> Callable[[Handle], bytes]:
    """Return how TiKV's key has a handle behind the table's prefix, in the order of handles."""
    if has_common_handle(table):
        return bytes
    if is_unsigned_handle(table):
        return lambda handle: handle.to_bytes(8, "big")
    return lambda handle: (handle + SIGN).to_bytes(8, "big")


def handle_bytes(table: Table, handle: Handle) -> bytes:
    """Return a handle as TiKV's key has it behind the table's prefix."""
    return handle_writer(table)(handle)


def row_id(handle: Handle) -> int | None:
    """Return the integer of a handle as 64 signed bits; None for a handle of several columns."""
    if isinstance(handle, bytes):
        return None
    assert isinstance(handle, int)
    return handle - (1 << 64) if handle >= SIGN else handle


def handle_of_bytes(table: Table, data: bytes) -> Handle:
    """Return the handle that `handle_bytes` returns."""
    if has_common_handle(table):
        return data
    number = int.from_bytes(data, "big")
    return number if is_unsigned_handle(table) else number - SIGN


ARRAY = re.compile(
    r"[\s(]*cast\((?P<operand>.*)\s+as\s+(?P<type>\w+)(?:\((?P<length>\d+)\))?\s+array\)[\s)]*", re.I | re.S
)
BOUNDS = {"SIGNED": (-(1 << 63), (1 << 63) - 1), "UNSIGNED": (0, (1 << 64) - 1)}


@dataclass(frozen=True, eq=False)
class ArrayKey:
    """A multi-valued index of a table."""

    table: Table
    index: Index
    place: int
    """The place of the array among the parts of the index."""

    beside: RowKey
    """The other parts of the index."""

    operand: str
    type: str
    length: int

    @property
    def name(self) -> str:
        return self.index.name

    def values(self, cells: Cells, row: int = 1) -> Sequence[object] | None:
        """Return the values of a row in the index's type, None for NULL. Raises SqlError 3903, 3752 or 3907; `row` is the
        row's number in the statement."""
        document = table_expression(self.table, self.operand)
        if document.kind != "json":
            raise not_simulated(f"index {self.name} of an array that is no JSON; accepted: one of a JSON column")
        shown = as_text(document)(cells, NO_STATEMENT)
        if shown is None:
            return None
        content = json.loads(shown)
        if isinstance(content, dict):
            raise sql_error(1235, "CAST-ing JSON OBJECT type to array")
        return [self._value(each, row) for each in (content if isinstance(content, list) else [content])]

    def _value(self, content: object, row: int) -> object:
        match self.type:
            case "SIGNED" | "UNSIGNED" if isinstance(content, int) and not isinstance(content, bool):
                low, high = BOUNDS[self.type]
                if not low <= content <= high:
                    raise sql_error(3752, self.name, row)
                return content
            case "DOUBLE" | "REAL" if isinstance(content, int | float) and not isinstance(content, bool):
                return float(content)
            case "CHAR" if isinstance(content, str):
                if len(content.rstrip(" ")) > self.length:
                    raise sql_error(3907, self.name)
                return content[: self.length].rstrip(" ")
            case "SIGNED" | "UNSIGNED" | "DOUBLE" | "REAL" | "CHAR":
                raise sql_error(3903, self.name)
        raise not_simulated(f"index {self.name} of {self.type} ARRAY; accepted: SIGNED, UNSIGNED, DOUBLE, CHAR")

    def entries(self, cells: Cells, row: int = 1) -> dict[bytes, str]:
        """Return the entries of a row: bytes that are equal for equal values of its key, and the text of each in error
        1062. None for a NULL in its key, which conflicts with no other. Raises SqlError as `values` does."""
        values = self.values(cells, row)
        beside = self.beside.of(cells)
        if values is None or beside is None:
            return {}
        shown = [shown_part(self.table, part, cells) for part in self.index.columns if not is_array(part)]
        return {
            beside + b"\0" + str(value).encode(): "-".join([*shown[: self.place], str(value), *shown[self.place :]])
            for value in values
        }


@cached_by_table
def array_keys(table: Table) -> tuple[ArrayKey, ...]:
    """Return the multi-valued indexes, unique or not: the values of either are checked."""
    found = []
    for index in table.indexes:
        for place, part in enumerate(index.columns):
            if match := ARRAY.fullmatch(part.expression) if is_array(part) else None:
                type, length = match["type"].upper(), int(match["length"] or -1)
                others = tuple(part_of(table, other) for other in index.columns if not is_array(other))
                beside = RowKey(index.id, index.name, others)
                found.append(ArrayKey(table, index, place, beside, match["operand"], type, length))
    return tuple(found)


def duplicate_error(table: Table, entry: tuple[RowKey, bytes] | None, cells: Cells) -> SqlError:
    """Return error 1062 of a row for an entry in a unique index, or None for its handle."""
    if entry is None:
        return sql_error(1062, shown_key(table, None, cells), f"{table.name}.PRIMARY")
    key, value = entry
    array = next((each for each in array_keys(table) if each.beside is key), None)
    shown = shown_key(table, key, cells) if array is None else array.entries(cells)[value]
    return sql_error(1062, shown, f"{table.name}.{key.name}")


Entries = Callable[[Cells, int], list[tuple[RowKey, bytes]]]
"""Returns the entries of a row in unique indexes, given its number in the statement."""


@cached_by_table
def entries_of(table: Table) -> Entries:
    """Return how rows have their entries in unique indexes, in the order of `entry_keys`, those of arrays behind. It raises
    SqlError for values that an array's index does not take."""
    keys, arrays = entry_keys(table), array_keys(table)
    if not keys and not arrays:
        return lambda cells, row: []

    def entries(cells: Cells, row: int) -> list[tuple[RowKey, bytes]]:
        found = [(key, value) for key in keys if (value := key.of(cells)) is not None]
        for array in arrays:
            values = array.entries(cells, row)
            if array.index.unique:
                found += [(array.beside, value) for value in values]
        return found

    return entries


def encode_key(table: Table, key: UniqueKey, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return the bytes of a key for each row, null for a key with NULL. `texts` has all visible columns."""
    parts = [_encode_part(table, column, texts) for column in key.columns]
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, b"")


def _encode_part(table: Table, part: IndexColumn, texts: Mapping[str, pa.Array]) -> pa.Array:
    if part.expression:
        names, rows = needed_columns(table, [part.expression]), len(next(iter(texts.values())))
        return pa.array(over_columns(table, part_of(table, part), names, texts, rows), pa.binary())
    column = columns_by_name(table)[part.name.lower()]
    return raw(encode_index_column(column.type, part.length, column_cells(table, column, texts)))


def column_cells(table: Table, column: Column, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return the TiDB text of a column; a virtual column is computed if `texts` lacks it."""
    if column.name in texts:
        return texts[column.name]
    evaluate, rows = table_cell(table, column), len(next(iter(texts.values())))
    cells = over_columns(
        table, lambda row: evaluate(row, NO_STATEMENT), needed_columns(table, (), [column.name]), texts, rows
    )
    return pa.array(cells, pa.binary())
