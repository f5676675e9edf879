"""Parquet files: row groups as parts of a file, and their rows as raw values.

Memory is bounded by a batch of rows and a page of each column, whatever the size of a row group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from simulator import files
from simulator.errors import SnapshotError
from simulator.limits import counted
from simulator.sources.snapshots import streams
from simulator.sources.snapshots.records import RawRows, unknown_column
from simulator.sources.snapshots.streams import FilePart
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.values.conversion import tagged

if TYPE_CHECKING:
    import pyarrow.parquet as pq

ROWS = 16_384
"""Maximum rows of a batch."""

BYTES = 32 << 20
"""Approximate maximum bytes of a batch."""

CELL = 4
"""Bytes of a value at least, though a page of equal values takes next to none on disk."""

_BUFFER = 1 << 20
"""Bytes that are read at a time from a column of a large row group."""

_PROBE = 64
"""Rows that are measured if the footer does not tell the size of rows."""


def cut(part: FilePart, room: int) -> list[tuple[int, FilePart]]:
    """Return parts of a file of about `room` bytes, each some row groups, with their bytes; raise SnapshotError."""
    with _opened(part) as file:
        groups = [file.metadata.row_group(index).total_byte_size for index in range(file.num_row_groups)]
    scale = part.size / max(sum(groups), 1)
    parts: list[tuple[int, FilePart]] = []
    start, size = 0, 0.0
    for index, bytes in enumerate(groups):
        size += bytes * scale
        if size >= room or index + 1 == len(groups):
            parts.append((int(size), replace(part, start=start, end=index + 1)))
            start, size = index + 1, 0.0
    return parts


def size_in_memory(part: FilePart) -> int:
    """Return the bytes of all values of a file as far as the footer tells, at least CELL for each; raise SnapshotError."""
    with _opened(part) as file:
        groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
        return sum(max(group.total_byte_size, group.num_rows * group.num_columns * CELL) for group in groups)


def batches(part: FilePart, table: Table) -> Iterator[RawRows]:
    """Yield the rows of a part; raise SnapshotError."""
    with _opened(part) as file:
        names = file.schema_arrow.names
        places = _places(names, table, part.path)
        has_generated = all(
            place is not None for place, column in zip(places, visible_columns(table)) if column.generated
        )
        bits = [column.type.name == "bit" for column in visible_columns(table)]
        for group in range(part.start, part.end if part.end >= 0 else file.num_row_groups):
            for batch in _checked(file, group):
                columns = (
                    pa.nulls(len(batch)) if place is None else _plain(batch.column(place), names[place], part)
                    for place in places
                )
                yield RawRows(
                    tuple(tagged(column) if bit else column for column, bit in zip(columns, bits)), has_generated
                )


def names(part: FilePart) -> list[str]:
    """Return the columns of a file; raise SnapshotError."""
    with _opened(part) as file:
        found: list[str] = file.schema_arrow.names
        return found


@contextmanager
def _opened(part: FilePart) -> Iterator[pq.ParquetFile]:
    """Open the file; its errors become SnapshotError with one line."""
    import pyarrow.parquet as pq  # it takes long, and few runs read it

    try:
        with (
            files.open_file(part.place) as opened,
            pq.ParquetFile(opened, buffer_size=_BUFFER, pre_buffer=False, coerce_int96_timestamp_unit="us") as file,
        ):
            yield file
    except FileNotFoundError as error:
        raise streams.unreadable(part, error) from error
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        cause = (str(error) or type(error).__name__).splitlines()[0]
        raise SnapshotError(f"{part.path}: cannot be read as Parquet: {cause}") from error


def _places(names: list[str], table: Table, path: str) -> list[int | None]:
    """Return the position of each visible column in the file, case-insensitively; None for a missing generated one."""
    positions = {name.lower(): index for index, name in enumerate(names)}
    visible = visible_columns(table)
    declared = {column.name.lower() for column in table.columns}
    missing = [column.name for column in visible if column.name.lower() not in positions and not column.generated]
    unknown = [name for name in names if name.lower() not in declared]
    if missing or unknown or len(positions) < len(names):
        problem = (
            f"column {missing[0]!r} is missing"
            if missing
            else (unknown_column(unknown[0], table.clustered) if unknown else "a column is listed twice")
        )
        raise SnapshotError(f"{path}: table `{table.name}`: {problem}")
    return [positions.get(column.name.lower()) for column in visible]


def _checked(file: pq.ParquetFile, group: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a row group; raise ArrowInvalid if their number differs from the footer."""
    metadata = file.metadata.row_group(group)
    counts = {metadata.num_rows, *(metadata.column(index).num_values for index in range(metadata.num_columns))}
    rows = 0
    for batch in file.iter_batches(_rows(file, group), row_groups=[group], use_threads=False):
        rows += len(batch)
        yield batch
    if counts != {rows}:
        raise pa.ArrowInvalid(f"row group {group} has {counted(rows, 'row')}, its footer says {max(counts - {rows})}")


def _rows(file: pq.ParquetFile, group: int) -> int:
    """Return how many rows of a row group make a batch of about BYTES."""
    metadata = file.metadata.row_group(group)
    bytes = metadata.total_byte_size / max(metadata.num_rows, 1)
    columns = [metadata.column(index) for index in range(metadata.num_columns)]
    is_dictionary_encoded = any(
        column.has_dictionary_page and column.physical_type == "BYTE_ARRAY" for column in columns
    )
    if is_dictionary_encoded and metadata.num_rows > _PROBE:
        for first in islice(file.iter_batches(_PROBE, row_groups=[group], use_threads=False), 1):
            bytes = max(bytes, first.nbytes / max(len(first), 1))
    return int(min(max(BYTES / max(bytes, 1), 1), ROWS))


def _plain(array: pa.Array, name: str, part: FilePart) -> pa.Array:
    """Return values in one of pyarrow's plain column types, whatever wrote the file."""
    if isinstance(array, pa.ExtensionArray):
        return _plain(array.storage, name, part)
    if pa.types.is_dictionary(array.type):
        return _plain(array.dictionary_decode(), name, part)
    if pa.types.is_nested(array.type):
        raise SnapshotError(f"{part.path}: column {name!r} is {array.type}: accepted are columns of plain values")
    for test, target in _OTHERS:
        if test(array.type):
            return array.cast(target(array.type))
    return array


_OTHERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], pa.DataType]], ...] = (
    (pa.types.is_string_view, lambda type: pa.large_string()),
    (pa.types.is_binary_view, lambda type: pa.large_binary()),
    (pa.types.is_decimal32, lambda type: pa.decimal128(type.precision, type.scale)),
    (pa.types.is_decimal64, lambda type: pa.decimal128(type.precision, type.scale)),
    (pa.types.is_float16, lambda type: pa.float32()),
)
