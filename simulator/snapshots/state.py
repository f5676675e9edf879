"""A snapshot as one state frame of all its tables.

One law: one lazy frame, made of Spark columns; a row of it says all that comparing, ordering and encoding need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from simulator.schema.keys import common_handle, handle_key, row_id_column, visible_columns
from simulator.schema.table import Table
from simulator.snapshots import checked, handles
from simulator.snapshots.directory import Snapshot
from simulator.snapshots.partitions import locate_partition
from simulator.snapshots.physical import PhysicalTable
from simulator.snapshots.read import Raw, raw_frames

SCHEMA = "table int, handle binary, image binary, hash int, row_id bigint"
HashOf = Callable[[Table, Mapping[str, Column]], Column]

SEPARATOR, NULL = b"\xff", b"\xfe"
"""Of a row image."""


def state(
    spark: SparkSession, snapshot: Snapshot, physical_tables: Sequence[PhysicalTable], hash_of: HashOf
) -> DataFrame:
    """The state frame (table int, handle binary, image binary, hash int, row_id bigint) of the snapshot's tables.

    `table` is an index of `physical_tables`; tables that are not among them are left out. A table without a handle key
    has its image as handle. Raises SnapshotError for what shows before rows are read; what shows later fails the Spark
    job that reads the frame (`simulator.failures.translated` tells it in one line).
    """
    places: dict[tuple[str, str], list[int]] = {}
    for index, physical in enumerate(physical_tables):
        places.setdefault((physical.table.schema, physical.table.name), []).append(index)
    frames = [
        _frame(table.table, raw, places[table.table.schema, table.table.name], hash_of)
        for table in snapshot.tables if (table.table.schema, table.table.name) in places
        for raw in raw_frames(spark, table, snapshot.csv)
    ]
    return _union(frames) if frames else spark.createDataFrame([], SCHEMA)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    """All frames, halved again and again so that the plan of thousands stays shallow."""
    if len(frames) == 1:
        return frames[0]
    half = len(frames) // 2
    return _union(frames[:half]).union(_union(frames[half:]))


def _frame(table: Table, raw: Raw, places: Sequence[int], hash_of: HashOf) -> DataFrame:
    visible = visible_columns(table)
    names = {column.name: f"t{index}" for index, column in enumerate(visible)}
    columns = {name: F.col(text) for name, text in names.items()}
    image = F.when(checked.accepts(table), _image(names.values()))
    image = image.otherwise(checked.rejection(table, raw.files))
    key = handle_key(table)
    handle = handles.handle(table, key, columns) if key else image
    place = F.lit(places[0])
    if table.partitioning is not None:
        ordinal = locate_partition(table, names)
        known = F.element_at(F.array(*(F.lit(place) for place in places)), ordinal + 1)
        place = F.when(ordinal.isNull(), checked.no_partition(table, raw.files)).otherwise(known)
    return checked.texts(table, raw).select(
        place.cast("int").alias("table"), handle.alias("handle"), image.alias("image"),
        hash_of(table, columns).cast("int").alias("hash"), _row_id(table, columns, handle).alias("row_id"))


def _image(names: Iterable[str]) -> Column:
    """Columns' text joined by 0xFF, 0xFE for NULL; joined as strings, which Spark copies once."""
    separator, null = (f"cast(X'{mark.hex()}' as string)" for mark in (SEPARATOR, NULL))
    return F.expr(f"cast(concat({f', {separator}, '.join(f'coalesce({name}, {null})' for name in names)}) as binary)")


def _row_id(table: Table, columns: Mapping[str, Column], handle: Column) -> Column:
    if common_handle(table):
        return F.lit(None).cast("bigint")
    name = row_id_column(table)
    if name is None:
        return handles.synthetic_row_id(handle)
    return handles.row_id(next(column.type for column in table.columns if column.name == name), columns[name])
