"""Halves shuffled and sorted by Spark: for streams of any size.

One law: the plan is as large for a thousand tables as for one, and what looks inside a row are functions on batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession

from simulator.consumer.replay.frame import FINDINGS, HALVES, ORDER, Source, Tell
from simulator.consumer.replay.neighbours import Expected, checked
from simulator.engines.on_spark import map_in_arrow
from simulator.engines.spark.failures import unwrap_errors, wrap_errors

BYTES_A_TASK = 64 << 20
"""Of input whose halves one task sorts; what does not fit into its memory Spark writes to disk."""

BATCH_BYTES = 64 << 20
"""Where a batch of wide rows ends."""

SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(BATCH_BYTES),
}

Batches = Iterator[pa.RecordBatch]


@unwrap_errors()
def run(
    spark: SparkSession,
    sources: Sequence[Source],
    expected: Expected,
    show: int,
    tell: Tell,
    input_bytes: int,
    frames: Sequence[DataFrame] = (),
) -> list[pa.RecordBatch]:
    """FINDINGS of all sources, and of HALVES in `frames`, together; raises SimulatorError for whatever its tasks found
    wrong with them."""
    for name, setting in SETTINGS.items():
        spark.conf.set(name, setting)
    told = spark.sparkContext.accumulator(list[object](), Told())

    def read(batches: Batches) -> Batches:
        with wrap_errors():
            for number in (number for batch in batches for number in batch.column(0).to_pylist()):
                yield from sources[number](lambda value: told.add([value]))

    def look(batches: Batches) -> Batches:
        with wrap_errors():
            yield from checked((batch for batch in batches if batch.num_rows), expected, show)

    tasks = max(int(spark.sparkContext.defaultParallelism), input_bytes // BYTES_A_TASK)
    halves = map_in_arrow(spark.range(0, len(sources), 1, max(1, len(sources))), read, HALVES)
    for frame in frames:
        halves = halves.union(frame)
    ordered = halves.repartition(tasks, "row_hash").sortWithinPartitions(*ORDER)
    found = map_in_arrow(ordered, look, FINDINGS).toArrow()
    for value in told.value:
        tell(value)
    batches: list[pa.RecordBatch] = found.cast(FINDINGS).to_batches()
    return batches


class Told(AccumulatorParam[list[object]]):
    """What the tasks that read have to say."""

    def zero(self, value: list[object]) -> list[object]:
        return []

    def addInPlace(self, value1: list[object], value2: list[object]) -> list[object]:
        return value1 + value2
