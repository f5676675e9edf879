"""The plan of a load run: which tables there are, how their rows live and what is in them, which statements come.

One law: a plan that is here can be played: what cannot be is refused when its file is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.settings import Settings
from simulator.sources.generate.model import Model
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.model.table import Table

if TYPE_CHECKING:
    from simulator.sources.generate.values.generators import TableGenerators

ADD_COLUMN, DROP_COLUMN, ADD_INDEX, DROP_INDEX, TRUNCATE = (
    "add-column",
    "drop-column",
    "add-index",
    "drop-index",
    "truncate",
)

STATEMENT_KINDS = (ADD_COLUMN, DROP_COLUMN, ADD_INDEX, DROP_INDEX, TRUNCATE)
"""Of `[[ddl]]`."""

DEFAULT_ROWS_PER_SECOND = 10_000


@dataclass(frozen=True)
class DdlSchedule:
    """Statements that come again and again."""

    every_ms: tuple[int, int]
    """Least and most simulated milliseconds from one to the next; chosen by the seed where they differ."""

    kinds: tuple[str, ...]
    """Out of STATEMENT_KINDS."""

    table: int | None = None
    """Place in `Model.tables`; None for any, chosen by the seed."""

    random: bool = False
    """Whether the kinds are chosen by the seed; otherwise they come in turn."""


@dataclass(frozen=True)
class LoadPlan:
    name: str
    model: Model
    definitions: tuple[str, ...]
    """CREATE TABLE of each of `model.tables`."""

    tables: tuple[TableGenerators, ...]
    """As long as `model.tables`: what their columns hold."""

    catalog: Catalog
    """What there is behind all definitions."""

    statements: tuple[DdlSchedule, ...] = ()
    rows_per_second: int = DEFAULT_ROWS_PER_SECOND
    """Of simulated time, where the rate is as many as there can be."""

    rate: str = "max"
    """As `rates.read` reads it."""

    duration_ms: int | None = None
    """None for no end."""

    settings: Settings = Settings()
    """What the options say, else the file."""

    text: str = ""
    """Of the file."""

    @property
    def created(self) -> tuple[Table, ...]:
        """The definitions of `model.tables`, as long as those."""
        found = (self.catalog.table(table.schema, table.name) for table in self.model.tables)
        return tuple(table for table in found if table is not None)
