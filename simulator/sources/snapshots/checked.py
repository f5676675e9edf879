"""Conversion of a table's raw values to TiDB text, with an error for the first row that TiDB would reject.

A text that is null although the value is not marks a rejected value. Hexadecimal and base64 values of CSV files are
decoded here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator import files
from simulator.columns.cells import Bytes, Mask, Places
from simulator.errors import SnapshotError, printable
from simulator.sources.snapshots import quoting
from simulator.sources.snapshots.physical import locate_rows
from simulator.sources.snapshots.pieces import FilePiece
from simulator.sources.snapshots.records import RawRows
from simulator.ticdc.table_info import handle_key
from simulator.tidb.datums.cast import tidb_text
from simulator.tidb.expressions.over_columns import compute_generated_columns
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import ColumnType, is_binary
from simulator.tidb.values.conversion import accepted_values

SHOWN = 80
"""Maximum bytes of a rejected value in an error."""


_NONE, _PAD = 255, 254


def texts(piece: FilePiece, raw: RawRows) -> dict[str, pa.Array]:
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
        converted, computed, _ = compute_generated_columns(table, converted)
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


def tables(piece: FilePiece, texts: dict[str, pa.Array], raw: RawRows) -> pa.Array:
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
    """Decode a binary array of hexadecimal digits."""
    digits, offsets = _digits(texts, _HEX)
    lengths = np.diff(offsets)
    good = (lengths % 2 == 0) & ~_any(digits == _NONE, offsets)
    digits, offsets = _emptied_where_bad(digits, offsets, good)
    return _binary(texts, (digits[0::2] << np.uint8(4)) | digits[1::2], offsets // 2, good)


def unbase64(texts: pa.Array) -> pa.Array:
    """Decode a binary array of padded base64."""
    digits, offsets = _digits(texts, _BASE64)
    pads = _count(digits == _PAD, offsets)
    ends = np.maximum(offsets[1:] - 1, 0)
    last = (
        np.stack([digits[np.maximum(ends - back, 0)] == _PAD for back in (0, 1)])
        if len(digits)
        else np.zeros((2, len(pads)), np.bool_)
    )
    closed = (pads == 0) | ((pads == 1) & last[0]) | ((pads == 2) & last[0] & last[1])
    good = (np.diff(offsets) % 4 == 0) & closed & ~_any(digits == _NONE, offsets)
    digits, offsets = _emptied_where_bad(digits, offsets, good)
    padding = digits == _PAD
    fours = np.where(padding, 0, digits).astype(np.uint32).reshape(-1, 4)
    whole = (fours << np.array([18, 12, 6, 0], np.uint32)).sum(axis=1, dtype=np.uint32)
    bytes = np.stack([(whole >> shift).astype(np.uint8) for shift in (16, 8, 0)], axis=1)
    kept = ~padding.reshape(-1, 4)[:, 1:]
    dropped = np.concatenate([[0], np.cumsum(np.where(good, pads, 0))])
    return _binary(texts, bytes[kept], offsets // 4 * 3 - dropped, good)


DECODERS: dict[str, Callable[[pa.Array], pa.Array]] = {"hex": unhex, "base64": unbase64}


def _table(digits: bytes) -> Bytes:
    table = np.full(256, _NONE, np.uint8)
    table[list(digits)] = np.arange(len(digits))
    return table


_HEX = _table(b"0123456789abcdef")
_HEX[list(b"ABCDEF")] = np.arange(10, 16)
_BASE64 = _table(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BASE64[ord("=")] = _PAD


def _digits(texts: pa.Array, table: Bytes) -> tuple[Bytes, Places]:
    """Return the value of each character, and where each text begins; nulls are empty."""
    filled = texts.cast(pa.binary()).fill_null(b"")
    _, offset_buffer, data = filled.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, len(texts) + 1, 4 * filled.offset).astype(np.int64)
    characters = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
    return table[characters], offsets - offsets[0]


def _count(mask: Mask, offsets: Places) -> Places:
    """Return the number of masked characters in each text."""
    cumulative = np.concatenate([[0], np.cumsum(mask)])
    result: Places = cumulative[offsets[1:]] - cumulative[offsets[:-1]]
    return result


def _any(mask: Mask, offsets: Places) -> Mask:
    return _count(mask, offsets) > 0


def _emptied_where_bad(digits: Bytes, offsets: Places, good: Mask) -> tuple[Bytes, Places]:
    """Return the texts with invalid ones made empty."""
    if good.all():
        return digits, offsets
    lengths = np.diff(offsets)
    return digits[np.repeat(good, lengths)], np.concatenate([[0], np.cumsum(np.where(good, lengths, 0))])


def _binary(texts: pa.Array, data: Bytes, offsets: Places, good: Mask) -> pa.Array:
    valid = texts.is_valid().to_numpy(zero_copy_only=False) & good
    buffers = [pa.array(valid).buffers()[1], pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(texts), buffers)
