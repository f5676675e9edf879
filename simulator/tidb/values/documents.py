"""Convert text to JSON and VECTOR.

Equal documents have equal texts: keys are sorted by bytes, and the last of equal keys counts.
"""

from __future__ import annotations

import base64
import json
import math
import re
from dataclasses import dataclass
from typing import Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.values import numbers
from simulator.tidb.values.kernels import map_distinct, matches, null_unless, replace_unusual


@dataclass(frozen=True)
class TypedScalar:
    """A scalar of a type that JSON lacks."""

    type: str
    """DATE, DATETIME, TIME or UNSIGNED INTEGER; BLOB or BIT with the number of the column's type behind it."""

    text: str


Document = Union[None, bool, int, float, str, TypedScalar, list["Document"], dict[str, "Document"]]


_CONTROL = re.compile('[\\x00-\\x1f"\\\\\u2028\u2029]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPECIAL = r"[\\\x{2028}\x{2029}]|[0-9][eE]|\.(0+([^0-9]|$)|0000|9999)|(^|[^0-9.])[0-9]{12}[0-9]*(\.|[0-9]{4})"
"""Parts of documents that Python may print differently from Go: escapes, exponents, integral floats, long numbers."""


def document(text: pa.Array) -> pa.Array:
    """Convert text to JSON."""
    usual = pc.invert(pc.match_substring_regex(text, _SPECIAL))
    documents = map_distinct(null_unless(usual, text), _usual_json)
    return replace_unusual(text, usual, lambda odd: map_distinct(odd, normal_json), documents)


def normal_json(text: str) -> str | None:
    """Return the text that TiDB prints for a JSON document, or None if it is invalid (tidb pkg/types/json_binary.go)."""
    try:
        return print_document(_READER.decode(text))
    except (ValueError, RecursionError):
        return None


def _usual_json(text: str) -> str | None:
    """Return the text of a document without escapes and long numbers."""
    try:
        return _PRINTER.encode(_READER.decode(text))
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> Document:
    raise ValueError(name)


_READER = json.JSONDecoder(parse_constant=_refuse)
_PRINTER = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


def print_document(document: Document) -> str:
    """Return a document as TiDB prints it."""
    if isinstance(document, str):
        return printed_string(document)
    if document is None or isinstance(document, bool):
        return {None: "null", True: "true", False: "false"}[document]
    if isinstance(document, TypedScalar):
        return document.text if document.type == "UNSIGNED INTEGER" else printed_string(scalar_text(document))
    if isinstance(document, (int, float)):
        return printed_number(document)
    if isinstance(document, list):
        return "[" + ", ".join(map(print_document, document)) + "]"
    members = (f"{printed_string(key)}: {print_document(document[key])}" for key in sorted_keys(document))
    return f"{{{', '.join(members)}}}"


def scalar_text(typed: TypedScalar) -> str:
    """Return the text of a scalar without quotes; bytes in base64."""
    kind, _, number = typed.type.partition(" ")
    if kind not in ("BLOB", "BIT"):
        return typed.text
    return f"base64:type{number}:{base64.b64encode(typed.text.encode('latin-1')).decode()}"


def sorted_keys(document: dict[str, Document]) -> list[str]:
    return sorted(document, key=lambda key: key.encode("utf-8", "replace"))


def printed_string(text: str) -> str:
    text = _SURROGATE.sub("\ufffd", text)
    return '"' + _CONTROL.sub(lambda match: _SHORT.get(match[0]) or f"\\u{ord(match[0]):04x}", text) + '"'


def printed_number(value: int | float) -> str:
    """Print an integer of 64 bits as it is, and other numbers as Go's encoding/json prints a float64."""
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return str(value)
    number = float(value)
    if math.isinf(number):
        raise ValueError("number too large")
    if number and not 1e-6 <= abs(number) < 1e21:
        mantissa, exponent = np.format_float_scientific(number, unique=True, trim="-").split("e")
        return f"{mantissa}e{exponent[0]}{exponent[1:].lstrip('0')}"
    return np.format_float_positional(number, unique=True, trim="-")


_JSON_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_VECTOR = rf"\s*\[\s*({_JSON_NUMBER}(\s*,\s*{_JSON_NUMBER})*)?\s*\]\s*"
_DIMENSIONS = 16383
"""The largest number of dimensions of a VECTOR (tidb pkg/types/vector.go)."""


def vector(dimensions: int, text: pa.Array) -> pa.Array:
    """Convert text `[1,2.5]` to VECTOR, with the shortest digits of float32; null for other dimensions than the type's."""
    inside = pc.replace_substring_regex(null_unless(matches(text, _VECTOR), text), r"[\[\]\s]", "")
    lists = pc.split_pattern(null_unless(pc.not_equal(inside, ""), inside), ",")
    size = pc.fill_null(pc.list_value_length(lists), 0)
    number = lists.flatten().cast(pa.float64()).cast(pa.float32())
    spelt = numbers.positional(numbers.shortest(null_unless(pc.is_finite(number), number)))
    joined = pc.binary_join(pa.ListArray.from_arrays(lists.offsets, spelt), ",")
    vectors = pc.binary_join_element_wise("[", pc.if_else(pc.equal(inside, ""), "", joined), "]", "")
    fits = pc.equal(size, dimensions) if dimensions > 0 else pc.less_equal(size, _DIMENSIONS)
    return null_unless(fits, vectors)
