"""Columns that classic TiCDC mistakes for others in Simple, because it sorts the columns of a table by their ids.

BOOTSTRAP sorts the very columns that later rows of its schema version are encoded with, and places are those from before.
From 8.0 on a value is under the name of the column that is at its place then; Avro takes the type from there, too. In
7.5.2 to 7.5.7 names are right, and types may be of other columns, behind a virtual column even without a BOOTSTRAP. It
shows where columns are not in the order of their ids, as after ADD COLUMN … FIRST.

Sources: tiflow v7.5.7, v8.0.0: pkg/sink/codec/simple/message.go newTableSchema, formatColumns; avro.go collectColumns;
cdc/model/schema_storage.go GetColumnInfo; cdc/entry/mounter.go datum2Column; recordings of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.table_info import cached_by_columns, visible_columns
from simulator.tidb.model import types
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import ColumnType


class EncodedAs(NamedTuple):
    """How a column of a row is encoded."""

    name: str
    type: ColumnType
    """The type that TiCDC takes it for."""


@cached_by_columns
def encoded_as(table: Table, told: int, in_avro: bool, release: Release) -> Mapping[str, EncodedAs]:
    """Return how the visible columns are encoded, by name; `told` is that of `RowChanges`.

    Raise EncodeError for a column at whose type TiCDC crashes.
    """
    every, visible = table.columns, visible_columns(table)
    found = {column.name: EncodedAs(column.name, column.type) for column in visible}
    if release.simple_sorted == "":
        return found
    by_types = release.simple_sorted == "types"
    # there rows have their types in Avro before the BOOTSTRAP of their transaction is made
    is_sorted = told > (by_types and in_avro)
    taken = sorted(every, key=lambda column: column.id) if is_sorted else list(every)
    for number, column in enumerate(visible):
        if not by_types:
            other = taken[every.index(column)]
            found[column.name] = EncodedAs(other.name, other.type if in_avro else column.type)
        elif in_avro:
            found[column.name] = EncodedAs(column.name, every[taken.index(column)].type)
        else:
            found[column.name] = EncodedAs(column.name, taken[number].type)
        _check(column.type, found[column.name].type, in_avro, f"{table.schema}.{table.name}.{column.name}", release)
    return found


def may_be_mistaken(table: Table, release: Release) -> bool:
    """Return whether TiCDC may take columns of a table for others."""
    ids = [column.id for column in table.columns]
    has_virtual = len(visible_columns(table)) < len(ids)
    return bool(release.simple_sorted) and (ids != sorted(ids) or release.simple_sorted == "types" and has_virtual)


def value_kind(type: ColumnType) -> str:
    """Return what a value is in TiCDC: `bytes` of texts and byte strings, `number`, or `text` of all others."""
    if types.family(type) in ("string", "text"):
        return "bytes"
    return "number" if types.family(type) in ("integer", "float", "year", "bit", "enum", "set") else "text"


def has_binary_flag(type: ColumnType) -> bool:
    """Return whether TiDB marks the type as binary, and TiCDC its bytes therefore (tidb v8.0.0: pkg/ddl/ddl_api.go
    processColumnFlags)."""
    family = types.family(type)
    return family in ("date", "datetime", "time", "json") or family in ("string", "text") and types.is_binary(type)


def _check(own: ColumnType, taken: ColumnType, in_avro: bool, column: str, release: Release) -> None:
    kind, family = value_kind(own), types.family(taken)
    if in_avro:
        number = types.exceeds_int64(taken)
        unsigned = own.unsigned and types.family(own) == "integer" or types.family(own) in ("bit", "enum", "set")
        crashes = taken.name == "timestamp" and kind != "text" or number and not unsigned
    else:
        crashes = family in ("bit", "enum", "set") and kind == "bytes"
    if crashes:
        raise EncodeError(
            f"panic: interface conversion: TiCDC {release.name} takes {column} for a {taken.name} in Simple, once it has "
            "sorted the table's columns by their ids"
        )
