"""Shuffles and sorts image pairs on Spark, for streams of any size.

The plan does not grow with the number of tables.
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
"""Input whose image pairs one task sorts; Spark spills to disk what does not fit into its memory."""

BATCH_BYTES = 64 << 20
"""Size at which a batch of wide rows ends."""

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
    report: Report,
    input_bytes: int,
    frames: Sequence[DataFrame] = (),
) -> list[pa.RecordBatch]:
    """Return the findings of all sources and of the image pairs in `frames`; raises SimulatorError for errors of its
    tasks."""
    for name, setting in SETTINGS.items():
        spark.conf.set(name, setting)
    reports = spark.sparkContext.accumulator(list[object](), ListAccumulator())

    def read(batches: Batches) -> Batches:
        with wrap_errors():
            for number in (number for batch in batches for number in batch.column(0).to_pylist()):
                yield from sources[number](lambda value: reports.add([value]))

    def check(batches: Batches) -> Batches:
        with wrap_errors():
            yield from check_image_pairs((batch for batch in batches if batch.num_rows), expected, show)

    tasks = max(int(spark.sparkContext.defaultParallelism), input_bytes // BYTES_A_TASK)
    pairs = map_in_arrow(spark.range(0, len(sources), 1, max(1, len(sources))), read, IMAGE_PAIR_SCHEMA)
    for frame in frames:
        pairs = pairs.union(frame)
    ordered = pairs.repartition(tasks, "row_hash").sortWithinPartitions(*ORDER)
    findings = map_in_arrow(ordered, check, FINDING_SCHEMA).toArrow()
    for value in reports.value:
        report(value)
    batches: list[pa.RecordBatch] = findings.cast(FINDING_SCHEMA).to_batches()
    return batches


class ListAccumulator(AccumulatorParam[list[object]]):
    """Collects the reports of the tasks that read."""

    def zero(self, value: list[object]) -> list[object]:
        return []

    def addInPlace(self, value1: list[object], value2: list[object]) -> list[object]:
        return value1 + value2
