"""Values as JSON documents, which are texts that `functions.documents` dumps, with the types of their scalars."""

from __future__ import annotations

import re

from simulator.tidb.datums.kinds import Datum, datum_text
from simulator.tidb.expressions.calls import call
from simulator.tidb.expressions.conversions import as_real, as_text
from simulator.tidb.expressions.expression import NULL_VALUE, NUMERIC_KINDS, Evaluate, Expression, apply
from simulator.tidb.functions import json_functions
from simulator.tidb.functions.documents import dump, parse_json, stored_text
from simulator.tidb.values.documents import TypedScalar
from simulator.tidb.values.durations import duration_text


def as_document(value: Expression) -> Evaluate:
    """Return a value as a JSON document; text is parsed."""
    if value.kind == "string" and not value.is_binary:
        return call(json_functions.json_of_text, as_text(value))
    return as_json_item(value)


def as_json_item(value: Expression) -> Evaluate:
    """Return a value as an item of a JSON document; text is a string."""
    if value.kind == "null":
        return NULL_VALUE
    if value.kind == "json":
        return value.evaluate
    if value.kind == "bool":
        return apply(lambda condition: "true" if condition else "false", value.evaluate)
    if value.kind in ("uint", "int"):
        is_unsigned = value.kind == "uint" or value.is_year
        return apply(_unsigned if is_unsigned else str, value.evaluate)
    if value.kind in NUMERIC_KINDS:
        return apply(dump, as_real(value))
    if value.kind == "date":
        return apply(lambda moment: dump(TypedScalar("DATE", moment[:10])), value.evaluate)
    if value.kind == "datetime":
        return apply(lambda moment: dump(TypedScalar("DATETIME", moment)), value.evaluate)
    if value.kind == "time":
        return apply(lambda micros: dump(TypedScalar("TIME", duration_text(micros, 6))), value.evaluate)
    if value.is_binary:
        type = f"BLOB {value.blob_type}"
        return apply(lambda text: dump(TypedScalar(type, text)), as_text(value))
    return apply(dump, as_text(value))


_MOMENTS = {"date": "DATE", "time": "TIME", **dict.fromkeys(("datetime", "timestamp"), "DATETIME")}
"""The types of JSON by the kinds of datums."""


def typed_cell(datum: Datum, cell: bytes) -> bytes:
    """Return the cell of a datum in a JSON column, given what TiDB prints of it; a document is as `dump` wrote it (tidb
    pkg/types/datum.go, convertToMysqlJSON)."""
    kind = datum.kind
    if kind == "json":
        text = cell.decode("utf-8", "surrogatepass")
    elif kind == "uint":
        text = dump(TypedScalar("UNSIGNED INTEGER", cell.decode()))
    elif kind in _MOMENTS:
        text = dump(TypedScalar(_MOMENTS[kind], cell.decode()[1:-1]))
    elif kind in ("decimal", "double", "float"):
        text = dump(float(cell))
    elif _FRACTION.search(datum.body):
        text = dump(parse_json(datum_text(datum)))
    else:
        return cell
    return stored_text(text).encode("utf-8", "surrogatepass")


_FRACTION = re.compile(rb"[0-9](\.[0-9]|[eE])")
"""What a text has that may be a document with doubles."""


def _unsigned(number: int) -> str:
    return dump(TypedScalar("UNSIGNED INTEGER", str(number)))


def unquote_json(value: Expression) -> Evaluate:
    """Return a JSON string without its quotes, or any other value unchanged."""
    unquote = json_functions.json_unquote_document if value.kind == "json" else json_functions.json_unquote
    return call(unquote, value.evaluate if value.kind == "json" else as_text(value))


def json_key(value: Expression) -> Evaluate:
    """Return a text that sorts as MySQL compares JSON values."""
    return apply(json_functions.json_key, as_json_item(value))
