"""The plan of a load run: its tables, how their rows change, what their columns hold, and the DDL statements.

A plan that cannot be played is refused when its file is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.generate.model import Model
from simulator.settings import Settings
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.model.table import Table

if TYPE_CHECKING:
    from simulator.generate.values.generators import TableGenerators

STATEMENT_KINDS = ("add-column", "drop-column", "add-index", "drop-index", "truncate")
"""The kinds that `[[ddl]]` accepts."""

ADD_COLUMN, DROP_COLUMN, ADD_INDEX, DROP_INDEX, TRUNCATE = STATEMENT_KINDS

DEFAULT_ROWS_PER_SECOND = 10_000


@dataclass(frozen=True)
class DdlSchedule:
    """One `[[ddl]]`: statements at intervals."""

    every_ms: tuple[int, int]
    """The minimum and maximum of simulated milliseconds between two statements. If they differ, the seed chooses."""

    kinds: tuple[str, ...]
    """Out of STATEMENT_KINDS."""

    table: int | None = None
    """The index in `Model.tables`; None for any, chosen by the seed."""

    random: bool = False
    """Whether the seed chooses the kinds; otherwise they take turns."""


@dataclass(frozen=True)
class TimedStatement:
    """A statement of a `[[ddl]]` with a time."""

    at_ms: int
    """Simulated milliseconds since the start of the stream."""

    text: str
    where: str = ""
    """The prefix of messages about it."""


@dataclass(frozen=True)
class LoadPlan:
    name: str
    model: Model
    definitions: tuple[str, ...]
    """The CREATE TABLE of each of `model.tables`."""

    tables: tuple[TableGenerators, ...]
    """What the columns of each of `model.tables` hold."""

    catalog: Catalog
    """The catalog after all definitions."""

    statements: tuple[DdlSchedule, ...] = ()
    timed: tuple[TimedStatement, ...] = ()
    """In the order in which they are played."""

    rows_per_second: int = DEFAULT_ROWS_PER_SECOND
    """Rows a second of simulated time for the rate `max`."""

    rate: str = "max"
    """In the format of `rates.parse_rate`."""

    duration_ms: int | None = None
    """None for no end."""

    settings: Settings = Settings()
    """The settings of the options, else of the file."""

    text: str = ""
    """The text of the file."""

    file: Path | None = None
    """Where it was read."""

    @property
    def created(self) -> tuple[Table, ...]:
        """The table definitions, parallel to `model.tables`."""
        tables = (self.catalog.table(table.schema, table.name) for table in self.model.tables)
        return tuple(table for table in tables if table is not None)
