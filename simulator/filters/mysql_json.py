"""JSON values of MySQL on Spark.

One law: a JSON value is its text; a path that is not there is NULL, a JSON null is the text `null`.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.mysql_values import NUMBERS, Value, as_real, as_text

RANKS = {"{": 3, "[": 4, "t": 5, "f": 5, "n": 0, '"': 2}
"""MySQL's order of JSON types by the first character of the text; numbers are 1."""


def extracted(document: Column, path: str) -> Column:
    """The text of what is at a path; raises AssertionError for one that is not `spark_path`'s."""
    known = spark_path(path)
    assert known is not None, "checked before"
    found = F.call_function("try_variant_get", F.try_parse_json(document), F.lit(known), F.lit("variant"))
    return F.to_json(found)


def spark_path(path: str) -> str | None:
    """Spark's spelling of a path of members and places, `$.a."b c"[1]`; None for any other (`*`, `**`, `last`)."""
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
    """The first leg of a path as Spark spells it, empty for one it cannot follow, and the rest."""
    if rest.startswith('."') and '"' in rest[2:]:
        name, _, rest = rest[2:].partition('"')
        return (f'["{name}"]' if "\\" not in name and name else ""), rest
    if rest.startswith("."):
        size = next((place for place, character in enumerate(rest[1:]) if character in '.["'), len(rest) - 1)
        name = rest[1:size + 1]
        return (f'["{name}"]' if name.replace("_", "a").replace("$", "a").isalnum() else ""), rest[size + 1:]
    place, _, rest = rest[1:].partition("]") if rest.startswith("[") else ("", "", "")
    return (f"[{int(place)}]" if place.isascii() and place.isdecimal() else ""), rest


def unquoted(value: Value) -> Column:
    """A JSON string without its quotes; anything else as it is."""
    text = as_text(value)
    return F.when(text.startswith('"'), F.get_json_object(text, "$")).otherwise(text)


def json_key(value: Value) -> Column:
    """What orders JSON values as MySQL does: the type's rank, then the number, then the text."""
    if value.kind == "json":
        return _document_key(value.column)
    if value.kind == "bool":
        return _key(value.column, F.lit(5), value.column.cast("double"), F.lit(""))
    if value.kind in NUMBERS:
        return _key(value.column, F.lit(1), as_real(value), F.lit(""))
    return _key(value.column, F.lit(2), F.lit(0.0), as_text(value))


def _document_key(text: Column) -> Column:
    first = F.substring(text, 1, 1)
    rank = F.lit(1)
    for character, place in RANKS.items():
        rank = F.when(first == character, F.lit(place)).otherwise(rank)
    number = F.when(rank == 1, F.coalesce(text.try_cast("double"), F.lit(0.0))).when(
        text == "true", F.lit(1.0)).otherwise(F.lit(0.0))
    shown = F.when(rank == 2, F.get_json_object(text, "$")).when(rank.isin(3, 4), text).otherwise(F.lit(""))
    return _key(text, rank, number, shown)


def _key(present: Column, rank: Column, number: Column, text: Column) -> Column:
    return F.when(present.isNotNull(), F.struct(rank.alias("r"), number.alias("n"), text.alias("t")))
