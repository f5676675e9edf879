"""The engine on Spark, for snapshots of any size.

Spark distributes pieces of files, shuffles, groups and sorts. Functions on Arrow batches do what looks inside a row. The
plan has the same size for any number of tables, and nothing is sent before everything is read and checked.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from simulator.channel import DriverAddress
from simulator.columns import change_frame, without_pandas
from simulator.columns.change_frame import ints
from simulator.engines import stages
from simulator.engines.pairs import paired_rows
from simulator.engines.spark import internals
from simulator.engines.spark.failures import unwrap_errors, wrap_errors
from simulator.engines.spark.frames import Batches, ListAccumulator, SharedValues, map_in_arrow, value_by_number
from simulator.engines.spark.key_order import OrderedRows, RowOrder, claimed, in_order, key_order, tell_all
from simulator.engines.spark.master import driver_host
from simulator.engines.tasks import TaskReport, TaskSpec
from simulator.engines.tasks.barriers import BarrierServer
from simulator.engines.tasks.bootstraps import TABLE_ROWS, sends_bootstraps, summed, table_rows
from simulator.engines.tasks.messages import FIRST_ROWS, first_rows, with_schemas
from simulator.engines.tasks.progress import report_reading
from simulator.engines.tasks.send import SendingTask, send
from simulator.engines.work import RowPlacement, Work, duplicate_key_error, with_row_id
from simulator.errors import DeliveryError
from simulator.sinks import SINKS
from simulator.sources import diff, snapshots
from simulator.sources.diff import Comparison, OlderRows
from simulator.sources.precedence import known_when_read
from simulator.sources.snapshots import FilePiece, KeyRanges, KeyReport, TableScan, unproven_tables
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.flush import FLUSH_BYTES
from simulator.tidb.model.table import visible_columns
from simulator.tso import LOGICAL_BITS, ROW_LOGICAL

without_pandas()  # Spark's workers import this, too, and pandas takes them longer than a small task does.

SCRIPTED_ROWS = 65_536
"""Rows of scripted SQL per task."""

INPUT_BYTES_A_TASK = 16 << 20
"""Bytes of snapshot files per task of the comparison, so that memory stays flat as input grows."""

LARGE = {"text", "mediumtext", "longtext", "json", "vector"}
"""Types of which 16,384 values may exceed an Arrow column's 2 GiB; BLOBs are texts, too."""

LONG_VARCHAR = 4096

SPARK_NO_LIMIT = (1 << 31) - 1

BATCH_ROWS, FEW = 16_384, 64
"""Rows of a batch; of wide rows where Spark does not count bytes."""

Reported = tuple[int, list[KeyReport]]
"""Side (0 before, 1 after), and the reports of a task on the keys it read."""

OnKeysRead = Callable[[list[Reported]], None]

ADAPTIVE = "spark.sql.adaptive.enabled"

SETTINGS = {
    ADAPTIVE: "true",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.adaptive.localShuffleReader.enabled": "false",
    "spark.sql.adaptive.optimizer.excludedRules": internals.EXCLUDED_RULE,
}
"""Adaptive execution runs all shuffles before the last stage, so that all input is checked when sending begins. Its other
features are off, as partitions must stay in place."""


@unwrap_errors()
def run(spark: SparkSession, work: Work) -> list[TaskReport]:
    """Do the work of a run; raises SimulatorError for bad input."""
    tasks = _tasks(spark, work)
    partitions = _shuffle_partitions(spark, work, tasks)
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    if not internals.excludes_rule(spark):
        spark.conf.set(ADAPTIVE, "false")
    _limit_batches(spark, work)
    placing = RowPlacement(work.comparison, work.rules, tasks, partitions // tasks if work.shuffles == 1 else 0)
    reported = spark.sparkContext.accumulator(list[Reported](), ListAccumulator[Reported]())
    with key_order(spark, work.comparison) as order, _barrier_server(spark, work, tasks) as barrier:
        rows = snapshot_rows(spark, work.before, work.after, placing, work.spec.progress, reported.add, order)
        differing = differing_rows(pair_images(rows, work.comparison, work.shuffles == 1))
        tell_all(differing, work.comparison, order)
        ordered = (
            _order_once(differing, work, tasks, order is not None)
            if work.shuffles == 1
            else _shuffle_again(spark, differing, work, tasks, order)
        )
        spec = replace(work.spec, barrier=barrier.driver if barrier else None)
        found_rows = OrderedRows(work, order)
        if CODECS[spec.options.protocol].needs_registry:
            spec = with_schemas(spec, [_counted(ordered, found_rows, first_rows, FIRST_ROWS)])
        if sends_bootstraps(spec):
            found = _counted(ordered, found_rows, partial(table_rows, since=spec.since), TABLE_ROWS)
            spec = replace(spec, table_rows=summed(pa.Table.from_batches([found])))
        if reported.value:
            _refuse_duplicates(spark, work, reported.value)
            reported.value = []
        sending = partial(_sending, rows=found_rows, spec=spec, tasks=tasks)
        sent = map_in_arrow(ordered, sending, pa.schema([("report", pa.binary())]), barrier is not None)
        # All shuffles run now, so that duplicates are refused before anything is sent.
        if spark.conf.get(ADAPTIVE) != "true" or not internals.run_shuffles(sent):
            _read_all(ordered)
        _refuse_duplicates(spark, work, reported.value)
        reports = [pickle.loads(row["report"]) for row in sent.collect()]
        if barrier is not None and barrier.failed is not None:
            raise barrier.failed
        return reports


def _tasks(spark: SparkSession, work: Work) -> int:
    """Return how many tasks send, all at the same time."""
    return max(1, min(internals.slots(spark.sparkContext), work.spec.destinations.total))


def _shuffle_partitions(spark: SparkSession, work: Work, tasks: int) -> int:
    partitions = work.input_bytes // INPUT_BYTES_A_TASK
    if work.shuffles == 2:
        return max(int(spark.sparkContext.defaultParallelism), partitions)
    return tasks * min(-(-partitions // tasks) or 1, int(work.comparison.clock.passed[-1]))


def _limit_batches(spark: SparkSession, work: Work) -> None:
    """Let Spark end a batch of wide rows by its bytes; it then measures after each row, which narrow rows do not need.

    A Spark that cannot do that gets few rows a batch.
    """
    wide = _wide(work)
    few = wide and not internals.knows_setting(spark, internals.BATCH_BYTES)
    spark.conf.set(internals.BATCH_BYTES, str(FLUSH_BYTES if wide else SPARK_NO_LIMIT))
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(FEW if few else BATCH_ROWS))


def _wide(work: Work) -> bool:
    types = {column.type for physical in work.rules.tables for column in visible_columns(physical.table)}
    return any(type.name in LARGE or type.length > LONG_VARCHAR for type in types)


def _barrier_server(spark: SparkSession, work: Work, tasks: int) -> AbstractContextManager[BarrierServer | None]:
    """Return the server of the barriers around DDL; none if nobody reads the output while it is written."""
    address = driver_host(str(spark.sparkContext.master))
    barriers = [complete for complete in work.spec.complete_before if complete is not None]

    def all_arrived(number: int) -> None:
        if barriers[number] and work.on_complete is not None:
            work.on_complete(barriers[number])

    return BarrierServer(tasks, len(barriers), address, all_arrived) if barriers else nullcontext()


def snapshot_rows(
    spark: SparkSession,
    before: Sequence[TableScan],
    after: Sequence[TableScan],
    placing: RowPlacement,
    progress: DriverAddress | None,
    on_keys_read: OnKeysRead,
    order: RowOrder | None = None,
    every: bool = False,
) -> DataFrame:
    """Return PAIRED_ROWS, or SLICED_ROWS, of both sides of all moves; each task reports their keys to `on_keys_read`, and
    tells the driver what rows lose and get, if their order matters.

    All rows of a key are in one partition.
    """
    told = order if known_when_read(placing.comparison) else None
    tasks = snapshots.divide_both_into_tasks(before, after, spark.sparkContext.defaultParallelism)
    shared_tasks = SharedValues(spark.sparkContext, tasks)
    shared_placing = spark.sparkContext.broadcast(placing)

    def read_side(pieces: Sequence[FilePiece], task: int, side: int) -> Batches:
        placed, seen = shared_placing.value, KeyRanges()
        for rows in report_reading(placed.sides(pieces), 2 * task + side, progress):
            seen.add(placed.keys(rows))
            yield rows
        on_keys_read([(side, seen.reports())])

    def read(batches: Batches) -> Batches:
        with wrap_errors():
            placed = shared_placing.value
            for task in (task for batch in batches for task in batch.column(0).to_pylist()):
                old, new = (read_side(pieces, task, side) for side, pieces in enumerate(shared_tasks[task]))
                rows = claimed(paired_rows(old, new, placed.is_keyed, every), placed.comparison, told)
                yield from map(placed.sliced, rows) if placed.slices else rows

    schema = change_frame.SLICED_ROWS if placing.slices else change_frame.PAIRED_ROWS
    frame = map_in_arrow(spark.range(0, len(tasks), 1, max(1, len(tasks))), read, schema)
    if placing.slices:
        return frame.repartitionById(placing.groups * placing.slices, "slice")
    return frame.repartition("row_hash")


def pair_images(rows: DataFrame, comparison: Comparison, sliced: bool = False) -> DataFrame:
    """Return one row (change_frame.ROW_DIFFERENCES) for each key of the rows, with the images of both sides.

    Rows stay in their partitions, which are those of `slice` if `sliced`.
    """
    on = ["row_hash", "handle", "place", *(["slice"] if sliced else [])]  # Spark sorts by a prefix of the key.
    one = F.lit(1).cast("long").alias("occurrence")
    if not comparison.keyed.all():
        # Equal rows of a table without a handle key are numbered, so that they are paired as a multiset.
        side = F.col("before").isNull()
        number = F.row_number().over(Window.partitionBy(*on, side).orderBy("unaltered"))
        rows, one = rows.withColumn("occurrence", number.cast("long")), F.col("occurrence")
        on.append("occurrence")
    paired = rows.groupBy(*on).agg(*(F.max(name).alias(name) for name in ("before", "after", "unaltered")))
    return paired.select(*(one if name == "occurrence" else F.col(name) for name in change_frame.ROW_DIFFERENCES.names))


def differing_rows(paired: DataFrame) -> DataFrame:
    """Return the rows (ROW_DIFFERENCES) whose images differ."""
    return paired.where(~F.col("before").eqNullSafe(F.col("after")))


def _order_once(differing: DataFrame, work: Work, tasks: int, hashed: bool) -> DataFrame:
    """Return ordered ROW_CHANGES with op and rank, and row_hash if `hashed`, one Spark partition per task, from the slices
    of the comparison.

    An UPDATE has the rank of the DELETE into which it may be split. Rows with a fixed time have that of their hash.
    """
    clock, tables = work.comparison.clock, len(work.comparison.tables)
    move = F.expr(f"place div {tables}")
    start = value_by_number([span.first_ms for span in clock.spans], move)
    over = value_by_number([span.over_ms for span in clock.spans], move)
    op = (
        F.when(F.col("after").isNull(), change_frame.DELETE)
        .when(F.col("before").isNull(), change_frame.INSERT)
        .otherwise(change_frame.UPDATE)
    )
    deletes, updates, inserts, split_deletes, _ = work.rules.split.ranks
    ranks = deletes, min(updates, split_deletes) if work.waits else updates, inserts
    changes = differing.select(
        (F.shiftleft(start + F.pmod("row_hash", over), LOGICAL_BITS) + ROW_LOGICAL).alias("commit_ts"),
        F.pmod("place", F.lit(tables)).alias("table"),
        "handle",
        "before",
        "after",
        op.cast("byte").alias("op"),
        F.get(F.array(*map(F.lit, ranks)), op).cast("byte").alias("rank"),
        *(["row_hash"] if hashed else []),
    )
    return changes.sortWithinPartitions(*change_frame.ORDER).coalesce(tasks)


def _shuffle_again(
    spark: SparkSession, differing: DataFrame, work: Work, tasks: int, order: RowOrder | None
) -> DataFrame:
    """Return what `_order_once` does, if a row's partition is known only after the comparison, or with scripted rows."""
    comparison, rules, until = work.comparison, work.rules, work.until  # Spark pickles what the functions refer to.
    scripted = () if work.rows is None else ("row_id",)

    def changed(batches: Batches) -> Batches:
        with wrap_errors():
            known = in_order(comparison, order)
            changes = (diff.changes_until(until, batch, known) for batch in batches if batch.num_rows)
            yield from map(with_row_id, changes) if scripted else changes

    def routed(batches: Batches) -> Batches:
        with wrap_errors():
            for batch in (batch for batch in batches if batch.num_rows):
                changes = stages.filter_and_split(batch, rules)
                task = ints(stages.to_events(changes, rules), "destination") % tasks
                yield changes.append_column("task", pa.array(task.astype(np.int32)))

    schema = change_frame.row_changes_schema("op", "rank", *scripted).append(pa.field("task", pa.int32()))
    if work.needs_shared_commit_ts or work.rows is not None or work.older_rows is not None:
        changes = map_in_arrow(differing, changed, change_frame.row_changes_schema(*scripted))
        if work.rows is not None:
            changes = changes.union(_scripted_rows(spark, work.rows))
        if work.older_rows is not None:
            changes = _with_older_values(changes, work.older_rows, change_frame.row_changes_schema(*scripted))
        if work.needs_shared_commit_ts:
            changes = changes.withColumn("beside", F.count("*").over(Window.partitionBy("table", "commit_ts")) > 1)
        placed = map_in_arrow(changes, routed, schema)
    else:
        placed = map_in_arrow(differing, lambda batches: routed(changed(batches)), schema)
    return placed.repartitionById(tasks, "task").drop("task").sortWithinPartitions(*change_frame.ORDER)


def _with_older_values(changes: DataFrame, older_rows: OlderRows, schema: pa.Schema) -> DataFrame:
    """Return ROW_CHANGES with the old values of rows that are older than a column (`diff.earlier_changes`)."""
    written = F.lit(0).cast("long")
    if older_rows.asks_for_earlier_changes:
        identity = value_by_number(older_rows.identities.tolist(), F.col("table"))
        earlier = Window.partitionBy(identity, "handle").orderBy("commit_ts")
        writes = F.when(~F.col("before").eqNullSafe(F.col("after")), F.col("commit_ts"))
        written = F.coalesce(F.max(writes).over(earlier.rangeBetween(Window.unboundedPreceding, -1)), written)

    def filled(batches: Batches) -> Batches:
        with wrap_errors():
            for batch in batches:
                yield older_rows.filled(batch.select(schema.names), ints(batch, "written"))

    return map_in_arrow(changes.withColumn("written", written), filled, schema)


def _scripted_rows(spark: SparkSession, rows: pa.RecordBatch) -> DataFrame:
    """Distribute the rows of scripted SQL over tasks."""
    parts = max(1, -(-rows.num_rows // SCRIPTED_ROWS))

    def read(batches: Batches) -> Batches:
        numbers = (part for batch in batches for part in batch.column(0).to_pylist())
        yield from (rows.slice(part * SCRIPTED_ROWS, SCRIPTED_ROWS) for part in numbers)

    return map_in_arrow(spark.range(0, parts, 1, parts), read, rows.schema)


def _counted(
    ordered: DataFrame, rows: OrderedRows, count: Callable[[pa.RecordBatch], pa.RecordBatch], schema: pa.Schema
) -> pa.RecordBatch:
    """Return what is counted of the rows of all tasks; reads and compares everything a first time, as messages follow
    from it."""

    def counted(batches: Batches) -> Batches:
        with wrap_errors():
            yield from map(count, rows.changes(batches))

    found = [row.asDict() for row in map_in_arrow(ordered, counted, schema).collect()]
    return pa.RecordBatch.from_pylist(found, schema)


def _read_all(ordered: DataFrame) -> None:
    """Read and compare everything a first time, where Spark cannot run all stages but the last one."""

    def nothing(batches: Batches) -> Batches:
        for _ in batches:
            pass
        yield from ()

    map_in_arrow(ordered, nothing, pa.schema([("nothing", pa.int8())])).collect()


def _sending(batches: Batches, rows: OrderedRows, spec: TaskSpec, tasks: int) -> Batches:
    """Send the rows of one task and yield its report."""
    context = TaskContext.get()
    assert context is not None, "Spark runs it"
    with wrap_errors():
        if context.attemptNumber() > 0:  # The master may ask for retries (`local[2,4]`).
            text = "a task of Spark was lost while it sent; it is not run again, as that would send all twice"
            raise DeliveryError(text)
        owned = range(context.partitionId(), spec.destinations.total, tasks)
        events = (stages.to_events(batch, rows.rules) for batch in rows.in_order(batches))
        report = send(SendingTask(events, owned, spec))
        if report.stopped is not None and not SINKS[spec.sink].erasable:
            raise report.stopped[1]
    yield pa.RecordBatch.from_pydict({"report": [pickle.dumps(report)]})


def _refuse_duplicates(spark: SparkSession, work: Work, reported: Sequence[Reported]) -> None:
    """Raise SnapshotError for a duplicate key in a snapshot."""
    keyed = work.comparison.keyed
    for number, scans in enumerate((work.before, work.after)):
        reports = (report for side, task_reports in reported if side == number for report in task_reports)
        suspect = {(move, table) for move, table in unproven_tables(reports) if keyed[table]}
        if suspect:
            _check_keys(spark, work, [scan for scan in scans if _may_have(scan, suspect)])


def _may_have(scan: TableScan, tables: set[tuple[int, int]]) -> bool:
    """Whether a scan may yield rows of these moves and tables; a scan with `finish` may yield others."""
    return scan.finish is not None or not tables.isdisjoint(product([scan.move], scan.place.indexes))


def _check_keys(spark: SparkSession, work: Work, scans: Sequence[TableScan]) -> None:
    """Read tables again whose keys were not in order, and look for duplicates."""
    tables, keyed = work.comparison.tables, work.comparison.keyed.tolist()
    placing = RowPlacement(work.comparison, work.rules)
    rows = snapshot_rows(spark, scans, (), placing, work.spec.progress, lambda reports: None)
    several = rows.groupBy("row_hash", "place", "handle").agg(
        F.count("*").alias("rows"), F.first("before").alias("image")
    )
    twice = several.where((F.col("rows") > 1) & value_by_number(keyed, F.pmod("place", F.lit(len(tables)))))
    for row in twice.orderBy("place", "handle").limit(1).collect():
        raise duplicate_key_error(tables[row["place"] % len(tables)], bytes(row["handle"]), bytes(row["image"]))
