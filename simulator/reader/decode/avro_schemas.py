"""The schemas of Avro that messages name, and the values that are read by them (Avro's specification, "Schema
Declaration"; "Names").

A schema is checked as far as messages are read by it, so that one that is damaged is told and nothing else. fastavro
reads and writes texts as bytes here, which may be no UTF-8, and knows no logical types, whose Python values hold less.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any, TypeAlias

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import SchemaParseException

from simulator.limits import counted

PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
"""With points, as goavro takes the names of tables before 6.1."""
TEXTS = ("namespace", "logicalType", "connect.name", "connect.type", "connect.field")
"""What is a text, where it is there."""

DIGITS = 65
"""The most that a DECIMAL can have."""

AvroType: TypeAlias = "str | list[Any] | dict[str, Any]"
"""A type in a schema: a name, a union, or a description."""


@dataclass(frozen=True)
class RecordSchema:
    """The schema of a record in a registry."""

    description: Mapping[str, Any]
    """Its JSON."""

    wire: Any
    """What fastavro reads and writes by it."""


@lru_cache(maxsize=1024)
def record_schema(text: str) -> RecordSchema:
    """Return the schema of a record, given its JSON; raises ValueError if it is none."""
    schema = json.loads(text)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ValueError("its schema is no record")
    _check_type(schema, set())
    try:
        return RecordSchema(schema, parse_schema(_wire(schema)))
    except SchemaParseException as error:
        raise ValueError(f"its schema: {error}") from None


def read(content: bytes, schema: Any) -> Any:
    """Return the value that bytes encode: the fields of a record by name, and for a record in a union of several ones its
    name and itself. Raises ValueError for bytes that no encoder writes."""
    stream, written = BytesIO(content), BytesIO()
    try:
        value = schemaless_reader(stream, schema, return_named_type=True, return_named_type_override=True)
    except (EOFError, LookupError, OverflowError) as error:
        raise ValueError(f"at byte {stream.tell()}: {error}") from error
    if left := len(content) - stream.tell():
        raise ValueError(f"after the record: {counted(left, 'byte')}")
    schemaless_writer(written, schema, value)
    if written.getvalue() != content:
        raise ValueError("its bytes are not those that an encoder writes for its values")
    return value


def _wire(type: AvroType) -> Any:
    """Return a type as bytes have it."""
    if isinstance(type, list):
        return [*map(_wire, type)]
    if isinstance(type, str):
        return "bytes" if type == "string" else type
    match type["type"]:
        case "record":
            fields = [{"name": field["name"], "type": _wire(field["type"])} for field in type["fields"]]
            return {**{name: type[name] for name in ("type", "name", "namespace") if name in type}, "fields": fields}
        case "array":
            return {"type": "array", "items": _wire(type["items"])}
    return _wire(type["type"])


def _check_type(type: object, names: set[str]) -> None:
    """Raise ValueError for what is no type; `names` are those of the records so far."""
    if isinstance(type, list):
        if any(isinstance(branch, list) for branch in type) or all(branch == "null" for branch in type):
            raise ValueError("a union in its schema has no type besides null, or has a union in it")
        for branch in type:
            _check_type(branch, names)
    elif isinstance(type, dict):
        _check_description(type, names)
    elif not isinstance(type, str) or type not in PRIMITIVES | names:
        raise ValueError(f"type {type!r:.60} in its schema is not known")


def _check_description(type: Mapping[str, Any], names: set[str]) -> None:
    if wrong := next((name for name in TEXTS if not isinstance(type.get(name, ""), str)), None):
        raise ValueError(f"{wrong} in its schema is {type[wrong]!r:.60}, a text is expected")
    parameters = type.get("connect.parameters", {})
    if not isinstance(parameters, dict) or not all(isinstance(each, str) for each in parameters.values()):
        raise ValueError(f"connect.parameters in its schema are {parameters!r:.60}, texts are expected")
    match type.get("type"):
        case "record":
            _check_record(type, names)
        case "array":
            _check_type(type.get("items"), names)
        case str(kind) if kind in PRIMITIVES:
            if type.get("logicalType") == "decimal":
                _check_decimal(type)
        case other:
            raise ValueError(f"type {other!r:.60} in its schema is not known")


def _check_record(type: Mapping[str, Any], names: set[str]) -> None:
    fields = type.get("fields")
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        raise ValueError("a record in its schema has no fields")
    called = [type.get("name"), *(field.get("name") for field in fields)]
    if wrong := [name for name in called if not isinstance(name, str) or not NAME.fullmatch(name)]:
        raise ValueError(f"{wrong[0]!r:.60} in its schema is no name")
    full = f"{type['namespace']}.{type['name']}" if "namespace" in type else type["name"]
    if full in names or len({*called[1:]}) < len(fields):
        raise ValueError(f"a name in {full:.60}, or that name itself, is twice in its schema")
    for field in fields:
        _check_description({**field, "type": "null"}, names)
        _check_type(field.get("type"), names)
    names.add(full)  # after its fields, for no record has itself in it


def _check_decimal(type: Mapping[str, Any]) -> None:
    """Raise ValueError for lengths that no DECIMAL has."""
    lengths = type.get("precision"), type.get("scale", 0)
    match lengths:
        case int(precision), int(scale) if 0 <= scale <= precision <= DIGITS:
            return
    raise ValueError(f"precision and scale of a decimal in its schema are {lengths!r:.60}")
