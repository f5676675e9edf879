"""MySQL's JSON functions. A JSON null is the text `null`; a path that does not exist gives NULL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.errors import SqlError
from simulator.tidb.expressions.calls import call, call_with_nulls
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.expression import (
    UNLIMITED,
    Evaluate,
    Expression,
    Function,
    apply,
    boolean,
    fixed,
    integer,
    string,
)
from simulator.tidb.expressions.json_documents import as_document, as_json_item, unquote_json
from simulator.tidb.functions import documents, json_changes, json_functions
from simulator.tidb.functions.problems import FunctionProblem


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
                raise SqlError(
                    3146,
                    "22032",
                    f"Invalid data type for JSON data in argument {place} to function {name}; "
                    "a JSON string or JSON type is required.",
                )
            arguments.append(_ARGUMENTS[letter](value))
        return gives(takes(compute, *arguments))

    return called


def _changes(name: str) -> Function:
    """Return a function of a document and pairs of path and value, which raises SqlError 1582."""
    compute = getattr(json_changes, name)

    def changed(document: Expression, *pairs: Expression) -> Expression:
        if len(pairs) % 2:
            raise SqlError(1582, "42000", f"Incorrect parameter count in the call to native function '{name}'")
        parts = [as_json_item(each) if place % 2 else as_text(each) for place, each in enumerate(pairs)]
        return _json(call_with_nulls(compute, as_document(document), *parts))

    return Function(3, UNLIMITED, changed)


def _object(*values: Expression) -> Expression:
    if len(values) % 2:
        raise SqlError(1582, "42000", "Incorrect parameter count in the call to native function 'json_object'")
    if any(key.is_binary for key in values[::2]):
        raise SqlError(3144, "22032", "Cannot create a JSON value from a string with CHARACTER SET 'binary'.")
    return _function(json_functions.json_object, "ti", takes=call_with_nulls)(*values)


def _quote(value: Expression) -> Expression:
    if value.kind not in ("string", "null"):
        raise SqlError(3064, "HY000", "Incorrect type for argument 1 in function json_quote.")
    return string(call(json_functions.json_quote, as_text(value)))


def _valid(value: Expression) -> Expression:
    if value.kind == "json":
        return boolean(apply(lambda document: True, value.evaluate))
    if value.kind not in ("string", "null"):
        return boolean(fixed(False))
    return boolean(apply(documents.is_json, as_text(value)))


def _unquote(value: Expression) -> Expression:
    if value.kind not in ("json", "string", "null"):
        raise SqlError(3064, "HY000", "Incorrect type for argument 1 in function json_unquote.")
    return string(unquote_json(value))


def _merge(*values: str) -> str:
    merged = json_changes.json_merge_preserve(*values)
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
    "JSON_REMOVE": Function(2, UNLIMITED, _function(json_changes.json_remove, "dtt")),
    "JSON_ARRAY_APPEND": _changes("json_array_append"),
    "JSON_ARRAY_INSERT": _changes("json_array_insert"),
    "JSON_MERGE": Function(2, UNLIMITED, _function(_merge, "DD", name="json_merge")),
    "JSON_MERGE_PRESERVE": Function(2, UNLIMITED, _function(json_changes.json_merge_preserve, "DD")),
    "JSON_MERGE_PATCH": Function(2, UNLIMITED, _function(json_changes.json_merge_patch, "DD", takes=call_with_nulls)),
}
"""By TiDB's names."""
