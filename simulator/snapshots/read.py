"""Data files of a table as lazy Spark frames of raw values.

One law: a frame has `c0`, `c1`, … for the visible columns in table order, `file` and `given`, whatever the format.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types

from simulator.errors import SnapshotError
from simulator.failures import carrying, translated
from simulator.schema.keys import visible_columns
from simulator.schema.table import Table
from simulator.snapshots import arrow, records, streams
from simulator.snapshots.csv_text import CsvDialect
from simulator.snapshots.directory import DataFile, SnapshotTable
from simulator.snapshots.values import tagged_bit


@dataclass(frozen=True)
class Raw:
    """Raw values of one table from files of one format."""

    frame: DataFrame
    kinds: tuple[types.DataType, ...]
    """Spark type of each visible column; binary for the bytes of SQL and CSV files."""

    files: tuple[str, ...]
    """Paths that `file` counts; none for Parquet, where `file` is the path."""

    binary: str
    """How binary columns are written: `raw`, `hex`, `base64`."""


def raw_frames(spark: SparkSession, table: SnapshotTable, csv: CsvDialect) -> list[Raw]:
    """One frame a format; raises SnapshotError for what shows before rows are read."""
    frames = []
    for format, files in table.files.items():
        if format == "parquet":
            frames.append(_parquet(spark, table.table, files))
        else:
            frames.append(_text(spark, table.table, format, files, csv))
    return frames


def _text(spark: SparkSession, table: Table, format: str, files: Sequence[DataFile], csv: CsvDialect) -> Raw:
    layout = records.layout(table)
    escapes = [file.indexed if csv.backslash_escapes is None else csv.backslash_escapes for file in files]
    places = {file.path: index for index, file in enumerate(files)}
    names = (table.name, *(column.name for column in table.columns))
    tasks = _tasks(format, files, escapes, csv, any(set("';\\") & set(name) for name in names))

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carrying():
            for part in (part for batch in batches for task in batch.column(0).to_pylist() for part in tasks[task]):
                file = places[part.path]
                if format == "sql":
                    raws = records.sql_batches(part, layout)
                else:
                    raws = records.csv_batches(part, layout, csv, escapes[file])
                yield from (_batch(raw, file) for raw in raws)

    columns = [types.StructField(f"c{index}", types.BinaryType()) for index in range(len(layout.columns))]
    schema = types.StructType(columns)
    schema = schema.add(records.FILE, types.IntegerType()).add(records.GIVEN, types.BooleanType())
    frame = arrow.map_in_arrow(spark.range(0, len(tasks), 1, len(tasks)), read, schema)
    return Raw(frame, tuple(types.BinaryType() for _ in layout.columns), tuple(file.path for file in files),
               csv.binary if format == "csv" else "raw")


def _batch(raw: records.Raw, file: int) -> pa.RecordBatch:
    rows = len(raw.columns[0])
    extra = [pa.repeat(pa.scalar(file, pa.int32()), rows), pa.repeat(raw.given, rows)]
    names = [*(f"c{index}" for index in range(len(raw.columns))), records.FILE, records.GIVEN]
    return pa.RecordBatch.from_arrays([*raw.columns, *extra], names=names)


def _tasks(
    format: str, files: Sequence[DataFile], escapes: Sequence[bool], csv: CsvDialect, whole: bool
) -> list[list[streams.Part]]:
    """The pieces of all files, small ones together, as one list a task."""
    pieces: list[streams.Part] = []
    for index, file in enumerate(files):
        piece = streams.Part(file.path, root=os.getcwd())
        rule = (ord("'"), ord(";"), True) if format == "sql" else (ord(csv.quote), ord("\n"), escapes[index])
        pieces += [piece] if whole and format == "sql" else streams.cut(piece, *rule, streams.PIECE)
    tasks: list[list[streams.Part]] = []
    room = 0
    for piece in pieces:
        size = (piece.end if piece.end >= 0 else os.path.getsize(piece.path)) - piece.start
        if not tasks or size > room:
            tasks.append([])
            room = streams.PIECE
        tasks[-1].append(piece)
        room -= size
    return tasks


def _parquet(spark: SparkSession, table: Table, files: Sequence[DataFile]) -> Raw:
    paths = [file.path for file in files]
    try:
        with translated():
            frame = spark.read.parquet(*paths)
    except PySparkException as error:
        raise SnapshotError(f"{paths[0]}: cannot be read as Parquet: {str(error).splitlines()[0]}") from error
    found = {field.name.lower(): field for field in frame.schema.fields}
    hidden = {column.name.lower() for column in table.columns}
    visible = visible_columns(table)
    missing = [column.name for column in visible if column.name.lower() not in found and not column.generated]
    unknown = [field.name for field in frame.schema.fields if field.name.lower() not in hidden]
    if missing or unknown:
        problem = f"column {missing[0]!r} is missing" if missing else f"column {unknown[0]!r} is not in the schema"
        raise SnapshotError(f"{paths[0]}: table `{table.name}`: {problem}")
    columns, kinds = [], []
    for index, column in enumerate(visible):
        field = found.get(column.name.lower())
        value = F.lit(None) if field is None else F.col(f"`{field.name.replace('`', '``')}`")
        kind = types.StringType() if field is None else field.dataType
        if column.type.name == "bit":
            value, kind = tagged_bit(value, kind), types.BinaryType()
        columns.append(value.alias(f"c{index}"))
        kinds.append(kind)
    given = all(column.name.lower() in found for column in visible if column.generated)
    extra = [F.col("_metadata.file_path").alias(records.FILE), F.lit(given).alias(records.GIVEN)]
    return Raw(frame.select(*columns, *extra), tuple(kinds), (), "raw")
