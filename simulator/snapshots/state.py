"""A snapshot as one state frame of all its tables.

One law: one lazy frame, made of Spark columns; a row of it says all that comparing, ordering and encoding need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from simulator.schema.keys import common_handle, handle_key, row_id_column, visible_columns
from simulator.schema.table import Table
from simulator.snapshots import checked, handles
from simulator.snapshots.directory import Snapshot, SnapshotTable
from simulator.snapshots.partition_columns import locate_partition
from simulator.snapshots.read import raw_frames

SCHEMA = "table int, handle binary, image binary, hash int, row_id bigint, unique_hash bigint"
HashOf = Callable[[Table, Mapping[str, Column]], Column]
"""A number made of the TiDB texts of a row by column."""
Name = tuple[str, str]

SEPARATOR, NULL = b"\xff", b"\xfe"
"""Of a row image."""


def never(table: Table, columns: Mapping[str, Column]) -> Column:
    """The hash of keys that are not looked at."""
    return F.lit(0).cast("bigint")


@dataclass(frozen=True)
class Places:
    """A version of a table, and the index of each of its partitions in the run's list of physical tables."""

    table: Table
    indexes: tuple[int, ...]


def state(
    spark: SparkSession, snapshot: Snapshot, places: Mapping[Name, Places], hash_of: HashOf,
    unique_hash_of: HashOf = never,
) -> DataFrame:
    """The state frame (columns: SCHEMA) of the snapshot's tables.

    `table` is the index that `places` gives a table or partition; tables that are not there are left out. A table
    without a handle key has its image as handle. Raises SnapshotError for what shows before rows are read; what shows
    later fails the Spark job that reads the frame (`simulator.failures.translated` tells it in one line).
    """
    frames = [
        checked.texts(place.table, raw).select(*keyed(place, names_of(place.table), hash_of, unique_hash_of, raw.files))
        for table, place in _placed(snapshot, places)
        for raw in raw_frames(spark, replace(table, table=place.table), snapshot.csv)
    ]
    return union(frames) if frames else spark.createDataFrame([], SCHEMA)


def rows(
    spark: SparkSession, snapshot: Snapshot, name: Name, place: Places, hash_of: HashOf, unique_hash_of: HashOf = never
) -> DataFrame:
    """The rows of one table: the columns of a state frame, and the TiDB text of visible column i as `t<i>`."""
    texts = names_of(place.table).values()
    columns = SCHEMA + "".join(f", {text} string" for text in texts)
    frames = [
        checked.texts(place.table, raw).select(
            *keyed(place, names_of(place.table), hash_of, unique_hash_of, raw.files), *texts
        )
        for table, place in _placed(snapshot, {name: place})
        for raw in raw_frames(spark, replace(table, table=place.table), snapshot.csv)
    ]
    return union(frames) if frames else spark.createDataFrame([], columns)


def _placed(snapshot: Snapshot, places: Mapping[Name, Places]) -> Iterator[tuple[SnapshotTable, Places]]:
    for table in snapshot.tables:
        place = places.get((table.table.schema, table.table.name))
        if place is not None:
            yield table, place


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """All frames, halved again and again so that the plan of thousands stays shallow."""
    if len(frames) == 1:
        return frames[0]
    half = len(frames) // 2
    return union(frames[:half]).union(union(frames[half:]))


def names_of(table: Table, pattern: str = "t{}") -> dict[str, str]:
    """Each visible column and the Spark column, or element of an array, that has its TiDB text."""
    return {column.name: pattern.format(index) for index, column in enumerate(visible_columns(table))}


def keyed(
    place: Places, names: Mapping[str, str], hash_of: HashOf, unique_hash_of: HashOf,
    files: Sequence[str] | None = None,
    known: Mapping[str, Column] = MappingProxyType({}),
) -> list[Column]:
    """The columns of a state frame, from the SQL of a row's texts by column.

    With `files`, the frame is one of `checked.texts`, and a row that TiDB would not take is an error; otherwise a row
    that no partition takes has no `table`. `known` are handle, hash and row_id, where they need not be computed.
    """
    table = place.table
    columns = {name: F.expr(text) for name, text in names.items()}
    image = image_of(names.values())
    if files is not None:
        image = F.when(checked.accepts(table), image).otherwise(checked.rejection(table, files))
    key = handle_key(table)
    handle = known["handle"] if "handle" in known else handles.handle(table, key, columns) if key else image
    index = F.lit(place.indexes[0])
    if table.partitioning is not None:
        ordinal = locate_partition(table, names)
        index = F.element_at(F.array(*(F.lit(one) for one in place.indexes)), ordinal + 1)
        if files is not None:
            index = F.when(ordinal.isNull(), checked.no_partition(table, files)).otherwise(index)
    hash = known["hash"] if "hash" in known else hash_of(table, columns).cast("int")
    row_id = known["row_id"] if "row_id" in known else _row_id(table, columns, handle)
    return [
        index.cast("int").alias("table"), handle.alias("handle"), image.alias("image"), hash.alias("hash"),
        row_id.alias("row_id"), unique_hash_of(table, columns).alias("unique_hash"),
    ]


def image_of(names: Iterable[str]) -> Column:
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
