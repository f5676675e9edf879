"""What SHOW statements show: columns with their types, and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.system_tables.definitions import Row, column_type
from simulator.tidb.model.table import Column, Table
from simulator.tidb.syntax.session import Show


class Shown(NamedTuple):
    """Rows under columns."""

    table: Table
    rows: Sequence[Row]


ShowKind = Callable[[Show, str, StatementContext], Shown]
"""Returns what a statement shows, from the statement and its text. Raises SqlError."""


def shown(names: Iterable[str], rows: Iterable[Row], types: dict[str, str] | None = None) -> Shown:
    """Return rows under names; columns are VARCHAR unless `types` has another type."""
    columns = tuple(Column(name, column_type((types or {}).get(name, "varchar"))) for name in names)
    return Shown(Table("show", "rows", columns), list(rows))
