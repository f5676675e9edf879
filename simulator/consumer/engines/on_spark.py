"""Halves shuffled and sorted by Spark: for streams of any size.

One law: the plan is as large for a thousand tables as for one, and what looks inside a row are functions on batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession

from simulator.consumer.replay.frame import FINDING_SCHEMA, IMAGE_PAIR_SCHEMA, ORDER, ImagePairSource, Report
from simulator.consumer.replay.neighbours import TableKnowledge, check_image_pairs
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
def replay_on_spark(
    spark: SparkSession,
    sources: Sequence[ImagePairSource],
    expected: TableKnowledge,
    show: int,
    tell: Report,
    input_bytes: int,
    frames: Sequence[DataFrame] = (),
) -> list[pa.RecordBatch]:
    """FINDINGS of all sources, and of HALVES in `frames`, together; raises SimulatorError for whatever its tasks found
    wrong with them."""
    for name, setting in SETTINGS.items():
        spark.conf.set(name, setting)
    told = spark.sparkContext.accumulator(list[object](), ListAccumulator())

    def read(batches: Batches) -> Batches:
        with wrap_errors():
            for number in (number for batch in batches for number in batch.column(0).to_pylist()):
                yield from sources[number](lambda value: told.add([value]))

    def look(batches: Batches) -> Batches:
        with wrap_errors():
            yield from check_image_pairs((batch for batch in batches if batch.num_rows), expected, show)

    tasks = max(int(spark.sparkContext.defaultParallelism), input_bytes // BYTES_A_TASK)
    halves = map_in_arrow(spark.range(0, len(sources), 1, max(1, len(sources))), read, IMAGE_PAIR_SCHEMA)
    for frame in frames:
        halves = halves.union(frame)
    ordered = halves.repartition(tasks, "row_hash").sortWithinPartitions(*ORDER)
    found = map_in_arrow(ordered, look, FINDING_SCHEMA).toArrow()
    for value in told.value:
        tell(value)
    batches: list[pa.RecordBatch] = found.cast(FINDING_SCHEMA).to_batches()
    return batches


class ListAccumulator(AccumulatorParam[list[object]]):
    """What the tasks that read have to say."""

    def zero(self, value: list[object]) -> list[object]:
        return []

    def addInPlace(self, value1: list[object], value2: list[object]) -> list[object]:
        return value1 + value2
