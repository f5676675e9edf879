"""JSON documents: parsing, printing, comparison and size as in TiDB.

Equal documents have equal texts: keys are sorted by bytes, and the last of equal keys counts. Expressions exchange
documents as JSON text that preserves the types of scalars: a double has a point or an exponent, and a type that JSON
lacks (DATE, bytes) is a string behind MARK. Cells hold the text that TiDB prints; if that loses types, the text that
preserves them, behind MARK.
"""

from __future__ import annotations

import base64
import json
import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.errors import FunctionProblem, invalid_json
from simulator.tidb.values.kernels import map_distinct, null_unless, replace_unusual


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
    usual = pc.invert(pc.match_substring_regex(text, _SPECIAL))
    documents = map_distinct(null_unless(usual, text), partial(_printed, print=_PRINTER.encode))
    return replace_unusual(text, usual, lambda odd: map_distinct(odd, normal_json), documents)


def normal_json(text: str) -> str | None:
    """Return the text that TiDB prints for a JSON document, or None if it is invalid (tidb pkg/types/json_binary.go)."""
    return _printed(text, print_document)


def _printed(text: str, print: Callable[[Document], str]) -> str | None:
    try:
        return print(_READER.decode(text))
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


MARK = "\U0010fffe"
MAX_DEPTH = 100
"""tidb pkg/types/json_constants.go, maxJSONDepth."""


_ORDER = "BLOB BIT OPAQUE DATETIME TIME DATE BOOLEAN ARRAY OBJECT STRING INTEGER NULL".split()
PRECEDENCE = {
    **{name: -rank for rank, name in enumerate(_ORDER, 1)},
    **dict.fromkeys(("UNSIGNED INTEGER", "DOUBLE"), -_ORDER.index("INTEGER") - 1),
}
FLOAT_EPSILON = 1e-8
"""A double and an integer that differ by less are equal (pkg/types/json_binary_functions.go, floatEpsilon)."""


Ordered = TypeVar("Ordered", bytes, str, float)


def _whole(digits: str) -> int | float:
    """Return an integer of 64 bits, or a double if it has more."""
    number = int(digits)
    return number if -(2**63) <= number < 2**64 else _real(digits)


def _real(digits: str) -> float:
    result = float(digits)
    if result in (float("inf"), float("-inf")):
        raise FunctionProblem(3140, f'Invalid JSON text: strconv.ParseFloat: parsing "{digits}": value out of range')
    return result


_EXACT_READER = json.JSONDecoder(parse_constant=_refuse, parse_int=_whole, parse_float=_real)


def parse_json(text: str) -> Document:
    """Parse a document from a user. Raises FunctionProblem 3140 and 3157."""
    if not text:
        raise FunctionProblem(3140, "Invalid JSON text: The document is empty")
    try:
        result: Document = _EXACT_READER.decode(text)
    except (ValueError, RecursionError):
        raise invalid_json() from None
    return check_depth(result)


def is_json(text: str) -> bool:
    try:
        _EXACT_READER.decode(text)
    except (ValueError, RecursionError):
        return False
    except FunctionProblem:
        return True
    return True


def check_depth(document: Document) -> Document:
    """Return the document. Raises FunctionProblem 3157 if it is nested too deeply."""
    if depth(document) - 1 > MAX_DEPTH:
        raise FunctionProblem(3157, "The JSON document exceeds the maximum depth.")
    return document


def load(text: str) -> Document:
    """Load a document that `dump` wrote."""
    result: Document = _EXACT_READER.decode(text)
    return _unmarked(result) if MARK in text else result


def load_item(text: str | None) -> Document:
    """Load a document that `dump` wrote; NULL is a JSON null."""
    return None if text is None else load(text)


def _unmarked(document: Document) -> Document:
    if isinstance(document, str) and document.startswith(MARK):
        type, _, shown = document[1:].partition(":")
        return TypedScalar(type, shown)
    if isinstance(document, list):
        return [_unmarked(item) for item in document]
    if isinstance(document, dict):
        return {key: _unmarked(item) for key, item in document.items()}
    return document


def dump(document: Document) -> str:
    """Return JSON text that preserves the types of scalars."""
    return _WRITER.encode(document)


def _marked(typed: TypedScalar) -> str:
    return f"{MARK}{typed.type}:{typed.text}"


_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), default=_marked)


def print_dumped(text: str) -> str:
    """Return a document that `dump` wrote as TiDB prints it."""
    usual = normal_json(text) if MARK not in text else None
    return print_document(load(text)) if usual is None else usual


_DOUBLE = re.compile(r"\.0(?![0-9])|[0-9]e")
"""What `dump` writes of a double that TiDB may print like an integer."""

_SORTED = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), sort_keys=True, default=_marked)


def stored_text(text: str) -> str:
    """Return the cell of a document that `dump` wrote; equal documents have equal cells."""
    if MARK not in text and not _DOUBLE.search(text):
        return print_dumped(text)
    document = load(text)
    typed, shown = _SORTED.encode(document), print_document(document)
    return shown if MARK not in typed and _SORTED.encode(load(shown)) == typed else MARK + typed


def text_of_stored(cell: str) -> str:
    """Return a document as TiDB prints it, given its cell."""
    return print_dumped(cell[1:]) if cell.startswith(MARK) else cell


def type_name(document: Document) -> str:
    """Return JSON_TYPE."""
    if isinstance(document, TypedScalar):
        return document.type.partition(" ")[0] if document.type[:3] in ("BLO", "BIT") else document.type
    if isinstance(document, int) and not isinstance(document, bool) and document >= 2**63:
        return "UNSIGNED INTEGER"
    if document is None:
        return "NULL"
    names = {bool: "BOOLEAN", int: "INTEGER", float: "DOUBLE", str: "STRING", list: "ARRAY", dict: "OBJECT"}
    return names[type(document)]


def depth(document: Document) -> int:
    deepest, level = 0, [document]
    while level:
        deepest += 1
        level = [child for each in level for child in _children(each)]
    return deepest


def _children(document: Document) -> list[Document]:
    if isinstance(document, dict):
        return list(document.values())
    return document if isinstance(document, list) else []


def compare(left: Document, right: Document) -> int:
    """Return a negative number, 0 or a positive number (pkg/types/json_binary_functions.go, CompareBinaryJSON)."""
    first, second = PRECEDENCE[type_name(left)], PRECEDENCE[type_name(right)]
    if first != second:
        return first - second
    if isinstance(left, list) and isinstance(right, list):
        pairs = (compare(one, other) for one, other in zip(left, right, strict=False))
        return next((result for result in pairs if result), len(left) - len(right))
    if isinstance(left, dict) and isinstance(right, dict):
        return _compare_objects(left, right)
    if isinstance(left, str) and isinstance(right, str):
        return _ordered(left.encode("utf-8", "replace"), right.encode("utf-8", "replace"))
    if left is None:
        return 0
    if isinstance(left, TypedScalar) and isinstance(right, TypedScalar) and left.type != "UNSIGNED INTEGER":
        return _ordered(left.text, right.text)
    one, other = _number(left), _number(right)
    if isinstance(one, float) != isinstance(other, float) and abs(one - other) < FLOAT_EPSILON:
        return 0
    return _ordered(one, other)


def _number(document: Document) -> int | float:
    if isinstance(document, TypedScalar):
        return int(document.text)
    assert isinstance(document, (int, float))
    return document


def _ordered(one: Ordered, other: Ordered) -> int:
    return (one > other) - (one < other)


def _compare_objects(left: dict[str, Document], right: dict[str, Document]) -> int:
    if len(left) != len(right):
        return len(left) - len(right)
    for one, other in zip(sorted_keys(left), sorted_keys(right), strict=True):
        result = compare(one, other) or compare(left[one], right[other])
        if result:
            return result
    return 0


def sort_key(document: Document) -> str:
    """Return a text that compares as the document does."""
    rank = f"{PRECEDENCE[type_name(document)] + 20:02}"
    if isinstance(document, list):
        return f"{rank}{''.join(map(sort_key, document))}!"
    if isinstance(document, dict):
        members = "".join(_hex(key) + sort_key(document[key]) for key in sorted_keys(document))
        return f"{rank}{len(document):08}{members}"
    if document is None:
        return rank
    if isinstance(document, bool):
        return f"{rank}{int(document)}"
    if isinstance(document, str) or isinstance(document, TypedScalar) and document.type != "UNSIGNED INTEGER":
        return rank + _hex(document if isinstance(document, str) else document.text)
    bits = struct.unpack(">Q", struct.pack(">d", float(_number(document)) + 0.0))[0]
    return f"{rank}{bits ^ (2**64 - 1 if bits >> 63 else 2**63):016x}"


def _hex(text: str) -> str:
    return f"{text.encode('utf-8', 'replace').hex()}!"


def size(document: Document) -> int:
    """Return the bytes of a value as TiDB stores it, without its type (pkg/types/json_binary.go)."""
    if document is None or isinstance(document, bool):
        return 0
    if isinstance(document, str):
        return _with_length(len(document.encode("utf-8", "replace")))
    if isinstance(document, TypedScalar):
        if document.type[:3] in ("BLO", "BIT"):
            return 1 + _with_length(len(document.text))
        return 12 if document.type == "TIME" else 8
    if isinstance(document, dict):
        keys = sum(len(key.encode("utf-8", "replace")) for key in document)
        return 8 + 11 * len(document) + keys + sum(map(size, document.values()))
    if isinstance(document, list):
        return 8 + 5 * len(document) + sum(map(size, document))
    return 8


def _with_length(count: int) -> int:
    return count + max(1, -(-count.bit_length() // 7))
