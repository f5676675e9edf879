"""Simple: one JSON object per event, no key, one row per message; rows name the version of their table's schema.

`{"version":1,"database":…,"table":…,"tableID":…,"type":"INSERT","commitTs":…,"buildTs":…,"schemaVersion":…,"data":{…},
"old":{…}}`

* Every value is a string or null: ENUM and SET are their numbers, FLOAT and DOUBLE have no exponent, binary strings are
  base64. TIMESTAMP is an object with `location` and `value`.
* DDL has `tableSchema` and `preTableSchema`, the table after and before it; it goes to every partition.
* BOOTSTRAP has a table's schema. It precedes the first row of a table, and is repeated (`engines.tasks.bootstraps`).
* WATERMARK is always sent.
* With `encoding-format=avro` the same is Avro in one schema for all messages, without a registry (`avro.py`).
* `buildTs`, TiCDC's wall clock, is CodecOptions.build_ts.
* 7.6 has a first form: no `tableID`, `schema` for `database`, one type `DDL`, names of members (`simple_first_form`).

Sources: tiflow v7.6.0, v8.0.0 … v8.5.7 pkg/sink/codec/simple; docs: ticdc-simple-protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from simulator.errors import EncodeError
from simulator.releases import Release, option_names
from simulator.ticdc.codecs.codec import Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.large_messages import RECORD_OVERHEAD, SizeLimit, apply_size_limit, compress, decompress
from simulator.ticdc.codecs.row_changes import (
    DdlEvent,
    EncodedRows,
    OperationRows,
    RowChanges,
    TableInfo,
    encode_by_operation,
    frame_one_row_each,
    refuse_older_rows,
)
from simulator.ticdc.codecs.simple import avro, rows, schemas
from simulator.ticdc.codecs.wire_numbers import long
from simulator.ticdc.table_info import visible_columns
from simulator.tidb.model import types
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import ColumnType


@dataclass(frozen=True)
class Encoding:
    """An encoding of messages, as `encoding-format` says."""

    row_values: Callable[[OperationRows, CodecOptions, Release, bool, pa.Array | None], pa.Array]
    ddl: Callable[[DdlEvent, CodecOptions, Release], bytes]
    bootstrap: Callable[[TableInfo, int, CodecOptions, Release], bytes]
    watermark: Callable[[int, CodecOptions, Release], bytes]
    number: Callable[[int], bytes]
    """Encodes an integer, for its size."""


ENCODINGS = {
    "json": Encoding(
        rows.row_values,
        schemas.ddl_message,
        schemas.bootstrap_message,
        schemas.watermark_message,
        lambda number: b"%d" % number,
    ),
    "avro": Encoding(avro.row_values, avro.ddl_message, avro.bootstrap_message, avro.watermark_message, long),
}
WALL_CLOCK = 1_700_000_000_000
"""Some wall clock in milliseconds, for the size of `buildTs`."""


def _encode(changes: RowChanges, options: CodecOptions, release: Release) -> EncodedRows:
    """Return the values of the rows; raise EncodeError (CDC:ErrMessageTooLarge) for a row above max-message-bytes."""
    refuse_older_rows(changes, "simple", release)
    options, encoding = supported_options(options, release), ENCODINGS[options.encoding_format]
    if release.simple_first_form:
        _refuse_mistaken_types(changes.table, release)
    fixed = options.build_ts
    clock = 0 if fixed is None else len(encoding.number(WALL_CLOCK)) - len(encoding.number(fixed))
    count = len(visible_columns(changes.table))

    def encoded(rows: RowChanges, only_handle_key: bool = False, locations: pa.Array | None = None) -> EncodedRows:
        def values(part: OperationRows) -> pa.Array:
            return encoding.row_values(part, options, release, only_handle_key, locations)

        return EncodedRows(None, encode_by_operation(rows, count, values))

    limit = SizeLimit(
        overhead=RECORD_OVERHEAD + clock,
        shorten=lambda large, locations: encoded(large, True, locations),
        frame=frame_one_row_each,
    )
    return apply_size_limit(encoded(changes), changes, options, release, limit)


def _ddl(event: DdlEvent, options: CodecOptions, release: Release) -> KeyValue:
    return _checked(ENCODINGS[options.encoding_format].ddl(event, options, release), event.table, options, release)


def _bootstrap(info: TableInfo, ts: int, options: CodecOptions, release: Release) -> KeyValue:
    return _checked(
        ENCODINGS[options.encoding_format].bootstrap(info, ts, options, release), info.table.name, options, release
    )


def _checked(text: bytes, table: str, options: CodecOptions, release: Release) -> KeyValue:
    """Return a compressed message; raise EncodeError if it exceeds max-message-bytes."""
    value = compress(text, supported_options(options, release).large_message_handle_compression)
    length = len(value) + RECORD_OVERHEAD
    if length > options.max_message_bytes:
        text_of = f"message is too large. table:{table}, length:{length}, maxMessageBytes:{options.max_message_bytes}"
        raise EncodeError(text_of, "CDC:ErrMessageTooLarge")
    return None, value


def _watermark(ts: int, options: CodecOptions, release: Release) -> KeyValue:
    compression = supported_options(options, release).large_message_handle_compression
    return None, compress(ENCODINGS[options.encoding_format].watermark(ts, options, release), compression)


def _refuse_mistaken_types(table: Table, release: Release) -> None:
    """Raise EncodeError for columns that TiCDC encodes by another column's type, because a virtual one is before them
    (tiflow v7.6.0: pkg/sink/codec/simple/message.go formatColumns)."""
    for column, other in zip(visible_columns(table), table.columns):
        own, taken = _kind(column.type), _kind(other.type)
        if own != taken and (own or taken in ("enum", "set")):
            raise EncodeError(
                f"column {column.name!r} of {table.schema}.{table.name} comes after a virtual column: TiCDC {release.name} "
                f"encodes it by the type of column {other.name!r}, which is not simulated"
            )


def _kind(type: ColumnType) -> str:
    """Return what of a type decides how the values are encoded; empty if it is nothing."""
    family = types.family(type)
    return family if family in ("enum", "set") else str(types.is_binary(type)) if types.is_text(type) else ""


def _large_form(options: CodecOptions, release: Release) -> str:
    return supported_options(options, release).large_message_handle_option


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    compression = options.large_message_handle_compression
    text = decompress(entry[1], compression)
    if options.encoding_format == "avro":
        # the branch of the first form, else the type
        unknown = long(9) + text[1:] if text[:1] == avro.FIRST_DML else text[:1] + long(9) + text[2:]
        return entry[0], compress(unknown, compression)
    return entry[0], compress(re.sub(rb'"type":"[A-Z]+"', b'"type":"UNKNOWN"', text, count=1), compression)


SIMPLE = Codec(
    protocol=Protocol(
        name="simple", title="Simple", settings=option_names.LARGE_MESSAGES | option_names.RAW_VALUE, row_checksums=True
    ),
    encode=_encode,
    is_binary=lambda options: options.encoding_format == "avro",
    ddl=_ddl,
    watermark=_watermark,
    bootstrap=_bootstrap,
    broadcasts_ddl=lambda release: True,
    sizes=lambda options, release: SizeRules(options.max_message_bytes, 1, RECORD_OVERHEAD, large_rows=False),
    fidelity=lambda options, release: Fidelity(member_names=release.simple_first_form),
    large_message_option=_large_form,
    tells_partitions=lambda release: release.simple_partition_ids,
    mistakes_columns=rows.may_be_mistaken,
    with_unknown_type=_unknown_type,
)
