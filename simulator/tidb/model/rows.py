"""What the rows of a table are stored as: which columns they have, and under which row id."""

from __future__ import annotations

from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family


def visible_columns(table: Table) -> tuple[Column, ...]:
    """The columns that rows on the wire have, in table order: all but the virtual generated ones."""
    return tuple(column for column in table.columns if column.generated != "virtual")


def row_id_column(table: Table) -> str | None:
    """The clustered primary key of one integer column, whose value is the row id; None for every other table."""
    if not table.clustered or len(table.primary_key) != 1:
        return None
    name = table.primary_key[0]
    return name if any(column.name == name and family(column.type) == "integer" for column in table.columns) else None


def common_handle(table: Table) -> bool:
    """Whether rows are stored under a primary key that is not one integer: they have no row id."""
    return table.clustered and row_id_column(table) is None
