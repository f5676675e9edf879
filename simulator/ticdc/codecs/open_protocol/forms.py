"""Values of columns as Open Protocol writes them: TiDB text → what stands behind `"v":`, quotes apart.

One law: a form takes a whole column, and nulls stay nulls.

* integers, BIT, YEAR: numbers; ENUM and SET: numbers; FLOAT and DOUBLE: numbers as the release's JSON writer has them
* BINARY and VARBINARY: strconv.Quote; TEXT and BLOB of any size: base64; before 4.0.5 all four, and CHAR and VARCHAR
* everything else: the text as it is
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import latin1, undisguised
from simulator.releases import Release
from simulator.ticdc.codecs import binary, values
from simulator.ticdc.codecs.members import Form
from simulator.ticdc.codecs.raw_json import raw_escape
from simulator.ticdc.codecs.text import escape
from simulator.tidb.model import types
from simulator.tidb.model.types import ColumnType

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
        widened = partial(values.go_float, widened=release.float_widened)
        return values.padded_float if release.open_pads_exponents else widened
    if family == "time" and not release.open_time_fraction:
        return _whole_seconds
    return _FORMS.get(family, _as_it_is)


def _as_it_is(cells: pa.Array, type: ColumnType) -> pa.Array:
    return cells


def _escaped(cells: pa.Array, type: ColumnType, short_controls: bool) -> pa.Array:
    return escape(cells, short_controls)


def _raw(cells: pa.Array, type: ColumnType) -> pa.Array:
    return raw_escape(cells)


def _quoted(cells: pa.Array, type: ColumnType, unicode: int, html: bool) -> pa.Array:
    return binary.quote(cells, unicode, html)


def _binary_base64(cells: pa.Array, type: ColumnType) -> pa.Array:
    return binary.base64(latin1(cells))


def _text_base64(cells: pa.Array, type: ColumnType) -> pa.Array:
    return binary.base64(undisguised(cells))


def _whole_seconds(cells: pa.Array, type: ColumnType) -> pa.Array:
    return pc.replace_substring_regex(cells, rb"\..*", b"") if type.decimal > 0 else cells


_FORMS: dict[str, Form] = {"enum": values.enum_number, "set": values.set_number, "text": _text_base64}

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
