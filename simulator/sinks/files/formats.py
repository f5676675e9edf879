"""Formats of fixture files, one file for each Kafka partition: lines of JSON, or Parquet.

Offsets start at 0. A timestamp is the physical time of the record's last TSO. In JSON, key and value are base64 or
null.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.sinks.files import FileSettings
from simulator.sinks.memory import SynchronousSink
from simulator.sinks.records import (
    DeliveryReport,
    PartitionCounter,
    PartitionRecords,
    Records,
    WaitListener,
    ignore_waiting,
)
from simulator.ticdc.codecs.binary import base64

if TYPE_CHECKING:
    import pyarrow.parquet as pq


class PartitionFiles(SynchronousSink):
    """Base of the file formats."""

    _settings: FileSettings

    def _path(self, run: PartitionRecords) -> Path:
        """Return the path of the partition's file, creating its directory; raise OSError."""
        path = self._settings.path(self._topics[run.topic], run.partition)
        path.parent.mkdir(exist_ok=True)
        return path

    def _refusal(self, topic: int, partition: int, error: OSError) -> str:
        return self._settings.refusal(self._topics[topic], partition, error)


class JsonLines(PartitionFiles):
    """Appends to one file for each partition; keeps none of them open."""

    def __init__(self, settings: FileSettings, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> None:
        super().__init__(settings, topics)
        self._written_sizes: dict[Path, int] = {}
        """How many bytes files had when they were last written to."""

    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        path = self._path(run)
        with path.open("ab") as file:
            file.write(lines(run.records, offset))
            self._written_sizes[path] = file.tell()

    def _offset(self, run: PartitionRecords, tally: PartitionCounter) -> int:
        path = self._path(run)
        if not self._settings.shared or self._size(path) == self._written_sizes.get(path, 0):
            return super()._offset(run, tally)
        return next_offset(path)

    def _size(self, path: Path) -> int:
        return path.stat().st_size if path.exists() else 0


OFFSET = re.compile(rb'\{"offset": (\d+), ')

TAIL = 1 << 16


def next_offset(path: Path) -> int:
    """Return the offset after the last line of a file; raise OSError."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        length = min(size, TAIL)
        while length:
            file.seek(size - length)
            tail = file.read(length)
            start = tail.rfind(b"\n", 0, -1) + 1
            if start or length == size:
                break
            length = min(size, 4 * length)
    if not length:
        return 0
    last = OFFSET.match(tail, start)
    if last is None:
        raise OSError("its last line is not one of a fixture")
    return int(last[1]) + 1


def lines(records: Records, offset: int) -> memoryview:
    """Return the lines of one partition's records, the first of which has that offset."""
    number = pa.array(np.arange(offset, offset + len(records.value)))
    events = records.events if records.events is not None else pa.scalar("[]", pa.large_string())
    fields = [
        '{"offset": ', number, ', "timestamp": ', pc.shift_right(records.commit_ts, tso.LOGICAL_BITS),
        ', "key": ', _quoted(records.key), ', "value": ', _quoted(records.value),
        ', "events": ', events, "}\n",
    ]  # fmt: skip
    return _bytes(pc.binary_join_element_wise(*(_text(field) for field in fields), _text("")))


def _quoted(column: pa.Array) -> pa.Array:
    quoted = pc.binary_join_element_wise(_text('"'), _text(base64(column)), _text('"'), _text(""))
    return quoted.fill_null("null") if column.null_count else quoted


def _text(field: str | pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    return pa.scalar(field, pa.large_string()) if isinstance(field, str) else field.cast(pa.large_string())


def _bytes(column: pa.Array) -> memoryview:
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    return memoryview(column.buffers()[2])[int(offsets[0]) : int(offsets[-1])]


SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
    ]
)
"""docs.spark.apache.org, Structured Streaming + Kafka; timestampType 0 is CreateTime."""


class ParquetFiles(PartitionFiles):
    """Keeps one open file for each partition."""

    def __init__(self, settings: FileSettings, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> None:
        super().__init__(settings, topics)
        self._writers: dict[tuple[int, int], pq.ParquetWriter] = {}

    def close(self) -> list[DeliveryReport]:
        """Complete the files."""
        for place, writer in self._writers.items():
            try:
                writer.close()
            except OSError as error:
                self._counters[place].error = self._refusal(*place, error)
        self._writers.clear()
        return super().close()

    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        import pyarrow.parquet as pq  # it takes long, and few runs write it

        place = run.topic, run.partition
        if place not in self._writers:
            self._writers[place] = pq.ParquetWriter(self._path(run), SCHEMA, compression="lz4", use_dictionary=False)
        self._writers[place].write_table(table(run.records, self._topics[run.topic], run.partition, offset))


def table(records: Records, topic: str, partition: int, offset: int) -> pa.Table:
    """Return one partition's records, the first of which has that offset, in the form of Spark's Kafka source."""
    count = len(records.value)
    columns = [
        records.key,
        records.value,
        pa.repeat(topic, count),
        records.partition,
        pa.array(np.arange(offset, offset + count)),
        pc.multiply(pc.shift_right(records.commit_ts, tso.LOGICAL_BITS), 1000).cast(SCHEMA.field("timestamp").type),
        pa.array(np.zeros(count, np.int32)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def write_empty(path: Path) -> None:
    """Write the file of a partition without records."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(SCHEMA.empty_table(), path)
    else:
        path.touch()
