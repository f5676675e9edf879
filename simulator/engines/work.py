"""The work of an engine: read the snapshots on both sides, compare them, and send the changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.change_frame import PLACED_ROWS, SLICED_ROWS, Ints, by_table, ints
from simulator.engines.stages import RowRules, destinations
from simulator.engines.tasks import TaskReport, TaskSpec
from simulator.engines.tasks.send import FaultPipeline, OnComplete
from simulator.errors import SnapshotError
from simulator.sources.diff import Comparison, OlderRows
from simulator.sources.snapshots import FilePiece, PhysicalTable, TableScan, state_batches
from simulator.ticdc import table_info
from simulator.ticdc.dispatch.destinations import follows_from_handle, follows_from_time
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import ROW_ID, visible_columns
from simulator.tso import FOREVER


@dataclass(frozen=True)
class Work:
    """The work of one run."""

    before: tuple[TableScan, ...]
    after: tuple[TableScan, ...]
    """The tables to read from the snapshots before and after each move."""

    comparison: Comparison
    rules: RowRules
    spec: TaskSpec
    input_bytes: int
    rows: pa.RecordBatch | None = None
    """Changes of scripted SQL (ROW_CHANGES with row_id); None without any."""

    older_rows: OlderRows | None = None
    """The old values of rows that are older than a column; None if they are in the rows."""

    until: int = FOREVER
    """The commit-ts from which on row changes of diffs are not sent."""

    faults: FaultPipeline | None = None
    """The faults of the run; only the engine in process plays them."""

    on_complete: OnComplete | None = None
    """Keeps the checkpoint, in this process. If given, a watermark is sent after everything below it is acknowledged
    and this was called."""

    @cached_property
    def shuffles(self) -> int:
        """How often rows are shuffled: once if a row's partition is known when it is read, else twice. Rows of a partition
        may wait there, but none may come earlier."""
        routes, tables = self.rules.routes, self.rules.tables
        known = (
            self.rows is None
            and not self.spec.barriers
            and not any(self.comparison.changed)
            and not self.needs_shared_commit_ts
            and self.comparison.keyed.all()
            and all(
                follows_from_handle(to, physical.table, physical.row_ids)
                for to, physical in zip(routes, tables, strict=True)
            )
            and self.until == FOREVER
            and not (self.comparison.key_order.matters and self._follows_from_order)
        )
        return 1 if known else 2

    @property
    def _follows_from_order(self) -> bool:
        """Whether the time of a row that has to change in some order may decide on its partition, or be earlier."""
        grows = bool(self.rules.destinations.grown)
        return grows or self.comparison.key_order.moves_earlier or any(map(follows_from_time, self.rules.routes))

    @property
    def waits(self) -> bool:
        """Whether rows that are shuffled once come in another order than it gives them."""
        return self.comparison.key_order.matters or bool(self.rules.splitting.any())

    @property
    def needs_shared_commit_ts(self) -> bool:
        """Whether splitting depends on whether other changes share table and commit-ts."""
        return self.rules.split.several and bool(self.rules.splitting.any())


Engine = Callable[[Work], Sequence[TaskReport]]


def with_row_id(changes: pa.RecordBatch) -> pa.RecordBatch:
    """Return ROW_CHANGES of snapshots, whose row ids are unknown, with row_id."""
    return changes.append_column("row_id", pa.nulls(changes.num_rows, pa.int64()))


@dataclass(frozen=True)
class RowPlacement:
    """Assigns the rows of a comparison to tasks and slices of time."""

    comparison: Comparison
    rules: RowRules
    groups: int = 1
    """Number of tasks that send; task i owns the destinations i, i + groups, i + 2 × groups …."""

    slices: int = 0
    """Number of time slices of each group; 0 if destinations are not known when rows are read."""

    def sides(self, pieces: Iterable[FilePiece]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of pieces of snapshots."""
        return map(self._placed, state_batches(pieces))

    def is_keyed(self, place: Ints) -> npt.NDArray[np.bool_]:
        """Return whether the tables at places have a handle key."""
        return self.comparison.keyed[place % len(self.comparison.tables)]

    def keys(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns that `snapshots.KeyRanges` needs of PLACED_ROWS."""
        move, table = np.divmod(ints(rows, "place"), len(self.comparison.tables))
        return pa.record_batch({"move": move, "table": table, "handle": rows["handle"], "row_hash": rows["row_hash"]})

    def sliced(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return PAIRED_ROWS as SLICED_ROWS: the slices of a group have ascending time."""
        move, table = np.divmod(ints(rows, "place"), len(self.comparison.tables))
        clock, row_hash = self.comparison.clock, ints(rows, "row_hash")
        slots, destination = clock.slots(row_hash, move), np.empty(len(row_hash), np.int64)
        commit_ts = clock.commit_ts(slots, move)
        columns = rows.column("handle"), pc.coalesce(rows.column("after"), rows.column("before"))
        for number, at in by_table(table):
            handles, images = columns if len(at) == len(table) else (each.take(pa.array(at)) for each in columns)
            destination[at] = destinations(images, handles, number, commit_ts[at], self.rules)
        time = (clock.passed[move] + slots) * self.slices // clock.passed[-1]
        slices = pa.array((destination % self.groups * self.slices + time).astype(np.int32))
        return pa.RecordBatch.from_arrays([*rows.columns, slices], schema=SLICED_ROWS)

    def _placed(self, state: pa.RecordBatch) -> pa.RecordBatch:
        move, table, handle = ints(state, "move"), ints(state, "table"), state.column("handle")
        row_hash = self.comparison.clock.row_hashes(table, handle)
        place = (move * len(self.comparison.tables) + table).astype(np.int32)
        columns = [pa.array(row_hash), pa.array(place), handle, state.column("image"), state.column("unaltered")]
        return pa.RecordBatch.from_arrays(columns, schema=PLACED_ROWS)


def duplicate_key_error(physical: PhysicalTable, handle: bytes, image: bytes) -> SnapshotError:
    """Return the error for several rows of a snapshot with the same key."""
    table = physical.table
    if physical.row_ids:
        row_id = table_info.row_ids_of_handles(pa.array([handle], pa.binary()))[0]
        return SnapshotError(
            f"duplicate {ROW_ID} in a snapshot: table {table.schema}.{table.name} has several rows with {ROW_ID}={row_id}"
            f"{' in one partition' if table.partitioning else ''}; it must be unique, as TiDB stores a row under it"
        )
    cells = row_image.named(pa.array([image], pa.binary()), [column.name for column in visible_columns(table)])
    texts = {name: cells[name][0].as_py().decode("utf-8", "backslashreplace") for name in handle_key(table)}
    key = ", ".join(f"{name}={text}" for name, text in texts.items())
    return SnapshotError(
        f"duplicate key in a snapshot: table {table.schema}.{table.name} has several rows with {key}; "
        "a handle key must be unique"
    )
