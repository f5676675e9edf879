"""Fixtures as Parquet, with the columns of Spark's Kafka source, for a consumer's job to read in place of Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simulator.sinks.files.partition_files import PartitionFiles
from simulator.sinks.files.settings import FileSettings
from simulator.sinks.records import Delivered, Records, Run

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
    """Holds one open file for each partition."""

    def __init__(self, settings: FileSettings, topics: Sequence[str]) -> None:
        super().__init__(settings, topics)
        self._writers: dict[tuple[int, int], pq.ParquetWriter] = {}

    def close(self) -> list[Delivered]:
        """Completes the files."""
        for place, writer in self._writers.items():
            try:
                writer.close()
            except OSError as error:
                self._tallies[place].error = self._refusal(*place, error)
        self._writers.clear()
        return super().close()

    def _deliver(self, run: Run, offset: int) -> None:
        place = run.topic, run.partition
        if place not in self._writers:
            self._writers[place] = pq.ParquetWriter(self._path(run), SCHEMA)
        self._writers[place].write_table(table(run.records, self._topics[run.topic], run.partition, offset))


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
