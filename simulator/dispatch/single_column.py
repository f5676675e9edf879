"""The JSON that `default` hashes in TiCDC 4.0.0 to 4.0.4: one value alone, without table and name.

One law: the plain form and the Spark column give the same text (tiflow v4.0.4 cdc/sink/dispatcher/default.go, whose
json.Marshal sees numbers as numbers, byte strings in base64 and everything else as a string).
"""

from __future__ import annotations

import base64
import json
from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from simulator.errors import ChangefeedError
from simulator.schema import types
from simulator.schema.table import Column

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


def json_text(column: Column, text: bytes) -> bytes:
    """The JSON of a value, from the bytes that later releases hash: members by number, text as it is."""
    kind = single_column(column)
    if kind == "number":
        return text
    if kind == "base64":
        return json.dumps(base64.b64encode(text).decode()).encode()
    return b'"' + text.decode().translate(str.maketrans(dict[str, str | int | None](ESCAPES))).encode() + b'"'


def json_column(column: Column, text: SparkColumn) -> SparkColumn:
    """As `json_text`, on the same bytes."""
    kind = single_column(column)
    if kind == "number":
        return text
    if kind == "base64":
        return F.concat(F.lit(b'"'), F.encode(F.base64(text), "UTF-8"), F.lit(b'"'))
    escaped = reduce(
        lambda string, one: F.replace(string, F.lit(one[0]), F.lit(one[1])), ESCAPES.items(), F.decode(text, "UTF-8")
    )
    return F.concat(F.lit(b'"'), F.encode(escaped, "UTF-8"), F.lit(b'"'))
