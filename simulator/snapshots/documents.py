"""JSON and VECTOR values as TiDB prints them.

One law: equal documents have one text (keys sorted by their bytes, the last of equal keys, numbers as stored).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.snapshots import arrow

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

_CONTROL = re.compile("[\\x00-\\x1f\"\\\\\u2028\u2029]")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def normal_json(text: str) -> str | None:
    """The text TiDB prints for a JSON document, None for text that is none (tidb pkg/types/json_binary.go)."""
    try:
        return _printed(json.loads(text, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> JsonValue:
    raise ValueError(name)


def _printed(value: JsonValue) -> str:
    if isinstance(value, str):
        return _string(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_printed, value)) + "]"
    keys = sorted(value, key=lambda key: key.encode("utf-8", "replace"))
    return "{" + ", ".join(f"{_string(key)}: {_printed(value[key])}" for key in keys) + "}"


def _string(text: str) -> str:
    text = _SURROGATE.sub("\ufffd", text)
    return '"' + _CONTROL.sub(lambda found: _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}", text) + '"'


def _number(value: int | float) -> str:
    """An integer of 64 bits as it is, any other number as Go's encoding/json prints a float64."""
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return str(value)
    number = float(value)
    if math.isinf(number):
        raise ValueError("number too large")
    if number and not 1e-6 <= abs(number) < 1e21:
        mantissa, exponent = np.format_float_scientific(number, unique=True, trim="-").split("e")
        return f"{mantissa}e{exponent[0]}{exponent[1:].lstrip('0')}"
    return np.format_float_positional(number, unique=True, trim="-")


def normal_vector(text: str) -> str | None:
    """`[1,2.5]`: shortest float32 digits without exponent; None for what is no vector of numbers."""
    try:
        values = json.loads(text, parse_constant=_refuse)
        numbers = [np.float32(value) for value in values if not isinstance(value, (bool, str))]
    except (ValueError, TypeError, RecursionError, OverflowError):
        return None
    if not isinstance(values, list) or len(numbers) != len(values) or not np.isfinite(numbers).all():
        return None
    return "[" + ",".join(np.format_float_positional(number, unique=True, trim="-") for number in numbers) + "]"


def _each(normal: Callable[[str], str | None]) -> Callable[[pa.Array], pa.Array]:
    """The function on an array, called once for each different value."""

    def values(texts: pa.Array) -> pa.Array:
        distinct = texts.dictionary_encode()
        normals = [None if text is None else normal(text) for text in distinct.dictionary.to_pylist()]
        return pa.array(normals, pa.string()).take(distinct.indices)

    return values


def document(text: Column) -> Column:
    """JSON from text."""
    return arrow.map_strings(_each(normal_json), F.when(F.is_valid_utf8(text), text))


def vector(dimensions: int, text: Column) -> Column:
    """VECTOR from text; of a fixed number of dimensions where the type says so."""
    result = arrow.map_strings(_each(normal_vector), text)
    commas = F.length(result) - F.length(F.replace(result, F.lit(","), F.lit("")))
    return F.when(commas == dimensions - 1, result) if dimensions > 0 else result
