"""Values as JSON documents, and MySQL's JSON functions.

A document is a text that `functions.documents` dumps, with the types of its scalars. A JSON null is the text `null`;
a path that does not exist gives NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from simulator.tidb.datums import Datum, datum_text
from simulator.tidb.errors import FunctionProblem, sql_error
from simulator.tidb.expressions.conversions import as_real, as_text
from simulator.tidb.expressions.expression import (
    NULL_VALUE,
    NUMERIC_KINDS,
    UNLIMITED,
    Evaluate,
    Expression,
    Function,
    apply,
    boolean,
    call,
    call_with_nulls,
    fixed,
    integer,
    string,
)
from simulator.tidb.functions import json_functions, json_paths
from simulator.tidb.values import documents
from simulator.tidb.values.documents import TypedScalar, dump, parse_json, stored_text
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


def _json(evaluate: Evaluate) -> Expression:
    return Expression(evaluate, "json")


_ARGUMENTS: dict[str, Callable[[Expression], Evaluate]] = {
    "D": as_document,
    "d": as_document,
    "i": as_json_item,
    "t": as_text,
}
COUNTED_FROM_1 = ("json_contains", "json_overlaps", "member of")
"""Functions whose arguments errors count from 1; those of others count from 0 (builtin_json.go, verifyArgs)."""


def _function(
    compute: Callable[..., Any],
    letters: str,
    gives: Callable[[Evaluate], Expression] = _json,
    takes: Callable[..., Evaluate] = call,
    name: str = "",
) -> Callable[..., Expression]:
    """Return a function of documents, which raises SqlError 3146. `name` is that of `compute` if it is none.

    `letters` has a letter for each argument: `d` a document, `D` a document that must be JSON or text, `i` an item of a
    document, `t` text. The last two letters repeat for further arguments.
    """

    name = name or compute.__name__

    def called(*values: Expression) -> Expression:
        arguments = []
        for place, (value, letter) in enumerate(
            zip(values, letters + letters[-2:] * len(values), strict=False), int(name in COUNTED_FROM_1)
        ):
            if letter == "D" and value.kind not in ("string", "json", "null"):
                raise sql_error(3146, place, name)
            arguments.append(_ARGUMENTS[letter](value))
        return gives(takes(compute, *arguments))

    return called


def _changes(name: str) -> Function:
    """Return a function of a document and pairs of path and value, which raises SqlError 1582."""
    compute = getattr(json_paths, name)

    def changed(document: Expression, *pairs: Expression) -> Expression:
        if len(pairs) % 2:
            raise sql_error(1582, name)
        parts = [as_json_item(each) if place % 2 else as_text(each) for place, each in enumerate(pairs)]
        return _json(call_with_nulls(compute, as_document(document), *parts))

    return Function(3, UNLIMITED, changed)


def _object(*values: Expression) -> Expression:
    if len(values) % 2:
        raise sql_error(1582, "json_object")
    if any(key.is_binary for key in values[::2]):
        raise sql_error(3144, "binary")
    return _function(json_functions.json_object, "ti", takes=call_with_nulls)(*values)


def _quote(value: Expression) -> Expression:
    if value.kind not in ("string", "null"):
        raise sql_error(3064, 1, "json_quote")
    return string(call(json_functions.json_quote, as_text(value)))


def _valid(value: Expression) -> Expression:
    if value.kind == "json":
        return boolean(apply(lambda document: True, value.evaluate))
    if value.kind not in ("string", "null"):
        return boolean(fixed(False))
    return boolean(apply(documents.is_json, as_text(value)))


def _unquote(value: Expression) -> Expression:
    if value.kind not in ("json", "string", "null"):
        raise sql_error(3064, 1, "json_unquote")
    return string(unquote_json(value))


def _merge(*values: str) -> str:
    merged = json_paths.json_merge_preserve(*values)
    raise FunctionProblem(1681, "JSON_MERGE is deprecated and will be removed in a future release.", "W", merged)


JSON_FUNCTIONS: dict[str, Function] = {
    "JSON_EXTRACT": Function(2, UNLIMITED, _function(json_functions.json_extract, "Dtt", takes=call_with_nulls)),
    "JSON_UNQUOTE": Function(1, 1, _unquote),
    "JSON_VALID": Function(1, 1, _valid),
    "JSON_LENGTH": Function(1, 2, _function(json_functions.json_length, "dt", integer)),
    "JSON_KEYS": Function(1, 2, _function(json_functions.json_keys, "Dt")),
    "JSON_DEPTH": Function(1, 1, _function(json_functions.json_depth, "d", integer)),
    "JSON_TYPE": Function(1, 1, _function(json_functions.json_type, "d", string)),
    "JSON_STORAGE_SIZE": Function(1, 1, _function(json_functions.json_storage_size, "d", integer)),
    "JSON_STORAGE_FREE": Function(1, 1, _function(json_functions.json_storage_free, "d", integer)),
    "JSON_PRETTY": Function(1, 1, _function(json_functions.json_pretty, "d", string)),
    "JSON_QUOTE": Function(1, 1, _quote),
    "JSON_ARRAY": Function(0, UNLIMITED, _function(json_functions.json_array, "ii", takes=call_with_nulls)),
    "JSON_OBJECT": Function(0, UNLIMITED, _object),
    "JSON_CONTAINS": Function(2, 3, _function(json_functions.json_contains, "DDt", boolean)),
    "JSON_CONTAINS_PATH": Function(
        3, UNLIMITED, _function(json_functions.json_contains_path, "Dttt", boolean, call_with_nulls)
    ),
    "JSON_OVERLAPS": Function(2, 2, _function(json_functions.json_overlaps, "DD", boolean)),
    "JSON_MEMBEROF": Function(2, 2, _function(json_functions.json_member_of, "iD", boolean, name="member of")),
    "JSON_SEARCH": Function(3, UNLIMITED, _function(json_functions.json_search, "Dttttt", takes=call_with_nulls)),
    "JSON_SET": _changes("json_set"),
    "JSON_INSERT": _changes("json_insert"),
    "JSON_REPLACE": _changes("json_replace"),
    "JSON_REMOVE": Function(2, UNLIMITED, _function(json_paths.json_remove, "dtt")),
    "JSON_ARRAY_APPEND": _changes("json_array_append"),
    "JSON_ARRAY_INSERT": _changes("json_array_insert"),
    "JSON_MERGE": Function(2, UNLIMITED, _function(_merge, "DD", name="json_merge")),
    "JSON_MERGE_PRESERVE": Function(2, UNLIMITED, _function(json_paths.json_merge_preserve, "DD")),
    "JSON_MERGE_PATCH": Function(2, UNLIMITED, _function(json_paths.json_merge_patch, "DD", takes=call_with_nulls)),
}
"""By TiDB's names."""
