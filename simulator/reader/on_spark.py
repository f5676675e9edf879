"""Checks image pairs on Spark, for streams of any size: by their digests, and those of suspects sorted.

The plan does not grow with the number of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession

from simulator.columns.change_frame import Ints, by_table, ints
from simulator.engines.spark.failures import unwrap_errors, wrap_errors
from simulator.engines.spark.frames import map_in_arrow
from simulator.reader.replay.digests import PIECE_SCHEMA, SETTLED_SCHEMA, Settled, divided, only, settle_pieces
from simulator.reader.replay.frame import FINDING_SCHEMA, IMAGE_PAIR_SCHEMA, ORDER, ImagePairSource, Report
from simulator.reader.replay.neighbours import check_image_pairs, in_order
from simulator.reader.replay.row_rules import TableKnowledge

BYTES_A_TASK = 64 << 20
"""Input whose image pairs one task sorts; Spark spills to disk what does not fit into its memory."""

MOST_PARTS = 1 << 15

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
    if frames or not expected.whole:
        return _check_all_pairs(spark, sources, expected, show, report, input_bytes, frames)
    settled = _settle_digests(spark, sources, expected, report, input_bytes)
    if settled.rows is None:
        return _check_all_pairs(spark, sources, expected, show, ignore_report, input_bytes)
    if not len(settled.rows):
        return settled.counts
    suspects = spark.sparkContext.broadcast(settled.rows)
    looked_at: list[ImagePairSource] = [partial(_pairs_of_suspects, source, suspects) for source in sources]
    return [*settled.counts, *_check_all_pairs(spark, looked_at, expected, show, ignore_report, 0)]


@unwrap_errors()
def read_on_spark(spark: SparkSession, sources: Sequence[ImagePairSource], report: Report) -> None:
    """Let tasks read sources that yield nothing, for what they report; raises SimulatorError for errors of its
    tasks."""
    with _read(spark, sources, IMAGE_PAIR_SCHEMA, report, lambda pairs: pairs) as frame:
        frame.toArrow()


def ignore_report(value: object) -> None:
    """Ignore what a source reports again."""


def _pairs_of_suspects(source: ImagePairSource, suspects: Broadcast[Ints], report: Report) -> Batches:
    return only(source, suspects.value, report)


def _settle_digests(
    spark: SparkSession, sources: Sequence[ImagePairSource], expected: TableKnowledge, report: Report, input_bytes: int
) -> Settled:
    """Check the digests of all sources."""
    tasks = min(max(int(spark.sparkContext.defaultParallelism), input_bytes // BYTES_A_TASK), MOST_PARTS)

    def settle(batches: Batches) -> Batches:
        with wrap_errors():
            yield settle_pieces(batches, expected).packed()

    pieces = _read(spark, sources, PIECE_SCHEMA, report, lambda pairs: divided(pairs, tasks))
    with pieces as frame:
        return Settled.of(map_in_arrow(frame.repartitionById(tasks, "part"), settle, SETTLED_SCHEMA).toArrow())


def _check_all_pairs(
    spark: SparkSession,
    sources: Sequence[ImagePairSource],
    expected: TableKnowledge,
    show: int,
    report: Report,
    input_bytes: int,
    frames: Sequence[DataFrame] = (),
) -> list[pa.RecordBatch]:
    """Check the image pairs of all sources, sorted by Spark."""

    def check(batches: Batches) -> Batches:
        with wrap_errors():
            yield from check_image_pairs((batch for batch in batches if batch.num_rows), expected, show)

    def replay(batches: Batches) -> Batches:
        with wrap_errors():
            yield from replayed_pieces((batch for batch in batches if batch.num_rows), expected, show, parts)

    def check_values(batches: Batches) -> Batches:
        with wrap_errors():
            yield from check_pieces(batches, expected, show)

    tasks = max(int(spark.sparkContext.defaultParallelism), input_bytes // BYTES_A_TASK)
    parts = min(tasks, MOST_PARTS)
    with _read(spark, sources, IMAGE_PAIR_SCHEMA, report, lambda pairs: pairs) as pairs:
        for frame in frames:
            pairs = pairs.union(frame)
        ordered = pairs.repartition(tasks, "row_hash").sortWithinPartitions(*ORDER)
        if expected.replayed:
            pieces = map_in_arrow(ordered, replay, VALUE_PIECE_SCHEMA).repartitionById(parts, "part")
            findings = map_in_arrow(pieces, check_values, FINDING_SCHEMA).toArrow()
        else:
            findings = map_in_arrow(ordered, check, FINDING_SCHEMA).toArrow()
    batches: list[pa.RecordBatch] = findings.cast(FINDING_SCHEMA).to_batches()
    return batches


@contextmanager
def _read(
    spark: SparkSession,
    sources: Sequence[ImagePairSource],
    schema: pa.Schema,
    report: Report,
    convert: Callable[[Batches], Batches],
) -> Iterator[DataFrame]:
    """Yield a frame of what the sources yield, converted; what they report is known at the end."""
    reports = spark.sparkContext.accumulator(list[object](), ListAccumulator())

    def read(batches: Batches) -> Batches:
        with wrap_errors():
            for number in (number for batch in batches for number in batch.column(0).to_pylist()):
                yield from convert(sources[number](lambda value: reports.add([value])))

    yield map_in_arrow(spark.range(0, len(sources), 1, max(1, len(sources))), read, schema)
    for value in reports.value:
        report(value)


class ListAccumulator(AccumulatorParam[list[object]]):
    """Collects the reports of the tasks that read."""

    def zero(self, value: list[object]) -> list[object]:
        return []

    def addInPlace(self, value1: list[object], value2: list[object]) -> list[object]:
        return value1 + value2


VALUE_PIECE_SCHEMA = pa.schema([("part", pa.int32()), ("findings", pa.binary()), ("pairs", pa.binary())])
"""Findings of rows, or image pairs of the values in a part, in Arrow's format of messages. A task that replays rows finds
which values they leave and take, and not what rows of other tasks have to do with these."""


def replayed_pieces(
    pairs: Iterable[pa.RecordBatch], expected: TableKnowledge, show: int, parts: int
) -> Iterator[pa.RecordBatch]:
    """Check sorted image pairs of rows; yield the findings, and the image pairs of values in one of so many parts each."""
    values = [pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)]
    for findings in check_image_pairs(pairs, expected, show, values.append):
        yield _piece(0, findings=findings)
    rows = pa.concat_batches(values)
    part = (ints(rows, "row_hash").view(np.uint64) >> np.uint64(32)) % np.uint64(parts)
    for number, at in by_table(part.astype(np.int64)):
        yield _piece(number, pairs=rows.take(pa.array(at)))


def check_pieces(pieces: Iterable[pa.RecordBatch], expected: TableKnowledge, show: int) -> Iterator[pa.RecordBatch]:
    """Yield the findings of a part (VALUE_PIECE_SCHEMA): those of rows, and of its values."""
    pairs = [pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)]
    for piece in pieces:
        yield from (_unpacked(each, FINDING_SCHEMA) for each in piece.column("findings").drop_null())
        pairs += (_unpacked(each, IMAGE_PAIR_SCHEMA) for each in piece.column("pairs").drop_null())
    yield from check_image_pairs(in_order(pa.concat_batches(pairs)), expected, show)


def _piece(part: int, **columns: pa.RecordBatch) -> pa.RecordBatch:
    packed = {name: batch.serialize().to_pybytes() for name, batch in columns.items()}
    return pa.RecordBatch.from_pylist([{"part": part, **packed}], VALUE_PIECE_SCHEMA)


def _unpacked(packed: pa.Scalar, schema: pa.Schema) -> pa.RecordBatch:
    return pa.ipc.read_record_batch(packed.as_buffer(), schema)
