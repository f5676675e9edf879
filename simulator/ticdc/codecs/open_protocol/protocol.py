"""Open Protocol: key and value JSON per row, several rows to a message.

Value `{"u":{…},"p":{…}}` or `{"d":{…}}`, a column `{"t":type,"h":true,"f":flags,"v":value}` (tiflow v8.5.3:
pkg/sink/codec/open, pkg/sink/codec/internal; ticdc: pkg/sink/codec/open). One law: a row is encoded by itself; which
rows share a message is framing.py's matter. Keys are open_keys.py's, columns open_members.py's and open_forms.py's.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs.compression import compressed_value
from simulator.ticdc.codecs.framing import VERSION, frame_open, overhead
from simulator.ticdc.codecs.members import Piece, object_pieces
from simulator.ticdc.codecs.open_protocol.keys import cut_mark, row_keys
from simulator.ticdc.codecs.open_protocol.members import members, old_members, string
from simulator.ticdc.codecs.open_protocol.updated import updated_pieces
from simulator.ticdc.codecs.operations import Changes, by_operation
from simulator.ticdc.codecs.options import CodecOptions, known
from simulator.ticdc.codecs.oversize import limited
from simulator.ticdc.codecs.rows import DdlEvent, Encoded, Messages, Rows
from simulator.ticdc.codecs.text import join


def encode(rows: Rows, options: CodecOptions, release: Release) -> Encoded:
    """Keys and values of the rows. Raises EncodeError: with the release's `size_error` for a row above
    max-message-bytes, with CDC:ErrOpenProtocolCodecInvalidData for one of which nothing would be left, and with its
    `codec_error` where its encoder does not take enable-tidb-extension."""
    if options.enable_tidb_extension and release.tidb_extension_refusal:
        raise EncodeError(release.tidb_extension_refusal, release.codec_error)
    options = known(options, release)
    encoded = _encode(rows, options, release, mark=())

    def cut(large: Rows, locations: pa.Array | None) -> Encoded:
        return _encode(large, options, release, cut_mark(locations, release))

    def whole(large: Encoded) -> Messages:
        return frame_open(large, np.arange(len(large.values)), options, release)

    counted = overhead(release) + 16 + len(VERSION)
    return limited(encoded, rows, options, counted, cut, whole, release, release.size_error)


def _encode(rows: Rows, options: CodecOptions, release: Release, mark: tuple[Piece, ...]) -> Encoded:
    """Entries; those that are marked so are cut down to the handle key."""
    count = len(table_info.visible_columns(rows.table))
    one = partial(_values, options=options, release=release, cut=bool(mark))
    return Encoded(row_keys(rows, mark, release), by_operation(rows, count, one))


def _values(changes: Changes, options: CodecOptions, release: Release, cut: bool) -> pa.Array:
    """Value JSON of rows that are all of one operation."""
    table, selected = changes.rows.table, changes.rows.selected
    written = members(table, release, selected)
    by_key = cut or changes.operation == "DELETE" and _deletes_by_key(options, release)
    if by_key:
        written = tuple(member for member in written if member.handle)
    if not written:
        return _without_columns(changes, options, release, cut)
    if changes.operation == "DELETE":
        return join(b'{"d":{', *object_pieces(written, changes.before()), b"}}")
    new = changes.after()
    pieces = [b'{"u":{', *object_pieces(written, new), b"}"]
    if changes.operation == "INSERT" or not _has_old(options, release):
        return join(*pieces, b"}")
    old = changes.before()
    if options.only_output_updated_columns:
        former = tuple(one for one in old_members(table, release, selected) if one.handle or not by_key)
        return join(*pieces, *updated_pieces(written, former, old, new, release), b"}")
    return join(*pieces, b',"p":{', *object_pieces(written, old), b"}}")


def _deletes_by_key(options: CodecOptions, release: Release) -> bool:
    """Whether a DELETE has its handle key alone."""
    without = release.delete_without_old_value and not options.enable_old_value
    return options.delete_only_output_handle_key_columns or without or not release.open_old_values


def _has_old(options: CodecOptions, release: Release) -> bool:
    """Whether an UPDATE has `p`."""
    kept = options.enable_old_value or not release.update_without_old_value
    return release.open_old_values and kept and (options.output_old_value or not release.open_old_optional)


def _without_columns(changes: Changes, options: CodecOptions, release: Release, cut: bool) -> pa.Array:
    """Rows of which no column is left; raises EncodeError where TiCDC does."""
    by_key = cut or changes.operation == "DELETE" and options.delete_only_output_handle_key_columns
    if not release.open_needs_columns or release.open_names_operation and not by_key:
        return pa.repeat(pa.scalar(b"{}", pa.binary()), len(changes.rows.commit_ts))
    operation = changes.operation.lower() if release.open_names_operation else "delete"
    raise EncodeError(
        f"not found handle key columns for the {operation} event: "
        f"table {changes.rows.table.schema}.{changes.rows.table.name}", "CDC:ErrOpenProtocolCodecInvalidData")


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Key and value of a statement."""
    named = ((b"scm", event.schema), (b"tbl", event.table))
    names = b"".join(
        b',"%s":%s' % (member, string(name, release)) for member, name in named if name or release.open_empty_names)
    value = b'{"q":%s,"t":%d}' % (string(event.query, release), event.type_code)
    return b'{"ts":%d%s,"t":2}' % (event.commit_ts, names), compressed_value(value, known(options, release))


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Resolved event: its value is empty, which framing makes 8 zero bytes (tiflow: open_protocol_encoder.go)."""
    return b'{"ts":%d,"t":3}' % ts, b""
