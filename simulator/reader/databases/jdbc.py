"""Reads the tables that a consumer wrote to a database behind a JDBC URL, on Spark.

A table is looked up by its name, in its own database or schema or in the one of the URL, in the usual quotings. A table
that does not exist counts as empty.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from simulator.columns import row_image
from simulator.engines.spark.failures import SPARK_ERRORS, wrap_errors
from simulator.engines.spark.frames import map_in_arrow
from simulator.errors import UserError, uri_without_secrets
from simulator.reader import on_spark
from simulator.reader.databases.columns import tidb_cells
from simulator.reader.events import UNKNOWN_CELL
from simulator.reader.replay.frame import IMAGE_PAIR_SCHEMA
from simulator.reader.replay.states import Gaps, SnapshotComparison, StateRows, column_gaps, state_table_numbers
from simulator.reader.replay.table_timeline import TableTimeline
from simulator.tidb.model.table import Table, visible_columns

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


@dataclass(frozen=True)
class DatabaseTables:
    frames: tuple[DataFrame, ...]
    """Rows of each table, as image pairs of the snapshot before a stream."""

    gaps: Gaps


def run(
    spark: SparkSession, url: str, comparison: SnapshotComparison, show: int, size: int
) -> tuple[list[pa.RecordBatch], Gaps]:
    """Compare the database with the truth, which has `size` bytes; return the findings and what is not compared."""
    tables = database(spark, url, comparison.timeline)
    batches = on_spark.replay_on_spark(
        spark, comparison.sources, comparison.expected, show, lambda value: None, size, tables.frames
    )
    return batches, tables.gaps


def database(
    spark: SparkSession, url: str, timeline: TableTimeline, options: Mapping[str, str] | None = None
) -> DatabaseTables:
    """Open the tables of the timeline that exist; raises UserError if the database cannot be read. `options` are those
    of Spark's JDBC source (`driver`, `user`, …)."""
    if url.startswith("jdbc:derby:"):
        _disable_derby_log(spark)
    frames, gaps = [], Gaps()
    for number in state_table_numbers(timeline, False).values():
        history = timeline.tables[number]
        frame = _frame(spark, url, history.table, options or {})
        if frame is None:
            gaps += Gaps(notes=(f"{history}: the database has no such table",))
            continue
        names = _names(frame, history.table)
        gaps += column_gaps(history.table, names)
        made = partial(_image_pairs, StateRows(number, history, False, of_consumer=True), tuple(names))
        frames.append(map_in_arrow(frame, made, IMAGE_PAIR_SCHEMA))
    return DatabaseTables(tuple(frames), gaps)


def _disable_derby_log(spark: SparkSession) -> None:
    if getattr(spark, "_jvm", None) is None:  # no part of pyspark's public API: the log stays where Derby puts it
        return
    assert spark._jvm is not None
    java = spark._jvm.java.lang.System
    if java.getProperty(DERBY_LOG) is None:
        java.setProperty(DERBY_LOG, os.devnull)


def _frame(spark: SparkSession, url: str, table: Table, options: Mapping[str, str]) -> DataFrame | None:
    for name in _candidate_names(table):
        reader = spark.read.format("jdbc").options(
            **{"fetchsize": FETCH_SIZE, **options, "url": url, "dbtable": name, "preferTimestampNTZ": "true"}
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
