"""Open Protocol: JSON keys and values, several rows per message.

* A key is version 1 as 8 bytes, then the length (8 bytes) and JSON of each row; a value is the same without the version.
* The JSON of a key is `{"ts":…,"scm":…,"tbl":…,"t":1}`; `t` is 1 for a row, 2 for a DDL statement, 3 for a watermark.
* The value of a row is `{"u":{…},"p":{…}}` or `{"d":{…}}`, a column `{"t":type,"h":true,"f":flags,"v":value}`.
* The value of a DDL statement is `{"q":query,"t":action type}`; a watermark has none.
* DDL statements and watermarks go to every partition of their topic.

A row is encoded by itself; framing decides which rows share a message. TiCDC opens a message if there is none, if the
last one holds max-batch-size rows, or if its Length() (key, value, 36 bytes) and the new row (key, value and 16 bytes)
exceed max-message-bytes (tiflow: pkg/sink/codec/open/open_protocol_encoder.go). Old releases do not count the 36 bytes;
before 4.0.9 a message is sent when it has 4 MiB (tiflow v4.0.8: cdc/sink/mq.go). With only-output-updated-columns `p`
lists the columns that an UPDATE changes: images are compared, and the release decides what is written (tiflow v8.5.3:
pkg/sink/codec/internal/message_key.go, pkg/sink/codec/open/open_protocol_message.go; ticdc v8.5.4:
pkg/sink/codec/open/codec.go).

Sources: tiflow v8.5.3: pkg/sink/codec/open, pkg/sink/codec/internal; ticdc: pkg/sink/codec/open; docs: open-protocol.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, Places, lengths, stored_buffers
from simulator.columns.row_image import Image
from simulator.errors import EncodeError
from simulator.releases import Release, option_names
from simulator.ticdc import table_info
from simulator.ticdc.codecs.codec import ZERO_FAMILIES, Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.json_members import (
    JsonMember,
    PartialMember,
    Piece,
    is_changed,
    object_pieces,
    partial_members,
)
from simulator.ticdc.codecs.large_messages import RECORD_OVERHEAD, SizeLimit, apply_size_limit, compress
from simulator.ticdc.codecs.open_protocol.columns import always_null, members, old_members, string
from simulator.ticdc.codecs.row_changes import (
    DdlEvent,
    EncodedRows,
    Messages,
    OperationRows,
    RowChanges,
    encode_by_operation,
)
from simulator.ticdc.codecs.wire_text import decimal, join
from simulator.tidb.model import types


def encode(rows: RowChanges, options: CodecOptions, release: Release) -> EncodedRows:
    """Return keys and values of the rows.

    Raise EncodeError: with the release's `size_error` for a row above max-message-bytes, with
    CDC:ErrOpenProtocolCodecInvalidData for a row without columns, and with its `codec_error` if its encoder refuses
    enable-tidb-extension.
    """
    if options.enable_tidb_extension and release.tidb_extension_refusal:
        raise EncodeError(release.tidb_extension_refusal, release.codec_error)
    options = supported_options(options, release)
    limit = SizeLimit(
        overhead=overhead(release) + 16 + len(VERSION),
        shorten=lambda rows, locations: _encode(rows, options, release, shortened_mark(locations, release)),
        frame=frame_open,
        code=release.size_error,
    )
    return apply_size_limit(_encode(rows, options, release, mark=()), rows, options, release, limit)


def _encode(rows: RowChanges, options: CodecOptions, release: Release, mark: tuple[Piece, ...]) -> EncodedRows:
    """Return the entries; a `mark` in the keys means that values have only the handle key."""
    count = len(table_info.visible_columns(rows.table))
    encode_values = partial(_values, options=options, release=release, handle_key_only=bool(mark))
    return EncodedRows(row_keys(rows, mark, release), encode_by_operation(rows, count, encode_values))


def _values(changes: OperationRows, options: CodecOptions, release: Release, handle_key_only: bool) -> pa.Array:
    """Return the JSON values of rows that are all of one operation."""
    if changes.operation == "EMPTY":
        return pa.repeat(pa.scalar(b"{}", pa.binary()), len(changes.rows.commit_ts))
    table, selected = changes.rows.table, changes.rows.selected
    columns = members(table, release, selected)
    by_key = handle_key_only or changes.operation == "DELETE" and _deletes_by_key(options, release)
    if by_key:
        columns = tuple(member for member in columns if member.handle)
    if not columns:
        return _without_columns(changes, options, release, handle_key_only)
    if changes.operation == "DELETE":
        return join(b'{"d":{', *object_pieces(columns, changes.before()), b"}}")
    new = changes.after()
    pieces = [b'{"u":{', *object_pieces(columns, new), b"}"]
    if changes.operation == "INSERT" or not _has_old(options, release):
        return join(*pieces, b"}")
    old = changes.before()
    if options.only_output_updated_columns:
        old_columns = tuple(member for member in old_members(table, release, selected) if member.handle or not by_key)
        return join(*pieces, *updated_pieces(columns, old_columns, old, new, release), b"}")
    return join(*pieces, b',"p":{', *object_pieces(columns, old), b"}}")


def _deletes_by_key(options: CodecOptions, release: Release) -> bool:
    without = release.delete_without_old_value and not options.enable_old_value
    return options.delete_only_output_handle_key_columns or without or not release.open_old_values


def _has_old(options: CodecOptions, release: Release) -> bool:
    has_old_value = options.enable_old_value or not release.update_without_old_value
    return release.open_old_values and has_old_value and (options.output_old_value or not release.open_old_optional)


def _without_columns(
    changes: OperationRows, options: CodecOptions, release: Release, handle_key_only: bool
) -> pa.Array:
    """Return rows without any column; raise EncodeError if TiCDC fails on them."""
    by_key = handle_key_only or changes.operation == "DELETE" and options.delete_only_output_handle_key_columns
    if not release.open_needs_columns or release.open_names_operation and not by_key:
        return pa.repeat(pa.scalar(b"{}", pa.binary()), len(changes.rows.commit_ts))
    operation = changes.operation.lower() if release.open_names_operation else "delete"
    raise EncodeError(
        f"not found handle key columns for the {operation} event: "
        f"table {changes.rows.table.schema}.{changes.rows.table.name}",
        "CDC:ErrOpenProtocolCodecInvalidData",
    )


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Return key and value of a DDL statement."""
    named = ((b"scm", event.schema), (b"tbl", event.table))
    names = b"".join(
        b',"%s":%s' % (member, string(name, release)) for member, name in named if name or release.open_empty_names
    )
    value = b'{"q":%s,"t":%d}' % (string(event.query, release), event.type_code)
    compression = supported_options(options, release).large_message_handle_compression
    return b'{"ts":%d%s,"t":2}' % (event.commit_ts, names), compress(value, compression)


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Return key and value of a resolved event; framing turns the empty value into 8 zero bytes (tiflow:
    open_protocol_encoder.go)."""
    return b'{"ts":%d,"t":3}' % ts, b""


def row_keys(rows: RowChanges, mark: tuple[Piece, ...], release: Release) -> pa.Array:
    """Return the JSON keys; `rid` is left out if it is null or 0, `ptn` if the table has no partitions.

    `mark` is the member that marks a value with only the handle key.
    """
    table = rows.table
    names = b',"scm":' + string(table.schema, release) + b',"tbl":' + string(table.name, release)
    row_id = _row_id(rows.row_id) if release.open_row_ids else []
    physical = rows.partition_id if release.open_partition_ids else None
    partition = b"" if physical is None else b',"ptn":%d' % physical
    tail = [b',"t":1', *mark, partition] if release.open_partition_last else [partition + b',"t":1', *mark]
    return join(b'{"ts":', decimal(rows.commit_ts), names, *row_id, *tail, b"}", null=b"")


def _row_id(row_id: pa.Array) -> list[Piece]:
    if row_id.null_count == len(row_id):
        return []
    is_sent = pc.fill_null(pc.not_equal(row_id, 0), False)
    if pc.all(is_sent).as_py():
        return [b',"rid":', decimal(row_id)]
    text = join(b',"rid":', decimal(row_id), null=b"")
    return [pc.if_else(is_sent, text, pa.scalar(b"", pa.binary()))]


def shortened_mark(locations: pa.Array | None, release: Release) -> tuple[Piece, ...]:
    """Return the members of a key that mark a shortened value: `ohk`, or `ccl` with the location of the whole value."""
    if locations is None:
        return (b',"ohk":true',)
    flag = b',"ohk":true,"ohk":false' if release.open_location_repeats_ohk else b""
    texts = [string(location.decode(), release) for location in locations.to_pylist()]
    return flag + b',"ccl":', pa.array(texts, pa.binary())


_EMPTY = pa.scalar(b"", pa.binary())


def updated_pieces(
    current: Sequence[JsonMember], former: Sequence[JsonMember], old: Image, new: Image, release: Release
) -> list[bytes | pa.Array]:
    """Return `,"p":{…}`: `former` are the members that `p` writes, `current` the same columns in `u`."""
    columns = zip((member for member in current if member.convert is not always_null), former, strict=True)
    changed = partial_members((member for pair in columns for member in _changed(*pair, old, new, release)), old)
    if release.open_old_always:
        return [b',"p":{', changed, b"}"]
    return [pc.if_else(pc.equal(changed, _EMPTY), _EMPTY, join(b',"p":{', changed, b"}"))]


def _changed(
    current: JsonMember, former: JsonMember, old: Image, new: Image, release: Release
) -> Iterator[PartialMember]:
    """Yield the member in the rows that changed it, without its name where it became NULL if the release does so."""
    before, after = old.cells(current.position), new.cells(current.position)
    changed = is_changed(current, old, new)
    if not release.open_old_bits and types.family(current.type) == "bit":
        changed = changed & (is_valid(before) != is_valid(after))
    if release.open_old_nameless and after.null_count:
        became_null = is_valid(before) & ~is_valid(after)
        yield PartialMember(current, became_null, bare=True)
        changed = changed & ~became_null
    yield PartialMember(former, changed)


def is_valid(cells: pa.Array) -> Mask:
    is_valid: Mask = cells.is_valid().to_numpy(zero_copy_only=False)
    return is_valid


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


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    has_limits = release.open_batch_size
    return SizeRules(
        options.max_message_bytes if has_limits else sys.maxsize,
        options.max_batch_size if has_limits else sys.maxsize,
        overhead(release),
        large_rows=not release.size_error,
    )


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    outputs_old = options.output_old_value or not release.open_old_optional
    without_old = release.update_without_old_value and not options.enable_old_value
    nulls = ZERO_FAMILIES if release.open_zero_is_null else frozenset()
    return Fidelity(
        old_values=outputs_old and release.open_old_values and not without_old,
        hides_unchanged_updates=options.only_output_updated_columns and not release.open_old_always,
        nulls=nulls,
        old_nulls=ZERO_FAMILIES if release.open_old_zero_is_null else nulls,
        whole_seconds=not release.open_time_fraction,
    )


def _large_form(options: CodecOptions, release: Release) -> str:
    return supported_options(options, release).large_message_handle_option if release.size_error else "none"


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    key, value = entry
    return re.sub(rb',"t":1', b',"t":9', key or b"", count=1), value


OPEN_PROTOCOL = Codec(
    protocol=Protocol(
        name="open-protocol",
        title="Open Protocol",
        aliases=frozenset({"default"}),
        settings=option_names.LARGE_MESSAGES | option_names.LARGE_MESSAGES_7_2 | option_names.OPEN,
        refusals=dict.fromkeys(option_names.RAW_VALUE, "raw value is not supported for the open protocol"),
        is_fallback=True,
    ),
    batches=True,
    tells_partitions=lambda release: release.open_partition_ids,
    encode=encode,
    frame=frame_open,
    ddl=ddl,
    watermark=watermark,
    broadcasts_ddl=lambda release: True,
    sizes=_sizes,
    fidelity=_fidelity,
    large_message_option=_large_form,
    with_unknown_type=_unknown_type,
)
