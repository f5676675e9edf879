"""Debezium: JSON as Debezium's connector for MySQL writes it, one row per message.

`{"payload":{"source":{…,"commit_ts":…,"cluster_id":…},"ts_ms":…,"transaction":null,"op":"c","before":null,
"after":{…}},"schema":{…}}`

* `op` is `c` for an INSERT, `u` for an UPDATE, `d` for a DELETE, whose `after` stands before `before`.
* `schema` describes `payload` for Kafka Connect. debezium-disable-schema leaves it out.
* `[sink.debezium] output-old-value = false` leaves `before` out of UPDATEs.
* Numbers lose digits: DECIMAL is a float, BIGINT UNSIGNED wraps around (`values`).
* `ts_ms` of `payload`, TiCDC's wall clock, is CodecOptions.build_ts.
* The key, from 8.5.0 on, is `{"payload":{…},"schema":{…}}` with the columns of the handle key.
* From 8.5.1 on a column's default stands in place of NULL (`schemas`).
* There is no limit of a message's size.
* Classic TiCDC sends neither DDL statements nor watermarks. The new architecture sends statements to all partitions, as
  Debezium's schema changes (`statements`), and with enable-tidb-extension watermarks, whose `op` is `m`; columns have
  `tidb_type` then.

The rows of one operation are joined from constants and columns in one call, never row by row.

Sources: tiflow v8.5.7, ticdc v8.5.4 to v26.3.4: pkg/sink/codec/debezium; docs: ticdc-debezium.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import Image
from simulator.errors import EncodeError
from simulator.releases import Release, option_names
from simulator.ticdc.codecs import json_members
from simulator.ticdc.codecs.codec import Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.debezium.schemas import has_extension, key_schema, null_text, value_schema
from simulator.ticdc.codecs.debezium.statements import CHANGES, ddl, watermark
from simulator.ticdc.codecs.debezium.values import is_string, source_pieces, value_format
from simulator.ticdc.codecs.json_members import Converter, JsonMember, Piece, always_null
from simulator.ticdc.codecs.large_messages import RECORD_OVERHEAD, compress, compress_entries, decompress
from simulator.ticdc.codecs.row_changes import (
    EncodedRows,
    OperationRows,
    RowChanges,
    encode_all_by_operation,
    refuse_older_rows,
)
from simulator.ticdc.codecs.wire_text import decimal, join, raw_quoted
from simulator.ticdc.table_info import handle_columns, visible_columns
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType
from simulator.tso import LOGICAL_BITS

OPERATIONS = {"INSERT": b"c", "UPDATE": b"u", "DELETE": b"d"}


def encode(rows: RowChanges, options: CodecOptions, release: Release) -> EncodedRows:
    """Return keys and values of the rows, whatever their size.

    Raise EncodeError for rows that crash the release or that its encoder refuses.
    """
    refuse_older_rows(rows, "debezium", release)
    options = supported_options(options, release)
    rows = _selection(rows, release)
    encoders = (_encode_operation, *([_encode_keys] if release.debezium_keys else []))
    parts = (partial(encoder, options=options, release=release) for encoder in encoders)
    values, *keys = encode_all_by_operation(rows, len(visible_columns(rows.table)), *parts)
    encoded = compress_entries(EncodedRows(None, values), options)
    return replace(encoded, keys=compress_entries(EncodedRows(None, keys[0]), options).values) if keys else encoded


def _selection(rows: RowChanges, release: Release) -> RowChanges:
    """Return the rows without columns that the release leaves out; raise EncodeError if it crashes."""
    if rows.selected is None or release.debezium_selectors == "selected":
        return rows
    if release.debezium_selectors == "ignored":
        return replace(rows, selected=None)
    if left_out := [column.name for column in visible_columns(rows.table) if column.name not in rows.selected]:
        raise EncodeError(
            f"panic: invalid memory address: a row of {rows.table.schema}.{rows.table.name} without {left_out[0]}; "
            f"TiCDC {release.name} crashes on column-selectors in debezium, 8.5.3 does not"
        )
    return rows


def _encode_operation(changes: OperationRows, options: CodecOptions, release: Release) -> pa.Array:
    table = changes.rows.table
    schema = b""
    if not options.debezium_disable_schema:
        schema = b',"schema":' + value_schema(table, changes.rows.selected, has_extension(options, release), release)
    return join(*_source(changes, options), *_images(changes, options, release), b"}" + schema + b"}")


def _source(changes: OperationRows, options: CodecOptions) -> list[Piece]:
    """Return the pieces up to the row's images."""
    table = changes.rows.table

    def pieces(commit_ts: pa.Array) -> list[Piece]:
        physical = decimal(pc.shift_right(commit_ts, LOGICAL_BITS))
        return [
            b'{"payload":',
            *source_pieces(table.schema, table.name, physical, decimal(commit_ts)),
            b',"ts_ms":',
            physical if options.build_ts is None else b"%d" % options.build_ts,
            b',"transaction":null,"op":"' + OPERATIONS[changes.operation] + b'"',
        ]

    return once_a_transaction(changes.rows.commit_ts, pieces)


def once_a_transaction(commit_ts: pa.Array, pieces: Callable[[pa.Array], list[Piece]]) -> list[Piece]:
    """Return what depends on the commit-ts alone. It is written once for rows of one transaction, which follow each
    other, if most rows have such neighbours."""
    numbers = commit_ts.to_numpy()
    begins = np.append(True, numbers[1:] != numbers[:-1]) if len(numbers) else np.zeros(0, np.bool_)
    if 2 * np.count_nonzero(begins) > len(numbers):
        return pieces(commit_ts)
    written = join(*pieces(commit_ts.filter(pa.array(begins))))
    return [written.take(pa.array(np.cumsum(begins) - 1))]


def _images(changes: OperationRows, options: CodecOptions, release: Release) -> list[Piece]:
    columns = members(changes.rows.table, changes.rows.selected, options.time_zone, release)
    match changes.operation:
        case "INSERT":
            return [b',"before":null', *_image(b"after", columns, changes.after())]
        case "DELETE":
            return [b',"after":null', *_image(b"before", columns, changes.before())]
    before = _image(b"before", columns, changes.before()) if options.debezium_output_old_value else []
    return [*before, *_image(b"after", columns, changes.after())]


def _image(name: bytes, columns: Sequence[JsonMember], image: Image) -> list[Piece]:
    return [b',"' + name + b'":{', *json_members.object_pieces(columns, image), b"}"]


@lru_cache(maxsize=1024)
def members(table: Table, selected: frozenset[str] | None, time_zone: str, release: Release) -> tuple[JsonMember, ...]:
    """Return the columns of a row in the table's order; `selected` are those that column selectors leave."""
    columns = table.columns if release.debezium_virtual_columns else visible_columns(table)
    return tuple(
        _member(column, table, time_zone, release) for column in columns if selected is None or column.name in selected
    )


def _member(column: Column, table: Table, time_zone: str, release: Release) -> JsonMember:
    """Return a column as a member; a virtual one is always NULL."""
    visible = visible_columns(table)
    is_virtual = column not in visible
    return JsonMember(
        0 if is_virtual else visible.index(column),
        column.type,
        raw_quoted(column.name) + b":",
        b"",
        is_string(column.type),
        column.name in handle_columns(table, release),
        always_null if is_virtual else _format(column, time_zone, release),
    )


@lru_cache(maxsize=1024)
def _key_members(
    table: Table, selected: frozenset[str] | None, time_zone: str, release: Release
) -> tuple[JsonMember, ...]:
    """Return the columns of the handle key in the table's order."""
    handle = handle_columns(table, release)
    columns = [column for column in table.columns if column.name in handle]
    return tuple(
        _member(column, table, time_zone, release) for column in columns if selected is None or column.name in selected
    )


def _format(column: Column, time_zone: str, release: Release) -> Converter:
    """Return the format of a column's values, with its default in place of NULL where the release does that."""
    plain = value_format(column, release, time_zone)
    if column.default is None or not release.debezium_null_is_default:
        return plain

    def convert(cells: pa.Array, type: ColumnType) -> pa.Array:
        texts = plain(cells, type)
        if not cells.null_count:
            return texts
        return pc.if_else(cells.is_null(), pa.scalar(null_text(column, release, time_zone), pa.binary()), texts)

    return convert


def _encode_keys(changes: OperationRows, options: CodecOptions, release: Release) -> pa.Array:
    table, selected = changes.rows.table, changes.rows.selected
    handle = _key_members(table, selected, options.time_zone, release)
    schema = b""
    if not options.debezium_disable_schema:
        names = handle_columns(table, release)
        described = tuple(
            column for column in table.columns if column.name in names and (selected is None or column.name in selected)
        )
        schema = b',"schema":' + key_schema(table, described, has_extension(options, release), release)
    image = changes.last()
    head, tail = b'{"payload":{', b"}" + schema + b"}"
    if not handle:
        return pa.repeat(pa.scalar(head + tail, pa.binary()), image.rows)
    return join(head, *json_members.object_pieces(handle, image), tail)


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    return SizeRules(options.max_message_bytes, 1, RECORD_OVERHEAD, large_rows=True)


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    return Fidelity(
        old_values=supported_options(options, release).debezium_output_old_value,
        names_operations=True,
        nulls=frozenset(("date", "datetime")),
        old_nulls=frozenset(("date", "datetime")),
        time_zone=options.time_zone,
        null_is_default=release.debezium_null_is_default,
    )


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    compression = options.large_message_handle_compression
    text = decompress(entry[1], compression)
    return entry[0], compress(re.sub(rb'"op":"[a-z]"', b'"op":"x"', text, count=1), compression)


DEBEZIUM = Codec(
    protocol=Protocol(
        name="debezium",
        title="Debezium",
        settings=option_names.DEBEZIUM_SCHEMA | option_names.DEBEZIUM_OLD,
        tidb_extension=lambda release: release.debezium_statements,
    ),
    encode=encode,
    sends_ddl=lambda options, release: release.debezium_statements,
    skips_ddl=lambda type_code: type_code not in CHANGES,
    ddl_needs_table=True,
    ddl=ddl,
    watermark=watermark,
    broadcasts_ddl=lambda release: True,
    sizes=_sizes,
    fidelity=_fidelity,
    with_unknown_type=_unknown_type,
)
