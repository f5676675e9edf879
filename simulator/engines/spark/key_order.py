"""The times of rows that have to change in some order, found while tasks read: they tell the driver what each changed row
loses and gets, and ask it for the times before they compare, when Spark has run all tasks that read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from io import BufferedIOBase, BufferedRWPair

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from simulator.channel import DriverAddress, TaskServer
from simulator.columns.change_frame import ints
from simulator.engines.spark.claim_store import ClaimStore
from simulator.engines.spark.driver_host import driver_host
from simulator.engines.spark.failures import wrap_errors
from simulator.engines.spark.frames import Batches, map_in_arrow
from simulator.engines.spark.packed_errors import pack_error, unpack_error
from simulator.errors import DeliveryError, SimulatorError
from simulator.sources.claims import CLAIMS, claims, known_when_read
from simulator.sources.diff import Comparison, FixedTimes
from simulator.sources.handed_on import fixed_times

TELLS, ASKS = b"<", b">"
"""What a task begins with; the claims follow, or the times are answered."""

SIZE_BYTES = 4
"""The size of the size of the driver's answer: an error, or nothing."""

TIMES = pa.schema([("row_hash", pa.int64()), ("slot", pa.int64())])
"""The times of the rows of a move; a batch for each move is answered."""


@contextmanager
def key_order(spark: SparkSession, comparison: Comparison) -> Iterator[DriverAddress | None]:
    """Yield the address for `claimed` and `in_order`; None if no table asks for an order."""
    if not comparison.key_order.matters:
        yield None
        return
    times = _Times(comparison)
    server = TaskServer(times.serve, driver_host(str(spark.sparkContext.master)))
    try:
        yield server.driver
    finally:
        server.close()
        times.close()


class _Times:
    """The driver's side."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._store: ClaimStore | None = ClaimStore()
        self._found: tuple[FixedTimes, ...] = ()
        self._error: SimulatorError | None = None
        self._lock = threading.Lock()

    def serve(self, request: BufferedIOBase, response: BufferedIOBase) -> None:
        """Serve one task. One that was lost is run again, and its claims are then told twice."""
        with suppress(OSError, pa.ArrowInvalid):
            if request.read(1) == TELLS:
                with pa.ipc.open_stream(request) as told:
                    for batch in told:
                        self._add(batch)
                response.write(self._answer())
            else:
                found = self._of_all()
                response.write(self._answer())
                if self._error is None:
                    with pa.ipc.new_stream(response, TIMES) as answer:
                        for times in found:
                            answer.write_batch(pa.record_batch([times.row_hashes, times.slots], schema=TIMES))

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _add(self, told: pa.RecordBatch) -> None:
        """Add claims; those of a second run, after the times were asked for, are known."""
        with self._lock, self._kept_error():
            if self._store is not None:
                self._store.add(told)

    def _of_all(self) -> tuple[FixedTimes, ...]:
        with self._lock, self._kept_error():
            if self._store is not None:
                try:
                    self._found = fixed_times(self._store.handed_on(), self._comparison)
                finally:
                    self._close()
        return self._found

    @contextmanager
    def _kept_error(self) -> Iterator[None]:
        try:
            yield
        except SimulatorError as error:
            self._error = error

    def _answer(self) -> bytes:
        error = self._error
        text = "" if error is None else pack_error(type(error).__name__, str(error))
        return len(text).to_bytes(SIZE_BYTES, "big") + text.encode()


def claimed(rows: Batches, comparison: Comparison, driver: DriverAddress | None) -> Batches:
    """Yield rows (PAIRED_ROWS or ROW_DIFFERENCES), and tell the driver what they lose and get, if there is one."""
    if driver is None:
        yield from rows
        return
    with _connected(driver) as stream:
        with _network():
            stream.write(TELLS)
            told = pa.ipc.new_stream(stream, CLAIMS)
        for batch in rows:
            found = claims(batch, comparison)
            if found.num_rows:
                with _network():
                    told.write_batch(found)
            yield batch
        with _network():
            told.close()
            _check(stream)


def in_order(comparison: Comparison, driver: DriverAddress | None) -> Comparison:
    """Return the comparison with the times of rows that have to change in some order, which the driver tells, if there is
    one; for tasks that Spark runs when those that tell it what rows lose and get have ended."""
    return comparison if driver is None else replace(comparison, fixed=times_of(driver))


def tell_all(differing: DataFrame, comparison: Comparison, driver: DriverAddress | None) -> None:
    """Compare everything a first time and tell the driver what rows (ROW_DIFFERENCES) lose and get, if it is not told while
    they are read."""
    if driver is None or known_when_read(comparison):
        return

    def told(batches: Batches) -> Batches:
        with wrap_errors():
            for _ in claimed(batches, comparison, driver):
                pass
        yield from ()

    map_in_arrow(differing, told, pa.schema([("nothing", pa.int8())])).collect()


@lru_cache(1)
def times_of(driver: DriverAddress) -> tuple[FixedTimes, ...]:
    """Return the same times alone, for each move."""
    with _connected(driver) as stream, _network():
        stream.write(ASKS)
        _check(stream)
        with pa.ipc.open_stream(stream) as answer:
            return tuple(FixedTimes(*(np.array(ints(batch, name)) for name in TIMES.names)) for batch in answer)


@contextmanager
def _connected(driver: DriverAddress) -> Iterator[BufferedRWPair]:
    with _network():
        connection = driver.connect()
    with connection, connection.makefile("rwb") as stream:
        yield stream


@contextmanager
def _network() -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        raise DeliveryError(f"a task of Spark lost its connection to the driver: {error}") from error


def _check(stream: BufferedRWPair) -> None:
    """Read the driver's answer; raise its error."""
    stream.flush()
    size = stream.read(SIZE_BYTES)
    if len(size) < SIZE_BYTES:
        raise OSError("it has ended")
    if error := unpack_error(stream.read(int.from_bytes(size, "big")).decode()):
        raise error
