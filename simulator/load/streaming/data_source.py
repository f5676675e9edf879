"""Spark's view of a load run: a source whose offsets are simulated time, and a sink whose commit is a watermark.

Each of Spark's Python processes imports this module. Expensive imports are left to the processes that send.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from simulator.load.streaming.connection import DriverConnection, QueryStart

if TYPE_CHECKING:
    from simulator.engines.tasks.task import TaskReport

SCHEMA = pa.schema([("first_ms", pa.int64()), ("end_ms", pa.int64())])

COLUMNS = "first_ms long, end_ms long"


class WindowSource(DataSource):
    """`spark.readStream.format("ticdc-windows")`: one row for each task of a window."""

    @classmethod
    def name(cls) -> str:
        return "ticdc-windows"

    def schema(self) -> str:
        return COLUMNS

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return WindowReader(QueryStart.of(self.options))


class WindowPartition(InputPartition):
    """The window of one task."""

    def __init__(self, first_ms: int, end_ms: int) -> None:
        super().__init__((first_ms, end_ms))


class WindowReader(DataSourceStreamReader):
    """Offsets are milliseconds of simulated time. The run decides the length of the next window."""

    def __init__(self, start: QueryStart) -> None:
        self._start = start

    def initialOffset(self) -> dict[str, int]:
        """Return the position up to which rows are acknowledged."""
        return {"ms": _connection(self._start).ask("begin")}

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]  # as Spark 4.1 has it; 4.2 takes both
        """Wait until the next window is due; return the same offset again if the run is over."""
        return {"ms": _connection(self._start).ask("next")}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return one partition for each task. A task asks the run which part it sends: preferably the one that its
        process had in the last window.
        """
        return [WindowPartition(start["ms"], end["ms"]) for _ in range(self._start.tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        first, end = partition.value
        yield pa.RecordBatch.from_pydict({"first_ms": [first], "end_ms": [end]}, SCHEMA)


class WindowSink(DataSource):
    """`frame.writeStream.format("ticdc-rows")`: tasks send the rows of each window."""

    @classmethod
    def name(cls) -> str:
        return "ticdc-rows"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        return RowWriter(QueryStart.of(self.options))


@dataclass
class TaskCommit(WriterCommitMessage):
    """The report of a task whose rows of a window are all acknowledged."""

    report: bytes
    """A pickled `TaskReport`: Spark's processes need not import it."""


class RowWriter(DataSourceStreamArrowWriter):
    """`write` runs in tasks, `commit` and `abort` next to the driver."""

    def __init__(self, start: QueryStart) -> None:
        self._start = start

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Sends the rows; raises what `failures.wrap_errors` makes of a SimulatorError."""
        from simulator.engines.spark.failures import wrap_errors
        from simulator.load.streaming.sending_task import send_part

        with wrap_errors():
            ends = [end for batch in iterator for end in batch["end_ms"].to_pylist()]
            return TaskCommit(pickle.dumps([send_part(self._start, end) for end in ends]))

    def commit(self, messages: list[Any], batchId: int) -> None:
        """Return when the watermark of the window is acknowledged."""
        _connection(self._start).ask("sent", [message.report for message in messages])

    def abort(self, messages: list[Any], batchId: int) -> None:
        """Report a failed window; the process that started the query sees the error."""
        _connection(self._start).ask("aborted")


def unpickle_reports(messages: Sequence[bytes]) -> list[TaskReport]:
    """Return the reports of the tasks of a window."""
    return [report for message in messages for report in pickle.loads(message)]


@cache
def _connection(start: QueryStart) -> DriverConnection:
    """Return the connection of this process, which Spark uses for all windows."""
    return DriverConnection(start)
