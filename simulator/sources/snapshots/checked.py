"""Raw values of a table → its columns' TiDB text, and the error of the first row that TiDB would reject; bytes that CSV
files write as hexadecimal or base64 are read here, too.

One law: a text that is null though the value is not is what was rejected.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Mask, Places
from simulator.errors import SnapshotError, printable
from simulator.sources.snapshots.physical import located
from simulator.sources.snapshots.pieces import Piece
from simulator.sources.snapshots.records import Raw
from simulator.ticdc.table_info import handle_key
from simulator.tidb.expressions.generated_columns import compute_generated_columns
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import ColumnType, is_binary
from simulator.tidb.values.conversion import accepted, tidb_text

SHOWN = 80
"""Bytes of a rejected value that an error shows."""


_NONE, _PAD = 255, 254


def texts(piece: Piece, raw: Raw) -> dict[str, pa.Array]:
    """The text of every visible column, in table order; raises SnapshotError for the first row with a bad value."""
    table = piece.scan.place.table
    visible = visible_columns(table)
    way = piece.scan.csv.binary if piece.format == "csv" else "raw"
    made = {
        column.name: tidb_text(column.type, _decoded(column.type, value, way))
        for column, value in zip(visible, raw.columns, strict=True)
        if raw.given or not column.generated
    }
    if len(made) < len(visible):
        made, computed, _ = compute_generated_columns(table, made)
        values = zip(visible, raw.columns)
        raw = Raw(tuple(computed.get(column.name, value) for column, value in values), raw.given)
    found = {column.name: made[column.name] for column in visible}
    bad = [_rejected(column, text, value) for column, text, value in zip(visible, found.values(), raw.columns)]
    wrong = [(int(np.argmax(mask)), place) for place, mask in enumerate(bad) if mask is not None]
    if wrong:
        raise _rejection(piece, raw, *min(wrong))
    return found


def tables(piece: Piece, texts: dict[str, pa.Array], raw: Raw) -> pa.Array:
    """The number of each row's table or partition; raises SnapshotError for the first row that no partition takes."""
    place = piece.scan.place
    numbers = located(place, texts, len(raw.columns[0]))
    if numbers.null_count:
        row = int(np.argmax(pc.is_null(numbers).to_numpy(zero_copy_only=False)))
        raise SnapshotError(printable(f"{_where(piece)}: no partition takes{_key(place.table, raw, row)}"))
    return numbers


def _decoded(type: ColumnType, value: pa.Array, way: str) -> pa.Array:
    is_bytes = is_binary(type) or type.charset == "binary" and type.name == "bit"
    return DECODERS[way](value) if is_bytes and way != "raw" else value


def _rejected(column: Column, text: pa.Array, raw: pa.Array) -> Mask | None:
    """Which values TiDB would not take; None: it takes all."""
    if not text.null_count or (not column.not_null and text.null_count == raw.null_count):
        return None
    mask: Mask = text.is_null().to_numpy(zero_copy_only=False)
    if not column.not_null:
        mask &= raw.is_valid().to_numpy(zero_copy_only=False)
    return mask if mask.any() else None


def _rejection(piece: Piece, raw: Raw, row: int, place: int) -> SnapshotError:
    table = piece.scan.place.table
    column, value = visible_columns(table)[place], raw.columns[place][row]
    if value.is_valid:
        type = column.type.name + (" unsigned" if column.type.unsigned else "")
        cause = f"value {_quoted(column, value)} of type {type}: accepted is {accepted(column.type)}"
    else:
        cause = "NULL in a NOT NULL column"
    return SnapshotError(printable(f"{_where(piece)}, column {column.name!r}, row{_key(table, raw, row)}: {cause}"))


def _where(piece: Piece) -> str:
    table = piece.scan.place.table
    return f"{piece.part.path}: table `{table.schema}`.`{table.name}`"


def _key(table: Table, raw: Raw, row: int) -> str:
    """The columns of the handle key with their raw values, or the first few where there is none."""
    visible = list(zip(visible_columns(table), raw.columns))
    key = handle_key(table)
    shown = [(column, values) for column, values in visible if column.name in key] or visible[:4]
    return "".join(f" {column.name}={_quoted(column, values[row])}" for column, values in shown)


def _quoted(column: Column, value: pa.Scalar) -> str:
    """The beginning of a raw value between quotes."""
    data = _bytes(value) if value.is_valid else b"NULL"
    return f"'{data[column.type.name == 'bit' and value.is_valid :][:SHOWN].decode('utf-8', 'backslashreplace')}'"


def _bytes(value: pa.Scalar) -> bytes:
    """A raw value as people write it."""
    type = value.type
    if pa.types.is_binary(type) or pa.types.is_large_binary(type) or pa.types.is_fixed_size_binary(type):
        return bytes(value.as_py())
    text = str(value.cast(pa.string()).as_py())
    if (pa.types.is_timestamp(type) or pa.types.is_time(type)) and "." in text:
        text = text.removesuffix("Z").rstrip("0").rstrip(".")
    return text.encode()


def unhex(texts: pa.Array) -> pa.Array:
    """Binary array of hexadecimal digits → of the bytes they stand for."""
    digits, offsets = _digits(texts, _HEX)
    lengths = np.diff(offsets)
    good = (lengths % 2 == 0) & ~_any(digits == _NONE, offsets)
    digits, offsets = _only(digits, offsets, good)
    return _binary(texts, (digits[0::2] << np.uint8(4)) | digits[1::2], offsets // 2, good)


def unbase64(texts: pa.Array) -> pa.Array:
    """Binary array of padded base64 → of the bytes it stands for."""
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
    digits, offsets = _only(digits, offsets, good)
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
    """What each character stands for, and where each text begins; nulls are empty."""
    filled = texts.cast(pa.binary()).fill_null(b"")
    _, offset_buffer, data = filled.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, len(texts) + 1, 4 * filled.offset).astype(np.int64)
    characters = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
    return table[characters], offsets - offsets[0]


def _count(mask: Mask, offsets: Places) -> Places:
    """How many characters of each text are so."""
    counted = np.concatenate([[0], np.cumsum(mask)])
    result: Places = counted[offsets[1:]] - counted[offsets[:-1]]
    return result


def _any(mask: Mask, offsets: Places) -> Mask:
    return _count(mask, offsets) > 0


def _only(digits: Bytes, offsets: Places, good: Mask) -> tuple[Bytes, Places]:
    """The texts with those that are none made empty."""
    if good.all():
        return digits, offsets
    lengths = np.diff(offsets)
    return digits[np.repeat(good, lengths)], np.concatenate([[0], np.cumsum(np.where(good, lengths, 0))])


def _binary(texts: pa.Array, data: Bytes, offsets: Places, good: Mask) -> pa.Array:
    valid = texts.is_valid().to_numpy(zero_copy_only=False) & good
    buffers = [pa.array(valid).buffers()[1], pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(texts), buffers)
