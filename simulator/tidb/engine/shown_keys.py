"""The values of a unique key as error 1062 shows them (tidb pkg/executor/batch_checker.go, formatDataForDupError)."""

from __future__ import annotations

from decimal import Decimal

from simulator.columns.cells import unescaped
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.exprs.conversions import as_text
from simulator.tidb.exprs.tables import places_of, table_column, table_expression
from simulator.tidb.model.table import IndexColumn, Table
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name
from simulator.tidb.storage.tables import Cells


def shown_key(context: StatementContext, table: Table, index_id: int, cells: Cells) -> str:
    """Return the values of a row in a key, joined by hyphens; 0 stands for the handle."""
    index = next((each for each in table.indexes if (each.id == index_id if index_id else each.primary)), None)
    parts = tuple(IndexColumn(name) for name in table.primary_key) if index is None else index.columns
    return "-".join(_shown_part(context, table, part, cells) for part in parts)


def _shown_part(context: StatementContext, table: Table, part: IndexColumn, cells: Cells) -> str:
    column = None if part.expression else columns_by_name(table)[part.name.lower()]
    if column is None or column.name not in places_of(table):
        value = table_expression(table, part.expression) if column is None else table_column(table, column)
        text = as_text(value)(cells, context)
        return "NULL" if text is None else str(text)
    cell = cells[places_of(table)[column.name]]
    return "NULL" if cell is None else _shown_cell(column.type, cell)


def _shown_cell(type: ColumnType, cell: bytes) -> str:
    r"""Return a cell as error 1062 prints it: all digits of a double, `\xNN` for bytes outside ASCII (tidb
    pkg/types/datum.go, ToString; pkg/kv/error.go, GenKeyExistsErr)."""
    if family(type) == "float":
        return f"{Decimal(cell.decode()):f}"
    if family(type) == "bit":
        cell = int(cell).to_bytes((type.length + 7) // 8, "big")
    elif is_binary(type):
        cell = cell.decode().encode("latin-1")
    else:
        return unescaped(cell).decode("utf-8", "replace")
    return "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02X}" for byte in cell)
