"""Debezium in Avro: the messages of `debezium` in Confluent's wire format, their schemas in a registry.

* Key and value begin with a byte 0 and the id of their schema in 4 bytes.
* A schema is made of Debezium's (`schemas`). All columns can be null there, and have no defaults. A column has its name
  in `connect.field`, with enable-tidb-extension its type in `tidb_type`.
* DECIMAL is `bytes` of the logical type `decimal`, or `string` (avro-decimal-handling-mode). BIGINT UNSIGNED is `long`,
  which stops at numbers from 2^63 on, or `string` (avro-bigint-unsigned-handling-mode). Byte strings are `bytes`.
* Values are those of `debezium.values`, with a column's default in place of NULL, but for numbers, which keep their digits.
* Schemas are registered as `{topic}-key` and `{topic}-value`, and once more for a new schema version of the table.
* With enable-tidb-extension and avro-enable-watermark, which TiCDC has for its tests, there are Debezium's DDL statements
  and watermarks, whose schemas are registered under their own names. TiCDC makes Debezium's JSON and reads it back for
  Avro. The first schema of each kind stays for good, so that `source` has the name of the first statement's database in
  the schema of all.
* debezium-disable-schema and compression have no effect; there is no limit of a message's size.

A row is encoded by columns, as in `avro`: fields follow each other without separators.

Sources: ticdc v26.3.3, v26.3.4: pkg/sink/codec/debezium/avro.go, codec.go, encoder.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import fixed
from simulator.columns.row_image import Image
from simulator.errors import EncodeError
from simulator.releases import Release, option_names
from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.codec import KeyValue, Protocol
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.debezium import DEBEZIUM, OPERATIONS, once_a_transaction
from simulator.ticdc.codecs.debezium.schemas import connect_type, null_cell
from simulator.ticdc.codecs.debezium.statements import (
    CHANGE_KEY,
    change_value,
    ddl_payloads,
    watermark_payloads,
    watermark_schemas,
)
from simulator.ticdc.codecs.debezium.values import CLUSTER, bit_bytes, number_format, timestamp_format
from simulator.ticdc.codecs.debezium_avro import schemas
from simulator.ticdc.codecs.debezium_avro.schemas import Connect, avro_text, source
from simulator.ticdc.codecs.json_members import Piece
from simulator.ticdc.codecs.row_changes import (
    STATEMENTS,
    DdlEvent,
    EncodedRows,
    OperationRows,
    RowChanges,
    Schema,
    encode_all_by_operation,
)
from simulator.ticdc.codecs.schema_registry import HEADER
from simulator.ticdc.codecs.wire_numbers import long, string, to_float64
from simulator.ticdc.codecs.wire_text import join, sent_bytes
from simulator.ticdc.table_info import visible_columns
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table, places_of
from simulator.tso import LOGICAL_BITS

NULL, PRESENT = b"\x00", b"\x02"
"""The branches of a union of null and a type."""


def encode(rows: RowChanges, options: CodecOptions, release: Release) -> EncodedRows:
    """Return keys and values of the rows with their schemas, whatever their size.

    Raise EncodeError for a value that TiCDC refuses or crashes at, and for a schema that goavro refuses.
    """
    options, count = supported_options(options, release), len(visible_columns(rows.table))
    parts = (partial(encoder, options=options, release=release) for encoder in (_key, _value))
    keys, values = encode_all_by_operation(rows, count, *parts)
    key_schema, value_schema = (schema(rows, of_values, options, release) for of_values in (False, True))
    return EncodedRows(keys, values, key_schema=key_schema, value_schema=value_schema)


def schema(rows: RowChanges, of_values: bool, options: CodecOptions, release: Release) -> Schema:
    """Return the schema of keys or values; raise EncodeError if goavro refuses it."""
    options, table = supported_options(options, release), rows.table
    if of_values:
        text = schemas.value_schema(table, rows.selected, options, release)
    else:
        text = schemas.key_schema(table, options, release)
    kind, name = ("value", "Envelope") if of_values else ("key", "Key")
    subject = f"{rows.topic}-{kind}" if rows.topic else schemas.row_name(table) + name
    # tables of a snapshot have one version here, in TiDB each has its own
    return Schema(subject, text, rows.version and rows.version << 64 | rows.table_id)


def _key(changes: OperationRows, options: CodecOptions, release: Release) -> pa.Array:
    image = changes.last()
    columns = schemas.key_columns(changes.rows.table, release)
    return join(HEADER, *_record(columns, changes.rows.table, image, options, release), null=b"")


def _value(changes: OperationRows, options: CodecOptions, release: Release) -> pa.Array:
    table = changes.rows.table

    def behind(commit_ts: pa.Array) -> list[Piece]:
        physical = wire_numbers.longs(commit_ts.to_numpy() >> LOGICAL_BITS, commit_ts)
        return [
            string("2.4.0.Final") + string("TiCDC") + string(CLUSTER),
            physical,
            NULL + string(table.schema) + string(table.name) + _EMPTY_MEMBERS,
            wire_numbers.longs(commit_ts.to_numpy(), commit_ts),
            string(CLUSTER) + string(OPERATIONS[changes.operation].decode()),
            physical if options.build_ts is None else long(options.build_ts),
        ]

    images = _images(changes, options, release)
    return join(HEADER, *images, *once_a_transaction(changes.rows.commit_ts, behind), null=b"")


_EMPTY_MEMBERS = bytes(7)
"""`server_id`, `gtid`, `file`, `pos`, `row`, `thread` and `query`: 0, an empty text or null."""


def _images(changes: OperationRows, options: CodecOptions, release: Release) -> list[Piece]:
    table = changes.rows.table
    columns = schemas.value_columns(table, changes.rows.selected, release)

    def image(of: Image) -> list[Piece]:
        return [PRESENT, *_record(columns, table, of, options, release)]

    match changes.operation:
        case "INSERT":
            return [NULL, *image(changes.after())]
        case "DELETE":
            return [*image(changes.before()), NULL]
    before = image(changes.before()) if options.debezium_output_old_value else [NULL]
    return [*before, *image(changes.after())]


def _record(
    columns: Sequence[Column], table: Table, image: Image, options: CodecOptions, release: Release
) -> list[Piece]:
    """Return the pieces of the columns; virtual ones are null."""
    places = places_of(table)
    pieces: list[Piece] = []
    for column in columns:
        if column.name not in places:
            pieces.append(NULL)
            continue
        converted, missing = value_pieces(image.cells(places[column.name]), column, options, release)
        if missing is None:
            pieces.append(PRESENT)
        else:
            pieces.append(pc.if_else(missing, pa.scalar(NULL, pa.binary()), pa.scalar(PRESENT, pa.binary())))
        pieces += converted
    return pieces


def sends_ddl(options: CodecOptions, release: Release) -> bool:
    """Return whether DDL statements and watermarks are sent."""
    options = supported_options(options, release)
    return options.enable_tidb_extension and options.avro_enable_watermark


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Return key and value of a DDL statement, without the ids of their schemas."""
    key, value = ddl_payloads(event, options)
    return _message(key, CHANGE_KEY), _message(value, change_value(source(event.schema)))


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[bytes, bytes] | None:
    """Return key and value of a watermark, without the ids of their schemas; None if none is sent."""
    if not sends_ddl(options, release):
        return None
    key, value = watermark_payloads(ts, options)
    key_schema, value_schema = watermark_schemas(source("watermark"))
    return _message(key, key_schema), _message(value, value_schema)


def control_schemas(database: str | None, options: CodecOptions, release: Release) -> tuple[Schema, Schema]:
    """Return the schemas of key and value of a database's statements, or of watermarks."""
    if database is None:
        key, value = watermark_schemas(source("watermark"))
    else:
        key, value = CHANGE_KEY, change_value(source(database))
    return _registered(key), _registered(value)


def _registered(schema: Connect) -> Schema:
    return Schema(schema["name"], avro_text(schema), STATEMENTS)


def _message(payload: bytes, schema: Connect) -> bytes:
    text = LONE_SURROGATE.sub("\ufffd", payload.decode("utf-8", "surrogateescape"))
    return HEADER + _encoded(json.loads(text, strict=False), schema)


LONE_SURROGATE = re.compile("[\udc80-\udcff]")
"""Bytes that are no UTF-8, which Go's JSON loses."""


def _member(value: Any, schema: Connect) -> bytes:
    """Return a member of a struct; one that is missing is null."""
    found = value.get(schema["field"])
    if not schema["optional"]:
        return _encoded(found, schema)
    return NULL if found is None else PRESENT + _encoded(found, schema)


def _encoded(value: Any, schema: Connect) -> bytes:
    """Return a value of Kafka Connect in Avro."""
    match schema["type"]:
        case "struct":
            return b"".join(_member(value, field) for field in schema["fields"])
        case "array":
            items = b"".join(_encoded(each, schema["items"]) for each in value)
            return (long(len(value)) + items if value else b"") + long(0)
        case "string":
            return string(value)
        case "boolean":
            return b"\1" if value else b"\0"
    return long(int(value))


_LARGEST = (1 << 63) - 1


def value_pieces(
    cells: pa.Array, column: Column, options: CodecOptions, release: Release
) -> tuple[list[pa.Array], pa.Array | None]:
    """Return the pieces of a column's values without their branches, null for null, and which are null, if any is.

    Raise EncodeError for what TiCDC refuses or crashes at.
    """
    pieces = _pieces(_with_default(cells, column, release), column, options, release)
    return pieces, pieces[0].is_null() if pieces[0].null_count else None


def _with_default(cells: pa.Array, column: Column, release: Release) -> pa.Array:
    if not cells.null_count or not release.debezium_null_is_default:
        return cells
    default = null_cell(column, release)
    return cells if default is None else cells.fill_null(default.encode("utf-8", "surrogatepass"))


def _pieces(cells: pa.Array, column: Column, options: CodecOptions, release: Release) -> list[pa.Array]:
    type, counted = column.type, number_format(column, release)
    if counted is not None:
        found = counted(cells, type)
        return [wire_numbers.longs(found.fill_null(0).to_numpy(), found)]
    match types.family(type):
        case "bit" if type.length == 1:
            return [pc.if_else(pc.equal(cells, b"0"), pa.scalar(b"\0", pa.binary()), pa.scalar(b"\1", pa.binary()))]
        case "bit":
            return wire_numbers.sized(bit_bytes(cells, type))
        case "integer" if types.exceeds_int64(type):
            if options.avro_bigint_unsigned_handling_mode == "string":
                return wire_numbers.sized(cells)
            _require_signed(cells)
            return [wire_numbers.integers(cells, True)]
        case "integer" | "year":
            return [wire_numbers.integers(cells, type.unsigned)]
        case "float":
            return [_floats(cells, column, release)]
        case "decimal" if options.avro_decimal_handling_mode == "precise":
            return wire_numbers.sized(wire_numbers.decimals(cells, max(type.decimal, 0)))
        case "datetime":
            return wire_numbers.sized(timestamp_format(column, release, options.time_zone)(cells, type))
    return wire_numbers.sized(sent_bytes(cells, type))


def _require_signed(cells: pa.Array) -> None:
    """Raise EncodeError for a number that has no place in a `long`."""
    largest = pc.max(cells.cast(pa.string()).cast(pa.uint64())).as_py()
    if largest is not None and largest > _LARGEST:
        raise EncodeError(f"unsigned bigint value {largest} overflows avro long", "CDC:ErrDebeziumEncodeFailed")


def _floats(cells: pa.Array, column: Column, release: Release) -> pa.Array:
    """Return the numbers in the bytes of their type; a FLOAT that is `double` keeps the digits of 32 bits."""
    found = to_float64(cells).fill_null(0.0).to_numpy()
    with np.errstate(over="ignore"):
        narrow = found.astype("<f4") if column.type.name == "float" else found
    return fixed(narrow.astype("<f8" if connect_type(column.type, release) == "double" else "<f4"), cells)


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """Change `op`, the letter before the number at the end, of whose bytes all but the last have the high bit."""
    key, value = entry
    place = len(value) - 1
    while value[place - 1] & 0x80:
        place -= 1
    return key, value[: place - 1] + b"x" + value[place:]


DEBEZIUM_AVRO = replace(
    DEBEZIUM,
    protocol=Protocol(
        name="debezium-avro",
        title="Debezium Avro",
        settings=option_names.AVRO_MODES
        | option_names.AVRO_WATERMARK
        | option_names.DEBEZIUM_OLD
        | {"sink.schema-registry"},
        refusals={"force-replicate": "force-replicate must be disabled, when using avro or debezium-avro protocol"},
        tidb_extension=lambda release: "debezium-avro" in release.protocols,
        topics_name_tables=True,
    ),
    encode=encode,
    schema=schema,
    deletes_have_values=True,
    is_binary=lambda options: True,
    sends_ddl=sends_ddl,
    ddl=ddl,
    watermark=watermark,
    control_schemas=control_schemas,
    with_unknown_type=_unknown_type,
)
