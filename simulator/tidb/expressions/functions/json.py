"""MySQL's JSON functions. A JSON null is the text `null`; a path that does not exist gives NULL."""

from __future__ import annotations

from collections.abc import Callable

from simulator.errors import SqlError
from simulator.tidb.expressions.sql.graph import Sql, sql
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.values.json_documents import as_document, as_json_item, unquote_json
from simulator.tidb.expressions.values.value import (
    UNLIMITED,
    Function,
    Value,
    as_text,
    boolean,
    boolean_from_text,
    integer_from_text,
    string,
)


def _check_json(name: str, value: Value, place: int) -> Value:
    """Return an argument that must be JSON or text. Raises SqlError 3146."""
    if value.kind in ("string", "json", "null"):
        return value
    raise SqlError(
        3146,
        "22032",
        f"Invalid data type for JSON data in argument {place} to function {name.lower()}; "
        "a JSON string or JSON type is required.",
    )


def _python_function(name: str, documents: str, gives: Callable[[Sql], Value]) -> Callable[..., Value]:
    """Return a function that Python computes.

    `documents` has a letter for each argument: `d` a document, `D` a document that must be JSON or text, `i` an item of
    a document, `t` text. The last two letters repeat for further arguments.
    """

    def called(*values: Value) -> Value:
        letters = documents
        while len(letters) < len(values):
            letters += documents[-2:]
        arguments = []
        for place, (value, letter) in enumerate(zip(values, letters, strict=False), 1):
            if letter == "D":
                value = _check_json(name, value, place)
            arguments.append(
                as_text(value) if letter == "t" else (as_json_item if letter == "i" else as_document)(value)
            )
        return gives(python_call(name, *arguments))

    return called


def _json(expression: Sql) -> Value:
    return Value(expression, "json")


def _path_value_function(name: str, first: str) -> Callable[..., Value]:
    """Return a function of a document and pairs of path and value, which raises SqlError 1582."""
    called = _python_function(name, f"{first}ti", _json)

    def checked(*values: Value) -> Value:
        if len(values) % 2 == 0:
            raise SqlError(1582, "42000", f"Incorrect parameter count in the call to native function '{name}'")
        return called(*values)

    return checked


def _object(*values: Value) -> Value:
    if len(values) % 2:
        raise SqlError(1582, "42000", "Incorrect parameter count in the call to native function 'json_object'")
    if any(key.is_binary or key.kind == "null" for key in values[::2]):
        raise SqlError(3144, "22032", "Cannot create a JSON value from a string with CHARACTER SET 'binary'.")
    return _python_function("json_object", "ti", _json)(*values)


def _quote(value: Value) -> Value:
    if value.kind not in ("string", "null"):
        raise SqlError(3064, "HY000", "Incorrect type for argument 1 in function json_quote.")
    return string(python_call("json_quote", as_text(value)))


def _valid(value: Value) -> Value:
    if value.kind == "json":
        return boolean(sql("CASE WHEN {} IS NOT NULL THEN true END", value.sql))
    if value.kind not in ("string", "null"):
        return boolean(sql("false"))
    return boolean_from_text(python_call("json_valid", as_text(value)))


def _unquote(value: Value) -> Value:
    if value.kind not in ("json", "string", "null"):
        raise SqlError(3064, "HY000", "Incorrect type for argument 1 in function json_unquote.")
    return string(unquote_json(value))


JSON_FUNCTIONS: dict[str, Function] = {
    "JSON_EXTRACT": Function(2, UNLIMITED, _python_function("json_extract", "Dtt", _json)),
    "JSON_UNQUOTE": Function(1, 1, _unquote),
    "JSON_VALID": Function(1, 1, _valid),
    "JSON_LENGTH": Function(1, 2, _python_function("json_length", "Dt", integer_from_text)),
    "JSON_KEYS": Function(1, 2, _python_function("json_keys", "Dt", _json)),
    "JSON_DEPTH": Function(1, 1, _python_function("json_depth", "D", integer_from_text)),
    "JSON_TYPE": Function(1, 1, _python_function("json_type", "d", string)),
    "JSON_STORAGE_SIZE": Function(1, 1, _python_function("json_storage_size", "d", integer_from_text)),
    "JSON_STORAGE_FREE": Function(1, 1, _python_function("json_storage_free", "d", integer_from_text)),
    "JSON_PRETTY": Function(1, 1, _python_function("json_pretty", "d", string)),
    "JSON_QUOTE": Function(1, 1, _quote),
    "JSON_ARRAY": Function(0, UNLIMITED, _python_function("json_array", "ii", _json)),
    "JSON_OBJECT": Function(0, UNLIMITED, _object),
    "JSON_CONTAINS": Function(2, 3, _python_function("json_contains", "DDt", boolean_from_text)),
    "JSON_CONTAINS_PATH": Function(3, UNLIMITED, _python_function("json_contains_path", "Dttt", boolean_from_text)),
    "JSON_OVERLAPS": Function(2, 2, _python_function("json_overlaps", "DD", boolean_from_text)),
    "JSON_MEMBEROF": Function(2, 2, _python_function("json_member_of", "iD", boolean_from_text)),
    "JSON_SEARCH": Function(3, UNLIMITED, _python_function("json_search", "Dttttt", _json)),
    "JSON_SET": Function(3, UNLIMITED, _path_value_function("json_set", "D")),
    "JSON_INSERT": Function(3, UNLIMITED, _path_value_function("json_insert", "D")),
    "JSON_REPLACE": Function(3, UNLIMITED, _path_value_function("json_replace", "D")),
    "JSON_REMOVE": Function(2, UNLIMITED, _python_function("json_remove", "Dtt", _json)),
    "JSON_ARRAY_APPEND": Function(3, UNLIMITED, _path_value_function("json_array_append", "D")),
    "JSON_ARRAY_INSERT": Function(3, UNLIMITED, _path_value_function("json_array_insert", "D")),
    "JSON_MERGE": Function(2, UNLIMITED, _python_function("json_merge_preserve", "DD", _json)),
    "JSON_MERGE_PRESERVE": Function(2, UNLIMITED, _python_function("json_merge_preserve", "DD", _json)),
    "JSON_MERGE_PATCH": Function(2, UNLIMITED, _python_function("json_merge_patch", "DD", _json)),
}
"""By TiDB's names."""
