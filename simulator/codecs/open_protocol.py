"""Open Protocol, classic architecture: key and value JSON per row, columns sorted by name, several rows to a message.

Key `{"ts":…,"scm":…,"tbl":…,"rid":…,"ptn":…,"t":1,"ohk":true}`, value `{"u":{…},"p":{…}}` or `{"d":{…}}`, a column
`{"t":type,"h":true,"f":flags,"v":value}` (tiflow v8.5.3: pkg/sink/codec/open, pkg/sink/codec/internal). One law: a row
is encoded by itself; which rows share a message is framing.py's matter.

* integers, BIT, YEAR: numbers; ENUM and SET: numbers; FLOAT and DOUBLE: encoding/json's numbers
* BINARY and VARBINARY: strconv.Quote; TEXT and BLOB of any size: base64
* everything else: the text as it is
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.codecs import binary, values
from simulator.codecs.compression import compressed_value
from simulator.codecs.framing import VERSION, frame_open
from simulator.codecs.images import Changes, by_operation
from simulator.codecs.members import Form, Member, Piece, changed_members, object_pieces
from simulator.codecs.options import CodecOptions
from simulator.codecs.oversize import RECORD_OVERHEAD, limited
from simulator.codecs.raw_json import raw_quoted
from simulator.codecs.rows import DdlEvent, Encoded, Messages, Rows
from simulator.codecs.text import decimal, escape, join, quoted
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.schema import keys, types
from simulator.schema.table import ColumnType, Table

_NUMBERS = frozenset(("integer", "bit", "year", "float", "enum", "set"))
_FORMS: dict[str, Form] = {"float": values.go_float, "enum": values.enum_number, "set": values.set_number}


def encode(rows: Rows, options: CodecOptions, release: Release) -> Encoded:
    """Keys and values of the rows; raises EncodeError CDC:ErrMessageTooLarge for a row above max-message-bytes."""
    encoded = _encode(rows, options, release, handle_only=False, mark=())

    def cut(large: Rows, locations: pa.Array | None) -> Encoded:
        return _encode(large, options, release, handle_only=True, mark=_mark(locations, release))

    def whole(large: Encoded) -> Messages:
        return frame_open(large, np.arange(len(large.values)), options)

    return limited(encoded, rows, options, RECORD_OVERHEAD + 16 + len(VERSION), cut, whole)


def _mark(locations: pa.Array | None, release: Release) -> tuple[Piece, ...]:
    """What says in the key that the value is cut down: `ohk`, or `ccl` with the location."""
    if locations is None:
        return (b',"ohk":true',)
    flag = b',"ohk":true,"ohk":false' if release.open_location_repeats_ohk else b""
    texts = [_string(location.decode(), release) for location in locations.to_pylist()]
    return flag + b',"ccl":', pa.array(texts, pa.binary())


def _encode(
        rows: Rows, options: CodecOptions, release: Release, handle_only: bool, mark: tuple[Piece, ...]) -> Encoded:
    count = len(keys.visible_columns(rows.table))
    one = partial(_values, options=options, release=release, handle_only=handle_only)
    return Encoded(_keys(rows, mark), by_operation(rows, count, one))


def _keys(rows: Rows, mark: tuple[Piece, ...]) -> pa.Array:
    """Key JSON; `rid` is left out where it is null or 0, `ptn` where the table has no partitions."""
    table = rows.table
    names = b',"scm":' + quoted(table.schema) + b',"tbl":' + quoted(table.name)
    partition = b"" if rows.partition_id is None else b',"ptn":%d' % rows.partition_id
    head = b'{"ts":', decimal(rows.commit_ts), names, *_row_id(rows.row_id)
    return join(*head, partition + b',"t":1', *mark, b"}", null=b"")


def _row_id(row_id: pa.Array) -> list[Piece]:
    if row_id.null_count == len(row_id):
        return []
    shown = pc.fill_null(pc.not_equal(row_id, 0), False)
    if pc.all(shown).as_py():
        return [b',"rid":', decimal(row_id)]
    text = join(b',"rid":', decimal(row_id), null=b"")
    return [pc.if_else(shown, text, pa.scalar(b"", pa.binary()))]


@lru_cache(maxsize=1024)
def _members(table: Table, release: Release) -> tuple[Member, ...]:
    """Visible columns sorted by the bytes of their names, as encoding/json sorts a map."""
    flags, handle = keys.flags(table, release), keys.handle_key(table)
    members = []
    for position, column in sorted(enumerate(keys.visible_columns(table)), key=lambda item: item[1].name.encode()):
        is_handle = column.name in handle
        opening = b'%s:{"t":%d,%s"f":%d,"v":' % (
            quoted(column.name, release.short_control_escapes), types.type_code(column.type),
            b'"h":true,' if is_handle else b"", flags[column.name])
        is_number = types.family(column.type) in _NUMBERS
        members.append(
            Member(position, column.type, opening, b"}", not is_number, is_handle, _form(column.type, release)))
    return tuple(members)


def _form(type: ColumnType, release: Release) -> Form:
    family = types.family(type)
    if types.is_binary(type):
        return _binary_base64 if family == "text" else _binary_quoted
    if family == "text":
        return _text_base64
    if family in ("string", "json"):
        return partial(_escaped, short_controls=release.short_control_escapes)
    return _FORMS.get(family, _as_it_is)


def _as_it_is(cells: pa.Array, type: ColumnType) -> pa.Array:
    return cells


def _escaped(cells: pa.Array, type: ColumnType, short_controls: bool) -> pa.Array:
    return escape(cells, short_controls)


def _binary_quoted(cells: pa.Array, type: ColumnType) -> pa.Array:
    return binary.quote(cells)


def _binary_base64(cells: pa.Array, type: ColumnType) -> pa.Array:
    return binary.base64(binary.latin1(cells))


def _text_base64(cells: pa.Array, type: ColumnType) -> pa.Array:
    return binary.base64(binary.undisguised(cells))


def _values(changes: Changes, options: CodecOptions, release: Release, handle_only: bool) -> pa.Array:
    """Value JSON of rows that are all of one operation."""
    members: tuple[Member, ...] = _members(changes.rows.table, release)
    if handle_only or changes.operation == "DELETE" and options.delete_only_output_handle_key_columns:
        members = tuple(member for member in members if member.handle)
        if not members:
            raise EncodeError(
                f"not found handle key columns for the {changes.operation.lower()} event: "
                f"table {changes.rows.table.schema}.{changes.rows.table.name}", "CDC:ErrOpenProtocolCodecInvalidData")
    if changes.operation == "DELETE":
        return join(b'{"d":{', *object_pieces(members, changes.before()), b"}}")
    new = changes.after()
    pieces = [b'{"u":{', *object_pieces(members, new), b"}"]
    if changes.operation == "INSERT" or not options.output_old_value:
        return join(*pieces, b"}")
    old = changes.before()
    if not options.only_output_updated_columns:
        return join(*pieces, b',"p":{', *object_pieces(members, old), b"}}")
    changed = changed_members(members, old, new)
    empty = pa.scalar(b"", pa.binary())
    return join(*pieces, pc.if_else(pc.equal(changed, empty), empty, join(b',"p":{', changed, b"}")), b"}")


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Key and value of a statement."""
    named = ((b"scm", event.schema), (b"tbl", event.table))
    names = b"".join(
        b',"%s":%s' % (member, _string(name, release)) for member, name in named if name or release.open_empty_names)
    value = b'{"q":%s,"t":%d}' % (_string(event.query, release), event.type_code)
    return b'{"ts":%d%s,"t":2}' % (event.commit_ts, names), compressed_value(value, options)


def _string(text: str, release: Release) -> bytes:
    return quoted(text, release.short_control_escapes) if release.open_escapes_html else raw_quoted(text)


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Resolved event: its value is empty, which framing makes 8 zero bytes (tiflow: open_protocol_encoder.go)."""
    return b'{"ts":%d,"t":3}' % ts, b""
