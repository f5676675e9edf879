"""Columns as Open Protocol's members: `"id":{"t":3,"h":true,"f":11,"v":`, value, `}`, as each release writes them.

One law: all that depends on the table and the release alone is made once; a row adds nothing but its values, of which a
form takes a whole column, and nulls stay nulls.

* integers, BIT, YEAR: numbers; ENUM and SET: numbers; FLOAT and DOUBLE: numbers as the release's JSON writer has them
* BINARY and VARBINARY: strconv.Quote; TEXT and BLOB of any size: base64; before 4.0.5 all four, and CHAR and VARCHAR
* everything else: the text as it is
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import latin1, surrogate_unescaped
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs import binary, wire_numbers
from simulator.ticdc.codecs.json_members import Form, Member, as_it_is
from simulator.ticdc.codecs.json_text import escape, quoted, raw_escape, raw_quoted
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType


@lru_cache(maxsize=1024)
def members(table: Table, release: Release, selected: frozenset[str] | None) -> tuple[Member, ...]:
    """The columns that rows have, in the order they are written; `selected` are those that column selectors leave."""
    return tuple(_members(table, release, table_info.flags(table, release), selected))


@lru_cache(maxsize=1024)
def old_members(table: Table, release: Release, selected: frozenset[str] | None) -> tuple[Member, ...]:
    """The columns that `p` may have where it lists changed ones alone."""
    bits = table_info.tidb_flags(table) if release.open_old_flags_raw else table_info.flags(table, release)
    present = (member for member in _members(table, release, bits, selected) if member.form is not nothing)
    if not release.open_old_zero_is_null:
        return tuple(present)
    return tuple(replace(member, form=partial(zero_is_null, form=member.form)) for member in present)


def string(text: str, release: Release) -> bytes:
    """A JSON string with its quotes, as the release's writer escapes it."""
    return quoted(text, release.short_control_escapes) if release.open_escapes_html else raw_quoted(text)


def _members(
    table: Table, release: Release, bits: Mapping[str, int], selected: frozenset[str] | None
) -> Iterator[Member]:
    handle = table_info.handle_columns(table, release)
    marked = table_info.certain_columns(table) if release.open_marks_unique else handle
    place = {column.name: place for place, column in enumerate(table_info.visible_columns(table))}
    for column in _ordered(table, release):
        if selected is None or column.name in selected:
            head = _head(column, bits[column.name], column.name in marked, release)
            yield Member(
                place.get(column.name, 0),
                column.type,
                string(column.name, release) + b":{" + head,
                b"}",
                types.family(column.type) not in FROM_NUMBERS,
                column.name in handle,
                form(column.type, release) if column.name in place else nothing,
                head,
            )


def _ordered(table: Table, release: Release) -> list[Column]:
    """The columns that the release's rows have, as it orders them (encoding/json sorts a map by the names' bytes)."""
    kept = [column for column in table.columns if _written(column, release)]
    return sorted(kept, key=lambda column: column.name.encode()) if release.open_sorts_columns else kept


def _written(column: Column, release: Release) -> bool:
    if column.generated == "virtual":
        return release.open_virtual
    return release.open_generated or not column.generated


def _head(column: Column, flags: int, marked: bool, release: Release) -> bytes:
    """What stands in a column's object before the value."""
    handle = b'"h":true,' if marked else b""
    return b'"t":%d,%s%s"v":' % (
        types.type_code(column.type),
        handle,
        b'"f":%d,' % flags if release.open_flags else b"",
    )


FROM_NUMBERS = frozenset(("integer", "bit", "year", "float", "enum", "set"))
"""Families whose values are JSON numbers."""


def form(type: ColumnType, release: Release) -> Form:
    """How values of the type are written."""
    plain = _bytes_form(type, release) if types.is_binary(type) else _plain_form(types.family(type), release)
    return partial(zero_is_null, form=plain) if release.open_zero_is_null else plain


def nothing(cells: pa.Array, type: ColumnType) -> pa.Array:
    """NULL whatever the cells are: the form of columns that no image has."""
    return pa.nulls(len(cells), pa.binary())


def _bytes_form(type: ColumnType, release: Release) -> Form:
    if types.is_blob(type) or release.open_strings_base64:
        return _binary_base64
    return partial(_quoted, unicode=release.quoted_unicode, html=release.open_escapes_html)


def _plain_form(family: str, release: Release) -> Form:
    if family == "string" and release.open_strings_base64:
        return _text_base64
    if family in ("string", "json"):
        return partial(_escaped, short_controls=release.short_control_escapes) if release.open_escapes_html else _raw
    if family == "float":
        widened = partial(wire_numbers.go_float, widened=release.float_widened)
        return wire_numbers.padded_float if release.open_pads_exponents else widened
    if family == "time" and not release.open_time_fraction:
        return _whole_seconds
    return _FORMS.get(family, as_it_is)


def _escaped(cells: pa.Array, type: ColumnType, short_controls: bool) -> pa.Array:
    return escape(cells, short_controls)


def _raw(cells: pa.Array, type: ColumnType) -> pa.Array:
    return raw_escape(cells)


def _quoted(cells: pa.Array, type: ColumnType, unicode: int, html: bool) -> pa.Array:
    return binary.quote(cells, unicode, html)


def _binary_base64(cells: pa.Array, type: ColumnType) -> pa.Array:
    return binary.base64(latin1(cells))


def _text_base64(cells: pa.Array, type: ColumnType) -> pa.Array:
    return binary.base64(surrogate_unescaped(cells))


def _whole_seconds(cells: pa.Array, type: ColumnType) -> pa.Array:
    return pc.replace_substring_regex(cells, rb"\..*", b"") if type.decimal > 0 else cells


_FORMS: dict[str, Form] = {"enum": wire_numbers.enum_number, "set": wire_numbers.set_number, "text": _text_base64}

_ZEROS = {
    **dict.fromkeys(("string", "text", "set"), "^$"),
    "decimal": r"^-?0+(\.0+)?$",
    **dict.fromkeys(("date", "datetime"), r"^[0:. -]*$"),
    "time": r"^-?0+:00:00(\..*)?$",
    "json": r"^-?0(\.0)?$",
    "vector": r"^\[\]$",
}
"""What is zero to TiDB by family: a TIME below a second too, a JSON number, and not integers and floats."""


def zero_is_null(cells: pa.Array, type: ColumnType, form: Form) -> pa.Array:
    """Values in the form `form`, zero ones as nulls (ticdc v8.5.4: pkg/sink/codec/open/codec.go)."""
    written, family = form(cells, type), types.family(type)
    if family == "enum":
        zero = pc.equal(written, pa.scalar(b"0", pa.binary()))
    elif family in _ZEROS:
        zero = pc.match_substring_regex(cells, _ZEROS[family])
    else:
        return written
    return pc.if_else(pc.fill_null(zero, False), pa.scalar(None, pa.binary()), written)
