"""Canal-JSON, classic architecture: one JSON object per row, columns in table order, no key.

`{"id":0,"database":…,"table":…,"pkNames":[…],"isDdl":false,"type":…,"es":…,"ts":…,"sql":"","sqlType":{…},
"mysqlType":{…},"old":…,"data":…,"_tidb":{"commitTs":…}}` (tiflow v8.5.3:
pkg/sink/codec/canal/canal_json_row_event_encoder.go). One law: every value is a string or null, whatever its type.

* ENUM and SET: their numbers; FLOAT and DOUBLE without an exponent; bytes as Latin-1 text; everything else as it is
* `mysqlType`, whose order is random in TiCDC, is in table order; `ts`, TiCDC's wall clock, is CodecOptions.build_ts
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.codecs import values
from simulator.codecs.compression import compressed_value
from simulator.codecs.framing import frame_single
from simulator.codecs.images import Changes, Image, by_operation
from simulator.codecs.members import Form, Member, Piece, changed_members, object_pieces
from simulator.codecs.options import CodecOptions
from simulator.codecs.oversize import RECORD_OVERHEAD, limited
from simulator.codecs.rows import DdlEvent, Encoded, Messages, Rows
from simulator.codecs.text import decimal, escape, join, quoted
from simulator.releases import Release
from simulator.schema import keys, types
from simulator.schema.table import ColumnType, Table

_DDL_TYPES = {
    3: "CREATE", 4: "ERASE", 11: "TRUNCATE",
    **dict.fromkeys((7, 9, 32), "CINDEX"), **dict.fromkeys((8, 10, 33), "DINDEX"),
}
"""TiDB's action type → canal's event type in all releases (tiflow v8.5.3 canal_entry.go convertDdlEventType)."""


def encode(rows: Rows, options: CodecOptions, release: Release) -> Encoded:
    """Values of the rows; raises EncodeError CDC:ErrMessageTooLarge for a row above max-message-bytes."""
    encoded = _encode(rows, options, release, None)

    def cut(large: Rows, locations: pa.Array | None) -> Encoded:
        return _encode(large, options, release, Cut(locations))

    def whole(large: Encoded) -> Messages:
        return frame_single(large, np.arange(len(large.values)), options)

    return limited(encoded, rows, options, RECORD_OVERHEAD, cut, whole)


@dataclass(frozen=True)
class Cut:
    """That rows are cut down to their handle key."""

    locations: pa.Array | None
    """binary: where the whole message of each row is; None for handle-key-only."""


def _encode(rows: Rows, options: CodecOptions, release: Release, cut: Cut | None) -> Encoded:
    count = len(keys.visible_columns(rows.table))
    return Encoded(None, by_operation(rows, count, partial(_values, options=options, release=release, cut=cut)))


@lru_cache(maxsize=1024)
def _members(table: Table) -> tuple[Member, ...]:
    """Visible columns in table order."""
    handle = keys.handle_key(table)
    return tuple(
        Member(position, column.type, quoted(column.name) + b":", b"", True, column.name in handle, _form(column.type))
        for position, column in enumerate(keys.visible_columns(table)))


_FORMS: dict[str, Form] = {"float": values.plain_float, "enum": values.enum_number, "set": values.set_number}


def _form(type: ColumnType) -> Form:
    family = types.family(type)
    return _escaped if family in ("string", "text", "json") else _FORMS.get(family, _as_it_is)


def _as_it_is(cells: pa.Array, type: ColumnType) -> pa.Array:
    return cells


def _escaped(cells: pa.Array, type: ColumnType) -> pa.Array:
    return escape(cells, short_controls=False)


def _values(changes: Changes, options: CodecOptions, release: Release, cut: Cut | None) -> pa.Array:
    """JSON of rows that are all of one operation."""
    table, operation = changes.rows.table, changes.operation
    handle_only = cut is not None or operation == "DELETE" and options.delete_only_output_handle_key_columns
    members = tuple(member for member in _members(table) if member.handle or not handle_only)
    data = changes.before() if operation == "DELETE" else changes.after()
    physical = decimal(pc.shift_right(changes.rows.commit_ts, 18))
    build = physical if options.build_ts is None else b"%d" % options.build_ts
    return join(
        _head(table, operation, release), physical, b',"ts":', build, b',"sql":"","sqlType":',
        *_sql_types(members, _codes(table), data), b',"mysqlType":{',
        _mysql_types(table, handle_only, options.content_compatible), b'},"old":',
        *_old(members, changes, data, options), b',"data":[{', *object_pieces(members, data), b"}]",
        *_extension(changes, options, cut), b"}")


@lru_cache(maxsize=1024)
def _head(table: Table, operation: str, release: Release) -> bytes:
    names = b",".join(quoted(name) for name in keys.primary_key_names(table, release))
    return b'{"id":0,"database":%s,"table":%s,"pkNames":[%s],"isDdl":false,"type":"%s","es":' % (
        quoted(table.schema), quoted(table.name), names, operation.encode())


@lru_cache(maxsize=1024)
def _codes(table: Table) -> tuple[tuple[bytes, bool], ...]:
    """The sqlType of each visible column, and whether large values have another one."""
    return tuple(
        (b"%d" % types.sql_type(column.type), types.promotion(column.type) is not None)
        for column in keys.visible_columns(table))


def _sql_types(members: Sequence[Member], codes: Sequence[tuple[bytes, bool]], data: Image) -> list[Piece]:
    if not members:
        return [b"null"]
    pieces: list[Piece] = []
    for member in members:
        code, promotable = codes[member.position]
        if promotable:
            code = values.promoted_sql_type(data.cells(member.position), member.type)
        pieces += [b"," if pieces else b"{", member.opening, code]
    return [*pieces, b"}"]


@lru_cache(maxsize=1024)
def _mysql_types(table: Table, handle_only: bool, full: bool) -> bytes:
    return b",".join(
        member.opening + quoted(types.mysql_type(member.type, full)) for member in _members(table)
        if member.handle or not handle_only)


def _old(members: Sequence[Member], changes: Changes, data: Image, options: CodecOptions) -> list[Piece]:
    if changes.operation != "UPDATE":
        return [b"null"]
    if options.only_output_updated_columns or options.content_compatible:
        return [b"[{", changed_members(members, changes.before(), data), b"}]"]
    return [b"[{", *object_pieces(members, changes.before()), b"}]"]


def _extension(changes: Changes, options: CodecOptions, cut: Cut | None) -> list[Piece]:
    if not options.enable_tidb_extension:
        return []
    pieces: list[Piece] = [b',"_tidb":{"commitTs":', decimal(changes.rows.commit_ts)]
    if cut and cut.locations is None:
        pieces += [b',"onlyHandleKey":true']
    elif cut:
        texts = [quoted(location.decode()) for location in changes.own(cut.locations).to_pylist()]
        pieces += [b',"claimCheckLocation":', pa.array(texts, pa.binary())]
    return [*pieces, b"}"]


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[None, bytes]:
    """Message of a statement."""
    extension = b'{"commitTs":%d}' % event.commit_ts if event.commit_ts else b"{}"
    value = _event(
        event.schema, event.table, True, ddl_type(event.type_code, release), event.commit_ts, event.query, extension,
        options, release)
    return None, compressed_value(value, options)


def ddl_type(type_code: int, release: Release) -> str:
    """Canal's event type for a statement of that action type: `ALTER`, …; `QUERY` is all that is no other."""
    if type_code in release.canal_renames:
        return "RENAME"
    return "ALTER" if type_code in release.canal_alters else _DDL_TYPES.get(type_code, "QUERY")


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[None, bytes] | None:
    """TIDB_WATERMARK, which exists with enable-tidb-extension only."""
    if not _extended(options, release):
        return None
    extension = b'{"watermarkTs":%d}' % ts if ts else b"{}"
    value = _event("", "", False, "TIDB_WATERMARK", ts, "", extension, options, release)
    return None, compressed_value(value, options)


def _extended(options: CodecOptions, release: Release) -> bool:
    return options.enable_tidb_extension and release.tidb_extension


def _event(
        schema: str, table: str, is_ddl: bool, type: str, ts: int, query: str, extension: bytes,
        options: CodecOptions, release: Release) -> bytes:
    physical = ts >> 18
    build = physical if options.build_ts is None else options.build_ts
    text = b'{"id":0,"database":%s,"table":%s,"pkNames":null,"isDdl":%s,"type":"%s","es":%d,"ts":%d,"sql":%s' % (
        quoted(schema), quoted(table), b"true" if is_ddl else b"false", type.encode(), physical,
        build if release.canal_build_time else 0, quoted(query))
    text += b',"sqlType":null,"mysqlType":null,"data":null,"old":null'
    return text + (b',"_tidb":' + extension if _extended(options, release) else b"") + b"}"
