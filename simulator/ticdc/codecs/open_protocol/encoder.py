"""Open Protocol's rows, statements and watermarks as keys and values, not framed yet.

One law: a row is encoded by itself; which rows share a message is the framing's matter. A key says which row it is, and
whether its value is cut down. With only-output-updated-columns `p` lists the columns that an UPDATE changed: what is
compared is the images, what is written is the release's affair (tiflow v8.5.3: pkg/sink/codec/internal/message_key.go,
pkg/sink/codec/open/open_protocol_message.go; ticdc v8.5.4: pkg/sink/codec/open/codec.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask
from simulator.columns.row_image import Image
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs.codec_options import CodecOptions, known_options
from simulator.ticdc.codecs.compression import compressed_value
from simulator.ticdc.codecs.json_members import Member, PartialMember, Piece, differs, object_pieces, partial_members
from simulator.ticdc.codecs.json_text import decimal, join
from simulator.ticdc.codecs.open_protocol.columns import members, nothing, old_members, string
from simulator.ticdc.codecs.open_protocol.framing import VERSION, frame_open, overhead
from simulator.ticdc.codecs.oversize import SizeLimit, limited
from simulator.ticdc.codecs.row_changes import Changes, DdlEvent, Encoded, Rows, by_operation
from simulator.tidb.model import types


def encode(rows: Rows, options: CodecOptions, release: Release) -> Encoded:
    """Keys and values of the rows. Raises EncodeError: with the release's `size_error` for a row above
    max-message-bytes, with CDC:ErrOpenProtocolCodecInvalidData for one of which nothing would be left, and with its
    `codec_error` where its encoder does not take enable-tidb-extension."""
    if options.enable_tidb_extension and release.tidb_extension_refusal:
        raise EncodeError(release.tidb_extension_refusal, release.codec_error)
    options = known_options(options, release)
    limit = SizeLimit(
        overhead=overhead(release) + 16 + len(VERSION), cut=_cut, frame=frame_open, code=release.size_error
    )
    return limited(_encode(rows, options, release, mark=()), rows, options, release, limit)


def _cut(rows: Rows, locations: pa.Array | None, options: CodecOptions, release: Release) -> Encoded:
    return _encode(rows, options, release, cut_mark(locations, release))


def _encode(rows: Rows, options: CodecOptions, release: Release, mark: tuple[Piece, ...]) -> Encoded:
    """Entries; those that are marked so are cut down to the handle key."""
    count = len(table_info.visible_columns(rows.table))
    encode_values = partial(_values, options=options, release=release, cut=bool(mark))
    return Encoded(row_keys(rows, mark, release), by_operation(rows, count, encode_values))


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
        former = tuple(member for member in old_members(table, release, selected) if member.handle or not by_key)
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
        f"table {changes.rows.table.schema}.{changes.rows.table.name}",
        "CDC:ErrOpenProtocolCodecInvalidData",
    )


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Key and value of a statement."""
    named = ((b"scm", event.schema), (b"tbl", event.table))
    names = b"".join(
        b',"%s":%s' % (member, string(name, release)) for member, name in named if name or release.open_empty_names
    )
    value = b'{"q":%s,"t":%d}' % (string(event.query, release), event.type_code)
    return b'{"ts":%d%s,"t":2}' % (event.commit_ts, names), compressed_value(value, known_options(options, release))


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Resolved event: its value is empty, which framing makes 8 zero bytes (tiflow: open_protocol_encoder.go)."""
    return b'{"ts":%d,"t":3}' % ts, b""


def row_keys(rows: Rows, mark: tuple[Piece, ...], release: Release) -> pa.Array:
    """Key JSON; `rid` is left out where it is null or 0, `ptn` where the table has no partitions. `mark` is what says
    that values are cut down."""
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
    shown = pc.fill_null(pc.not_equal(row_id, 0), False)
    if pc.all(shown).as_py():
        return [b',"rid":', decimal(row_id)]
    text = join(b',"rid":', decimal(row_id), null=b"")
    return [pc.if_else(shown, text, pa.scalar(b"", pa.binary()))]


def cut_mark(locations: pa.Array | None, release: Release) -> tuple[Piece, ...]:
    """What says in a key that the value is cut down: `ohk`, or `ccl` with the place of the whole one."""
    if locations is None:
        return (b',"ohk":true',)
    flag = b',"ohk":true,"ohk":false' if release.open_location_repeats_ohk else b""
    texts = [string(location.decode(), release) for location in locations.to_pylist()]
    return flag + b',"ccl":', pa.array(texts, pa.binary())


_EMPTY = pa.scalar(b"", pa.binary())


def updated_pieces(
    current: Sequence[Member], former: Sequence[Member], old: Image, new: Image, release: Release
) -> list[bytes | pa.Array]:
    """`,"p":{…}`: `former` are the members that `p` writes, `current` the same columns as they are elsewhere."""
    columns = zip((member for member in current if member.form is not nothing), former, strict=True)
    changed = partial_members((member for pair in columns for member in _changed(*pair, old, new, release)), old)
    if release.open_old_always:
        return [b',"p":{', changed, b"}"]
    return [pc.if_else(pc.equal(changed, _EMPTY), _EMPTY, join(b',"p":{', changed, b"}"))]


def _changed(current: Member, former: Member, old: Image, new: Image, release: Release) -> Iterator[PartialMember]:
    """The member in the rows that changed it: without its name where it became NULL, in releases that lose that."""
    before, after = old.cells(current.position), new.cells(current.position)
    changed = differs(current, old, new)
    if not release.open_old_bits and types.family(current.type) == "bit":
        changed = changed & (valid(before) != valid(after))
    if release.open_old_nameless and after.null_count:
        lost = valid(before) & ~valid(after)
        yield PartialMember(current, lost, bare=True)
        changed = changed & ~lost
    yield PartialMember(former, changed)


def valid(cells: pa.Array) -> Mask:
    found: Mask = cells.is_valid().to_numpy(zero_copy_only=False)
    return found
