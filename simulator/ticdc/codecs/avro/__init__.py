"""Avro: Confluent's wire format, a record for the key and one for the value, their schemas in a registry.

* Key and value begin with a byte 0 and the id of their schema in 4 bytes.
* The key has the columns of the handle key, the value all columns; the value of a DELETE is null.
* With enable-tidb-extension a value ends with `_tidb_op` (`c` or `u`), `_tidb_commit_ts` and
  `_tidb_commit_physical_time`.
* Schemas are registered as `{topic}-key` and `{topic}-value`, a dot in the topic as `_`.
* With avro-enable-watermark, which TiCDC has for its tests, a DDL statement is a byte 1 and JSON, a watermark a byte 2
  and the TSO in 8 bytes; both go to every partition. Without it there are none.

A row is encoded by columns: fields follow each other without separators, so that a message is its header and the pieces
of its columns. The registry's id is put into the header later (`schema_registry`).

Sources: tiflow v8.5.7: pkg/sink/codec/avro; docs: ticdc-avro-protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import binary, fixed, stored_buffers
from simulator.columns.row_image import Image
from simulator.errors import EncodeError
from simulator.releases import Release, option_names
from simulator.ticdc import table_info
from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.avro import early, schemas
from simulator.ticdc.codecs.avro.schemas import AvroField, union_branch, value_pieces
from simulator.ticdc.codecs.codec import Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.json_members import Piece
from simulator.ticdc.codecs.large_messages import RECORD_OVERHEAD, SizeLimit, apply_size_limit
from simulator.ticdc.codecs.row_changes import (
    DdlEvent,
    EncodedRows,
    OperationRows,
    RowChanges,
    RowChecksums,
    Schema,
    encode_by_operation,
    frame_one_row_each,
    row_checksums,
    typed_rows,
)
from simulator.ticdc.codecs.schema_registry import HEADER
from simulator.ticdc.codecs.wire_text import decimal, join, quoted
from simulator.tso import LOGICAL_BITS

DDL, CHECKPOINT, DELETE = b"\x01", b"\x02", b"\x03"
"""First bytes of messages that are no records; of values, for a DELETE."""

OPERATIONS = {"INSERT": b"\x02c", "UPDATE": b"\x02u"}
"""`_tidb_op` in Avro."""


def encode(rows: RowChanges, options: CodecOptions, release: Release) -> EncodedRows:
    """Return keys and values of the rows with their schemas; the value of a DELETE is null.

    Raise EncodeError for a value or a schema that TiCDC refuses, and for a row above max-message-bytes.
    """
    options = avro_options(options, release)
    rows = typed_rows(rows, release)
    if release.avro_records in early.EARLY:
        return early.encode(rows, options.time_zone, release)
    count = len(table_info.visible_columns(rows.table))
    key_schema, value_schema, keys = schema(rows, False, options, release), None, None
    if key_schema is not None:
        _reject_deletes(rows, options, release)
        key_fields = schemas.fields(rows.table, options, release, rows.selected, True)
        keys = encode_by_operation(rows, count, lambda changes: _key(changes, key_fields, release))
    marks = release.avro_delete == "commit-ts" and sends_ddl(options, release)
    if marks or rows.after.null_count < len(rows.after):
        value_fields: tuple[AvroField, ...] = ()
        if rows.after.null_count < len(rows.after):
            value_fields = schemas.fields(rows.table, options, release, rows.selected, False)
            value_schema = schema(rows, True, options, release)
        values = encode_by_operation(rows, count, lambda changes: _value(changes, value_fields, options, release))
        values = binary(*stored_buffers(values), rows.commit_ts if marks else rows.after)
    else:
        values = pa.nulls(len(rows.after), pa.binary())
    limit = SizeLimit(overhead=RECORD_OVERHEAD, shorten=_whole, frame=frame_one_row_each)
    encoded = apply_size_limit(EncodedRows(keys, values), rows, options, release, limit)
    return replace(encoded, key_schema=key_schema, value_schema=value_schema)


def _whole(rows: RowChanges, locations: pa.Array | None) -> EncodedRows:
    raise NotImplementedError("TiCDC shortens no rows of Avro")


def schema(rows: RowChanges, of_values: bool, options: CodecOptions, release: Release) -> Schema | None:
    """Return the schema of keys or values; None for keys without columns. Raise EncodeError if goavro refuses it."""
    options = avro_options(options, release)
    if release.avro_records in early.EARLY:
        return early.schema(rows, of_values, release)
    found = schemas.fields(rows.table, options, release, rows.selected, not of_values)
    if not of_values and not (schemas.key_columns(rows.table, release) if release.avro_key == "primary" else found):
        return None
    subject = rows.topic.replace(".", "_") + ("-value" if of_values else "-key")
    extended = of_values and options.enable_tidb_extension
    text = schemas.schema_text(rows.table, found, extended, options.row_checksums)
    return Schema(subject, text, rows.version if release.avro_keeps_version else rows.snapshot_version)


def _reject_deletes(rows: RowChanges, options: CodecOptions, release: Release) -> None:
    """Raise EncodeError for a DELETE at which the release crashes, or that is not simulated."""
    if not rows.after.null_count:
        return
    if release.avro_delete == "nothing":
        raise EncodeError(
            f"panic: invalid memory address or nil pointer dereference: TiCDC {release.name} reads the key of a DELETE "
            "from its new row"
        )
    if release.avro_delete == "record" and sends_ddl(options, release):
        raise EncodeError(
            f"the record that TiCDC {release.name} makes of a DELETE with avro-enable-watermark is not simulated"
        )


def _key(changes: OperationRows, key_fields: Sequence[AvroField], release: Release) -> pa.Array:
    image = changes.last()
    return join(HEADER, *_pieces(key_fields, image, release), null=b"")


def _value(
    changes: OperationRows, value_fields: Sequence[AvroField], options: CodecOptions, release: Release
) -> pa.Array:
    if changes.operation == "DELETE" and release.avro_delete == "commit-ts" and sends_ddl(options, release):
        return join(DELETE, fixed(changes.rows.commit_ts.to_numpy().astype(">i8"), changes.rows.commit_ts))
    if changes.operation == "DELETE":
        return pa.repeat(pa.scalar(b"", pa.binary()), len(changes.rows.commit_ts))
    pieces = [HEADER, *_pieces(value_fields, changes.after(), release)]
    if options.enable_tidb_extension:
        commit_ts = changes.rows.commit_ts.to_numpy()
        pieces.append(OPERATIONS[changes.operation])
        pieces += [wire_numbers.longs(ts, changes.rows.commit_ts) for ts in (commit_ts, commit_ts >> LOGICAL_BITS)]
        if options.row_checksums:
            pieces.append(_checksums(row_checksums(changes, options.time_zone, release), release))
    return join(*pieces, null=b"")


def _checksums(checksums: RowChecksums, release: Release) -> pa.Array:
    """Return checksum, whether the row is corrupted, and version; the defaults of the fields if there is none."""
    version = bytes([release.checksum_version << 1])  # zigzag
    written = join(*wire_numbers.sized(decimal(pa.array(checksums.current))), b"\0", version)
    return pc.if_else(pa.array(checksums.known), written, pa.scalar(bytes(3), pa.binary()))


def _pieces(found: Sequence[AvroField], image: Image, release: Release) -> list[Piece]:
    pieces: list[Piece] = []
    for field in found:
        if field.place is None:
            pieces.append(_null(field))
            continue
        cells = image.cells(field.place)
        if not field.column.not_null:
            pieces.append(union_branch(cells, field.default_first))
        pieces += value_pieces(cells, field.column.type, field.type, release.avro_whole_bits)
    return pieces


def _null(field: AvroField) -> Piece:
    """Return NULL for a column that has no values; raise EncodeError if its type has no null."""
    if field.column.not_null:
        raise EncodeError(
            f'field "{field.name}": value does not match its schema: it is generated virtually and NOT NULL, and '
            "received: <nil>",
            "CDC:ErrAvroEncodeToBinary",
        )
    return b"\x02" if field.default_first else b"\x00"


def sends_ddl(options: CodecOptions, release: Release) -> bool:
    """Return whether DDL statements and watermarks are sent."""
    options = avro_options(options, release)
    return options.enable_tidb_extension and options.avro_enable_watermark


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[None, bytes]:
    """Return the message of a DDL statement: byte 1 and JSON."""
    short = release.avro_short_escapes
    query, schema, table = (quoted(text, short) for text in (event.query, event.schema, event.table))
    text = b'{"query":%s,"type":%d,"schema":%s,"table":%s,"commitTs":%d}'
    return None, DDL + text % (query, event.type_code, schema, table, event.commit_ts)


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[None, bytes] | None:
    """Return the message of a watermark: byte 2 and the TSO."""
    return (None, CHECKPOINT + ts.to_bytes(8, "big")) if sends_ddl(options, release) else None


@lru_cache(maxsize=256)
def avro_options(options: CodecOptions, release: Release) -> CodecOptions:
    """Return the options as the release applies them to Avro, whose values are never compressed or shortened."""
    return replace(
        supported_options(options, release),
        large_message_handle_option="none",
        large_message_handle_compression="none",
        claim_check_seed=0,
    )


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    return SizeRules(options.max_message_bytes, 1, RECORD_OVERHEAD, large_rows=release.avro_records in early.EARLY)


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    extended = avro_options(options, release).enable_tidb_extension
    return Fidelity(
        databases=release.avro_records not in early.EARLY,
        old_values=False,
        hides_unchanged_updates=not extended,
        names_operations=extended,
        member_names=True,
    )


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    key, value = entry
    return key, b"\x09" + value[1:]


_NOT_YET = {"random": "its records have random names, and no texts; accepted: 4.0.6 and later"}

AVRO = Codec(
    protocol=Protocol(
        name="avro",
        title="Avro",
        aliases=frozenset({"flat-avro"}),
        settings=option_names.AVRO_MODES | option_names.AVRO_WATERMARK | {"sink.schema-registry", "?registry"},
        refusals={"force-replicate": "force-replicate must be disabled, when using avro protocol"},
        tidb_extension=lambda release: not release.kafka_refuses_tidb_extension,  # from 6.0
        row_checksums=True,
        topics_name_tables=True,
    ),
    not_simulated=lambda release: _NOT_YET.get(release.avro_records, ""),
    encode=encode,
    ddl=ddl,
    schema=schema,
    is_binary=lambda options: True,
    sends_ddl=sends_ddl,
    keeps_old_names=lambda release: release.avro_keeps_version,
    shares_schemas=True,
    has_bare_deletes=lambda release: release.avro_key == "primary",
    watermark=watermark,
    broadcasts_ddl=lambda release: True,
    sizes=_sizes,
    fidelity=_fidelity,
    with_unknown_type=_unknown_type,
)
