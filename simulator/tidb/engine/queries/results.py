"""What a client is told of a query's columns, and sent of their values."""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.engine.scopes.scope import Field
from simulator.tidb.engine.sessions.result_columns import ResultColumn, table_column, type_flags
from simulator.tidb.expressions.conversions import as_text, with_shown_digits
from simulator.tidb.expressions.expression import Evaluate, Expression, apply, place
from simulator.tidb.expressions.numbers import real_text
from simulator.tidb.expressions.texts import as_blob
from simulator.tidb.functions.elementary import shown
from simulator.tidb.model.table import Table
from simulator.tidb.model.table_keys import cached_by_table
from simulator.tidb.model.types import ColumnType, is_text

TYPES = {
    "bool": ColumnType("tinyint", 1),
    "int": ColumnType("bigint", 20),
    "uint": ColumnType("bigint", 20, unsigned=True),
    "decimal": ColumnType("decimal", 65, 30),
    "real": ColumnType("double"),
    "date": ColumnType("date"),
    "datetime": ColumnType("datetime", decimal=6),
    "time": ColumnType("time", decimal=6),
    "json": ColumnType("json"),
}
"""The type by the kind of a column's values; other kinds are texts."""

SHORT_TEXT = ColumnType("varchar", charset="utf8mb4", collation="utf8mb4_bin")
SHORT_BYTES = ColumnType("varchar", charset="binary", collation="binary")

SHOWN_TYPES = frozenset(
    "tinyint smallint mediumint int bigint decimal date datetime time char varchar tinytext text mediumtext longtext enum"
    " set year".split()
)
"""Types whose cells are what a client is sent, unless they are binary strings."""


def result_column(field: Field) -> ResultColumn:
    """Return a query's column as a client is told of it."""
    shown = field.shown_column
    if shown is None or shown.column is None or shown.base is None:
        type = value_type(field.value)
        return ResultColumn(field.name, type, type_flags(type))
    known, key = _known_columns(shown.base), (field.name, shown.column.name, shown.table)
    if key not in known:
        known[key] = table_column(field.name, shown.column, shown.base, shown.base.schema, shown.table)
    return known[key]


@cached_by_table
def _known_columns(table: Table) -> dict[tuple[str, str, str], ResultColumn]:
    return {}


def value_type(value: Expression) -> ColumnType:
    """Return the type of an expression."""
    if value.kind == "null":
        return ColumnType("null")
    if value.is_year:
        return ColumnType("year", 4)
    if value.kind == "string":
        return SHORT_BYTES if value.is_binary else replace(SHORT_TEXT, collation=value.collation or "utf8mb4_bin")
    if value.is_column and value.column_type is not None:
        return value.column_type
    type = TYPES.get(value.kind, SHORT_TEXT)
    if value.kind == "decimal":
        scale = value.scale if value.shown_scale is None else value.shown_scale
        return replace(type, length=value.digits or 65, decimal=scale)
    return replace(type, decimal=value.scale) if value.kind in ("datetime", "time") else type


def sent(value: Expression, field: Field | None = None) -> Evaluate:
    """Return a value as the server sends it to a client (tidb pkg/server/internal/column/column.go, DumpTextRow), given the
    field that it is read from."""
    if field is not None and field.column is not None and field.slots and field.column.type.name in SHOWN_TYPES:
        cell = place(field.start + field.slots[0])
        if field.column.type.name == "year":
            return apply(lambda year: b"0000" if year == b"0" else year, cell)
        if not is_text(field.column.type):
            return cell
        if not value.is_binary:
            return apply(_sent_text, cell)
    if value.column_type is not None and value.column_type.name == "bit" and value.is_column:
        size = (max(value.column_type.length, 1) + 7) // 8
        return apply(lambda bits: bits.to_bytes(size, "big"), value.evaluate)
    if value.is_binary:
        return as_blob(value)
    if value.kind == "decimal" or value.kind == "real" and value.shown_scale is not None:
        return apply(str.encode, as_text(with_shown_digits(value)))
    if value.kind == "real" and (value.text is None or value.constant is not None):
        return apply(_sent_real, value.evaluate)
    return apply(_encoded, as_text(value))


def _sent_text(cell: bytes) -> bytes:
    """Return the bytes of a text; those that are not UTF-8 are lone surrogates in a cell."""
    return cell if 0xED not in cell else cell.decode("utf-8", "surrogatepass").encode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _sent_real(number: float) -> bytes:
    size = abs(number)
    usual = number == 0 or 1e-15 <= size < 1e15
    return (real_text(number) if usual else shown(repr(number))).encode()
