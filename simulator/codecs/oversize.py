"""Rows above max-message-bytes: TiCDC's error, or cut down to the handle key.

One law: a row is judged by itself, not by its message.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.codecs.images import chosen, split
from simulator.codecs.options import CodecOptions
from simulator.codecs.rows import Encoded, Rows
from simulator.codecs.text import lengths
from simulator.errors import EncodeError
from simulator.schema.keys import handle_key, visible_columns

RECORD_OVERHEAD = 36
"""Bytes that TiCDC adds for a Kafka record (tiflow: pkg/sink/codec/common/message.go MaxRecordOverhead)."""


def limited(
        encoded: Encoded, rows: Rows, options: CodecOptions, overhead: int, cut: Callable[[Rows], Encoded]) -> Encoded:
    """The rows as they were encoded, those that are too long encoded anew by `cut`.

    `overhead` is what TiCDC adds to a row's key and value before it compares. Raises EncodeError
    CDC:ErrMessageTooLarge.
    """
    long = _sizes(encoded, overhead) > options.max_message_bytes
    if not long.any():
        return encoded
    places = np.flatnonzero(long)
    if options.large_message_handle_option == "none":
        raise _too_large(rows, int(places[0]), encoded, overhead, options)
    shorter = cut(chosen(rows, pa.array(places)))
    still = np.flatnonzero(_sizes(shorter, overhead) > options.max_message_bytes)
    if len(still):
        raise _too_large(chosen(rows, pa.array(places)), int(still[0]), shorter, overhead, options)
    mask = pa.array(long)
    keys = None if encoded.keys is None else pc.replace_with_mask(encoded.keys, mask, shorter.keys)
    return Encoded(keys, pc.replace_with_mask(encoded.values, mask, shorter.values))


def _sizes(encoded: Encoded, overhead: int) -> npt.NDArray[np.int64]:
    keys = 0 if encoded.keys is None else lengths(encoded.keys)
    return lengths(encoded.values) + keys + overhead


def _too_large(rows: Rows, row: int, encoded: Encoded, overhead: int, options: CodecOptions) -> EncodeError:
    """TiCDC's error, with the table and key that TiCDC writes to its log only (tiflow: pkg/errors/cdc_errors.go)."""
    size = int(_sizes(encoded, overhead)[row])
    table = f"{rows.table.schema}.{rows.table.name}"
    return EncodeError(
        f"message is too large: {size} bytes for table {table}, key {key_text(rows, row)}; "
        f"max-message-bytes is {options.max_message_bytes}", "CDC:ErrMessageTooLarge")


def key_text(rows: Rows, row: int) -> str:
    """`id=7` of one row, for messages to people; all columns where the table has no handle key."""
    columns = visible_columns(rows.table)
    images = rows.before if rows.after[row].as_py() is None else rows.after
    image = split(images.slice(row, 1), len(columns))
    names = handle_key(rows.table) or tuple(column.name for column in columns)
    cells = {column.name: image.cells(place)[0].as_py() for place, column in enumerate(columns)}
    texts = {name: "NULL" if cells[name] is None else cells[name].decode("utf-8", "replace") for name in names}
    return ", ".join(f"{name}={text}" for name, text in texts.items())
