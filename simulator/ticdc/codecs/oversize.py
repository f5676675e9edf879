"""Rows above max-message-bytes: TiCDC's error, cut down to the handle key, or cut down and stored whole in a file.

One law: a row is judged by itself, not by its message, and by its compressed value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import lengths
from simulator.columns.row_image import split
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs import claim_check
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.compression import compressed
from simulator.ticdc.codecs.row_changes import Encoded, Frame, Rows, StoredFile, rows_at
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import visible_columns

RECORD_OVERHEAD = 36
"""Bytes that TiCDC adds for a Kafka record (tiflow: pkg/sink/codec/common/message.go MaxRecordOverhead)."""


@dataclass(frozen=True, kw_only=True)
class SizeLimit:
    """How a protocol compares a row with max-message-bytes, and what it makes of one that is too large."""

    overhead: int
    """Bytes that TiCDC adds to those of key and value."""

    cut: Callable[[Rows, pa.Array | None, CodecOptions, Release], Encoded]
    """Rows → entries with their handle key alone, not compressed, that say so, or say the claim-check location
    (binary)."""

    frame: Frame
    code: str = "CDC:ErrMessageTooLarge"
    """Of TiCDC's error; without one, such rows are sent as they are."""

    named_anew: bool = False
    """As `claim_check.stored` has it."""


def limited(encoded: Encoded, rows: Rows, options: CodecOptions, release: Release, limit: SizeLimit) -> Encoded:
    """The rows as they were encoded, compressed as the options say, those that are too long cut. Raises EncodeError
    for one that cannot be sent."""
    encoded = compressed(encoded, options)
    long = _sizes(encoded, limit) > options.max_message_bytes
    if rows.large is not None:
        long |= np.asarray(rows.large)
    if not limit.code or not long.any():
        return encoded
    mask = pa.array(long)
    large, original = rows_at(rows, pa.array(np.flatnonzero(long))), _filtered(encoded, mask)
    if options.large_message_handle_option == "none":
        raise _too_large(large, 0, int(_sizes(original, limit)[0]), options, limit.code)
    files = _stored(original, large, options, release, limit)
    shorter = compressed(limit.cut(large, claim_check.locations(files) if files else None, options, release), options)
    still = np.flatnonzero(_sizes(shorter, limit) > options.max_message_bytes)
    if len(still):
        row = int(still[0])
        raise _too_large(large, row, int(_sizes(shorter, limit)[row]), options, limit.code)
    keys = None if encoded.keys is None else pc.replace_with_mask(encoded.keys, mask, shorter.keys)
    return Encoded(keys, pc.replace_with_mask(encoded.values, mask, shorter.values), files)


def _filtered(encoded: Encoded, mask: pa.Array) -> Encoded:
    return Encoded(None if encoded.keys is None else encoded.keys.filter(mask), encoded.values.filter(mask))


def _stored(
    large: Encoded, rows: Rows, options: CodecOptions, release: Release, limit: SizeLimit
) -> tuple[StoredFile, ...]:
    """Claim-check's files, one for each of the rows; none of them otherwise."""
    if options.large_message_handle_option != "claim-check":
        return ()
    whole = limit.frame(large, np.arange(len(large.values)), options, release)
    return claim_check.stored(whole, rows, options, release, limit.named_anew)


def _sizes(encoded: Encoded, limit: SizeLimit) -> npt.NDArray[np.int64]:
    keys = 0 if encoded.keys is None else lengths(encoded.keys)
    return lengths(encoded.values) + keys + limit.overhead


_TEXTS = {
    "CDC:ErrJSONCodecRowTooLarge": "json codec single row too large",
    "CDC:ErrOpenProtocolCodecRowTooLarge": "open-protocol codec single row too large",
    "CDC:ErrMessageTooLarge": "message is too large",
}
"""What TiCDC says with the code of a row that is too large (tiflow: pkg/errors/cdc_errors.go)."""


def _too_large(rows: Rows, row: int, size: int, options: CodecOptions, code: str) -> EncodeError:
    """TiCDC's error, with the figures that 8.5.5 added in all releases (there), and the row."""
    return EncodeError(
        f"{_TEXTS[code]}. table:{rows.table.name}, length:{size}, maxMessageBytes:{options.max_message_bytes} "
        f"(row {key_text(rows, row)} of {rows.table.schema}.{rows.table.name})",
        code,
    )


def key_text(rows: Rows, row: int) -> str:
    """`id=7` of one row, for messages to people; all columns where the table has no handle key."""
    columns = visible_columns(rows.table)
    images = rows.before if rows.after[row].as_py() is None else rows.after
    image = split(images.slice(row, 1), len(columns))
    names = handle_key(rows.table) or tuple(column.name for column in columns)
    cells = {column.name: image.cells(place)[0].as_py() for place, column in enumerate(columns)}
    texts = {name: "NULL" if cells[name] is None else _short(cells[name].decode("utf-8", "replace")) for name in names}
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}… of {len(text)} characters"
