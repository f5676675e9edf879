"""Keys and values of Debezium's rows in Avro.

A row is encoded by columns, as in `avro`: fields follow each other without separators. Every column is a union of null
and its type.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import Image
from simulator.releases import Release
from simulator.ticdc.codecs.avro import numbers
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.debezium.encoder import OPERATIONS, once_a_transaction
from simulator.ticdc.codecs.debezium.schemas import CLUSTER
from simulator.ticdc.codecs.debezium_avro import schemas
from simulator.ticdc.codecs.debezium_avro.values import value_pieces
from simulator.ticdc.codecs.json_members import Piece
from simulator.ticdc.codecs.json_text import join
from simulator.ticdc.codecs.row_changes import EncodedRows, OperationRows, RowChanges, Schema, encode_all_by_operation
from simulator.ticdc.codecs.schema_registry import HEADER
from simulator.ticdc.table_info import visible_columns
from simulator.tidb.model.table import Column, Table
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
    image = changes.before() if changes.operation == "DELETE" else changes.after()
    columns = schemas.key_columns(changes.rows.table, release)
    return join(HEADER, *_record(columns, changes.rows.table, image, options, release), null=b"")


def _value(changes: OperationRows, options: CodecOptions, release: Release) -> pa.Array:
    table = changes.rows.table

    def behind(commit_ts: pa.Array) -> list[Piece]:
        physical = numbers.longs(commit_ts.to_numpy() >> LOGICAL_BITS, commit_ts)
        return [
            string("2.4.0.Final") + string("TiCDC") + string(CLUSTER),
            physical,
            NULL + string(table.schema) + string(table.name) + _EMPTY_MEMBERS,
            numbers.longs(commit_ts.to_numpy(), commit_ts),
            string(CLUSTER) + string(OPERATIONS[changes.operation].decode()),
            physical if options.build_ts is None else long(options.build_ts),
        ]

    images = _images(changes, options, release)
    return join(HEADER, *images, *once_a_transaction(changes.rows.commit_ts, behind), null=b"")


_EMPTY_MEMBERS = bytes(7)
"""`server_id`, `gtid`, `file`, `pos`, `row`, `thread` and `query`: 0, an empty text or null."""


def long(number: int) -> bytes:
    """Return a number in Avro."""
    cells = pa.array([number], pa.int64())
    written: bytes = numbers.longs(cells.to_numpy(), cells)[0].as_py()
    return written


def string(text: str) -> bytes:
    """Return a text in Avro."""
    content = text.encode("utf-8", "surrogateescape")
    return long(len(content)) + content


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
    places = {column.name: place for place, column in enumerate(visible_columns(table))}
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
