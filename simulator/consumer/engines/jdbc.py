"""Tables of a database behind a JDBC URL, as a consumer wrote them down, read by Spark.

One law: a table is found by its name, in its own database or schema or in the one of the URL, however the database
spells it; one that is not there has no rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from simulator.columns import row_image
from simulator.consumer.engines import on_spark
from simulator.consumer.frame import UNKNOWN_CELL
from simulator.consumer.replay.frame import IMAGE_PAIR_SCHEMA
from simulator.consumer.replay.snapshot_comparison import SnapshotComparison, column_differences
from simulator.consumer.replay.states import StateRows, state_table_numbers
from simulator.consumer.replay.table_timeline import TableTimeline
from simulator.engines.on_spark import map_in_arrow
from simulator.engines.spark.failures import SPARK_ERRORS, wrap_errors
from simulator.errors import UserError, uri_without_secrets
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import family
from simulator.tidb.values.conversion import shown as as_text
from simulator.tidb.values.conversion import tidb_text

Notes = tuple[str, ...]

FETCHED = "16384"
"""Rows that are asked of the database at a time."""

NOT_THERE = "JDBC_EXTERNAL_ENGINE_SYNTAX_ERROR"
"""What Spark says where the database knows no such table."""

DERBYS_LOG = "derby.stream.error.file"
"""Java's property of it; Derby, which comes with Spark, otherwise writes `derby.log` where the user stands."""

NO_DRIVER = re.compile(r"No suitable driver|ClassNotFoundException")
CAUSE = re.compile(r"Caused by: [\w.$]+: (.+)")
OPERATION = re.compile(r"on the operation: (.+?)(?: SQLSTATE.*)?$", re.MULTILINE)


@dataclass(frozen=True)
class DatabaseTables:
    """What a database has of the tables of a timeline."""

    frames: tuple[DataFrame, ...]
    """Their rows as HALVES of a state before, a table each."""

    notes: Notes
    """What of them is not compared."""


def run(
    spark: SparkSession, url: str, wanted: SnapshotComparison, show: int, size: int
) -> tuple[list[pa.RecordBatch], Notes]:
    """FINDINGS of what the database has, held against the truth of so many bytes, and what is not compared."""
    found = database(spark, url, wanted.timeline)
    batches = on_spark.replay_on_spark(
        spark, wanted.sources, wanted.expected, show, lambda value: None, size, found.frames
    )
    return batches, found.notes


def database(
    spark: SparkSession, url: str, found: TableTimeline, options: Mapping[str, str] | None = None
) -> DatabaseTables:
    """The tables of the timeline that are there; raises UserError where the database cannot be read. `options` are
    those of Spark's JDBC source (`driver`, `user`, …)."""
    if url.startswith("jdbc:derby:"):
        _without_log(spark)
    frames, notes = [], []
    for number in state_table_numbers(found, False).values():
        history = found.tables[number]
        frame = _frame(spark, url, history.table, options or {})
        if frame is None:
            notes.append(f"{history}: the database has no such table")
            continue
        names = _names(frame, history.table)
        notes += column_differences(history.table, names)
        made = partial(_halves, StateRows(number, history, False), tuple(names))
        frames.append(map_in_arrow(frame, made, IMAGE_PAIR_SCHEMA))
    return DatabaseTables(tuple(frames), tuple(notes))


def _without_log(spark: SparkSession) -> None:
    assert spark._jvm is not None
    java = spark._jvm.java.lang.System
    if java.getProperty(DERBYS_LOG) is None:
        java.setProperty(DERBYS_LOG, os.devnull)


def _frame(spark: SparkSession, url: str, table: Table, options: Mapping[str, str]) -> DataFrame | None:
    for name in _spellings(table):
        reader = spark.read.format("jdbc").options(
            **{"fetchsize": FETCHED, **options, "url": url, "dbtable": name, "preferTimestampNTZ": "true"}
        )
        try:
            return reader.load()
        except SPARK_ERRORS as error:
            if NOT_THERE not in str(error):
                raise UserError(f"{uri_without_secrets(url)} cannot be read: {_reason(str(error))}") from error
    return None


def _spellings(table: Table) -> list[str]:
    """How its name may be written; a database that has upper case alone finds the first ones."""
    plain = [name for name in (f"{table.schema}.{table.name}", table.name) if re.fullmatch(r"[\w.]+", name)]
    quoted = [f'"{table.schema}"."{table.name}"', f'"{table.name}"', f"`{table.schema}`.`{table.name}`"]
    return plain + quoted


def _reason(text: str) -> str:
    if NO_DRIVER.search(text):
        return "no JDBC driver of it is there: --jdbc-driver JAR names one"
    causes = CAUSE.findall(text) or OPERATION.findall(text)
    lines = [line for line in text.splitlines() if line.strip()]
    return str(causes[-1] if causes else lines[1] if text.startswith("An error occurred") and lines[1:] else lines[0])


def _names(frame: DataFrame, table: Table) -> list[str]:
    """Columns by the names that the table has for them, however the database spells them."""
    known = {column.name.lower(): column.name for column in visible_columns(table)}
    return [known.get(name.lower(), name) for name in frame.columns]


def _halves(rows: StateRows, names: tuple[str, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with wrap_errors():
        columns = visible_columns(rows.history.table)
        wanted = [column.name for column in columns]
        for batch in (batch for batch in batches if batch.num_rows):
            given = dict(zip(names, batch.columns, strict=True))
            nobody = pa.repeat(pa.scalar(UNKNOWN_CELL), batch.num_rows)
            cells = [_text(column, given[column.name]) if column.name in given else nobody for column in columns]
            yield from rows.halves(row_image.pack(cells), wanted)


def _text(column: Column, values: pa.Array) -> pa.Array:
    """TiDB text; what no value of the column's type can be is shown as it is, and so differs."""
    if family(column.type) == "time" and pa.types.is_timestamp(values.type):
        values = pc.cast(values, pa.time64("us"))
    text = tidb_text(column.type, values)
    return pc.if_else(pc.is_valid(text), text, as_text(values)).cast(pa.binary())
