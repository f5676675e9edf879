"""The times of rows that have to change in some order, found while tasks read, on Spark.

Tasks tell the driver what each changed row loses and gets, and ask it for the times before they compare, when Spark
has run all tasks that read. Of the rows in Spark's order some wait until others have changed, and an UPDATE may
become two rows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from io import BufferedIOBase
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from pyspark import Accumulator
from pyspark.sql import DataFrame, SparkSession

from simulator.channel import DriverAddress, TaskServer
from simulator.columns.change_frame import ROW_CHANGES, by_table, ints
from simulator.engines import stages
from simulator.engines.spark.failures import wrap_errors
from simulator.engines.spark.frames import Batches, ListAccumulator, map_in_arrow
from simulator.engines.spark.master import driver_host
from simulator.engines.tasks import later
from simulator.engines.work import Work
from simulator.errors import DeliveryError, SimulatorError
from simulator.files import disk_errors
from simulator.sources import diff
from simulator.sources.diff import Comparison, FixedTimes
from simulator.sources.precedence import (
    CLAIMS,
    NO_CLAIMS,
    ROLE_BITS,
    claims,
    fixed_times,
    handed_on,
    known_when_read,
    require_few,
)

TIMES = pa.schema([("row_hash", pa.int64()), ("slot", pa.int64())])
"""The times of the rows of a move; the driver answers with a batch for each move."""

HELD = 1 << 21
"""Claims in memory, with about 60 MB."""

BUCKETS = 256
"""Files among which values are divided."""


@dataclass(frozen=True)
class RowOrder:
    """What tasks need for the order of a comparison."""

    told: Accumulator[list[pa.RecordBatch]]
    """Takes claims."""

    driver: DriverAddress
    """Tells the times."""


@contextmanager
def key_order(spark: SparkSession, comparison: Comparison) -> Iterator[RowOrder | None]:
    """Yield what tasks need; None if no table asks for an order. Raises UserError for too many rows that wait, and
    DeliveryError for a full disk."""
    if not comparison.key_order.matters:
        yield None
        return
    times = _Times(comparison)
    told = spark.sparkContext.accumulator(times, ListAccumulator[pa.RecordBatch]())
    server = TaskServer(times.serve, driver_host(str(spark.sparkContext.master)))
    try:
        yield RowOrder(told, server.driver)
    except Exception:
        if times.error is not None:
            raise times.error from None
        raise
    finally:
        server.end()
        times.close()
        told.value = []  # Spark keeps accumulators as long as the process lives.


class ClaimStore:
    """The claims of all rows, in any order, of which only those of values that are handed on need memory: the others are on
    disk."""

    def __init__(self) -> None:
        self._held = [NO_CLAIMS]
        self._files, self._open = ExitStack(), ExitStack()
        self._directory: Path | None = None
        self._writers: dict[int, pa.ipc.RecordBatchStreamWriter] = {}

    def add(self, claims: pa.RecordBatch) -> None:
        """Add claims; raises DeliveryError for a full disk."""
        self._held.append(claims)
        if sum(batch.num_rows for batch in self._held) > HELD:
            self._spill()

    def handed_on(self) -> pa.RecordBatch:
        """Return the claims of values that are handed on; raises UserError if they are too many."""
        if self._directory is None:
            return handed_on(lambda: self._held)
        self._spill()
        self._open.close()
        found = [NO_CLAIMS]
        with disk_errors(self._directory):
            for bucket in sorted(self._writers):
                found.append(handed_on(lambda bucket=bucket: self._parts(bucket)))  # type: ignore[misc]
                require_few(sum(batch.num_rows for batch in found))
        return pa.concat_batches(found)

    def close(self) -> None:
        """Remove the files."""
        self._held.clear()
        self._open.close()
        self._files.close()

    def _spill(self) -> None:
        if self._directory is None:
            self._directory = Path(self._files.enter_context(TemporaryDirectory(prefix="ticdc-sim-")))
        claims, self._held = pa.concat_batches(self._held), [NO_CLAIMS]
        with disk_errors(self._directory):
            for bucket, at in by_table((ints(claims, "value") >> ROLE_BITS) % BUCKETS):
                self._writer(bucket).write_batch(claims.take(pa.array(at)))

    def _writer(self, bucket: int) -> pa.ipc.RecordBatchStreamWriter:
        if bucket not in self._writers:
            file = self._open.enter_context(pa.OSFile(self._file(bucket), "wb"))
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writers[bucket] = self._open.enter_context(pa.ipc.new_stream(file, CLAIMS, options=options))
        return self._writers[bucket]

    def _parts(self, bucket: int) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(self._file(bucket)) as source, pa.ipc.open_stream(source) as file:
            yield from file

    def _file(self, bucket: int) -> str:
        return f"{self._directory}/{bucket}.arrows"


class _Times(list[pa.RecordBatch]):
    """The driver's side."""

    def __init__(self, comparison: Comparison) -> None:
        self.error: SimulatorError | None = None
        self._comparison = comparison
        self._store: ClaimStore | None = ClaimStore()
        self._found: tuple[FixedTimes, ...] = ()
        self._lock = threading.Lock()

    def extend(self, told: Iterable[pa.RecordBatch]) -> None:
        """Add claims; those of tasks that run again, after the times were asked for, are known."""
        with self._lock, self._kept_error():
            for batch in told:
                if self._store is not None:
                    self._store.add(batch)

    def serve(self, request: BufferedIOBase, response: BufferedIOBase) -> None:
        """Tell a task the times, or nothing after an error."""
        found = self._of_all()
        if self.error is None:
            with pa.ipc.new_stream(response, TIMES) as answer:
                for times in found:
                    answer.write_batch(pa.record_batch([times.row_hashes, times.slots], schema=TIMES))

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _of_all(self) -> tuple[FixedTimes, ...]:
        with self._lock, self._kept_error():
            if self._store is not None:
                try:
                    self._found = fixed_times(self._store.handed_on(), self._comparison)
                finally:
                    self.close()
        return self._found

    @contextmanager
    def _kept_error(self) -> Iterator[None]:
        try:
            yield
        except SimulatorError as error:
            self.error = error


def claimed(rows: Batches, comparison: Comparison, order: RowOrder | None) -> Batches:
    """Yield rows (PAIRED_ROWS or ROW_DIFFERENCES), and tell the driver what they lose and get, if the order matters."""
    for batch in rows:
        if order is not None and (found := claims(batch, comparison)).num_rows:
            order.told.add([found])
        yield batch


def tell_all(differing: DataFrame, comparison: Comparison, order: RowOrder | None) -> None:
    """Compare everything a first time and tell the driver what rows (ROW_DIFFERENCES) lose and get, if it is not told while
    they are read."""
    if order is None or known_when_read(comparison):
        return

    def told(batches: Batches) -> Batches:
        with wrap_errors():
            for _ in claimed(batches, comparison, order):
                pass
        yield from ()

    # Spark bounds what the tasks of a last stage bring, accumulators included (spark.driver.maxResultSize).
    map_in_arrow(differing, told, pa.schema([("nothing", pa.int8())])).repartition(1).collect()


def in_order(comparison: Comparison, order: RowOrder | None) -> Comparison:
    """Return the comparison with the times of rows that have to change in some order; for tasks that Spark runs when those
    that tell the driver what rows lose and get have ended."""
    return comparison if order is None else replace(comparison, fixed=times_of(order.driver))


@lru_cache(1)
def times_of(driver: DriverAddress) -> tuple[FixedTimes, ...]:
    """Return the same times alone, for each move."""
    try:
        with driver.connect() as connection, connection.makefile("rb") as stream, pa.ipc.open_stream(stream) as answer:
            return tuple(FixedTimes(*(np.array(ints(batch, name)) for name in TIMES.names)) for batch in answer)
    except (OSError, pa.ArrowInvalid) as error:
        raise DeliveryError(f"a task of Spark lost its connection to the driver: {error}") from error


class OrderedRows:
    """What tasks make of the rows (ROW_CHANGES with op and rank) that Spark has ordered."""

    def __init__(self, work: Work, order: RowOrder | None) -> None:
        self.rules = work.rules
        self._clock, self._order = work.comparison.clock, order and order.driver
        self._filtered, self._waits = work.shuffles == 2, work.waits

    def changes(self, batches: Batches) -> Batches:
        """Yield the changes that are sent, those of one batch in any order."""
        yield from (self._changes(batch) for batch in batches if batch.num_rows)

    def in_order(self, batches: Batches) -> Batches:
        """Return the changes in the order in which they are sent."""
        if self._filtered or not self._waits:
            return self.changes(batches)
        if self._order is not None:
            times_of(self._order)  # It may refuse them, before anything is sent.
        rows = (batch for batch in batches if batch.num_rows)
        return later.in_order((later.key_of(batch, -1), self._changes(batch)) for batch in rows)

    def _changes(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._filtered:
            return batch
        if not self._waits:
            return stages.filter_rows(batch, self.rules)
        if self._order is not None:
            batch = diff.at_fixed_times(batch, self._clock, times_of(self._order))
        return stages.filter_and_split(batch.select(ROW_CHANGES.names), self.rules)
