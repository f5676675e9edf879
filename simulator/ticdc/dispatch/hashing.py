"""The bytes that dispatchers hash for the values of a column, by release.

`default` of TiCDC 4.0.0 to 4.0.4 hashes a single value, without table and name, as json.Marshal writes it: numbers as
numbers, byte strings in base64 and everything else as a string (tiflow v4.0.4 cdc/sink/dispatcher/default.go).
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import ChangefeedError
from simulator.releases import Release
from simulator.ticdc.codecs.binary import base64
from simulator.ticdc.codecs.wire_numbers import value_text
from simulator.tidb.model import types
from simulator.tidb.model.table import Column

NULL = b"null"

NUMBERS = ("integer", "bit", "year", "enum", "set")
STRINGS = ("decimal", "date", "time", "datetime", "string", "json")
SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
ESCAPES = SHORT | {
    mark: f"\\u{ord(mark):04x}" for mark in (*map(chr, range(0x20)), *"<>&\u2028\u2029") if mark not in SHORT
}
"""Characters that Go's encoding/json escapes; the backslash comes first."""


@dataclass(frozen=True)
class Hashing:
    """How values become the bytes that are hashed."""

    nulls: bool = True
    """Whether a NULL is hashed as `null`; otherwise its column is skipped."""

    widens_float: bool = False
    """Whether a FLOAT has the digits of the 64-bit number."""

    time_fraction: bool = True
    """Whether a TIME keeps its fraction of a second."""

    @staticmethod
    def of(release: Release, source: str) -> Hashing:
        """Return the release's rules for columns from `source`, one of `release.dispatch_nulls`."""
        return Hashing(source in release.dispatch_nulls, release.float_widened, release.dispatch_time_fraction)


def value_bytes(column: Column, texts: pa.Array, hashing: Hashing = Hashing()) -> pa.Array:
    """Return the bytes that are hashed for TiDB texts; null for NULL."""
    if column.type.name == "time" and not hashing.time_fraction:
        return pc.replace_substring_regex(texts.cast(pa.string()), r"\..*", "").cast(pa.binary())
    return value_text(texts, column.type, hashing.widens_float)


def single_column(column: Column) -> str:
    """Return `number`, `string` or `base64`; raise ChangefeedError for a FLOAT, DOUBLE, BINARY or VARBINARY."""
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
    """Return the JSON of values, given as the bytes that later releases hash."""
    kind = single_column(column)
    if kind == "number":
        return texts
    inside = base64(texts) if kind == "base64" else _escaped(texts)
    return pc.binary_join_element_wise(b'"', inside, b'"', b"")


def _escaped(texts: pa.Array) -> pa.Array:
    for mark, escape in ESCAPES.items():
        texts = pc.replace_substring(texts, mark.encode(), escape.encode())
    return texts
