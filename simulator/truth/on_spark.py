"""Writes a truth with Spark tasks, each into files of its own.

A task holds one batch of rows in memory. Spark's plan does not grow with the number of tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from simulator.engines.on_spark import INPUT_BYTES_A_TASK, SETTINGS, differing_rows, pair_images, snapshot_rows
from simulator.engines.spark.failures import unwrap_errors, wrap_errors
from simulator.engines.spark.frames import Batches, SharedValues, map_in_arrow, value_by_number
from simulator.engines.spark.key_order import RowOrder, in_order, key_order, tell_all
from simulator.engines.work import RowPlacement
from simulator.files import disk_errors
from simulator.sources import snapshots
from simulator.tidb.model.table import Table
from simulator.truth.between_snapshots import BetweenSnapshots, rows_at
from simulator.truth.directory import ROWS, TruthFiles, write_rows
from simulator.truth.expected_rows import ExpectedRows

BYTES_A_FILE = 64 << 20
"""Bytes of a table's input for each file of the truth."""

WRITTEN_ROWS = pa.schema([("table", pa.int32()), ("rows", pa.int64())])


@unwrap_errors()
def write(spark: SparkSession, expected: ExpectedRows, files: TruthFiles) -> Counter[int]:
    """Implement `TruthEngine`; raises SimulatorError for errors of its tasks."""
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    tasks = snapshots.divide_into_tasks(expected.scans, spark.sparkContext.defaultParallelism)
    rows = Counter[int]()
    if tasks:
        rows += _counted(_scanned(spark, tasks, expected, files))
    if expected.between is not None:
        rows += _compared(spark, expected, expected.between, files, len(tasks))
    return rows


def _counted(frame: DataFrame) -> Counter[int]:
    rows = Counter[int]()
    for row in frame.collect():
        rows[row["table"]] += row["rows"]
    return rows


def _scanned(
    spark: SparkSession, tasks: list[list[snapshots.FilePiece]], expected: ExpectedRows, files: TruthFiles
) -> DataFrame:
    """Write the rows that are copied from files or memory."""
    tables, shared_tasks = expected.tables, SharedValues(spark.sparkContext, tasks)

    def written(batches: Batches) -> Batches:
        for task in (task for batch in batches for task in batch.column(0).to_pylist()):
            rows = snapshots.state_batches(shared_tasks[task])
            yield _written(rows, tables, files, dict.fromkeys(range(len(tables)), task).get)

    return map_in_arrow(spark.range(0, len(tasks), 1, len(tasks)), written, WRITTEN_ROWS)


def _written(
    batches: Iterable[pa.RecordBatch], tables: tuple[Table, ...], files: TruthFiles, part: Callable[[int], int | None]
) -> pa.RecordBatch:
    with wrap_errors(), disk_errors(files.directory):
        rows = write_rows(batches, tables, files, part)
    return pa.RecordBatch.from_pydict({"table": [*rows], "rows": [*rows.values()]}, schema=WRITTEN_ROWS)


def _compared(
    spark: SparkSession, expected: ExpectedRows, between: BetweenSnapshots, files: TruthFiles, first_part: int
) -> Counter[int]:
    """Write the rows computed from two snapshots; the files of all tables are numbered consecutively."""
    counts = _parts(expected.tables, between)
    firsts = np.concatenate([[0], np.cumsum(counts)])
    of = np.repeat(np.arange(len(counts)), counts)
    tables = tuple(expected.tables[number] for number in of.tolist())

    def written(batches: Batches) -> Batches:
        yield _written(
            (batch for batch in batches if batch.num_rows),
            tables,
            files,
            lambda part: first_part + part - int(firsts[of[part]]),
        )

    tasks = max(int(spark.sparkContext.defaultParallelism), between.input_bytes // INPUT_BYTES_A_TASK)
    spark.conf.set("spark.sql.shuffle.partitions", str(tasks))
    part = value_by_number(firsts[:-1].tolist(), "table") + F.pmod(
        F.xxhash64("image"), value_by_number(counts.tolist(), "table")
    )
    with key_order(spark, between.comparison) as order:
        rows = _expected_rows(spark, between, order)
        placed = rows.select(part.cast("int").alias("table"), "image").repartition(tasks, "table")
        by_part = _counted(map_in_arrow(placed.sortWithinPartitions("table", "image"), written, WRITTEN_ROWS))
    by_table = Counter[int]()
    for number, count in by_part.items():
        by_table[int(of[number])] += count
    return by_table


def _parts(tables: tuple[Table, ...], between: BetweenSnapshots) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    size = np.zeros(len(tables), np.int64)
    for scan in (*between.before, *between.after):
        number = between.numbers[scan.place.indexes[0]]
        if number >= 0:
            size[number] += sum(file.size for files in scan.table.files.values() for file in files)
    return np.maximum(1, -(-size // (2 * BYTES_A_FILE)))


def _expected_rows(spark: SparkSession, between: BetweenSnapshots, order: RowOrder | None) -> DataFrame:
    """Pair the rows of both snapshots; return ROWS."""
    placing = RowPlacement(between.comparison, between.rules)
    rows = snapshot_rows(spark, between.before, between.after, placing, None, lambda reported: None, order, every=True)
    paired = pair_images(rows, between.comparison)
    tell_all(differing_rows(paired), between.comparison, order)

    def expected_rows(batches: Batches) -> Batches:
        with wrap_errors():
            known = replace(between, comparison=in_order(between.comparison, order))
            yield from (rows_at(batch, known) for batch in batches if batch.num_rows)

    return map_in_arrow(paired, expected_rows, ROWS)
