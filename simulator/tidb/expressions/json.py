"""JSON values of MySQL as DuckDB SQL, and their functions.

One law: a JSON value is its text; a path that is not there is NULL, a JSON null is the text `null`. What is no JSON is
NULL, not an error.
"""

from __future__ import annotations

from simulator.tidb.expressions.sql import Sql, sql, text, when
from simulator.tidb.expressions.values import Function, NUMBERS, Value, as_real, as_text, boolean, integer, string

RANKS = {"{": 3, "[": 4, "t": 5, "f": 5, "n": 0, '"': 2}
"""MySQL's order of JSON types by the first character of the text; numbers are 1."""

SEPARATED = r'((?:"(?:[^"\\]|\\.)*"|[^",:])*)([,:]|$)'
"""What is before a comma or colon outside of strings, or before the end, and that."""


def extracted(document: Sql, path: str) -> Sql:
    """The text of what is at a path; raises AssertionError for one that is not `duckdb_path`'s."""
    known = duckdb_path(path)
    assert known is not None, "checked before"
    return printed(sql("json_extract({}, {})", valid(document), text(known)))


def valid(document: Sql) -> Sql:
    """The text if it is JSON."""
    return sql("CASE WHEN json_valid({}) THEN {} END", document, document)


def printed(document: Sql) -> Sql:
    """As TiDB prints it: a blank after commas and colons."""
    return sql(r"rtrim(regexp_replace({}::VARCHAR, {}, '\1\2 ', 'g'), ' ')", document, text(SEPARATED))


def duckdb_path(path: str) -> str | None:
    """DuckDB's spelling of a path of members and places, `$.a."b c"[1]`; None for any other (`*`, `**`, `last`)."""
    rest, found = path.strip().replace(" ", "\x00"), "$"
    if not rest.startswith("$"):
        return None
    rest = rest[1:]
    while rest:
        name, rest = _leg(rest)
        if not name:
            return None
        found += name
    return found.replace("\x00", " ")


def _leg(rest: str) -> tuple[str, str]:
    """The first leg of a path as DuckDB spells it, empty for one it cannot follow, and the rest."""
    if rest.startswith('."') and '"' in rest[2:]:
        name, _, rest = rest[2:].partition('"')
        return (f'."{name}"' if "\\" not in name and name else ""), rest
    if rest.startswith("."):
        size = next((place for place, character in enumerate(rest[1:]) if character in '.["'), len(rest) - 1)
        name = rest[1:size + 1]
        return (f'."{name}"' if name.replace("_", "a").replace("$", "a").isalnum() else ""), rest[size + 1:]
    place, _, rest = rest[1:].partition("]") if rest.startswith("[") else ("", "", "")
    return (f"[{int(place)}]" if place.isascii() and place.isdecimal() else ""), rest


def unquoted(value: Value) -> Sql:
    """A JSON string without its quotes; anything else as it is."""
    found = as_text(value)
    return when(sql("starts_with({}, '\"')", found), _string(found), found)


def _string(found: Sql) -> Sql:
    return sql("json_extract_string({}, '$')", valid(found))


def length(found: Sql) -> Sql:
    """JSON_LENGTH: members of an array or an object, 1 for anything else."""
    document = valid(found)
    members = sql("CASE json_type({}) WHEN 'ARRAY' THEN json_array_length({}) WHEN 'OBJECT' THEN len(json_keys({})) "
                  "ELSE 1 END", document, document, document)
    return when(sql("{} IS NOT NULL", document), members)


def keys(found: Sql) -> Sql:
    """JSON_KEYS of an object; NULL of anything else."""
    document = valid(found)
    return when(sql("json_type({}) = 'OBJECT'", document), printed(sql("to_json(json_keys({}))", document)))


def json_key(value: Value) -> Sql:
    """What orders JSON values as MySQL does: the type's rank, then the number, then the text."""
    if value.kind == "json":
        return _document_key(value.sql)
    if value.kind == "bool":
        return _key(value.sql, sql("5"), sql("{}::DOUBLE", value.sql), sql("''"))
    if value.kind in NUMBERS:
        return _key(value.sql, sql("1"), as_real(value), sql("''"))
    return _key(value.sql, sql("2"), sql("0::DOUBLE"), as_text(value))


def _document_key(found: Sql) -> Sql:
    ranks = " ".join(f"WHEN '{character}' THEN {rank}" for character, rank in RANKS.items())
    rank = sql(f"CASE left(ltrim({{}}), 1) {ranks} ELSE 1 END", found)
    number = sql("CASE WHEN {} = 1 THEN coalesce(try_cast({} AS DOUBLE), 0) WHEN {} = 'true' THEN 1 ELSE 0 END",
                 rank, found, found)
    shown = sql("CASE WHEN {} = 2 THEN {} WHEN {} IN (3, 4) THEN {} ELSE '' END", rank, _string(found), rank,
                printed(valid(found)))
    return _key(found, rank, number, shown)


def _key(present: Sql, rank: Sql, number: Sql, shown: Sql) -> Sql:
    return when(sql("{} IS NOT NULL", present), sql("row({}::INTEGER, {}::DOUBLE, {}::VARCHAR)", rank, number, shown))


JSON_FUNCTIONS: dict[str, Function] = {
    "JSON_EXTRACT": Function(2, 2, lambda value, path: Value(
        extracted(as_text(value), path.constant or ""), "json"), (1,)),
    "JSON_UNQUOTE": Function(1, 1, lambda value: string(unquoted(value))),
    "JSON_VALID": Function(1, 1, lambda value: boolean(sql("json_valid({})", as_text(value)))),
    "JSON_LENGTH": Function(1, 1, lambda value: integer(length(as_text(value)))),
    "JSON_KEYS": Function(1, 1, lambda value: Value(keys(as_text(value)), "json")),
}
"""By TiDB's names."""
