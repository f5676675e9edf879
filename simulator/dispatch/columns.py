"""The dispatch hash and the partition as Spark columns, for the hot path.

One law: they say what the functions of `partitions.py` say, for every TiDB text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.dispatch.hashing import FLOATS, NULL, Hashing, inertia
from simulator.dispatch.routing import Route
from simulator.dispatch.single_column import ESCAPES, single_column
from simulator.numbered import by_number
from simulator.schema import types
from simulator.schema import table as schema

NUMBER = r"^(-?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$"
SIGN_BIT = 1 << 31


def hash_column(route: Route, table: schema.Table, columns: Mapping[str, Column]) -> Column:
    """The dispatch hash as a Spark int (wraps at 2^31), from the TiDB texts of the visible columns by name."""
    types_of = {column.name: column for column in table.columns}
    if route.dispatcher == "single-column":
        (_, only), = route.hashed
        value = _value(types_of[only], columns[only], route.hashing)
        return _signed(F.crc32(json_column(types_of[only], value)))
    result = F.lit(inertia([(table.schema.encode(), table.name.encode())])).cast("long")
    for name, source in route.hashed:
        value = _value(types_of[source], columns[source], route.hashing) if source else F.lit(None).cast("binary")
        result = result.bitwiseXOR(_write(name, value, route.hashing.nulls))
    return _signed(result)


def _signed(hash: Column) -> Column:
    return (hash.bitwiseXOR(F.lit(SIGN_BIT)) - F.lit(SIGN_BIT)).cast("int")


def partition_column(
    routes: Sequence[Route], counts: Mapping[str, int], table: Column, hash: Column, commit_ts: Column, row_id: Column,
) -> Column:
    """The partition as a Spark int: `routes` by table number, `counts` the partitions of each topic."""
    partitions = by_number([counts[route.topic] for route in routes], table)
    unsigned = hash.cast("long").bitwiseAND(F.lit(0xFFFFFFFF))
    number = F.when(by_number([route.dispatcher == "ts" for route in routes], table), commit_ts).otherwise(unsigned)
    if any(route.dispatcher == "row-id" for route in routes):
        by_row_id = by_number([route.dispatcher == "row-id" for route in routes], table)
        number = F.when(by_row_id, _unsigned(row_id) % partitions).otherwise(number)
    return (number % partitions).cast("int")


def _unsigned(number: Column) -> Column:
    """A long as the unsigned number of its bits."""
    wide = F.coalesce(number, F.lit(0)).cast("decimal(20,0)")
    return F.when(wide < 0, wide + F.lit(str(1 << 64)).cast("decimal(20,0)")).otherwise(wide)


def topic_column(routes: Sequence[Route], topics: Sequence[str], table: Column) -> Column:
    """The topic as a Spark int, its place in `topics`: `routes` by table number."""
    places = {topic: place for place, topic in enumerate(topics)}
    return by_number([places[route.topic] for route in routes], table).cast("int")


def _write(name: str, value: Column, nulls: bool) -> Column:
    """What a column's name and value, null for NULL, add to the hash."""
    prefix = F.encode(F.lit(name), "UTF-8")
    if nulls:
        return F.crc32(F.concat(prefix, F.coalesce(value, F.lit(NULL))))
    return F.coalesce(F.crc32(F.concat(prefix, value)), F.lit(0))


def _value(column: schema.Column, text: Column, hashing: Hashing) -> Column:
    """The bytes that are hashed for a column's TiDB text; null for NULL."""
    if types.is_binary(column.type):
        return F.encode(text, "ISO-8859-1")
    if column.type.name == "enum":
        text = F.array_position(F.array(*map(F.lit, column.type.elements)), text).cast("string")
    elif column.type.name == "set":
        text = _set_bits(column.type.elements, text)
    elif column.type.name == "float" and hashing.widens_float:
        text = _without_exponent(text.cast("float").cast("double").cast("string"))
    elif column.type.name in FLOATS:
        text = _without_exponent(text)
    elif column.type.name == "time" and not hashing.time_fraction:
        text = F.substring_index(text, ".", 1)
    return F.encode(text, "UTF-8")


def _set_bits(elements: Sequence[str], text: Column) -> Column:
    """The bitmap as unsigned decimal text: one binary digit per member, the last one first."""
    present = [F.when(F.find_in_set(F.lit(name), text) > 0, "1").otherwise("0") for name in reversed(elements)]
    bits = F.conv(F.concat(*present), 2, 10)
    return F.when(text == "", "0").when(text.isNotNull(), bits)


def _without_exponent(text: Column) -> Column:
    """A number's text as Go's strconv.FormatFloat(…, 'f', -1, …) writes it: no exponent, no trailing zeros."""
    sign, whole, part, exponent = (F.regexp_extract(text, NUMBER, group) for group in (1, 2, 3, 4))
    digits = F.concat(whole, part)
    point = F.length(whole) + F.when(exponent == "", 0).otherwise(exponent.cast("int"))
    zeros = F.repeat(F.lit("0"), F.abs(point))
    padded = F.when(point <= 0, F.concat(F.lit("0"), zeros, digits)).otherwise(F.concat(digits, zeros))
    place = F.greatest(point, F.lit(1))
    moved = F.concat(padded.substr(F.lit(1), place), F.lit("."), padded.substr(place + 1, F.length(padded)))
    plain = F.regexp_replace(F.regexp_replace(moved, r"\.?0*$", ""), r"^0+(?=\d)", "")
    return F.when(text.rlike(r"^-?(0|[1-9]\d*)(\.\d*[1-9])?$"), text).otherwise(F.concat(sign, plain))


def json_column(column: schema.Column, text: Column) -> Column:
    """The JSON of a value, from its bytes."""
    kind = single_column(column)
    if kind == "number":
        return text
    if kind == "base64":
        return F.concat(F.lit(b'"'), F.encode(F.base64(text), "UTF-8"), F.lit(b'"'))
    escaped = reduce(
        lambda string, one: F.replace(string, F.lit(one[0]), F.lit(one[1])), ESCAPES.items(), F.decode(text, "UTF-8")
    )
    return F.concat(F.lit(b'"'), F.encode(escaped, "UTF-8"), F.lit(b'"'))
