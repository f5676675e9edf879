"""What an engine is asked to do: read two sides, compare them, send what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from simulator.errors import SnapshotError
from simulator.run.emit import Job, TaskReport
from simulator.run.stages import Comparison, Rules
from simulator.sources.snapshots import Reading
from simulator.ticdc.dispatch import known_when_read
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Table, visible_columns


@dataclass(frozen=True)
class Work:
    """One run."""

    before: tuple[Reading, ...]
    after: tuple[Reading, ...]
    """The tables to read of the snapshots on either side of each move."""

    comparison: Comparison
    rules: Rules
    job: Job
    input_bytes: int

    @cached_property
    def shuffles(self) -> int:
        """1 where the partition that a row goes to is known when it is read, so that comparing and sending are one
        task; otherwise 2."""
        routes, tables = self.rules.routes, self.rules.tables
        known = (
            not self.job.barriers
            and not any(self.comparison.changed)
            and not self.rules.splitting.any()
            and self.comparison.keyed.all()
            and all(known_when_read(to, physical.table) for to, physical in zip(routes, tables, strict=True))
        )
        return 1 if known else 2

    @property
    def asks_beside(self) -> bool:
        """Whether it matters which changes have others of their table and commit-ts."""
        return self.rules.split.several and bool(self.rules.splitting.any())


Engine = Callable[[Work], Sequence[TaskReport]]


def duplicate(table: Table, image: bytes) -> SnapshotError:
    """The error of rows of a snapshot that have one key."""
    cells = dict(zip((column.name for column in visible_columns(table)), image.split(b"\xff"), strict=True))
    key = ", ".join(f"{name}={cells[name].decode('utf-8', 'backslashreplace')}" for name in handle_key(table))
    return SnapshotError(
        f"duplicate key in a snapshot: table {table.schema}.{table.name} has several rows with {key}; "
        "a handle key must be unique"
    )
