"""Columns of Canal-JSON rows: their order, their types and the formats of their values; and TiKV's keys of the rows.

Columns follow from table, release and options, and are cached for all rows of a table. A type has one sqlType, a number
of java.sql.Types; large unsigned values may have a wider one.

A key is `t`, the id of the physical table, `_r` and the handle: an integer, or the columns of the clustered key one
after the other, each in an encoding that sorts as its values do (tidb: pkg/tablecodec, pkg/util/codec). Integers are 8
bytes, big-endian, with the sign bit flipped. It is `rowkey` in `_tidb` (ticdc v8.5.4+, output-row-key).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, binary, latin1, stored_buffers, surrogate_unescaped
from simulator.columns.row_image import Image
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.json_members import (
    Converter,
    Escaping,
    JsonMember,
    MaybeUntyped,
    always_null,
    unchanged,
    untyped_texts,
)
from simulator.ticdc.codecs.row_changes import OperationRows
from simulator.ticdc.codecs.wire_text import base64, escape, is_plain, join, quoted, surrogate_escaped
from simulator.ticdc.mounter import UNTYPED, later_columns
from simulator.ticdc.table_info import cached_by_columns
from simulator.tidb.collations import has_weights, padded, pads_spaces
from simulator.tidb.keys import SIGN, big_endian, encode_sort_keys, index_prefix
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, IndexColumn, Table, has_common_handle, places_of
from simulator.tidb.model.types import ColumnType


@dataclass(frozen=True)
class CanalColumn:
    """A column in rows of Canal-JSON."""

    member: JsonMember
    text: Converter
    """The format of values before escaping; it gives null where the release sends NULL for a value."""

    sql_type: bytes
    promotion: tuple[int, int] | None
    """For an unsigned integer: the largest value that has `sql_type`, and the sqlType of larger ones."""

    mysql_type: bytes
    """`"id":"int unsigned"`."""

    selected: bool
    """Whether column selectors leave it."""


_ORDERS: dict[str, Callable[[Column], bytes]] = {
    "table": lambda column: b"",
    "name": lambda column: column.name.encode("utf-8", "surrogatepass"),
    "escaped-name": lambda column: quoted(column.name),
}


@cached_by_columns
def canal_columns(
    table: Table, selected: frozenset[str] | None, full: bool, release: Release
) -> tuple[CanalColumn, ...]:
    """Return every column that rows can have, in the release's order.

    `full` means mysqlType with sizes (content-compatible).
    """
    handle, later = table_info.handle_columns(table, release), later_columns(table, release)
    places = places_of(table)
    sent = table.columns if release.canal_virtual_columns else table_info.visible_columns(table)
    columns = []
    for column in sorted(sent, key=_ORDERS[release.canal_column_order]):
        type, name, place = column.type, quoted(column.name), places.get(column.name)
        text = always_null if place is None else with_nulls(_text(type, release), type, release)
        convert = _escaped(text) if types.family(type) in ("string", "text", "json") else text
        if column.name in later:
            convert = MaybeUntyped(convert, _escaped(_printed))
        columns.append(
            CanalColumn(
                JsonMember(place or 0, type, name + b":", b"", True, column.name in handle, convert),
                text,
                b"%d" % sql_type(type, release),
                None if place is None else promotion(type, release),
                name + b":" + quoted(mysql_type(type, full, release)),
                selected is None or column.name in selected,
            )
        )
    return tuple(columns)


def _text(type: ColumnType, release: Release) -> Converter:
    family = types.family(type)
    if family == "float":
        return partial(wire_numbers.plain_float, widened=release.float_widened)
    if family == "string" and types.is_binary(type) and not release.canal_latin1_strings:
        return lambda cells, type: surrogate_escaped(latin1(cells))
    return _TEXTS.get(family, unchanged)


def _escaped(text: Converter) -> Converter:
    def convert(cells: pa.Array, type: ColumnType) -> pa.Array:
        return escape(text(cells, type), short_controls=False)

    return Escaping(convert, is_plain) if text is unchanged else convert


def _printed(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return strings, and what Go prints of other values, as they are."""
    return untyped_texts(pc.replace_substring(cells, UNTYPED, b""), type)


_TEXTS: dict[str, Converter] = {"enum": wire_numbers.enum_number, "set": wire_numbers.set_number}


BLOB = 2004

WIDE = {
    **{"tinyint": 5, "smallint": 4, "mediumint": 4, "int": -5, "bigint": 3, "float": 7, "double": 8, "decimal": 3},
    **{"bit": -7, "year": 91, "date": 91, "time": 92, "datetime": 93, "timestamp": 93, "char": 1, "varchar": 12},
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext"), 12),
    **{"enum": 1, "set": 1, "json": -1},
}
"""sqlType up to 5.3 (tiflow v4.0.9: cdc/sink/codec/canal.go buildColumn, java.go). Types added later are as in the
releases that added them."""

PROMOTIONS = {"tinyint": (127, 5), "smallint": (32767, 4), "int": (2147483647, -5), "bigint": (9223372036854775807, 3)}
"""The largest value of an unsigned type that has its sqlType, and the sqlType of larger ones. MEDIUMINT has none
(tiflow 5.4+: pkg/sink/codec/canal, java type of a value)."""


def sql_type(type: ColumnType, release: Release) -> int:
    """Return sqlType, without the promotion of a value beyond the signed range (`promotion`)."""
    if not release.canal_wide_sql_types:
        return BLOB if types.is_binary(type) else types.TYPES[type.name].sql_type
    if types.is_blob(type) and types.is_binary(type):
        return BLOB
    return WIDE.get(type.name, types.TYPES[type.name].sql_type)


def promotion(type: ColumnType, release: Release) -> tuple[int, int] | None:
    """Return the largest value of an unsigned integer that has `sql_type`, and the sqlType of larger ones."""
    return PROMOTIONS.get(type.name) if type.unsigned and not release.canal_wide_sql_types else None


def mysql_type(type: ColumnType, full: bool, release: Release) -> str:
    """Return mysqlType: `int unsigned`, or with `full` (content-compatible) TiDB's whole text, `int(10) unsigned`."""
    if full:
        return types.mysql_type(type, full=True)
    unsigned = " unsigned" if type.unsigned and release.canal_unsigned_types else ""
    return types.bare_name(type) + unsigned + (" zerofill" if type.zerofill and release.canal_zerofill_types else "")


@dataclass(frozen=True)
class NullTexts:
    """Texts that stand for NULL: a fast test by their prefixes, then a pattern."""

    prefixes: tuple[str, ...]
    pattern: str


_NULL = NullTexts(("null",), "^null$")
_ZEROS = {
    **dict.fromkeys(("enum", "set"), NullTexts(("0",), "^0$")),
    **dict.fromkeys(("date", "datetime"), NullTexts(("0000-00-00",), r"^0000-00-00( 00:00:00(\.0+)?)?$")),
    "time": NullTexts(("0", "-0"), "^-?0+:00:00$"),
    "decimal": NullTexts(("0", "-0"), r"^-?0+(\.0+)?$"),
    "json": NullTexts(("0", "-0"), r"^-?0(\.0+)?$"),
}
"""Values that 9.0.0-beta.1 sends as NULL besides empty texts (ticdc v9.0.0-beta.1: pkg/sink/codec/canal/helper.go)."""


def with_nulls(convert: Converter, type: ColumnType, release: Release) -> Converter:
    """Return the format with null for the values that the release sends as NULL."""
    family = types.family(type)
    if release.canal_whole_seconds and family == "time":
        convert = _without_fraction(convert)
    if release.canal_text_null and family in ("string", "text", "json"):
        convert = _null_if_matches(_NULL, convert)
    if release.canal_zero_null and family in ("string", "text"):
        convert = _null_if_empty(convert)
    if release.canal_zero_null and family in _ZEROS:
        convert = _null_if_matches(_ZEROS[family], convert)
    return convert


def _null_if_matches(nullish: NullTexts, convert: Converter) -> Converter:
    def convert_with_nulls(cells: pa.Array, type: ColumnType) -> pa.Array:
        texts = convert(cells, type)
        if not any(pc.any(pc.starts_with(texts, text)).as_py() for text in nullish.prefixes):
            return texts
        return _nulls_where(pc.match_substring_regex(texts, nullish.pattern), texts)

    return convert_with_nulls


def _null_if_empty(convert: Converter) -> Converter:
    def convert_with_nulls(cells: pa.Array, type: ColumnType) -> pa.Array:
        texts = convert(cells, type)
        return _nulls_where(pc.equal(pc.binary_length(texts), 0), texts)

    return convert_with_nulls


def _nulls_where(is_null: pa.Array, texts: pa.Array) -> pa.Array:
    return pc.if_else(is_null, pa.scalar(None, pa.binary()), texts) if pc.any(is_null).as_py() else texts


def _without_fraction(convert: Converter) -> Converter:
    return lambda cells, type: pc.replace_substring_regex(convert(cells, type), r"\..*$", "")


BYTES, INT, UINT = b"\x01", b"\x03", b"\x04"


def encoded_row_keys(changes: OperationRows) -> pa.Array:
    """Return the key of each row in base64, as binary text.

    Raise EncodeError for a clustered key with a column that is neither an integer nor text of a binary order.
    """
    rows = changes.rows
    physical = rows.table_id if rows.partition_id is None else rows.partition_id
    prefix = b"t" + (physical + int(SIGN)).to_bytes(8, "big") + b"_r"
    if not has_common_handle(rows.table):
        return base64(join(prefix, big_endian(rows.row_id.to_numpy().view(np.uint64) ^ SIGN, rows.row_id)))
    parts, data = next(index.columns for index in rows.table.indexes if index.primary), changes.last()
    return base64(join(prefix, *(_part(rows.table, part, data) for part in parts)))


def _part(table: Table, part: IndexColumn, data: Image) -> pa.Array:
    """Encode a column of the clustered key."""
    visible = table_info.visible_columns(table)
    place = next(place for place, column in enumerate(visible) if column.name == part.name)
    column, cells = visible[place], data.cells(place)
    family = types.family(column.type)
    if family in ("integer", "year"):
        return join(UINT if column.type.unsigned else INT, encode_sort_keys(column.type, cells))
    if family == "string" and _sorts_by_bytes(column.type):
        return join(BYTES, _encode_bytes(_bytes(cells, column, part.length)))
    raise EncodeError(
        f"output-row-key: the clustered key of {table.schema}.{table.name} has the column {column.name}, which this "
        "simulator cannot encode; accepted: integers, YEAR, BINARY, VARBINARY, CHAR and VARCHAR with a _bin collation "
        "of UTF-8, Latin-1 or ASCII"
    )


def _sorts_by_bytes(type: ColumnType) -> bool:
    return types.is_binary(type) or type.collation.endswith("_bin") and not has_weights(type.collation)


def _bytes(cells: pa.Array, column: Column, length: int) -> pa.Array:
    """Return the bytes that the collation sorts by: of the first `length` characters, without trailing spaces if it
    pads.

    Source: tidb: pkg/util/collate/bin.go.
    """
    cells = cells if length < 0 else index_prefix(cells, length)
    if types.is_binary(column.type):
        return latin1(cells)
    return surrogate_unescaped(padded(cells) if pads_spaces(column.type.collation) else cells)


def _encode_bytes(cells: pa.Array) -> pa.Array:
    """Return groups of 8 bytes, zeros filling the last one, each followed by 255 less the zeros (codec.EncodeBytes)."""
    data, offsets = stored_buffers(cells)
    sizes = np.diff(offsets).astype(np.int64)
    groups = sizes // 8 + 1
    starts = np.concatenate(([0], np.cumsum(9 * groups)))
    out: Bytes = np.zeros(int(starts[-1]), np.uint8)
    offsets_in_cell = np.arange(len(data)) - np.repeat(offsets[:-1].astype(np.int64), sizes)
    out[np.repeat(starts[:-1], sizes) + offsets_in_cell // 8 * 9 + offsets_in_cell % 8] = data
    out[8::9] = 0xFF
    out[starts[1:] - 1] = 0xFF - (8 - sizes % 8)
    return binary(out, starts, cells)
