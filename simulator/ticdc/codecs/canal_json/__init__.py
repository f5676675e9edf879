"""Canal-JSON: one JSON object per event, no key, one row per message.

`{"id":0,"database":…,"table":…,"pkNames":[…],"isDdl":false,"type":…,"es":…,"ts":…,"sql":"","sqlType":{…},
"mysqlType":{…},"old":…,"data":…,"_tidb":{"commitTs":…}}`

* Every value is a string or null, whatever its type: ENUM and SET are their numbers, FLOAT and DOUBLE have no exponent,
  bytes are Latin-1 text, everything else is its TiDB text.
* DDL statements have `isDdl` and `sql`; they go to the first partition of their topic from 5.4 on, before to all.
* `_tidb` and watermarks (`TIDB_WATERMARK`) exist with enable-tidb-extension only.
* `mysqlType`, whose order is random in TiCDC from 6.1.3 and 6.5, is in table order here; `ts`, TiCDC's wall clock, is
  CodecOptions.build_ts.

The rows of one operation are joined from constants and columns in one call, never row by row. Statements and
watermarks have the same form in all releases; in them `data` precedes `old`, whatever the order in rows (tiflow:
canal_json_message.go JSONMessage, a struct that encoding/json or goccy/go-json writes).

Sources: tiflow v8.5.3: pkg/sink/codec/canal; ticdc: pkg/sink/codec/canal; docs: canal-json.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import Image, split
from simulator.errors import EncodeError
from simulator.releases import Release, option_names
from simulator.ticdc import table_info
from simulator.ticdc.codecs import json_members
from simulator.ticdc.codecs.canal_json.columns import CanalColumn, canal_columns, encoded_row_keys, mysql_type, sql_type
from simulator.ticdc.codecs.codec import ZERO_FAMILIES, Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.json_members import MaybeUntyped, Piece
from simulator.ticdc.codecs.large_messages import (
    RECORD_OVERHEAD,
    SizeLimit,
    apply_size_limit,
    compress,
    decompress,
    key_text,
)
from simulator.ticdc.codecs.row_changes import (
    DdlEvent,
    EncodedRows,
    OperationRows,
    RowChanges,
    encode_by_operation,
    frame_one_row_each,
)
from simulator.ticdc.codecs.wire_text import decimal, join, quoted
from simulator.ticdc.mounter import UNTYPED, is_untyped
from simulator.tidb.model import types
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import ColumnType
from simulator.tso import LOGICAL_BITS, physical


def encode(rows: RowChanges, options: CodecOptions, release: Release) -> EncodedRows:
    """Return the values of the rows.

    Raise EncodeError: CDC:ErrMessageTooLarge for a row above max-message-bytes, and for a row that crashes the release.
    """
    options = canal_options(options, release)
    rows = rows if options.enable_old_value else _without_old_values(rows)
    if release.canal_fails_on_unsigned_null:
        reject_unsigned_nulls(rows)
    reject_selection(rows, options, release)
    # 7.3.0 makes a file's name once more for the message (tiflow v7.3.0: canal_json_row_event_encoder.go)
    limit = SizeLimit(
        overhead=RECORD_OVERHEAD + _clock_bytes(options),
        shorten=lambda rows, locations: _encode(rows, options, release, HandleKeyOnly(locations)),
        frame=frame_one_row_each,
        renames_file=True,
    )
    return apply_size_limit(_encode(rows, options, release, None), rows, options, release, limit)


def _clock_bytes(options: CodecOptions) -> int:
    """Return by how much the wall clock, milliseconds in 13 digits, is longer than the fixed `build_ts`."""
    return 0 if options.build_ts is None else 13 - len(str(options.build_ts))


def _encode(
    rows: RowChanges, options: CodecOptions, release: Release, handle_key_only: HandleKeyOnly | None
) -> EncodedRows:
    count = len(table_info.visible_columns(rows.table))
    encode = partial(encode_operation, options=options, release=release, handle_key_only=handle_key_only)
    return EncodedRows(None, encode_by_operation(rows, count, encode))


def _without_old_values(rows: RowChanges) -> RowChanges:
    """Turn UPDATEs into INSERTs, as without enable-old-value (tiflow v4.0.9: cdc/entry/mounter.go)."""
    return replace(rows, before=pc.if_else(pc.is_null(rows.after), rows.before, pa.scalar(None, pa.binary())))


Columns = Sequence[CanalColumn]


@dataclass(frozen=True)
class HandleKeyOnly:
    """Rows that are sent with their handle key only."""

    locations: pa.Array | None
    """binary: the location of the whole message of each row; None for handle-key-only."""


def encode_operation(
    changes: OperationRows, options: CodecOptions, release: Release, handle_key_only: HandleKeyOnly | None
) -> pa.Array:
    """Return the JSON of rows that are all of one operation; `options` are a result of `canal_options`."""
    if changes.operation == "EMPTY":
        nothing = b',"sqlType":{},"mysqlType":{},"data":[null],"old":[null]'
        return join(*_head(changes, options, release), nothing, *_extension(changes, options, handle_key_only), b"}")
    table, deletes = changes.rows.table, changes.operation == "DELETE"
    columns = canal_columns(table, changes.rows.selected, options.content_compatible, release)
    if handle_key_only or deletes and (options.delete_only_output_handle_key_columns or not options.enable_old_value):
        columns = tuple(column for column in columns if column.member.handle)
    selected = [column for column in columns if column.selected]
    data = changes.last()
    row = [b"[{", *json_members.object_pieces([column.member for column in selected], data), b"}]"]
    old = _old(columns if release.canal_blank_old_values else selected, changes, row, options, release)
    images = [b',"old":', *old, b',"data":', *row] if release.canal_old_first else [b',"data":', *row, b',"old":', *old]
    return join(
        *_head(changes, options, release),
        *_types(selected, data, release),
        *images,
        *_extension(changes, options, handle_key_only),
        b"}" + (b"" if handle_key_only else options.terminator.encode()),
    )


def _head(changes: OperationRows, options: CodecOptions, release: Release) -> list[Piece]:
    physical = decimal(pc.shift_right(changes.rows.commit_ts, LOGICAL_BITS))
    build: Piece = physical if options.build_ts is None else b"%d" % options.build_ts
    visible = changes.rows.selected if release.column_selectors == "rows" else None
    operation, visible = ("INSERT", frozenset[str]()) if changes.operation == "EMPTY" else (changes.operation, visible)
    names = _names(changes.rows.table, operation, visible, release)
    return [names, physical, b',"ts":', build if release.canal_build_time else b"0", b',"sql":""']


@lru_cache(maxsize=1024)
def _names(table: Table, operation: str, visible: frozenset[str] | None, release: Release) -> bytes:
    primary = table_info.primary_key_names(table, release)
    names = b",".join(quoted(name) for name in primary if visible is None or name in visible)
    return b'{"id":0,"database":%s,"table":%s,"pkNames":[%s],"isDdl":false,"type":"%s","es":' % (
        quoted(table.schema),
        quoted(table.name),
        names,
        operation.encode(),
    )


def _types(sent: Columns, data: Image, release: Release) -> list[Piece]:
    if not sent:
        return [b',"sqlType":null,"mysqlType":null' if release.canal_null_types else b',"sqlType":null,"mysqlType":{}']
    pieces: list[Piece] = []
    for column in sent:
        pieces += [b"," if pieces else b',"sqlType":{', column.member.opening, _sql_type(column, data)]
    return [*pieces, b'},"mysqlType":{', b",".join(column.mysql_type for column in sent), b"}"]


def _sql_type(column: CanalColumn, data: Image) -> Piece:
    if column.promotion is None:
        return column.sql_type
    if data.longest(column.member.position) < len(str(column.promotion[0])):
        return column.sql_type
    cells = data.cells(column.member.position)
    if isinstance(column.member.convert, MaybeUntyped):
        cells = pc.replace_substring(cells, UNTYPED, b"")
    return promoted_sql_types(cells, column.sql_type, *column.promotion)


def promoted_sql_types(cells: pa.Array, usual: bytes, limit: int, wider: int) -> Piece:
    """Return the sqlType of each integer: `wider` for those above `limit`; one constant if no value is so large."""
    high = pc.greater(cells.cast(pa.string()).cast(pa.uint64()), pa.scalar(limit, pa.uint64()))
    if not pc.any(high).as_py():
        return usual
    return pc.if_else(pc.fill_null(high, False), pa.scalar(b"%d" % wider), pa.scalar(usual))


def _old(
    columns: Columns, changes: OperationRows, row: list[Piece], options: CodecOptions, release: Release
) -> list[Piece]:
    if changes.operation != "UPDATE":
        if not release.canal_old_everywhere:
            return [b"null"]
        return row if changes.operation == "DELETE" else [b"[null]"]
    before, after = changes.before(), changes.after()
    old = [column if column.selected else _blank(column) for column in columns]
    if not options.only_output_updated_columns:
        return [b"[{", *json_members.object_pieces([column.member for column in old], before), b"}]"]
    listed = (json_members.PartialMember(column.member, _differs(column, before, after, release)) for column in old)
    return [b"[{", json_members.partial_members(listed, before), b"}]"]


def _blank(column: CanalColumn) -> CanalColumn:
    """Return the column as an empty text, whatever its value."""
    return replace(column, text=_empty, member=replace(column.member, convert=_empty))


def _empty(cells: pa.Array, type: ColumnType) -> pa.Array:
    return pa.repeat(pa.scalar(b"", pa.binary()), len(cells))


def _differs(column: CanalColumn, before: Image, after: Image, release: Release) -> json_members.Mask:
    if not release.canal_compares_texts:
        return json_members.is_changed(column.member, before, after)
    position, type = column.member.position, column.member.type
    return json_members.is_different(
        column.text(before.cells(position), type), column.text(after.cells(position), type)
    )


def _extension(changes: OperationRows, options: CodecOptions, handle_key_only: HandleKeyOnly | None) -> list[Piece]:
    if not options.enable_tidb_extension:
        return []
    pieces: list[Piece] = [b',"_tidb":{"commitTs":', decimal(changes.rows.commit_ts)]
    if handle_key_only and handle_key_only.locations is None:
        pieces += [b',"onlyHandleKey":true']
    elif handle_key_only:
        texts = [quoted(location.decode()) for location in changes.own(handle_key_only.locations).to_pylist()]
        pieces += [b',"claimCheckLocation":', pa.array(texts, pa.binary())]
    if options.output_row_key:
        pieces += [b',"rowkey":"', encoded_row_keys(changes), b'"']
    return [*pieces, b"}"]


@lru_cache(maxsize=256)
def canal_options(options: CodecOptions, release: Release) -> CodecOptions:
    """Return the options as the release applies them to Canal-JSON.

    content-compatible implies only-output-updated-columns. A release that does not check sizes has no largest message
    (tiflow v8.5.3: pkg/sink/codec/common/config.go). Large messages of 7.2.0 exist in Open Protocol only.
    """
    options = supported_options(options, release)
    handles_large = bool(option_names.LARGE_MESSAGES & release.options)
    extended = options.enable_tidb_extension and release.tidb_extension
    return replace(
        options,
        enable_tidb_extension=extended,
        only_output_updated_columns=options.only_output_updated_columns or options.content_compatible,
        large_message_handle_option=options.large_message_handle_option if handles_large else "none",
        max_message_bytes=options.max_message_bytes if release.canal_size_limit else sys.maxsize,
        output_row_key=options.output_row_key and extended,
        terminator=options.terminator if release.canal_ends_rows or options.stores_rows else "",
    )


def reject_unsigned_nulls(rows: RowChanges) -> None:
    """Raise EncodeError for NULL, and for a string, in an unsigned integer column, on which 5.4.0 panics.

    Source: tiflow v5.4.0: cdc/sink/codec/canal.go getJavaSQLType.
    """
    columns = table_info.visible_columns(rows.table)
    unsigned = [
        place for place, column in enumerate(columns) if column.type.unsigned and types.family(column.type) == "integer"
    ]
    for images in (rows.before, rows.after):
        image = split(images.drop_null(), len(columns))
        for place in unsigned:
            odd = pc.or_(is_untyped(image.cells(place)), image.cells(place).is_null())
            if pc.any(odd, min_count=0).as_py():
                raise _panic(rows, _first(images, odd), columns[place].name)


def reject_selection(rows: RowChanges, options: CodecOptions, release: Release) -> None:
    """Raise EncodeError for rows without columns that the release's encoder needs.

    Classic TiCDC takes columns out of rows and then looks up the name of each to compare it with the old one (tiflow
    v8.5.3: pkg/sink/codec/canal/canal_json_row_event_encoder.go newColsMap). The new architecture requires at least one
    column.
    """
    if rows.selected is None:
        return
    if release.column_selectors == "messages" and not rows.selected:
        raise EncodeError("not found valid columns for the event", "CDC:ErrCanalEncodeFailed")
    updates = np.flatnonzero(pc.and_(rows.before.is_valid(), rows.after.is_valid()).to_numpy(zero_copy_only=False))
    if release.column_selectors == "rows" and options.only_output_updated_columns and len(updates):
        raise EncodeError(
            f"panic: invalid memory address: an UPDATE in {rows.table.schema}.{rows.table.name}, key "
            f"{key_text(rows, int(updates[0]))}; TiCDC {release.name} crashes on column-selectors together with "
            "only-output-updated-columns in canal-json: leave one of them out"
        )


def _first(images: pa.Array, odd: pa.Array) -> int:
    """Return the row of the first odd cell, of which images that are null have none."""
    present = np.flatnonzero(images.is_valid().to_numpy(zero_copy_only=False))
    return int(present[np.argmax(odd.to_numpy(zero_copy_only=False))])


def _panic(rows: RowChanges, row: int, column: str) -> EncodeError:
    return EncodeError(
        f"panic: unsigned value not in type uint64: {column} is NULL or the default of an older row in "
        f"{rows.table.schema}.{rows.table.name}, key {key_text(rows, row)}; TiCDC v5.4.0 crashes on NULL in unsigned integer columns, v5.4.1 does not"
    )


WATERMARK = "TIDB_WATERMARK"

_DDL_TYPES = {
    3: "CREATE",
    4: "ERASE",
    11: "TRUNCATE",
    **dict.fromkeys((7, 9, 32), "CINDEX"),
    **dict.fromkeys((8, 10, 33), "DINDEX"),
}
"""TiDB's action type → Canal's event type in all releases (tiflow v8.5.3 canal_entry.go convertDdlEventType)."""


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[None, bytes]:
    """Return the message of a DDL statement."""
    extension = b'{"commitTs":%d}' % event.commit_ts if event.commit_ts else b"{}"
    return None, _message(event, ddl_type(event.type_code, release), extension, options, release)


def ddl_type(type_code: int, release: Release) -> str:
    """Return Canal's event type of an action type: `ALTER`, …; `QUERY` for all others."""
    if type_code in release.canal_renames:
        return "RENAME"
    return "ALTER" if type_code in release.canal_alters else _DDL_TYPES.get(type_code, "QUERY")


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[None, bytes] | None:
    """Return TIDB_WATERMARK, or None without enable-tidb-extension."""
    if not _has_extension(options, release):
        return None
    extension = b'{"watermarkTs":%d}' % ts if ts else b"{}"
    return None, _message(DdlEvent(ts, "", "", "", 0), WATERMARK, extension, options, release)


def _has_extension(options: CodecOptions, release: Release) -> bool:
    return options.enable_tidb_extension and release.tidb_extension


def _message(event: DdlEvent, type: str, extension: bytes, options: CodecOptions, release: Release) -> bytes:
    es = physical(event.commit_ts)
    build = es if options.build_ts is None else options.build_ts
    text = b'{"id":0,"database":%s,"table":%s,"pkNames":null,"isDdl":%s,"type":"%s","es":%d,"ts":%d,"sql":%s' % (
        quoted(event.schema),
        quoted(event.table),
        b"false" if type == WATERMARK else b"true",
        type.encode(),
        es,
        build if release.canal_build_time else 0,
        quoted(event.query),
    )
    text += b',"sqlType":null,"mysqlType":null,"data":null,"old":null'
    text += (b',"_tidb":' + extension if _has_extension(options, release) else b"") + b"}"
    return compress(text, options.large_message_handle_compression)


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    return SizeRules(options.max_message_bytes, 1, RECORD_OVERHEAD, large_rows=not release.canal_size_limit)


def _topic_limit(release: Release) -> str:
    # TiCDC 4.0.16 compares for Open Protocol alone (tiflow v4.0.16: cdc/sink/producer/kafka/kafka.go topicPreProcess)
    return "ignored" if release.topic_limit == "refuses" else release.topic_limit


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    nulls = ZERO_FAMILIES if release.canal_zero_null else frozenset()
    if release.canal_text_null:
        nulls |= {"json"}
    return Fidelity(
        old_values=options.enable_old_value or not release.update_without_old_value,
        nulls=nulls,
        old_nulls=nulls,
        null_word=release.canal_text_null,
        whole_seconds=release.canal_whole_seconds,
        milliseconds=not canal_options(options, release).enable_tidb_extension,
    )


def _column_fields(type: ColumnType, options: CodecOptions, release: Release) -> Mapping[str, str | int]:
    full = supported_options(options, release).content_compatible
    return {"mysqlType": mysql_type(type, full, release), "sqlType": sql_type(type, release)}


def _large_form(options: CodecOptions, release: Release) -> str:
    return canal_options(options, release).large_message_handle_option if release.canal_size_limit else "none"


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    compression = options.large_message_handle_compression
    text = decompress(entry[1], compression)
    return entry[0], compress(re.sub(rb'"type":"[A-Z]+"', b'"type":"UNKNOWN"', text, count=1), compression)


CANAL_JSON = Codec(
    protocol=Protocol(
        name="canal-json",
        title="Canal-JSON",
        settings=option_names.LARGE_MESSAGES | option_names.COMPATIBLE | option_names.ROW_KEY | {"sink.terminator"},
        tidb_extension=lambda release: True,
        old_values=lambda release: "forced" if release.canal_forces_old_value else "required",
        large_messages_need_extension=True,
        sinks=frozenset({"kafka", "storage"}),
    ),
    file_extension=".json",
    encode=encode,
    ddl=ddl,
    watermark=watermark,
    broadcasts_ddl=lambda release: not release.canal_ddl_in_partition_0,
    sizes=_sizes,
    topic_limit=_topic_limit,
    fidelity=_fidelity,
    column_fields=_column_fields,
    large_message_option=_large_form,
    with_unknown_type=_unknown_type,
)
