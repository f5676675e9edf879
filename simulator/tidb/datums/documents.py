"""Cast datums to JSON (tidb pkg/types/datum.go, convertToMysqlJSON)."""

from __future__ import annotations

import json

from simulator.tidb.datums.kinds import Datum, datum_text, float_value
from simulator.tidb.datums.problems import CastProblem, other_problem
from simulator.tidb.values.documents import normal_json
from simulator.tidb.values.durations import duration_micros, duration_text

EMPTY = other_problem(3140, "Invalid JSON text: The document is empty")
NONE = other_problem(3140, "Invalid JSON text: The document root must not be followed by other values.")
BINARY = other_problem(3144, "Cannot create a JSON value from a string with CHARACTER SET 'binary'.")


def cast_json(datum: Datum) -> tuple[str | None, CastProblem | None]:
    kind, text = datum.kind, datum_text(datum)
    if kind == "json":
        return text, None
    if kind == "literal":
        return None, BINARY
    if kind in ("string", "gbk", "bytes", "enum", "set"):
        document = normal_json(text)
        return (document, None) if document is not None else (None, NONE if text else EMPTY)
    if kind in ("int", "uint"):
        return text, None
    if kind == "decimal":
        return _number(float(text)), None
    if kind in ("double", "float"):
        return _number(float_value(datum)), None
    if kind in ("datetime", "timestamp"):
        whole, _, fraction = text.partition(".")
        return f'"{whole}.{fraction.ljust(6, "0")}"', None
    if kind == "time":
        return f'"{duration_text(duration_micros(text), 6)}"', None
    if kind == "bit":
        return _quoted(datum.body), None
    return f'"{text}"', None


def _quoted(bytes: bytes) -> str:
    """Return bytes as a JSON string, with Go's escapes for invalid UTF-8."""
    text = "".join(
        PRIVATE if "\udc80" <= letter <= "\udcff" else letter for letter in bytes.decode("utf-8", "surrogateescape")
    )
    return (normal_json(json.dumps(text)) or "").replace(PRIVATE, "\\ufffd")


PRIVATE = "\ue000"


def _number(number: float) -> str | None:
    return normal_json(repr(number))
