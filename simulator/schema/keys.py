"""What the protocols ask of a table's keys: the handle key, the flag bits, the row id.

One law: all of it follows from the Table; where releases differ, a field of the Release says so.
"""

from __future__ import annotations

from simulator.releases import Release
from simulator.schema.table import Column, Index, Table
from simulator.schema.types import family, is_unsigned

BINARY, HANDLE_KEY, GENERATED, PRIMARY_KEY, UNIQUE_KEY, MULTIPLE_KEY, NULLABLE, UNSIGNED = (1 << n for n in range(8))
"""Open Protocol's flag bits (tiflow 4.0.5+: cdc/model/sink.go)."""


def visible_columns(table: Table) -> tuple[Column, ...]:
    """The columns that rows on the wire have, in table order: all but the virtual generated ones."""
    return tuple(column for column in table.columns if column.generated != "virtual")


def handle_key(table: Table) -> tuple[str, ...]:
    """Names of the columns that identify a row, in key order; empty where no key does.

    The primary key, else of the unique keys without a nullable or virtual column the one with the fewest columns, then
    the lowest id (tiflow: cdc/model/schema_storage.go, findHandleIndex).
    """
    if table.primary_key:
        return table.primary_key
    index = handle_index(table)
    return tuple(column.name for column in index.columns) if index else ()


def handle_index(table: Table) -> Index | None:
    """The index that identifies a row; None where the clustered integer primary key does, or nothing."""
    for index in table.indexes:
        if index.primary:
            return index
    if table.primary_key:
        return None
    certain = {column.name for column in visible_columns(table) if column.not_null}
    candidates = [
        index for index in table.indexes if index.unique and all(column.name in certain for column in index.columns)
    ]
    return min(candidates, key=lambda index: (len(index.columns), index.id), default=None)


def row_id_column(table: Table) -> str | None:
    """The clustered primary key of one integer column, whose value is the row id; None for every other table."""
    if not table.clustered or len(table.primary_key) != 1:
        return None
    name = table.primary_key[0]
    return name if any(column.name == name and family(column.type) == "integer" for column in table.columns) else None


def common_handle(table: Table) -> bool:
    """Whether rows are stored under a primary key that is not one integer: they have no row id."""
    return table.clustered and row_id_column(table) is None


def flags(table: Table, release: Release) -> dict[str, int]:
    """Open Protocol's `"f"` of every column, virtual ones included, by name
    (tiflow: cdc/model/schema_storage.go, initColumnsFlag)."""
    bits = {column.name: own_bits(column) for column in table.columns}
    row_id = row_id_column(table)
    for name in table.primary_key:
        bits[name] |= PRIMARY_KEY | (HANDLE_KEY if name == row_id else 0)
    handle = handle_index(table)
    for index in table.indexes:
        add_index_bits(bits, index, handle is index, release)
    return bits


def own_bits(column: Column) -> int:
    """The bits that a column has by itself."""
    return (
        BINARY * (column.type.charset == "binary")
        | GENERATED * bool(column.generated)
        | NULLABLE * (not column.not_null)
        | UNSIGNED * is_unsigned(column.type)
    )


def add_index_bits(bits: dict[str, int], index: Index, handle: bool, release: Release) -> None:
    """Adds the bits that an index gives its columns; hidden columns of a functional index are not in `bits`."""
    several = len(index.columns) > 1
    shared = HANDLE_KEY * handle | MULTIPLE_KEY * several
    shared |= PRIMARY_KEY * index.primary
    shared |= UNIQUE_KEY * (index.unique and (not index.primary or release.primary_is_unique))
    for place, column in enumerate(index.columns):
        if column.name in bits:
            bits[column.name] |= shared | MULTIPLE_KEY * (place == 0 and not index.unique)


def primary_key_names(table: Table, release: Release) -> tuple[str, ...]:
    """Canal's pkNames: the columns with the PrimaryKey bit, in table order."""
    bits = flags(table, release)
    return tuple(column.name for column in visible_columns(table) if bits[column.name] & PRIMARY_KEY)
