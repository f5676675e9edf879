"""Resolves the tables, columns and partitions that a statement names, before it looks at any row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SqlError
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import ROW_ID, Column, Table, row_id_column
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.definitions import TableName

Mask = npt.NDArray[np.bool_]

SYSTEM_DATABASES = ("INFORMATION_SCHEMA", "METRICS_SCHEMA", "PERFORMANCE_SCHEMA", "mysql")
"""The databases of every TiDB. Only the first one has tables here."""

MAX_WARNINGS = 64
"""The number of warnings that TiDB keeps of a statement (max_error_count)."""


def is_system_database(name: str) -> bool:
    return name.lower() in (database.lower() for database in SYSTEM_DATABASES)


def resolve_table(upstream: Upstream, named: TableName, verb: str) -> Table:
    """Return the table that a statement writes to; `verb` is TiDB's word in the error for a view: `insert into`.

    Raises SqlError 1046, 1146, and 1105 for a view or a sequence (tidb pkg/planner/core/planbuilder.go, buildInsert).
    """
    schema = named.schema or upstream.session.database
    if not schema:
        raise sql_error(1046)
    place = object_key(schema, named.name)
    table = upstream.catalog.tables.get(place)
    if table is None:
        for kind, objects in (("view", upstream.catalog.views), ("sequence", upstream.catalog.sequences)):
            if place in objects:
                if verb == "UPDATE":
                    raise sql_error(1288, named.name, verb)
                raise sql_error(1105, f"{verb} {kind} {named.name} is not supported now")
        raise sql_error(1146, schema, named.name)
    return table


def resolve_columns(table: Table, names: Sequence[str]) -> list[Column]:
    """Return the columns of INSERT's list. Raises SqlError 1054, 1110, and 1105 for `_tidb_rowid`."""
    columns, resolved = columns_by_name(table), list[Column]()
    column_names = [name for name in names if not is_row_id(name, table)]
    for name in column_names:
        column = columns.get(name.lower())
        if column is None:
            raise sql_error(1054, name, "field list")
        if column in resolved:
            raise sql_error(1110, column.name)
        resolved.append(column)
    if len(column_names) < len(names):
        raise row_id_write_error()
    return resolved


def is_row_id(name: str, table: Table) -> bool:
    """Return whether an assigned column is `_tidb_rowid` (tidb pkg/table/column.go, FindCols)."""
    return name.lower() == ROW_ID and row_id_column(table) is None


def row_id_write_error() -> SqlError:
    return sql_error(1105, f"insert, update and replace statements for {ROW_ID} are not supported")


def resolve_partitions(table: Table, names: Sequence[str]) -> list[int]:
    """Return the ordinals of the partitions in PARTITION (…). Raises SqlError 1735 and 1747."""
    rule = table.partitioning
    if rule is None:
        raise SqlError(1747, "HY000", "PARTITION () clause on non partitioned table")
    ordinals = {partition.name.lower(): place for place, partition in enumerate(rule.partitions)}
    for name in names:
        if name.lower() not in ordinals:
            raise sql_error(1735, name, table.name)
    return [ordinals[name.lower()] for name in names]


@dataclass(frozen=True)
class Warnings:
    """The warnings of a statement as SHOW WARNINGS prints them, at most MAX_WARNINGS."""

    texts: tuple[str, ...] = ()

    def also(self, *errors: SqlError) -> Warnings:
        room = max(MAX_WARNINGS - len(self.texts), 0)
        return Warnings((*self.texts, *(warning_text(error) for error in errors[:room])))


def warning_text(error: SqlError) -> str:
    """Return a warning as SHOW WARNINGS prints it: `1062 Duplicate entry …`."""
    return f"{error.number} {str(error).partition(': ')[2]}"


def mask_places(mask: Mask) -> pa.Array:
    """Return the positions where a mask is true, as an Arrow array."""
    return pa.array(np.flatnonzero(mask))


def first_place(mask: Mask) -> int:
    """Return the first position where a mask is true, or its length if there is none."""
    return int(np.argmax(mask)) if mask.any() else len(mask)


def valid_mask(array: pa.Array) -> Mask:
    mask: Mask = np.asarray(pc.is_valid(array), bool)
    return mask


def differ(before: pa.Array, after: pa.Array) -> Mask:
    """Return where two arrays have other values. Two nulls are equal."""
    equal = pc.fill_null(pc.equal(before, after), pc.and_(before.is_null(), after.is_null()))
    mask: Mask = ~np.asarray(equal, bool)
    return mask
