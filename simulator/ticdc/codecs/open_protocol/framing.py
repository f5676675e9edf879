"""Framing of Open Protocol: rows → Kafka messages.

A key is version 1 as 8 bytes, then the length (8 bytes) and JSON of each row; a value is the same without the version.
TiCDC opens a message if there is none, if the last one holds max-batch-size rows, or if its Length() (key, value, 36
bytes) and the new row (key, value and 16 bytes) exceed max-message-bytes (tiflow:
pkg/sink/codec/open/open_protocol_encoder.go). Old releases do not count the 36 bytes; before 4.0.9 a message is sent
when it has 4 MiB (tiflow v4.0.8: cdc/sink/mq.go).
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import Places, lengths, stored_buffers
from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.json_text import join
from simulator.ticdc.codecs.oversize import RECORD_OVERHEAD
from simulator.ticdc.codecs.row_changes import EncodedRows, Messages

VERSION = struct.pack(">Q", 1)
FULL = 4 << 20
"""Bytes of key and value at which a message is sent before 4.0.9."""


def overhead(release: Release) -> int:
    """Return the bytes that the release counts for Kafka's record."""
    return RECORD_OVERHEAD if release.record_overhead_counted else 0


def frame_open(encoded: EncodedRows, group: npt.NDArray[np.int64], options: CodecOptions, release: Release) -> Messages:
    """Return the messages of the rows in order. Rows share one only if their groups (contiguous) are equal."""
    sizes = lengths(encoded.keys), lengths(encoded.values)
    starts = message_starts(sizes[0] + sizes[1], np.asarray(group), options, release)
    first_row = np.append(starts, len(encoded.values)).astype(np.int32)
    keys = join(_length_prefixes(sizes[0], starts), encoded.keys)
    values = join(_length_prefixes(sizes[1], np.empty(0, np.int64)), encoded.values)
    return Messages(_merge_rows(keys, first_row), _merge_rows(values, first_row), pa.array(first_row))


def message_starts(sizes: Places, group: npt.NDArray[np.int64], options: CodecOptions, release: Release) -> Places:
    """Return the first row of each message; `sizes` are the bytes of each row's key and value JSON."""
    rows = len(sizes)
    if rows == 0:
        return np.empty(0, np.int64)
    run_starts = np.concatenate(([0], np.flatnonzero(np.diff(group)) + 1))
    run_ends = np.append(run_starts[1:], rows)
    run = np.repeat(np.arange(len(run_starts)), run_ends - run_starts)
    if not release.open_batch_size:
        total = np.concatenate(([0], np.cumsum(sizes + 16)))
        full = np.searchsorted(total, total[:-1] + FULL - len(VERSION), side="left")
        return _chain(np.minimum(full, run_ends[run]))
    batch = max(options.max_batch_size, 1)
    fixed = len(VERSION) + overhead(release)
    if fixed + batch * (int(sizes.max()) + 16) <= options.max_message_bytes:
        return np.flatnonzero((np.arange(rows) - run_starts[run]) % batch == 0)
    total = np.concatenate(([0], np.cumsum(sizes + 16)))
    room = np.searchsorted(total, total[:-1] + options.max_message_bytes - fixed, side="right") - 1
    following = np.maximum(np.minimum.reduce([room, np.arange(rows) + batch, run_ends[run]]), np.arange(rows) + 1)
    return _chain(following)


def _chain(following: Places) -> Places:
    """Return 0, following[0], following[following[0]], … by doubling: each step doubles the length of the jumps."""
    rows = len(following)
    jump = np.append(following, rows)
    chain = np.zeros(1, np.int64)
    while chain[-1] < rows:
        chain = np.concatenate((chain, jump[chain]))
        jump = jump[jump]
    return chain[chain < rows]


def _length_prefixes(sizes: Places, version_at: Places) -> pa.Array:
    """Return 8-byte big-endian lengths, preceded by the version where a message begins."""
    widths = np.full(len(sizes), 8, np.int32)
    widths[version_at] = 16
    ends = np.concatenate(([0], np.cumsum(widths))).astype(np.int32)
    words = np.zeros(int(ends[-1]) // 8, ">u8")
    words[ends[1:] // 8 - 1] = sizes
    words[ends[:-1][version_at] // 8] = 1
    return pa.Array.from_buffers(pa.binary(), len(sizes), [None, pa.py_buffer(ends), pa.py_buffer(words)])


def _merge_rows(rows: pa.Array, first_row: npt.NDArray[np.int32]) -> pa.Array:
    data, offsets = stored_buffers(rows)
    return pa.Array.from_buffers(
        pa.binary(), len(first_row) - 1, [None, pa.py_buffer(offsets[first_row]), pa.py_buffer(data)]
    )
