"""Columns as members of Open Protocol: `"id":{"t":3,"h":true,"f":11,"v":`, value, `}`, as each release writes them.

Everything that depends only on table and release is cached. A format converts a whole column; nulls stay nulls.

* Integers, BIT, YEAR, ENUM and SET are numbers; FLOAT and DOUBLE are numbers as the release's JSON writer has them.
* BINARY and VARBINARY are strconv.Quote; TEXT and BLOB of any size are base64. Before 4.0.5 all four, CHAR and VARCHAR
  are base64.
* Everything else is its TiDB text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import latin1, surrogate_unescaped
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs import binary, wire_numbers
from simulator.ticdc.codecs.json_members import (
    Converter,
    Escaping,
    JsonMember,
    MaybeUntyped,
    always_null,
    unchanged,
    untyped_texts,
)
from simulator.ticdc.codecs.json_text import escape, is_plain, is_raw_plain, quoted, raw_escape, raw_quoted
from simulator.ticdc.mounter import OBJECTS, is_untyped, later_columns
from simulator.ticdc.table_info import cached_by_columns
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table, places_of
from simulator.tidb.model.types import ColumnType


@cached_by_columns
def members(table: Table, release: Release, selected: frozenset[str] | None) -> tuple[JsonMember, ...]:
    """Return the columns of rows, in their order in messages; `selected` are those that column selectors leave."""
    return tuple(_members(table, release, table_info.flags(table, release), selected))


@cached_by_columns
def old_members(table: Table, release: Release, selected: frozenset[str] | None) -> tuple[JsonMember, ...]:
    """Return the columns that `p` may have if it lists only changed ones."""
    bits = table_info.tidb_flags(table) if release.open_old_flags_raw else table_info.flags(table, release)
    present = (member for member in _members(table, release, bits, selected) if member.convert is not always_null)
    if not release.open_old_zero_is_null:
        return tuple(present)
    return tuple(replace(member, convert=partial(zero_is_null, convert=member.convert)) for member in present)


def string(text: str, release: Release) -> bytes:
    """Return a JSON string with its quotes, escaped as the release's writer does."""
    return quoted(text, release.short_control_escapes) if release.open_escapes_html else raw_quoted(text)


def _members(
    table: Table, release: Release, bits: Mapping[str, int], selected: frozenset[str] | None
) -> Iterator[JsonMember]:
    later = later_columns(table, release)
    handle = table_info.handle_columns(table, release)
    marked = table_info.unique_not_null_columns(table) if release.open_marks_unique else handle
    place = places_of(table)
    for column in _columns_in_order(table, release):
        if selected is None or column.name in selected:
            head = _head(column, bits[column.name], column.name in marked, release)
            convert = value_format(column.type, release) if column.name in place else always_null
            may_be_object = column.name in later and _may_be_object(column.type, release)
            yield JsonMember(
                place.get(column.name, 0),
                column.type,
                string(column.name, release) + b":{" + head,
                b"}",
                types.family(column.type) not in NUMERIC_FAMILIES and not may_be_object,
                column.name in handle,
                _maybe_untyped(convert, column.type, release) if column.name in later else convert,
                head,
            )


def _columns_in_order(table: Table, release: Release) -> list[Column]:
    """Return the columns in rows, in the release's order (encoding/json sorts a map by the names' bytes)."""
    columns = [column for column in table.columns if _is_sent(column, release)]
    return sorted(columns, key=lambda column: column.name.encode()) if release.open_sorts_columns else columns


def _is_sent(column: Column, release: Release) -> bool:
    if column.generated == "virtual":
        return release.open_virtual
    return release.open_generated or not column.generated


def _head(column: Column, flags: int, marked: bool, release: Release) -> bytes:
    handle = b'"h":true,' if marked else b""
    return b'"t":%d,%s%s"v":' % (
        types.type_code(column.type),
        handle,
        b'"f":%d,' % flags if release.open_flags else b"",
    )


def _may_be_object(type: ColumnType, release: Release) -> bool:
    return release.older_rows == "default" and types.family(type) in OBJECTS


def _maybe_untyped(convert: Converter, type: ColumnType, release: Release) -> Converter:
    """Return a format for cells that may be JSON strings instead of numbers (tiflow v6.5.8: codec/internal/column.go), or
    objects."""
    is_number = types.family(type) in NUMERIC_FAMILIES

    def quoted_texts(cells: pa.Array, type: ColumnType) -> pa.Array:
        texts = escape(untyped_texts(cells, type), release.short_control_escapes)
        return pc.binary_join_element_wise(b'"', texts, b'"', b"")

    def strings_or_objects(cells: pa.Array, type: ColumnType) -> pa.Array:
        marked = is_untyped(cells)
        strings = quoted_texts(pc.if_else(marked, pa.scalar(None, pa.binary()), cells), type)
        return pc.if_else(marked, ZERO_OBJECTS[types.family(type)], strings)

    def quoted_values(cells: pa.Array, type: ColumnType) -> pa.Array:
        return pc.binary_join_element_wise(b'"', convert(cells, type), b'"', b"")

    if _may_be_object(type, release):
        return MaybeUntyped(convert if is_number else quoted_values, strings_or_objects)
    return MaybeUntyped(convert, quoted_texts) if is_number else MaybeUntyped(convert, convert, is_alike=True)


ZERO_OBJECTS = {
    **dict.fromkeys(("decimal", "date", "datetime"), b"{}"),
    "time": b'{"Duration":0,"Fsp":0}',
    "set": b'{"Name":"","Value":0}',
    "json": b"null",
}
"""What encoding/json makes of the zeros of TiDB's types (tidb types: MyDecimal, Time, Duration, Set, json.BinaryJSON)."""

NUMERIC_FAMILIES = frozenset(("integer", "bit", "year", "float", "enum", "set"))
"""Families whose values are JSON numbers."""


def value_format(type: ColumnType, release: Release) -> Converter:
    """Return the format of values of the type."""
    plain = _bytes_form(type, release) if types.is_binary(type) else _plain_form(types.family(type), release)
    return partial(zero_is_null, convert=plain) if release.open_zero_is_null else plain


def _bytes_form(type: ColumnType, release: Release) -> Converter:
    if types.is_blob(type) or release.open_strings_base64:
        return lambda cells, type: binary.base64(latin1(cells))
    return lambda cells, type: binary.quote(cells, release.quoted_unicode, release.open_escapes_html)


def _plain_form(family: str, release: Release) -> Converter:
    if family == "string" and release.open_strings_base64:
        return _text_base64
    if family in ("string", "json"):
        if not release.open_escapes_html:
            return Escaping(lambda cells, type: raw_escape(cells), is_raw_plain)
        return Escaping(lambda cells, type: escape(cells, release.short_control_escapes), is_plain)
    if family == "float":
        widened = partial(wire_numbers.go_float, widened=release.float_widened)
        return wire_numbers.padded_float if release.open_pads_exponents else widened
    if family == "time" and not release.open_time_fraction:
        return _whole_seconds
    return _FORMS.get(family, unchanged)


def _text_base64(cells: pa.Array, type: ColumnType) -> pa.Array:
    return binary.base64(surrogate_unescaped(cells))


def _whole_seconds(cells: pa.Array, type: ColumnType) -> pa.Array:
    return pc.replace_substring_regex(cells, rb"\..*", b"") if type.decimal > 0 else cells


_FORMS: dict[str, Converter] = {"enum": wire_numbers.enum_number, "set": wire_numbers.set_number, "text": _text_base64}

_ZEROS = {
    **dict.fromkeys(("string", "text", "set"), "^$"),
    "decimal": r"^-?0+(\.0+)?$",
    **dict.fromkeys(("date", "datetime"), r"^[0:. -]*$"),
    "time": r"^-?0+:00:00(\..*)?$",
    "json": r"^-?0(\.0)?$",
    "vector": r"^\[\]$",
}
"""TiDB's zero values by family: also a TIME below a second and a JSON number, but not integers and floats."""


def zero_is_null(cells: pa.Array, type: ColumnType, convert: Converter) -> pa.Array:
    """Convert values by `value_format`, with null for is_zero values (ticdc v8.5.4: pkg/sink/codec/open/codec.go)."""
    values, family = convert(cells, type), types.family(type)
    if family == "enum":
        is_zero = pc.equal(values, pa.scalar(b"0", pa.binary()))
    elif family in _ZEROS:
        is_zero = pc.match_substring_regex(cells, _ZEROS[family])
    else:
        return values
    return pc.if_else(pc.fill_null(is_zero, False), pa.scalar(None, pa.binary()), values)
