"""Columns as members of Open Protocol: `"id":{"t":3,"h":true,"f":11,"v":`, value, `}`, as each release writes them.

Everything that depends only on table and release is cached. A format converts a whole column; nulls stay nulls.

* Integers, BIT, YEAR, ENUM and SET are numbers; FLOAT and DOUBLE are numbers as the release's JSON writer has them.
* BINARY and VARBINARY are strconv.Quote; TEXT and BLOB of any size are base64. Before 4.0.5 all four, CHAR and VARCHAR
  are base64.
* Everything else is its TiDB text.

The code points that strconv.Quote leaves unescaped depend on Go's tables, not on Python's: `_STEPS` has the distances
(hexadecimal) from one boundary to the next: not printable up to the first, printable up to the second, and so on
(strconv.IsPrint with the tables of Unicode 15, as in Go 1.21 to 1.26).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Offsets, Places, binary, latin1, stored_buffers, surrogate_unescaped
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
from simulator.ticdc.codecs.wire_text import (
    base64,
    escape,
    is_plain,
    is_raw_plain,
    quoted,
    raw_escape,
    raw_quoted,
    runes,
)
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
        return lambda cells, type: base64(latin1(cells))
    return lambda cells, type: quote(cells, release.quoted_unicode, release.open_escapes_html)


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
    return base64(surrogate_unescaped(cells))


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


def _quoted_byte(byte: int, html: bool) -> bytes:
    """Return one byte, ASCII or no valid UTF-8, after strconv.Quote and JSON escaping."""
    named = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r"}
    if byte in named:
        return rb"\\" + named[byte]
    if byte in b'"\\':
        return rb"\\" + b"\\" + bytes([byte])
    if html and byte in b"<>&":
        return b"\\u%04x" % byte
    return bytes([byte]) if 0x20 <= byte < 0x7F else rb"\\x%02x" % byte


_QUOTED = {html: [_quoted_byte(byte, html) for byte in range(256)] for html in (False, True)}
_QUOTED_SIZE = {html: bytes(map(len, texts)) for html, texts in _QUOTED.items()}
_QUOTED_BYTES = {
    html: np.array([list(text.ljust(6, b"\0")) for text in texts], np.uint8) for html, texts in _QUOTED.items()
}


def quote(cells: pa.Array, unicode: int = 15, html: bool = True) -> pa.Array:
    """Return the Latin-1 text of bytes as the inside of a JSON string that holds their strconv.Quote, without its
    quotes.

    `unicode` is the version of Unicode whose printable characters stay as they are; `html` is whether JSON escapes `<`,
    `>` and `&` (tiflow v8.5: pkg/sink/codec/internal/column.go; Go: strconv/quote.go).
    """
    cells = latin1(cells)
    data, offsets = stored_buffers(cells)
    if not len(data):
        return cells
    sizes = np.frombuffer(data.tobytes().translate(_QUOTED_SIZE[html]), np.uint8)
    if int(sizes.max()) == 1:
        return cells
    sizes = sizes.copy()
    hidden = _classify_runes(data, offsets, sizes, unicode)
    ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return binary(_write_texts(data, sizes, ends, hidden, html), ends[offsets], cells)


def _classify_runes(data: Bytes, offsets: Offsets, sizes: Bytes, unicode: int) -> tuple[Places, Places]:
    r"""Correct `sizes` for valid UTF-8: printable runes stay, others become one \u or \U escape.

    Return where the escaped runes begin, and their code points.
    """
    starts, widths, codes = runes(data, offsets)
    is_printable = printable(codes, unicode)
    for width in (2, 3, 4):
        plain, hidden = starts[is_printable & (widths == width)], starts[~is_printable & (widths == width)]
        for step in range(width):
            sizes[plain + step] = 1
            sizes[hidden + step] = 0
        sizes[hidden] = 11 if width == 4 else 7
    return starts[~is_printable], codes[~is_printable]


def _write_texts(data: Bytes, sizes: Bytes, ends: Places, hidden: tuple[Places, Places], html: bool) -> Bytes:
    out = np.empty(int(ends[-1]), np.uint8)
    plain = np.flatnonzero(sizes == 1)
    out[ends[plain]] = data[plain]
    for size in (3, 4, 5, 6):
        where = np.flatnonzero(sizes == size)
        for step in range(size):
            out[ends[where] + step] = _QUOTED_BYTES[html][data[where], step]
    _write_escapes(out, ends, *hidden)
    return out


def _write_escapes(out: Bytes, ends: Places, starts: Places, codes: Places) -> None:
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    for wide, mark, count in ((False, b"\\\\u", 4), (True, b"\\\\U", 8)):
        chosen = (codes >= 0x10000) == wide
        at, code = ends[starts[chosen]], codes[chosen]
        for step, byte in enumerate(mark):
            out[at + step] = byte
        for step in range(count):
            out[at + len(mark) + step] = digits[code >> 4 * (count - 1 - step) & 15]


_STEPS = """
20 5f 22 c 1 2ca 2 6 4 7 1 1 1 14 1 18d 1 26 2 32 2 3 1 37 8 1b 4 6 11 16 1 c0 1 30 2 3b 2 65 e 3b 2 31 2 f 1 1c 2 1
1 b 5 1f 9 4a 1 a1 1 8 2 2 2 16 1 7 1 1 3 4 2 9 2 2 2 4 8 1 4 2 1 5 2 19 2 3 1 6 4 2 2 16 1 7 1 2 1 2 1 2 2 1 1 5 4
2 2 3 3 1 7 4 1 1 7 11 a 3 1 9 1 3 1 16 1 7 1 2 1 5 2 a 1 3 1 3 2 1 f 4 2 c 7 7 1 3 1 8 2 2 2 16 1 7 1 2 1 5 2 9 2 2
2 3 7 3 4 2 1 5 2 12 a 2 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3 3 c 4 5 3 3 1 4 2 1 6 1 e 15 5 d 1 3 1 17 1 10 2 9 1 3 1 4
7 2 1 3 2 1 2 4 2 a 7 16 1 3 1 17 1 a 1 5 2 9 1 3 1 4 7 2 6 2 1 4 2 a 1 3 c d 1 3 1 33 1 3 1 6 4 10 2 1a 1 3 1 12 3
18 1 9 1 1 2 7 3 1 4 6 1 1 1 8 6 a 2 3 c 3a 4 1d 25 2 1 1 1 5 1 18 1 1 1 17 2 5 1 1 1 7 1 a 2 4 20 48 1 24 4 27 1 24
1 f 1 d 25 c6 1 1 5 1 2 179 1 4 2 7 1 1 1 4 2 29 1 4 2 21 1 4 2 7 1 1 1 4 2 f 1 39 1 4 2 43 2 20 3 1a 6 56 2 6 2 280
1 1c 3 59 7 16 9 18 9 14 c d 1 3 1 2 c 5e 2 a 6 a 6 e 1 b 6 59 7 2b 5 46 a 1f 1 c 4 c 4 1 3 2a 2 5 b 2c 4 1a 6 b 3
3e 2 41 1 1d 2 b 6 a 6 e 2 1f 31 4d 3 2f 1 74 8 3c 3 f 3 3c 7 2b 2 b 8 2b 5 216 2 6 2 26 2 6 2 8 1 1 1 1 1 1 1 1f 2
35 1 f 1 e 2 6 1 13 2 3 1 9 11 18 8 2f 11 2 2 1b 1 d 3 21 f 21 f 8c 4 297 19 b 15 714 2 20 1 15d 5 2d 1 1 5 1 2 38 7
2 e 18 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7e 22 1a 1 59 c d6 1a c 5 3f 1 56 2 67 5 2b 1 5e 1 54 c 2f 1 726d 3 37 9
15c 14 b8 8 cb 5 2 1 1 1 5 18 3b 3 a 6 38 8 46 8 c 6 74 b 1e 3 4e 1 b 4 21 1 37 9 e 2 a 2 67 18 1c a 6 2 6 2 6 9 7 1
7 1 3c 4 7e 2 a 6 2ba4 c 17 4 31 2104 16e 2 6a 26 7 c 5 5 1a 1 5 1 1 1 2 1 2 1 7d 10 1bd 2 36 7 1 20 2a 6 33 1 13 1
4 4 5 1 87 4 be 3 6 2 6 2 6 2 3 3 7 1 7 d 2 2 c 1 1a 1 13 1 2 1 f 2 e 22 7b 5 3 4 2d 3 58 1 d 3 1 2f 2e 82 1d 3 31 f
1c 4 24 9 1e 5 2b 5 1e 1 25 4 e 2a 9e 2 a 6 24 4 24 4 28 8 34 b c 1 f 1 7 1 2 1 b 1 f 1 7 1 2 43 137 9 16 a 8 18 6 1
2a 1 9 45 6 2 1 1 2c 1 2 3 1 2 17 1 48 8 9 30 13 1 2 5 21 3 1b 5 1 40 38 4 14 2 32 1 2 5 8 1 3 1 1d 2 3 4 a 7 9 7 40
20 27 4 c 9 36 3 1d 2 1b 5 1a 7 4 c 7 50 49 37 33 d 33 7 2e 8 a 126 1f 1 2a 1 3 2 2 4b 2b 8 2a 16 1a 26 1c 14 17 9
4e 4 24 9 3e 1 5 d 19 7 a 6 35 1 12 8 27 9 60 1 14 b 12 1 2f 3e 7 1 1 1 4 1 f 1 b 6 3b 5 a 6 4 1 8 2 2 2 16 1 7 1 2
1 5 1 a 2 2 2 3 2 1 6 1 5 7 2 7 3 5 8b 5c 1 5 1e 48 8 a a6 36 2 26 22 45 b a 6 d 13 3a 6 a 36 1b 2 f 4 17 b9 3c 64
53 c 8 2 1 2 8 1 2 1 1e 1 2 2 c 9 a 46 8 2 2e 2 b 1b 48 8 53 d 49 7 a f6 9 1 2d 1 e a 1d 3 20 2 16 1 e 49 7 1 2 1 2c
3 1 1 2 1 9 8 a 6 6 1 2 1 25 1 2 1 6 7 a 136 19 7 11 1 29 3 1c 56 1 f 32 d 39b 66 6f 1 5 b c4 a4c 63 d 430 10 16 faa
247 21b9 239 7 1f 1 a 4 51 1 a 6 1e 2 6 a 46 a a 1 7 1 15 5 13 2b0 5b 65 4b 4 39 7 11 40 5 b 2 e 17f8 8 4d6 2a 9
22e7 4 1 7 1 2 1 123 f 1 1d 3 2 1 e 4 8 18c 904 6b 5 d 3 9 7 a 2 4 1260 2e 2 17 9 74 3c f6 a 27 2 4a 8 70 15 46 7a
14 c 14 c 57 9 19 87 55 1 47 1 2 2 1 2 2 2 4 1 c 1 1 1 7 1 41 1 4 2 8 1 7 1 1c 1 4 1 5 1 1 3 7 1 154 2 124 2 2be f 5
1 f 450 1f 6 6 d5 7 1 11 2 7 1 2 1 5 5 3e 21 1 70 2d 3 e 2 a 4 2 140 1f 11 3a 5 1 1d0 2a 2e6 7 1 4 1 2 1 f 1 c5 2 10
29 4c 4 a 4 2 311 44 4c 3d c2 4 1 1b 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2
1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 11 5 3 1 5 1 11 34 2 10e 2c 4 64 c f 2 f 1 f 1 25 a ae 38 1d d 2c 4 9 7 2 e 6 9a 3d8 4
11 3 d 3 77 4 5f 6 c 4 1 f c 4 38 8 a 6 28 8 1e 2 2 4e 154 c e 2 d 3 9 7 2e 1 7 8 e 4 9 7 9 7 93 1 37 25 a 406 a6e0
20 103a 6 de 2 1682 e 1d31 c1f 21e 5e2 134b 5 1060 add50 f0
"""

_NEWER = {
    13: """
8be a 28d 1 1ae 1 7c 1 d3d 2 10d6 1 2b8 3 368 5 13f 1 1ab6 a 5230 d 7ca 4 2a 2 35 1 33b 4 5630 1 ce3 2a 1 3 2 2 fe 1c
17b 1 86 2 28a 1 5 2 49e 7 2 1 2 8 1 2 1 1e 1 2 2 c 9 a 656 1 5033 1 b 2 1b01 1e3 2a 9 6404 3 5d 3 3d 1 528 2 23 2
1b3 2 5a 1 65 1 4 2 2a 2 6 3 1d 1 a8 1 e 4 f 13 7 7 9 3 d 7 29 93 1 37 25 a aadd 7 5922 134b
""",
    15: """
61d 1 252 1f 9 8 15 1 12 b 369 1 20 1 7f 1 15 1 1da 1 83e 1 7 1 9 1 ef 1 2b1 e 7d 1 30 2 27b 1 2c5 1 b6e 1 2f 1 1f3 b
719f 3 7c0 2 e 2 1 1 1 5 18 3 53cd 1 17d 10 7f 1 2e 2 770 b 1 f 1 7 1 2 1 b 1 f 1 7 1 2 1c3 6 1 2a 1 9 742 3 70 1a e6
6 4c 1 17c 3 477 1 86 7 369 10 40 a 3f6 11 1 29 3 1c 1036 63 43c 1 10 16 361a 4f 1 a 4526 4 1 7 1 2 120 4 f 1 22 1
1daa 2e 2 17 9 74 225 2 d5 14 c2c 1f 6 6 105 3e 21 1 200 1f 221 2a 2e6 7 1 4 1 2 1 f edd 4 94 3 4 5 59 1 16 1 188 1
52 1 a8 3 3 2 a 2 20 7 7 7 1 1 3 3 8 2 7 5 4 9 7 9 abe5 2 1055 5 5c16 1060
""",
}
"""Boundaries of the code points that each version of Unicode adds to the one before: 13 to 12, 15 to 13."""


def _boundaries(steps: str) -> npt.NDArray[np.int64]:
    return np.cumsum([int(step, 16) for step in steps.split()])


_PRINTABLE, _ADDED = _boundaries(_STEPS), {version: _boundaries(steps) for version, steps in _NEWER.items()}


def printable(codes: npt.NDArray[np.int64], unicode: int) -> npt.NDArray[np.bool_]:
    """Return whether strconv.IsPrint holds for each code point.

    `unicode` selects the tables: 12 (Go 1.14), 13 (Go 1.16 to 1.20) or 15 (Go 1.21 to 1.26).
    """
    is_printable = _within(codes, _PRINTABLE)
    for version, boundaries in _ADDED.items():
        if version > unicode:
            is_printable &= ~_within(codes, boundaries)
    return is_printable


def _within(codes: npt.NDArray[np.int64], boundaries: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    inside: npt.NDArray[np.bool_] = np.searchsorted(boundaries, codes, side="right") % 2 == 1
    return inside
