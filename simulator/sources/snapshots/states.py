"""Rows of snapshots as states: the table of a row, its key, and its image.

All tables and formats have the same columns. Raw values become TiDB text, with an error for the first row that TiDB would
reject: a text that is null although the value is not marks a rejected value.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator import files
from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import SNAPSHOT_ROWS
from simulator.errors import SnapshotError, printable
from simulator.sources.snapshots import parquet, quoting, records, streams
from simulator.sources.snapshots.parquet import BYTES, ROWS
from simulator.sources.snapshots.pieces import FilePiece, locate_rows
from simulator.sources.snapshots.records import RawRows
from simulator.ticdc import table_info
from simulator.ticdc.table_info import handle_key
from simulator.tidb.datums.cast import tidb_text
from simulator.tidb.expressions.over_columns import compute_generated_columns
from simulator.tidb.model.table import ROW_ID, Column, Table, visible_columns
from simulator.tidb.model.types import ColumnType, is_binary
from simulator.tidb.values.conversion import accepted_values

TOGETHER = 2 << 20
"""Bytes of text whose rows are combined into a batch, unless there are too many rows."""

SHOWN = 80
"""Maximum bytes of a rejected value in an error."""


def state_batches(pieces: Iterable[FilePiece]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task's pieces, in order, as batches of STATE; raise SnapshotError.

    The handle of a table without a handle key is the image.
    """
    waiting: list[pa.RecordBatch] = []
    rows = bytes = 0
    for batch in (batch for piece in pieces for batch in _states(piece)):
        if waiting and (rows + len(batch) > ROWS or bytes + batch.nbytes > BYTES):
            yield _together(waiting)
            waiting, rows, bytes = [], 0, 0
        waiting.append(batch)
        rows, bytes = rows + len(batch), bytes + batch.nbytes
    if waiting:
        yield _together(waiting)


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _states(piece: FilePiece) -> Iterator[pa.RecordBatch]:
    if piece.rows is not None:
        columns = visible_columns(piece.table)
        values = (piece.rows[column.name].combine_chunks().view(pa.string()) for column in columns)
        texts = {column.name: value for column, value in zip(columns, values, strict=True)}
        yield _state(piece, texts, locate_rows(piece.scan.place, texts, piece.rows.num_rows))
        return
    with streams.steady(piece.part):
        for raw in _raws(piece):
            for start, length in _slices(raw):
                part = RawRows(tuple(column.slice(start, length) for column in raw.columns), raw.given)
                texts = _texts(piece, part)
                yield _state(piece, texts, _tables(piece, texts, part))


def _raws(piece: FilePiece) -> Iterator[RawRows]:
    table = piece.table
    if piece.format == "parquet":
        return parquet.batches(piece.part, table)
    layout = records.layout(table)
    if piece.format == "sql":
        return _gathered(records.sql_batches(piece.part, layout))
    return _gathered(records.csv_batches(piece.part, layout, piece.scan.table.csv, piece.escape))


def _gathered(raws: Iterator[RawRows]) -> Iterator[RawRows]:
    """Combine the rows of several blocks of text, so that there are fewer batches."""
    waiting: list[RawRows] = []
    bytes = 0
    for raw in raws:
        if waiting and (bytes >= TOGETHER or raw.given != waiting[0].given):
            yield _joined(waiting)
            waiting, bytes = [], 0
        waiting.append(raw)
        bytes += sum(column.nbytes for column in raw.columns)
    if waiting:
        yield _joined(waiting)


def _joined(raws: list[RawRows]) -> RawRows:
    if len(raws) == 1:
        return raws[0]
    columns = zip(*(raw.columns for raw in raws))
    return RawRows(tuple(pa.concat_arrays(column) for column in columns), raws[0].given)


def _slices(raw: RawRows) -> Iterator[tuple[int, int]]:
    """Return where to cut rows so that a batch has neither too many nor too large ones."""
    rows = len(raw.columns[0])
    bytes = sum(column.nbytes for column in raw.columns)
    step = max(min(ROWS, rows * BYTES // max(bytes, 1)), 1)
    return ((start, min(step, rows - start)) for start in range(0, rows, step))


def _state(piece: FilePiece, texts: dict[str, pa.Array], numbers: pa.Array) -> pa.RecordBatch:
    """Return rows of the table or partition of that number, given as TiDB texts by column."""
    scan = piece.scan
    row_ids = texts.pop(ROW_ID, None)
    handle = table_info.handles_of_row_ids(row_ids) if scan.place.row_ids else None
    if scan.finish is not None:
        made = scan.finish(list(texts.values()), numbers, handle)
        columns = [made.column(name) for name in SNAPSHOT_ROWS.names[1:]]
    else:
        image = row_image.pack(list(texts.values()))
        if handle is None:
            handle = table_info.handles_of_rows(scan.place.table, texts) if handle_key(scan.place.table) else image
        columns = [numbers, handle, image, pa.nulls(len(image), pa.binary())]
    moves = pa.repeat(pa.scalar(scan.move, pa.int32()), len(columns[0]))
    return pa.RecordBatch.from_arrays([moves, *columns], schema=SNAPSHOT_ROWS)


def _texts(piece: FilePiece, raw: RawRows) -> dict[str, pa.Array]:
    """Return the text of every visible column, in table order; raise SnapshotError for the first row with a bad
    value."""
    table = piece.table
    visible = visible_columns(table)
    encoding = piece.scan.table.csv.binary if piece.format == "csv" else "raw"
    converted = {
        column.name: tidb_text(column.type, _decoded(column.type, value, encoding))
        for column, value in zip(visible, raw.columns, strict=True)
        if raw.given or not column.generated
    }
    if len(converted) < len(visible):
        converted, computed = compute_generated_columns(table, converted)
        values = zip(visible, raw.columns)
        raw = RawRows(tuple(computed.get(column.name, value) for column, value in values), raw.given)
    texts_by_column = {column.name: converted[column.name] for column in visible}
    rejected_masks = [
        _rejected(column, text, value) for column, text, value in zip(visible, texts_by_column.values(), raw.columns)
    ]
    rejections = [(int(np.argmax(mask)), place) for place, mask in enumerate(rejected_masks) if mask is not None]
    if rejections:
        raise _rejection(piece, raw, *min(rejections))
    return texts_by_column


def _tables(piece: FilePiece, texts: dict[str, pa.Array], raw: RawRows) -> pa.Array:
    """Return the number of each row's table or partition; raise SnapshotError for the first row without a partition."""
    place = piece.scan.place
    numbers = locate_rows(place, texts, len(raw.columns[0]))
    if numbers.null_count:
        row = int(np.argmax(pc.is_null(numbers).to_numpy(zero_copy_only=False)))
        raise SnapshotError(printable(f"{_where(piece)}: no partition takes{_key(piece.table, raw, row)}"))
    return numbers


def _decoded(type: ColumnType, value: pa.Array, way: str) -> pa.Array:
    is_bytes = is_binary(type) or type.charset == "binary" and type.name == "bit"
    return DECODERS[way](value) if is_bytes and way != "raw" else value


def _rejected(column: Column, text: pa.Array, raw: pa.Array) -> Mask | None:
    """Return which values TiDB would reject; None if it accepts all."""
    if not text.null_count or (not column.not_null and text.null_count == raw.null_count):
        return None
    mask: Mask = text.is_null().to_numpy(zero_copy_only=False)
    if not column.not_null:
        mask &= raw.is_valid().to_numpy(zero_copy_only=False)
    return mask if mask.any() else None


def _rejection(piece: FilePiece, raw: RawRows, row: int, place: int) -> SnapshotError:
    table = piece.table
    column, value = visible_columns(table)[place], raw.columns[place][row]
    if value.is_valid:
        type = column.type.name + (" unsigned" if column.type.unsigned else "")
        cause = f"value {_quoted(column, value)} of type {type}: accepted is {accepted_values(column.type)}"
        if _is_of_another_charset(column.type, _bytes(value)):
            cause += f"; the file {files.ELSE}: accepted is {quoting.ACCEPTED}"
    else:
        cause = "NULL in a NOT NULL column"
    return SnapshotError(printable(f"{_where(piece)}, column {column.name!r}, row{_key(table, raw, row)}: {cause}"))


def _is_of_another_charset(type: ColumnType, value: bytes) -> bool:
    if is_binary(type) or type.name == "bit":
        return False
    try:
        value.decode()
    except UnicodeDecodeError:
        return True
    return False


def _where(piece: FilePiece) -> str:
    table = piece.scan.place.table
    return f"{piece.part.path}: table `{table.schema}`.`{table.name}`"


def _key(table: Table, raw: RawRows, row: int) -> str:
    """Return the handle key's columns with their raw values, or the first few columns without a key."""
    visible = list(zip(visible_columns(table), raw.columns))
    key = handle_key(table)
    shown = [(column, values) for column, values in visible if column.name in key] or visible[:4]
    return "".join(f" {column.name}={_quoted(column, values[row])}" for column, values in shown)


def _quoted(column: Column, value: pa.Scalar) -> str:
    """Return the beginning of a raw value between quotes."""
    data = _bytes(value) if value.is_valid else b"NULL"
    return f"'{data[column.type.name == 'bit' and value.is_valid :][:SHOWN].decode('utf-8', 'backslashreplace')}'"


def _bytes(value: pa.Scalar) -> bytes:
    """Return a raw value in readable form."""
    type = value.type
    if pa.types.is_binary(type) or pa.types.is_large_binary(type) or pa.types.is_fixed_size_binary(type):
        return bytes(value.as_py())
    text = str(value.cast(pa.string()).as_py())
    if (pa.types.is_timestamp(type) or pa.types.is_time(type)) and "." in text:
        text = text.removesuffix("Z").rstrip("0").rstrip(".")
    return text.encode()


def unhex(texts: pa.Array) -> pa.Array:
    """Decode a binary array of hexadecimal digits; null for what is none."""
    return _decoded_each(texts, binascii.unhexlify)


def unbase64(texts: pa.Array) -> pa.Array:
    """Decode a binary array of padded base64; null for what is none."""
    return _decoded_each(texts, partial(binascii.a2b_base64, strict_mode=True))


def _decoded_each(texts: pa.Array, decode: Callable[[bytes], bytes]) -> pa.Array:
    def decoded(text: bytes | None) -> bytes | None:
        try:
            return None if text is None else decode(text)
        except binascii.Error:
            return None

    return pa.array([decoded(text) for text in texts.cast(pa.binary()).to_pylist()], pa.binary())


DECODERS: dict[str, Callable[[pa.Array], pa.Array]] = {"hex": unhex, "base64": unbase64}
