"""Rows above max-message-bytes: TiCDC's error, handle-key-only, or claim-check.

A row is measured by itself, not with its message, and after compression.
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
from simulator.ticdc.codecs.compression import compress_entries
from simulator.ticdc.codecs.row_changes import EncodedRows, Frame, RowChanges, StoredFile, rows_at
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import visible_columns

RECORD_OVERHEAD = 36
"""Bytes that TiCDC adds for a Kafka record (tiflow: pkg/sink/codec/common/message.go MaxRecordOverhead)."""


@dataclass(frozen=True, kw_only=True)
class SizeLimit:
    """How a protocol measures a row, and how it sends one above max-message-bytes."""

    overhead: int
    """Bytes added to those of key and value."""

    shorten: Callable[[RowChanges, pa.Array | None], EncodedRows]
    """Encode rows with their handle key alone, not compressed, and the claim-check location (binary) or a mark."""

    frame: Frame
    code: str = "CDC:ErrMessageTooLarge"
    """Code of TiCDC's error; an empty code means that such rows are sent as they are."""

    renames_file: bool = False
    """As in `claim_check.make_files`."""


def apply_size_limit(
    encoded: EncodedRows, rows: RowChanges, options: CodecOptions, release: Release, limit: SizeLimit
) -> EncodedRows:
    """Return the encoded rows, compressed as the options say, with those above the limit shortened.

    Raise EncodeError for a row that cannot be sent.
    """
    encoded = compress_entries(encoded, options)
    is_large = _sizes(encoded, limit) > options.max_message_bytes
    if rows.large is not None:
        is_large |= np.asarray(rows.large)
    if not limit.code or not is_large.any():
        return encoded
    mask = pa.array(is_large)
    large, large_entries = rows_at(rows, pa.array(np.flatnonzero(is_large))), _filtered(encoded, mask)
    if options.large_message_handle_option == "none":
        raise _too_large(large, 0, int(_sizes(large_entries, limit)[0]), options, limit.code)
    files = _claim_check_files(large_entries, large, options, release, limit)
    locations = claim_check.file_locations(files) if files else None
    shortened = compress_entries(limit.shorten(large, locations), options)
    too_large = np.flatnonzero(_sizes(shortened, limit) > options.max_message_bytes)
    if len(too_large):
        row = int(too_large[0])
        raise _too_large(large, row, int(_sizes(shortened, limit)[row]), options, limit.code)
    keys = None if encoded.keys is None else pc.replace_with_mask(encoded.keys, mask, shortened.keys)
    return EncodedRows(keys, pc.replace_with_mask(encoded.values, mask, shortened.values), files)


def _filtered(encoded: EncodedRows, mask: pa.Array) -> EncodedRows:
    return EncodedRows(None if encoded.keys is None else encoded.keys.filter(mask), encoded.values.filter(mask))


def _claim_check_files(
    large: EncodedRows, rows: RowChanges, options: CodecOptions, release: Release, limit: SizeLimit
) -> tuple[StoredFile, ...]:
    """Return claim-check's files, one for each row; none with another option."""
    if options.large_message_handle_option != "claim-check":
        return ()
    whole = limit.frame(large, np.arange(len(large.values)), options, release)
    return claim_check.make_files(whole, rows, options, release, limit.renames_file)


def _sizes(encoded: EncodedRows, limit: SizeLimit) -> npt.NDArray[np.int64]:
    keys = 0 if encoded.keys is None else lengths(encoded.keys)
    return lengths(encoded.values) + keys + limit.overhead


_TEXTS = {
    "CDC:ErrJSONCodecRowTooLarge": "json codec single row too large",
    "CDC:ErrOpenProtocolCodecRowTooLarge": "open-protocol codec single row too large",
    "CDC:ErrMessageTooLarge": "message is too large",
}
"""TiCDC's texts for the codes of a row that is too large (tiflow: pkg/errors/cdc_errors.go)."""


def _too_large(rows: RowChanges, row: int, size: int, options: CodecOptions, code: str) -> EncodeError:
    """Return TiCDC's error with the row. The figures, which 8.5.5 added, are in the text of all releases."""
    return EncodeError(
        f"{_TEXTS[code]}. table:{rows.table.name}, length:{size}, maxMessageBytes:{options.max_message_bytes} "
        f"(row {key_text(rows, row)} of {rows.table.schema}.{rows.table.name})",
        code,
    )


def key_text(rows: RowChanges, row: int) -> str:
    """Return `id=7` of one row, for messages to users; all columns if the table has no handle key."""
    columns = visible_columns(rows.table)
    images = rows.before if rows.after[row].as_py() is None else rows.after
    image = split(images.slice(row, 1), len(columns))
    names = handle_key(rows.table) or tuple(column.name for column in columns)
    cells = {column.name: image.cells(place)[0].as_py() for place, column in enumerate(columns)}
    texts = {name: "NULL" if cells[name] is None else _short(cells[name].decode("utf-8", "replace")) for name in names}
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}… of {len(text)} characters"
