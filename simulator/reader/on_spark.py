"""Checks image pairs on Spark, for streams of any size: by their digests, and those of suspects sorted. The plan does not
grow with the number of tables.

The rows of a consumer's tables behind a JDBC URL are image pairs, too. A table is looked up by its name, in its own database
or schema or in the one of the URL, in the usual quotings. A table that does not exist counts as empty.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession

from simulator.columns import row_image
from simulator.columns.change_frame import Ints, by_table, ints
from simulator.engines.spark.failures import SPARK_ERRORS, unwrap_errors, wrap_errors
from simulator.engines.spark.frames import Batches, ListAccumulator, map_in_arrow
from simulator.errors import UserError, uri_without_secrets
from simulator.reader.database_columns import tidb_cells
from simulator.reader.events import UNKNOWN_CELL
from simulator.reader.replay import FINDING_SCHEMA, IMAGE_PAIR_SCHEMA, ORDER, ImagePairSource, Report
from simulator.reader.replay.digests import (
    PIECE_SCHEMA,
    VERDICT_SCHEMA,
    DigestVerdict,
    check_digest_pieces,
    divided,
    pairs_of_suspects,
)
from simulator.reader.replay.neighbours import check_image_pairs, in_order
from simulator.reader.replay.row_rules import TableKnowledge
from simulator.reader.replay.states import Gaps, SnapshotComparison, StateRows, column_gaps, state_table_numbers
from simulator.reader.replay.table_timeline import TableTimeline
from simulator.tidb.model.table import Table, visible_columns

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


@dataclass(frozen=True)
class SparkReplay:
    """Checks the image pairs of sources with a session of Spark."""

    spark: SparkSession
    expected: TableKnowledge
    show: int
    """Examples of each check and table."""

    @unwrap_errors()
    def findings(
        self, sources: Sequence[ImagePairSource], report: Report, input_bytes: int, frames: Sequence[DataFrame] = ()
    ) -> list[pa.RecordBatch]:
        """Return the findings of all sources and of the image pairs in `frames`; raises SimulatorError for errors of its
        tasks."""
        for name, setting in SETTINGS.items():
            self.spark.conf.set(name, setting)
        if frames or not self.expected.whole:
            return self._check_all_pairs(sources, report, input_bytes, frames)
        verdict = self._check_digests(sources, report, input_bytes)
        if verdict.rows is None:
            return self._check_all_pairs(sources, ignore_report, input_bytes)
        if not len(verdict.rows):
            return verdict.counts
        suspects = self.spark.sparkContext.broadcast(verdict.rows)
        looked_at: list[ImagePairSource] = [partial(_pairs_of_suspects, source, suspects) for source in sources]
        return [*verdict.counts, *self._check_all_pairs(looked_at, ignore_report, 0)]

    def _check_digests(self, sources: Sequence[ImagePairSource], report: Report, input_bytes: int) -> DigestVerdict:
        """Check the digests of all sources."""
        tasks, expected = min(self._tasks(input_bytes), MOST_PARTS), self.expected

        def check(batches: Batches) -> Batches:
            with wrap_errors():
                yield check_digest_pieces(batches, expected).packed()

        pieces = _read(self.spark, sources, PIECE_SCHEMA, report, lambda pairs: divided(pairs, tasks))
        with pieces as frame:
            return DigestVerdict.of(map_in_arrow(frame.repartitionById(tasks, "part"), check, VERDICT_SCHEMA).toArrow())

    def _check_all_pairs(
        self, sources: Sequence[ImagePairSource], report: Report, input_bytes: int, frames: Sequence[DataFrame] = ()
    ) -> list[pa.RecordBatch]:
        """Check the image pairs of all sources, sorted by Spark."""
        tasks, expected, show = self._tasks(input_bytes), self.expected, self.show
        parts = min(tasks, MOST_PARTS)

        def check(batches: Batches) -> Batches:
            with wrap_errors():
                yield from check_image_pairs((batch for batch in batches if batch.num_rows), expected, show)

        def replay(batches: Batches) -> Batches:
            with wrap_errors():
                yield from replayed_pieces((batch for batch in batches if batch.num_rows), expected, show, parts)

        def check_values(batches: Batches) -> Batches:
            with wrap_errors():
                yield from check_pieces(batches, expected, show)

        with _read(self.spark, sources, IMAGE_PAIR_SCHEMA, report, lambda pairs: pairs) as pairs:
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

    def _tasks(self, input_bytes: int) -> int:
        return max(int(self.spark.sparkContext.defaultParallelism), input_bytes // BYTES_A_TASK)


@unwrap_errors()
def read_on_spark(spark: SparkSession, sources: Sequence[ImagePairSource], report: Report) -> None:
    """Let tasks read sources that yield nothing, for what they report; raises SimulatorError for errors of its
    tasks."""
    with _read(spark, sources, IMAGE_PAIR_SCHEMA, report, lambda pairs: pairs) as frame:
        frame.toArrow()


def ignore_report(value: object) -> None:
    """Ignore what a source reports again, or reports never."""


def _pairs_of_suspects(source: ImagePairSource, suspects: Broadcast[Ints], report: Report) -> Batches:
    return pairs_of_suspects(source, suspects.value, report)


@contextmanager
def _read(
    spark: SparkSession,
    sources: Sequence[ImagePairSource],
    schema: pa.Schema,
    report: Report,
    convert: Callable[[Batches], Batches],
) -> Iterator[DataFrame]:
    """Yield a frame of what the sources yield, converted; what they report is known at the end."""
    reports = spark.sparkContext.accumulator(list[object](), ListAccumulator[object]())

    def read(batches: Batches) -> Batches:
        with wrap_errors():
            for number in (number for batch in batches for number in batch.column(0).to_pylist()):
                yield from convert(sources[number](lambda value: reports.add([value])))

    yield map_in_arrow(spark.range(0, len(sources), 1, max(1, len(sources))), read, schema)
    for value in reports.value:
        report(value)


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


FETCH_SIZE = "16384"
"""Rows of one fetch."""

TABLE_NOT_FOUND = "JDBC_EXTERNAL_ENGINE_SYNTAX_ERROR"
"""Spark's error class for a table that the database does not know."""

DERBY_LOG = "derby.stream.error.file"
"""Java system property for Derby's log file; by default Derby, which comes with Spark, writes `derby.log` to the
current directory."""

NO_DRIVER = re.compile(r"No suitable driver|ClassNotFoundException")
CAUSE = re.compile(r"Caused by: [\w.$]+: (.+)")
OPERATION = re.compile(r"on the operation: (.+?)(?: SQLSTATE.*)?$", re.MULTILINE)


def compare_jdbc(
    spark: SparkSession, url: str, comparison: SnapshotComparison, show: int, size: int
) -> tuple[list[pa.RecordBatch], Gaps]:
    """Compare the database with the truth, which has `size` bytes; return the findings and what is not compared."""
    frames, gaps = jdbc_tables(spark, url, comparison.timeline)
    replay = SparkReplay(spark, comparison.expected, show)
    return replay.findings(comparison.sources, ignore_report, size, frames), gaps


def jdbc_tables(spark: SparkSession, url: str, timeline: TableTimeline) -> tuple[Sequence[DataFrame], Gaps]:
    """Return the tables of the timeline that exist, as image pairs of the snapshot before a stream, and what is not compared;
    raises UserError if the database cannot be read."""
    if url.startswith("jdbc:derby:"):
        _disable_derby_log(spark)
    frames, gaps = [], Gaps()
    for number in state_table_numbers(timeline, False).values():
        history = timeline.tables[number]
        frame = _frame(spark, url, history.table)
        if frame is None:
            gaps += Gaps(notes=(f"{history}: the database has no such table",))
            continue
        names = _names(frame, history.table)
        gaps += column_gaps(history.table, names)
        made = partial(_image_pairs, StateRows(number, history, False, of_consumer=True), tuple(names))
        frames.append(map_in_arrow(frame, made, IMAGE_PAIR_SCHEMA))
    return frames, gaps


def _disable_derby_log(spark: SparkSession) -> None:
    if getattr(spark, "_jvm", None) is None:  # no part of pyspark's public API: the log stays where Derby puts it
        return
    assert spark._jvm is not None
    java = spark._jvm.java.lang.System
    if java.getProperty(DERBY_LOG) is None:
        java.setProperty(DERBY_LOG, os.devnull)


def _frame(spark: SparkSession, url: str, table: Table) -> DataFrame | None:
    for name in _candidate_names(table):
        reader = spark.read.format("jdbc").options(
            fetchsize=FETCH_SIZE, url=url, dbtable=name, preferTimestampNTZ="true"
        )
        try:
            return reader.load()
        except SPARK_ERRORS as error:
            if TABLE_NOT_FOUND not in str(error):
                raise UserError(f"{uri_without_secrets(url)} cannot be read: {_error_reason(str(error))}") from error
    return None


def _candidate_names(table: Table) -> list[str]:
    """Return the names to try; a database that knows only upper case finds the first ones."""
    plain = [name for name in (f"{table.schema}.{table.name}", table.name) if re.fullmatch(r"[\w.]+", name)]
    quoted = [f'"{table.schema}"."{table.name}"', f'"{table.name}"', f"`{table.schema}`.`{table.name}`"]
    return plain + quoted


def _error_reason(text: str) -> str:
    if NO_DRIVER.search(text):
        return "no JDBC driver of it is there: --jdbc-driver JAR names one"
    causes = CAUSE.findall(text) or OPERATION.findall(text)
    lines = [line for line in text.splitlines() if line.strip()]
    return str(causes[-1] if causes else lines[1] if text.startswith("An error occurred") and lines[1:] else lines[0])


def _names(frame: DataFrame, table: Table) -> list[str]:
    """Return the frame's columns under the table's names for them."""
    known = {column.name.lower(): column.name for column in visible_columns(table)}
    return [known.get(name.lower(), name) for name in frame.columns]


def _image_pairs(
    rows: StateRows, names: tuple[str, ...], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    with wrap_errors():
        columns = visible_columns(rows.history.table)
        wanted = [column.name for column in columns]
        for batch in (batch for batch in batches if batch.num_rows):
            arrays = dict(zip(names, batch.columns, strict=True))
            unknown = pa.repeat(pa.scalar(UNKNOWN_CELL), batch.num_rows)
            cells = [
                tidb_cells(column.type, arrays[column.name]) if column.name in arrays else unknown for column in columns
            ]
            yield from rows.image_pairs(row_image.pack(cells), wanted)
