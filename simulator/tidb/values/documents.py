"""Convert texts to JSON, VECTOR, strings, ENUM and SET, with null for what strict mode would reject.

Equal documents have equal texts: keys are sorted by bytes, and the last of equal keys counts. The TiDB text of binary
columns is the Latin-1 text of their bytes.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places, buffers
from simulator.columns.hashing import Hashes
from simulator.tidb.model.types import ColumnType
from simulator.tidb.values import numbers
from simulator.tidb.values.kernels import latin1_text, map_distinct, matches, null_unless, replace_unusual


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


BYTES = {"tinytext": 2**8 - 1, "text": 2**16 - 1, "mediumtext": 2**24 - 1, "longtext": 2**32 - 1}


def text(type: ColumnType, value: pa.Array) -> pa.Array:
    """Convert to CHAR, VARCHAR or a TEXT, with the limit in characters, or in bytes for a TEXT."""
    value = _of_charset(type.charset, value)
    if type.name in BYTES:
        return replace_unusual(value, pc.less_equal(pc.binary_length(value), BYTES[type.name]), _none)
    if type.name == "char" and pc.any(pc.ends_with(value, " ")).as_py():
        value = pc.utf8_rtrim(value, " ")
    short = pc.less_equal(pc.binary_length(value), type.length)
    return replace_unusual(value, short, lambda odd: _cut(type.length, odd))


def _none(cells: pa.Array) -> pa.Array:
    return pa.nulls(len(cells), cells.type)


def _of_charset(charset: str, value: pa.Array) -> pa.Array:
    """Replace texts with characters outside of the charset by null."""
    if charset == "ascii":
        return replace_unusual(value, pc.string_is_ascii(value), _none)
    if charset in ("utf8", "utf8mb3") and (buffers(value)[0] >= 0xF0).any():
        return null_unless(pc.invert(pc.match_substring_regex(value, r"[\x{10000}-\x{10FFFF}]")), value)
    return value


def _cut(length: int, value: pa.Array) -> pa.Array:
    """Cut strings to `length` characters, with null if more than spaces would be cut off."""
    fits = pc.less_equal(pc.utf8_length(pc.utf8_rtrim(value, " ")), length)
    return pc.utf8_slice_codeunits(null_unless(fits, value), 0, length)


def binary(type: ColumnType, value: pa.Array) -> pa.Array:
    """Convert bytes to BINARY (padded with zero bytes), VARBINARY or a BLOB."""
    limit = BYTES.get(type.name, type.length)
    text = latin1_text(replace_unusual(value, pc.less_equal(pc.binary_length(value), limit), _none))
    return pc.utf8_rpad(text, limit, "\0") if type.name == "char" else text


def enum(type: ColumnType, value: pa.Array) -> pa.Array:
    """Return the names of members, and the empty error value; null for other texts."""
    return null_unless(pc.is_in(value, pa.array((*type.elements, ""), pa.string())), value)


def enum_numbers(elements: Sequence[str], texts: pa.Array) -> Places:
    """Return the number of each member, from 1. The empty error value is 0."""
    numbers: Places = _ordinals(elements, texts) + 1
    return numbers


def set_bits(elements: Sequence[str], texts: pa.Array) -> Hashes:
    """Return the bitmaps of comma-separated members."""
    lists = pc.split_pattern(pc.fill_null(texts.cast(pa.string()), ""), ",")
    places = _ordinals(elements, lists.flatten())
    bits = np.where(places < 0, np.uint64(0), np.uint64(1) << np.maximum(places, 0).astype(np.uint64))
    before = np.concatenate((np.zeros(1, np.uint64), np.cumsum(bits, dtype=np.uint64)))
    ends = np.concatenate(([0], np.cumsum(pc.list_value_length(lists).to_numpy())))
    return before[ends[1:]] - before[ends[:-1]]


def _ordinals(elements: Sequence[str], texts: pa.Array) -> Places:
    """Return the index of each text among the elements, or -1."""
    indices = pc.fill_null(pc.index_in(texts.cast(pa.string()), pa.array(elements, pa.string())), -1)
    places: Places = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return places
