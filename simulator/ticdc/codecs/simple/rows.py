"""Rows of Simple in JSON, and columns that classic TiCDC mistakes for others in both encodings.

Members of `data` and `old` are in the order of their names, as Go writes maps.

TiCDC sorts the columns of a table by their ids. BOOTSTRAP sorts the very columns that later rows of its schema version are
encoded with, and places are those from before. From 8.0 on a value is under the name of the column that is at its place
then; Avro takes the type from there, too. In 7.5.2 to 7.5.7 names are right, and types may be of other columns, behind a
virtual column even without a BOOTSTRAP. It shows where columns are not in the order of their ids, as after ADD COLUMN …
FIRST. Sources: tiflow v7.5.7, v8.0.0: pkg/sink/codec/simple/message.go newTableSchema, formatColumns; avro.go
collectColumns; cdc/model/schema_storage.go GetColumnInfo; cdc/entry/mounter.go datum2Column; recordings of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import latin1
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.json_members import (
    Converter,
    Escaping,
    JsonMember,
    Piece,
    always_null,
    named_object,
    unchanged,
)
from simulator.ticdc.codecs.row_changes import OperationRows, RowChanges, RowChecksums, row_checksums
from simulator.ticdc.codecs.wire_text import base64, decimal, escape, is_plain, join, quoted, sent_bytes
from simulator.ticdc.table_info import cached_by_columns, visible_columns
from simulator.tidb.model import types
from simulator.tidb.model.table import Table, places_of
from simulator.tidb.model.types import ColumnType
from simulator.tso import LOGICAL_BITS


def row_values(
    changes: OperationRows, options: CodecOptions, release: Release, only_handle_key: bool, locations: pa.Array | None
) -> pa.Array:
    """Return the JSON of rows of one operation; `locations` are those of claim-check (binary)."""
    rows = changes.rows
    zone = location(options, release)
    members = _members(rows.table, rows.selected, rows.told, zone, release)
    if only_handle_key:
        members = tuple(member for member in members if member.handle)
    build: Piece = pc.shift_right(rows.commit_ts, LOGICAL_BITS)
    build = decimal(build) if options.build_ts is None else b"%d" % options.build_ts
    pieces: list[Piece] = [_head(rows, changes.operation, release), decimal(rows.commit_ts), b',"buildTs":', build]
    if rows.version:
        pieces.append(b',"schemaVersion":%d' % rows.version)
    if locations is not None:
        texts = [
            quoted(location.decode(), release.simple_short_escapes) for location in changes.own(locations).to_pylist()
        ]
        pieces += [b',"claimCheckLocation":', pa.array(texts, pa.binary())]
    if only_handle_key:
        pieces.append(b',"handleKeyOnly":true')
    if options.row_checksums:
        pieces.append(_checksums(row_checksums(changes, options.time_zone, release), release))
    if changes.operation != "DELETE":
        pieces += named_object(b"data", members, changes.after())
    if changes.operation != "INSERT":
        pieces += named_object(b"old", members, changes.before())
    return join(*pieces, b"}")


def location(options: CodecOptions, release: Release) -> str:
    """Return the `location` of TIMESTAMPs; empty for none."""
    follows = release.simple_location not in ("", "Local")
    return options.time_zone if follows and options.time_zone else release.simple_location


def _checksums(checksums: RowChecksums, release: Release) -> pa.Array:
    current, previous = (decimal(pa.array(each)) for each in (checksums.current, checksums.previous))
    head = b',"checksum":{"version":%d,"corrupted":false,"current":' % release.checksum_version
    return pc.if_else(pa.array(checksums.known), join(head, current, b',"previous":', previous, b"}"), b"")


def _head(rows: RowChanges, operation: str, release: Release) -> bytes:
    table_id = 0 if release.simple_first_form else row_table_id(rows, release)
    return b'{"version":1,"%s":%s,"table":%s%s,"type":"%s","commitTs":' % (
        b"schema" if release.simple_first_form else b"database",
        quoted(rows.table.schema, release.simple_short_escapes),
        quoted(rows.table.name, release.simple_short_escapes),
        b',"tableID":%d' % table_id if table_id else b"",
        operation.encode(),
    )


def row_table_id(rows: RowChanges, release: Release) -> int:
    """Return `tableID` of rows: the id of the partition or of the whole table."""
    return rows.partition_id if rows.partition_id is not None and release.simple_partition_ids else rows.table_id


@cached_by_columns
def _members(
    table: Table, selected: frozenset[str] | None, told: int, zone: str, release: Release
) -> tuple[JsonMember, ...]:
    """Return the members of a row that column selectors leave."""
    return tuple(_member(column, zone, release) for column in sent_columns(table, selected, told, False, release))


class SentColumn(NamedTuple):
    """A column of rows as a member of `data` and `old`."""

    place: int | None
    """Among the visible columns; None for one that is always null."""

    type: ColumnType
    encoded: EncodedAs
    handle: bool


def sent_columns(
    table: Table, selected: frozenset[str] | None, told: int, in_avro: bool, release: Release
) -> list[SentColumn]:
    """Return the columns that column selectors leave, in the order of their names in messages."""
    handle, visible = table_info.handle_columns(table, release), table_info.visible_columns(table)
    places, encoded = places_of(table), encoded_as(table, told, in_avro, release)
    columns = [
        SentColumn(
            places.get(column.name),
            column.type,
            encoded.get(column.name) or EncodedAs(column.name, column.type),
            column.name in handle,
        )
        for column in (table.columns if release.simple_virtual_columns else visible)
        if selected is None or column.name in selected
    ]
    return sorted(columns, key=lambda column: column.encoded.name.encode("utf-8", "surrogatepass"))


def _member(column: SentColumn, zone: str, release: Release) -> JsonMember:
    type, taken = column.type, column.encoded.type
    is_string = taken.name != "timestamp" or not zone
    if column.place is None:
        convert: Converter = always_null
    else:
        convert = _converter(type, zone, release) if taken == type else _mistaken(type, taken, zone, release)
    name = quoted(column.encoded.name, release.simple_short_escapes) + b":"
    return JsonMember(column.place or 0, type, name, b"", is_string, column.handle, convert)


def _mistaken(type: ColumnType, taken: ColumnType, zone: str, release: Release) -> Converter:
    """Return the converter of a column that TiCDC takes for one of another type."""
    kind = value_kind(type)
    if taken.name == "timestamp" and zone:
        located = partial(_timestamp, location=quoted(zone))
        if kind == "number":
            return lambda cells, type: located(pc.if_else(cells.is_valid(), b"", cells), type)
        return lambda cells, type: located(escape(_plain(cells, type), release.simple_short_escapes), type)
    if kind == "bytes" and has_binary_flag(taken):
        return lambda cells, type: base64(sent_bytes(cells, type))
    if kind == "bytes" or type.name == "timestamp":
        return lambda cells, type: escape(_plain(cells, type), release.simple_short_escapes)
    return _converter(type, zone, release)


def _plain(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return a text or a byte string as text, in which lone surrogates stand for bytes that are no UTF-8."""
    if value_kind(type) != "bytes" or not types.is_binary(type):
        return cells
    texts = (None if cell is None else cell.decode("utf-8", "surrogateescape") for cell in latin1(cells).to_pylist())
    return pa.array([None if text is None else text.encode("utf-8", "surrogatepass") for text in texts], pa.binary())


def _converter(type: ColumnType, zone: str, release: Release) -> Converter:
    if types.is_binary(type):
        return lambda cells, type: base64(latin1(cells))
    if type.name == "timestamp" and zone:
        return partial(_timestamp, location=quoted(zone))
    match types.family(type):
        case "float":
            return wire_numbers.percent_v_float if release.simple_float_exponents else wire_numbers.plain_float
        case "enum" | "set" if release.simple_first_form:
            return lambda cells, type: escape(member_names(cells, type), release.simple_short_escapes)
        case "enum":
            return wire_numbers.enum_number
        case "set":
            return wire_numbers.set_number
        case "string" | "text" | "json":
            return Escaping(lambda cells, type: escape(cells, release.simple_short_escapes), is_plain)
    return unchanged


def member_names(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return ENUM and SET by name, as they are; raise EncodeError for the error value of an ENUM."""
    numbers = (wire_numbers.enum_number if type.name == "enum" else wire_numbers.set_number)(cells, type)
    if type.name == "enum" and pc.any(pc.equal(numbers, b"0")).as_py():
        text = f"convert to MySQL enum failed: number 0 overflow enum boundary [1, {len(type.elements)}]"
        raise EncodeError(text, "CDC:ErrEncodeFailed")
    return cells


def _timestamp(cells: pa.Array, type: ColumnType, location: bytes) -> pa.Array:
    opening, closing, nothing = (
        pa.scalar(text, pa.binary()) for text in (b'{"location":%s,"value":"' % location, b'"}', b"")
    )
    return pc.binary_join_element_wise(opening, cells, closing, nothing)


class EncodedAs(NamedTuple):
    """How a column of a row is encoded."""

    name: str
    type: ColumnType
    """The type that TiCDC takes it for."""


@cached_by_columns
def encoded_as(table: Table, told: int, in_avro: bool, release: Release) -> Mapping[str, EncodedAs]:
    """Return how the visible columns are encoded, by name; `told` is that of `RowChanges`.

    Raise EncodeError for a column at whose type TiCDC crashes.
    """
    every, visible = table.columns, visible_columns(table)
    found = {column.name: EncodedAs(column.name, column.type) for column in visible}
    if release.simple_sorted == "":
        return found
    by_types = release.simple_sorted == "types"
    # there rows have their types in Avro before the BOOTSTRAP of their transaction is made
    is_sorted = told > (by_types and in_avro)
    taken = sorted(every, key=lambda column: column.id) if is_sorted else list(every)
    for number, column in enumerate(visible):
        if not by_types:
            other = taken[every.index(column)]
            found[column.name] = EncodedAs(other.name, other.type if in_avro else column.type)
        elif in_avro:
            found[column.name] = EncodedAs(column.name, every[taken.index(column)].type)
        else:
            found[column.name] = EncodedAs(column.name, taken[number].type)
        _check(column.type, found[column.name].type, in_avro, f"{table.schema}.{table.name}.{column.name}", release)
    return found


def may_be_mistaken(table: Table, release: Release) -> bool:
    """Return whether TiCDC may take columns of a table for others."""
    ids = [column.id for column in table.columns]
    has_virtual = len(visible_columns(table)) < len(ids)
    return bool(release.simple_sorted) and (ids != sorted(ids) or release.simple_sorted == "types" and has_virtual)


def value_kind(type: ColumnType) -> str:
    """Return what a value is in TiCDC: `bytes` of texts and byte strings, `number`, or `text` of all others."""
    if types.family(type) in ("string", "text"):
        return "bytes"
    return "number" if types.family(type) in ("integer", "float", "year", "bit", "enum", "set") else "text"


def has_binary_flag(type: ColumnType) -> bool:
    """Return whether TiDB marks the type as binary, and TiCDC its bytes therefore (tidb v8.0.0: pkg/ddl/ddl_api.go
    processColumnFlags)."""
    family = types.family(type)
    return family in ("date", "datetime", "time", "json") or family in ("string", "text") and types.is_binary(type)


def _check(own: ColumnType, taken: ColumnType, in_avro: bool, column: str, release: Release) -> None:
    kind, family = value_kind(own), types.family(taken)
    if in_avro:
        number = types.exceeds_int64(taken)
        unsigned = own.unsigned and types.family(own) == "integer" or types.family(own) in ("bit", "enum", "set")
        crashes = taken.name == "timestamp" and kind != "text" or number and not unsigned
    else:
        crashes = family in ("bit", "enum", "set") and kind == "bytes"
    if crashes:
        raise EncodeError(
            f"panic: interface conversion: TiCDC {release.name} takes {column} for a {taken.name} in Simple, once it has "
            "sorted the table's columns by their ids"
        )
