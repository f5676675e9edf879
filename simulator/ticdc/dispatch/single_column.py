"""The JSON that `default` hashes in TiCDC 4.0.0 to 4.0.4: one value alone, without table and name.

One law: json.Marshal sees numbers as numbers, byte strings in base64 and everything else as a string (tiflow v4.0.4
cdc/sink/dispatcher/default.go).
"""

from __future__ import annotations

import binascii

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import binary, buffers
from simulator.errors import ChangefeedError
from simulator.tidb.model import types
from simulator.tidb.model.table import Column

NUMBERS = ("integer", "bit", "year", "enum", "set")
STRINGS = ("decimal", "date", "time", "datetime", "string", "json")
SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
ESCAPES = SHORT | {
    mark: f"\\u{ord(mark):04x}" for mark in (*map(chr, range(0x20)), *"<>&\u2028\u2029") if mark not in SHORT
}
"""What Go's encoding/json escapes; the backslash comes first."""


def single_column(column: Column) -> str:
    """`number`, `string` or `base64`; raises ChangefeedError for a FLOAT, DOUBLE, BINARY or VARBINARY."""
    family = types.family(column.type)
    if family == "text":
        return "base64"
    if family in NUMBERS:
        return "number"
    if family in STRINGS and not types.is_binary(column.type):
        return "string"
    raise ChangefeedError(
        f"the default dispatcher of TiCDC 4.0.0 – 4.0.4 hashes the only unique column, {column.name}, whose type"
        f" {types.mysql_type(column.type, False)} is not simulated: give the table a rule with dispatcher table"
    )


def json_texts(column: Column, texts: pa.Array) -> pa.Array:
    """The JSON of values, from the bytes that later releases hash: members by number, text as it is."""
    kind = single_column(column)
    if kind == "number":
        return texts
    inside = _base64(texts) if kind == "base64" else _escaped(texts)
    return pc.binary_join_element_wise(b'"', inside, b'"', b"")


def _escaped(texts: pa.Array) -> pa.Array:
    for mark, escape in ESCAPES.items():
        texts = pc.replace_substring(texts, mark.encode(), escape.encode())
    return texts


def _base64(cells: pa.Array) -> pa.Array:
    """Cells are filled up to whole groups of three bytes and coded in one go."""
    sizes = np.diff(buffers(cells)[1])
    fills = pa.array([b"", b"\0", b"\0\0"]).take(pa.array(-sizes % 3))
    data, offsets = buffers(pc.binary_join_element_wise(pc.fill_null(cells, b""), fills, b""))
    coded, ends = np.frombuffer(binascii.b2a_base64(data.data, newline=False), np.uint8).copy(), offsets // 3 * 4
    coded[ends[1:][-sizes % 3 > 0] - 1] = ord("=")
    coded[ends[1:][-sizes % 3 > 1] - 2] = ord("=")
    return binary(coded, ends, cells)
