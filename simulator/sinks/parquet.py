"""Fixtures as Parquet, with the columns of Spark's Kafka source, for a consumer's job to read in place of Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simulator.sinks.file_settings import FileSettings
from simulator.sinks.records import Delivered, Records, by_partition, sizes
from simulator.sinks.tally import Tallies

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


class ParquetFiles:
    """Holds one open file for each partition."""

    def __init__(self, settings: FileSettings, topics: Sequence[str]) -> None:
        self._settings = settings
        self._topics = list(topics)
        self._writers: dict[tuple[int, int], pq.ParquetWriter] = {}
        self._tallies = Tallies()

    @property
    def failed(self) -> bool:
        """Whether the disk refused a file."""
        return self._tallies.failed

    def write(self, records: Records) -> None:
        """Appends the records as a row group of their partition's file."""
        for run in by_partition(records):
            place, rows = (run.topic, run.partition), run.records
            tally = self._tallies[place]
            if tally.error is not None:
                continue
            offset, topic = tally.next_offset or 0, self._topics[run.topic]
            path = self._settings.path(topic, run.partition)
            try:
                self._writer(place, path).write_table(table(rows, topic, run.partition, offset))
            except OSError as error:
                tally.error = self._settings.refusal(self._topics[run.topic], run.partition, error)
                continue
            size = int(sizes(rows.key).sum() + sizes(rows.value).sum())
            tally.delivered(len(rows.value), size, offset, rows.commit_ts[-1].as_py())

    def accounts(self) -> list[Delivered]:
        """What has been delivered so far."""
        return self._tallies.accounts()

    def close(self) -> list[Delivered]:
        """Completes the files."""
        for place, writer in self._writers.items():
            try:
                writer.close()
            except OSError as error:
                self._tallies[place].error = self._settings.refusal(self._topics[place[0]], place[1], error)
        self._writers.clear()
        return self._tallies.accounts()

    def _writer(self, place: tuple[int, int], path: Path) -> pq.ParquetWriter:
        if place not in self._writers:
            path.parent.mkdir(exist_ok=True)
            self._writers[place] = pq.ParquetWriter(path, SCHEMA)
        return self._writers[place]


def table(records: Records, topic: str, partition: int, offset: int) -> pa.Table:
    """The records of one partition, the first of which has that offset, as Spark's Kafka source shows them."""
    count = len(records.value)
    columns = [
        records.key,
        records.value,
        pa.repeat(topic, count),
        records.partition,
        pa.array(np.arange(offset, offset + count)),
        pc.multiply(pc.shift_right(records.commit_ts, 18), 1000).cast(SCHEMA.field("timestamp").type),
        pa.array(np.zeros(count, np.int32)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def empty(path: Path) -> None:
    """The file of a partition without records."""
    pq.write_table(SCHEMA.empty_table(), path)
