"""The records of fixtures as batches of RECORD_SCHEMA, read by columns, with the same result and errors as record by record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.json as pj

from simulator import limits
from simulator.errors import UserError
from simulator.files import open_file
from simulator.reader.decode.message_bytes import decode_base64
from simulator.reader.events import RECORD_SCHEMA, record_batch
from simulator.reader.records import (
    COLUMNS,
    FixtureFile,
    check_line,
    check_types,
    opened_parquet,
    record_column,
    record_of_line,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

ROWS = 1 << 14
BYTES = 8 << 20
"""A batch has at most about so many of each: what reads it by columns takes several times as much."""

BLOCK = 8 << 20
"""Bytes of lines that are read at once."""

LINES = pa.schema([("offset", pa.int64()), ("timestamp", pa.int64()), ("key", pa.string()), ("value", pa.string())])
OPTIONS = pj.ParseOptions(explicit_schema=LINES, unexpected_field_behavior="ignore")


Offsets = tuple["int | None", "int | None"]
"""The first offset, and the one after the last; None for all."""


def read_batches(shard: FixtureFile, offsets: Offsets = (None, None)) -> Iterator[pa.RecordBatch]:
    """Yield the records of a file, at least those with these offsets; raises UserError if it is no fixtures file."""
    return _line_batches(shard) if shard.path.suffix == ".jsonl" else _parquet_batches(shard, offsets)


def offset_range(shard: FixtureFile) -> tuple[int, int] | None:
    """Return the first offset of a file and the one after the last, if the format tells them."""
    if shard.path.suffix == ".jsonl":
        return None
    with opened_parquet(shard) as file:
        ranges = _group_offsets(file)
        known = [each for each in ranges if each is not None]
        return (known[0][0], known[-1][1] + 1) if known and len(known) == len(ranges) else None


def file_size(shard: FixtureFile) -> dict[str, int]:
    """Return the bytes of the file, and its records if the format tells."""
    try:
        size = {"size": shard.path.stat().st_size}
        if shard.path.suffix == ".parquet":
            with opened_parquet(shard) as file:
                size["records"] = file.metadata.num_rows
    except OSError as error:
        raise UserError(f"cannot read {shard.path}: {error.strerror}") from error
    return size


def _parquet_batches(shard: FixtureFile, offsets: Offsets) -> Iterator[pa.RecordBatch]:
    with opened_parquet(shard) as file:
        check_types({field.name: field.type for field in file.schema_arrow})
        names = [name for name in COLUMNS if name in RECORD_SCHEMA.names]
        for batch in _group_batches(file, names, offsets):
            columns = [record_column(batch, field.name).cast(field.type) for field in RECORD_SCHEMA]
            yield pa.RecordBatch.from_arrays(columns, schema=RECORD_SCHEMA)


def _group_offsets(file: pq.ParquetFile) -> list[tuple[int, int] | None]:
    """Return the first and the last offset of each row group; None if it does not tell."""
    place = file.schema_arrow.names.index("offset")
    told = (file.metadata.row_group(number).column(place).statistics for number in range(file.metadata.num_row_groups))
    return [(each.min, each.max) if each is not None and each.has_min_max else None for each in told]


def _group_batches(file: pq.ParquetFile, names: list[str], offsets: Offsets) -> Iterator[pa.RecordBatch]:
    """Merge small adjacent row groups and split large ones."""
    groups: list[int] = []
    rows = size = 0
    (first, behind), there = offsets, _group_offsets(file) if offsets != (None, None) else []
    for number in range(file.metadata.num_row_groups):
        low, high = there[number] or (None, None) if there else (None, None)
        if first is not None and high is not None and high < first:
            continue
        if behind is not None and low is not None and low >= behind:
            break
        group = file.metadata.row_group(number)
        if groups and (rows + group.num_rows > ROWS or size + group.total_byte_size > BYTES):
            yield from _read_groups(file, names, groups, rows, size)
            groups, rows, size = [], 0, 0
        groups.append(number)
        rows, size = rows + group.num_rows, size + group.total_byte_size
    if groups:
        yield from _read_groups(file, names, groups, rows, size)


def _read_groups(
    file: pq.ParquetFile, names: list[str], groups: list[int], rows: int, size: int
) -> Iterator[pa.RecordBatch]:
    batch_rows = max(1, min(ROWS, BYTES * rows // max(1, size)))
    yield from file.iter_batches(batch_rows, row_groups=groups, columns=names, use_threads=False)


def _line_batches(shard: FixtureFile) -> Iterator[pa.RecordBatch]:
    try:
        with open_file(str(shard.path)) as file:
            first_line = 0
            for block in blocks(file):
                check_line(shard, first_line + 1, len(block) - BLOCK)
                yield _records_of_block(shard, first_line, block)
                first_line += block.count(b"\n")
    except OSError as error:
        raise UserError(f"cannot read {shard.path}: {error.strerror}") from error


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Split a file into blocks of whole lines; a line that is too long is not whole."""
    rest: list[bytes] = []
    held = 0
    while block := file.read(BLOCK):
        end = block.rfind(b"\n") + 1
        if end or held > limits.LINE_BYTES:
            yield b"".join([*rest, block[:end]])
            rest, held = [], 0
        rest.append(block[end:])
        held += len(block) - end
    if held:
        yield b"".join(rest)


def _records_of_block(shard: FixtureFile, first_line: int, block: bytes) -> pa.RecordBatch:
    """Parse a block by columns if every line has the form that the fixtures sink writes, else line by line."""
    try:
        table = pj.read_json(pa.BufferReader(block), pj.ReadOptions(block_size=BLOCK << 1), OPTIONS)
        batch = next(iter(table.combine_chunks().to_batches()), None)
        if batch is not None and _is_whole(batch, block):
            keys, values = (decode_base64(batch.column(name)) for name in ("key", "value"))
            return pa.RecordBatch.from_arrays(
                [batch.column("offset"), batch.column("timestamp"), keys, values], schema=RECORD_SCHEMA
            )
    except (pa.ArrowException, ValueError):
        pass  # `record_of_line` says what is wrong, or that nothing is
    read = [record_of_line(shard, first_line + place, line) for place, line in enumerate(block.splitlines(True), 1)]
    return record_batch([getattr(record, name) for record in read] for name in RECORD_SCHEMA.names)


def _is_whole(batch: pa.RecordBatch, block: bytes) -> bool:
    """Return whether every line has all members; a key or value may be null."""
    return (
        batch.num_rows == block.count(b"\n") + (not block.endswith(b"\n"))
        and not batch.column("offset").null_count + batch.column("timestamp").null_count
        and all(
            block.count(b'"%s":' % name.encode()) == batch.num_rows
            for name in ("key", "value")
            if batch.column(name).null_count
        )
    )
