"""Maxwell: JSON objects as Maxwell's daemon writes them, with some differences.

`{"database":…,"table":…,"type":"update","ts":…,"data":{…},"old":{…}}`

* `type` is insert, update or delete; `ts` is the commit time in seconds. The row of a DELETE is in `old`, and `data` is
  left out; `old` of an UPDATE has what changed, and is left out if nothing did.
* Members of `data` and `old` are in the order of their names. Numbers, BIT, YEAR, ENUM and SET are numbers, bytes are
  base64, everything else is its TiDB text.
* TiCDC crashes at an UPDATE whose old and new row both have bytes in one column, which Go cannot compare.
* The key of rows is the 8 bytes of version 1, that of a statement is Open Protocol's, without a length.
* Statements tell names and kinds of the columns before and after, and go to every partition. There are no watermarks,
  and no limits of size.

Sources: tiflow v8.5.3: pkg/sink/codec/maxwell.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import latin1
from simulator.columns.row_image import Image
from simulator.errors import EncodeError, NotSimulatedError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.codec import Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.json_members import (
    Converter,
    Escaping,
    JsonMember,
    MaybeUntyped,
    PartialMember,
    Piece,
    is_changed,
    named_object,
    partial_members,
    unchanged,
    untyped_texts,
)
from simulator.ticdc.codecs.open_protocol import ddl as open_ddl
from simulator.ticdc.codecs.open_protocol.columns import NUMERIC_FAMILIES
from simulator.ticdc.codecs.row_changes import (
    DdlEvent,
    EncodedRows,
    Messages,
    OperationRows,
    RowChanges,
    TableInfo,
    encode_by_operation,
    frame_one_row_each,
)
from simulator.ticdc.codecs.wire_text import base64, decimal, escape, is_plain, join, quoted
from simulator.ticdc.mounter import is_untyped, later_columns
from simulator.ticdc.table_info import cached_by_columns
from simulator.tidb.ddl import Action
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType, family
from simulator.tso import LOGICAL_BITS

_KINDS: Mapping[int, str] = {
    **dict.fromkeys((*range(Action.ADD_COLUMN, Action.DROP_TABLE_PARTITION + 1), 22, 23, 27, 28, 29), "table-alter"),
    **dict.fromkeys((33, 37, 38, 41, 42), "table-alter"),
    Action.CREATE_TABLE: "table-create",
    Action.DROP_TABLE: "table-drop",
    Action.CREATE_SCHEMA: "database-create",
    Action.DROP_SCHEMA: "database-drop",
    Action.MODIFY_SCHEMA_CHARSET_AND_COLLATE: "database-alter",
}
"""TiDB's action type → Maxwell's kind; others have TiDB's own text (ddlToMaxwellType)."""

_TYPES: Mapping[str, str] = {
    "integer": "int",
    "text": "string",
    "float": "float",
    "vector": "string",
    **{kind: kind for kind in ("string", "decimal", "date", "datetime", "time", "year", "enum", "set", "bit", "json")},
}
"""Families of types → Maxwell's types (columnToMaxwellType)."""


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Return key and value of a DDL statement; raise EncodeError for one on a database where TiCDC crashes."""
    if not event.table and release.maxwell_crashes_on_databases:
        raise EncodeError(
            "panic: runtime error: invalid memory address or nil pointer dereference: TiCDC crashes in maxwell at a "
            f"statement on a database: {event.query}"
        )
    kind = _KINDS.get(event.type_code) or Action(event.type_code).text
    value = b'{"type":"%s","database":%s,"table":%s,"old":%s,"def":%s,"ts":%d,"sql":%s}' % (
        kind.encode(),
        _text(event.schema, release),
        _text(event.table, release),
        _structure(event.before, "", "", release),
        _structure(event.after if event.table else None, event.schema, event.table, release),
        event.commit_ts,
        _text(event.query, release),
    )
    return open_ddl(event, options, release)[0], value


def _structure(info: TableInfo | None, schema: str, name: str, release: Release) -> bytes:
    table = info.table if info is not None else None
    columns = b"null"
    if isinstance(table, Table):
        schema, name = schema or table.schema, name or table.name
        columns = b"[%s]" % b",".join(
            b'{"type":"%s","name":%s}' % (_type(column.type).encode(), _text(column.name, release))
            for column in table.columns
        )
    return b'{"database":%s,"table":%s,"columns":%s,"primary-key":null}' % (
        _text(schema, release),
        _text(name, release),
        columns,
    )


def _type(type: ColumnType) -> str:
    return "bigint" if type.name == "bigint" else _TYPES[family(type)]


def _text(text: str, release: Release) -> bytes:
    return quoted(text, release.short_control_escapes)


VERSION = b"\0\0\0\0\0\0\0\1"
"""The key of a message with rows."""

MILLIS = 1000


def encode(rows: RowChanges, options: CodecOptions, release: Release) -> EncodedRows:
    """Return the values of the rows, and the key of a message with each; raise EncodeError where TiCDC crashes."""
    count = len(table_info.visible_columns(rows.table))
    values = encode_by_operation(rows, count, partial(_objects, options=options, release=release))
    return EncodedRows(pa.repeat(pa.scalar(VERSION), len(values)), values)


def frame(encoded: EncodedRows, group: npt.NDArray[np.int64], options: CodecOptions, release: Release) -> Messages:
    """Return the messages of rows; those of a group share one from 6.0 on."""
    if not release.maxwell_batches or not len(group):
        return frame_one_row_each(encoded, group, options, release)
    starts = np.concatenate(([0], np.flatnonzero(np.diff(group)) + 1, [len(group)])).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(starts), encoded.values)
    values = pc.binary_join(lists, pa.scalar(b"", pa.binary()))
    assert encoded.keys is not None
    return Messages(encoded.keys.take(pa.array(starts[:-1])), values, pa.array(starts))


def _objects(changes: OperationRows, options: CodecOptions, release: Release) -> pa.Array:
    rows = changes.rows
    members = _members(rows.table, rows.selected, release)
    seconds = pc.divide(pc.shift_right(rows.commit_ts, LOGICAL_BITS), MILLIS)
    inserts = changes.operation == "EMPTY" or _has_no_old(options, release) and changes.operation == "UPDATE"
    kind = "insert" if inserts else changes.operation.lower()
    head = b'{"database":%s,"table":%s,"type":"%s","ts":' % (
        quoted(rows.table.schema, release.short_control_escapes),
        quoted(rows.table.name, release.short_control_escapes),
        kind.encode(),
    )
    pieces: list[Piece] = [head, decimal(seconds)]
    if kind == "delete":
        if options.delete_only_output_handle_key_columns or _has_no_old(options, release):
            members = tuple(member for member in members if member.handle)
        return join(*pieces, *named_object(b"old", members, changes.before()), b"}")
    pieces += [] if changes.operation == "EMPTY" else named_object(b"data", members, changes.after())
    if kind == "update":
        pieces.append(_old(members, changes.before(), changes.after()))
    return join(*pieces, b"}")


def _has_no_old(options: CodecOptions, release: Release) -> bool:
    return release.update_without_old_value and not options.enable_old_value


def _old(members: Sequence[JsonMember], before: Image, after: Image) -> pa.Array:
    """Return `,"old":{…}` with the values that an UPDATE changed, nothing where it changed none."""
    for member in members:
        if types.is_binary(member.type):
            both = pc.and_(before.cells(member.position).is_valid(), after.cells(member.position).is_valid())
            if pc.any(both).as_py():
                raise EncodeError(
                    f"panic: runtime error: comparing uncomparable type []uint8: TiCDC crashes in maxwell at an UPDATE "
                    f"of a row with bytes in column {_name(member)}"
                )
    changed = (PartialMember(member, _is_changed(member, before, after)) for member in members)
    text, nothing = partial_members(changed, before), pa.scalar(b"", pa.binary())
    return pc.if_else(pc.equal(text, nothing), nothing, join(b',"old":{', text, b"}"))


def _name(member: JsonMember) -> str:
    return member.opening.decode()[:-1]


def _is_changed(member: JsonMember, before: Image, after: Image) -> npt.NDArray[np.bool_]:
    if types.family(member.type) != "vector":
        return is_changed(member, before, after)
    return np.ones(before.rows, np.bool_)  # TiCDC compares it with `old`, which does not have it yet


@cached_by_columns
def _members(table: Table, selected: frozenset[str] | None, release: Release) -> tuple[JsonMember, ...]:
    """Return the columns of a row in the order of their names; `selected` are those that column selectors leave."""
    later = later_columns(table, release)
    handle = table_info.handle_columns(table, release)
    return tuple(
        JsonMember(
            place,
            column.type,
            quoted(column.name, release.short_control_escapes) + b":",
            b"",
            types.family(column.type) not in NUMERIC_FAMILIES,
            column.name in handle,
            _maybe_untyped(column, release) if column.name in later else _converter(column.type, release),
        )
        for place, column in sorted(
            enumerate(table_info.visible_columns(table)), key=lambda pair: pair[1].name.encode("utf-8", "surrogatepass")
        )
        if selected is None or column.name in selected
    )


def _maybe_untyped(column: Column, release: Release) -> Converter:
    """Return the format of a column that some rows lack; raise EncodeError where TiCDC crashes on a string."""

    def untyped(cells: pa.Array, type: ColumnType) -> pa.Array:
        if types.family(type) in ("string", "text") and not types.is_binary(type):
            raise EncodeError(
                "panic: interface conversion: interface {} is string, not []uint8: TiCDC crashes in maxwell at a row "
                f"that is older than its column {column.name}"
            )
        if pc.any(is_untyped(cells), min_count=0).as_py():
            raise NotSimulatedError(
                f"maxwell of TiCDC {release.name}: an object of Go in a row that is older than its column {column.name}, "
                "which has no default, is not simulated; accepted: a DEFAULT in ADD COLUMN"
            )
        texts = escape(untyped_texts(cells, type), release.short_control_escapes)
        if types.family(type) not in NUMERIC_FAMILIES:
            return texts
        return pc.binary_join_element_wise(b'"', texts, b'"', b"")

    return MaybeUntyped(_converter(column.type, release), untyped)


def _converter(type: ColumnType, release: Release) -> Converter:
    if types.is_binary(type):
        return lambda cells, type: base64(latin1(cells))
    match types.family(type):
        case "string" | "text" | "json":
            return Escaping(lambda cells, type: escape(cells, release.short_control_escapes), is_plain)
        case "float":
            return partial(wire_numbers.go_float, widened=release.float_widened)
        case "enum":
            return wire_numbers.enum_number
        case "set":
            return wire_numbers.set_number
    return unchanged


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    return entry[0], re.sub(rb'"type":"[a-z]+"', b'"type":"unknown"', entry[1], count=1)


MAXWELL = Codec(
    protocol=Protocol(name="maxwell", title="Maxwell", old_values=lambda release: "forced"),
    not_simulated=lambda release: (
        "its messages have lengths, and no texts; accepted: 4.0.10 and later" if release.maxwell_lengths else ""
    ),
    is_binary=lambda options: True,  # the key of rows
    batches=True,
    encode=encode,
    frame=frame,
    ddl=ddl,
    ddl_needs_table=True,
    broadcasts_ddl=lambda release: True,
    sizes=lambda options, release: SizeRules(sys.maxsize, sys.maxsize, 0, large_rows=True),
    fidelity=lambda options, release: Fidelity(base64_bytes=True),
    with_unknown_type=_unknown_type,
)
