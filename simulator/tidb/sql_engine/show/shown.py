"""What SHOW statements show: columns with their types, and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.sql_engine.system_tables.definitions import Row, SystemTable, column_type
from simulator.tidb.syntax.show import Show

Shown = Callable[[Show, str, Upstream, int], SystemTable]
"""Returns what a statement shows, from the statement, its text, the upstream and the time. Raises SqlError."""

SCHEMA, NAME = "show", "rows"


def shown(names: Iterable[str], rows: Iterable[Row], types: dict[str, str] | None = None) -> SystemTable:
    """Return rows under names; columns are VARCHAR unless `types` has another type."""
    columns = tuple(Column(name, column_type((types or {}).get(name, "varchar"))) for name in names)
    return SystemTable(Table(SCHEMA, NAME, columns), list(rows))
