"""Schemas of Debezium in Avro: those of Debezium for Kafka Connect, and what they become in Avro.

A struct of Kafka Connect is a record, a member that is optional a union of null and its type. What Kafka Connect says
besides is in `connect.name`, `connect.version`, `connect.parameters`, `connect.field` and `connect.type`. Members of the
JSON are in the order of their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs.avro.schemas import SCHEMA_REFUSED
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.debezium.schemas import LOG_FIELDS, TICDC_FIELDS, clean_name, described_column, member
from simulator.ticdc.codecs.debezium.values import CLUSTER
from simulator.ticdc.codecs.wire_text import quoted
from simulator.ticdc.table_info import handle_columns, visible_columns
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table

Connect: TypeAlias = "Mapping[str, Any]"
"""A schema of Kafka Connect."""

DECIMAL = "org.apache.kafka.connect.data.Decimal"
PRECISION, SCALE = 10, 0
"""Lengths of a DECIMAL that has none."""

PRIMITIVES = {
    **dict.fromkeys(("int8", "int16", "int32"), "int"),
    "int64": "long",
    **{name: name for name in ("boolean", "string", "bytes", "float", "double")},
}
"""Kafka Connect's types and Avro's."""


def namespace(schema: str) -> str:
    """Return the namespace of the schemas of a database's tables."""
    return f"{clean_name(CLUSTER)}.{clean_name(schema)}"


def row_name(table: Table) -> str:
    """Return the full name of the record of a table's row."""
    return f"{namespace(table.schema)}.{clean_name(table.name)}"


def source(schema: str) -> Connect:
    """Return the schema of `source` in the messages of a database's tables."""
    return {
        "type": "struct",
        "fields": [
            *(member("string", name) for name in ("version", "connector", "name")),
            member("int64", "ts_ms"),
            member("string", "snapshot", optional=True),
            *(member("string", name) for name in ("db", "table")),
            *LOG_FIELDS,
            *TICDC_FIELDS,
        ],
        "optional": False,
        "name": f"{namespace(schema)}.Source",
        "field": "source",
    }


def described(column: Column, options: CodecOptions, release: Release) -> Connect:
    """Return the schema of a column."""
    plain = {**described_column(column, options.enable_tidb_extension, release), "optional": True}
    match types.family(column.type):
        case "string" | "text" if types.is_binary(column.type):
            return {**plain, "type": "bytes"}
        case "integer" if types.exceeds_int64(column.type):
            is_string = options.avro_bigint_unsigned_handling_mode == "string"
            return {**plain, "type": "string"} if is_string else plain
        case "decimal" if options.avro_decimal_handling_mode == "precise":
            precision = PRECISION if column.type.length < 0 else column.type.length
            scale = SCALE if column.type.decimal < 0 else column.type.decimal
            parameters = {"precision": str(precision), "scale": str(scale)}
            return {**plain, "type": "bytes", "name": DECIMAL, "parameters": parameters}
        case "decimal":
            return {**plain, "type": "string"}
    return plain


def key_columns(table: Table, release: Release) -> tuple[Column, ...]:
    """Return the columns of keys."""
    handle = handle_columns(table, release)
    return tuple(column for column in table.columns if column.name in handle)


def value_columns(table: Table, selected: frozenset[str] | None, release: Release) -> tuple[Column, ...]:
    """Return the columns of rows in schemas, virtual ones perhaps twice; `selected` is what column selectors leave."""
    ordered = table.columns if release.debezium_virtual_fields == "twice" else visible_columns(table)
    virtual = [column for column in table.columns if column not in visible_columns(table)]
    return (*(column for column in ordered if selected is None or column.name in selected), *virtual)


@lru_cache(maxsize=1024)
def key_schema(table: Table, options: CodecOptions, release: Release) -> str:
    """Return the JSON of the schema of keys; raise EncodeError if goavro refuses it."""
    columns, name = key_columns(table, release), f"{row_name(table)}Key"
    _check_names(name, columns, "")
    fields = [described(column, options, release) for column in columns]
    return avro_text({"type": "struct", "name": name, "fields": fields})


@lru_cache(maxsize=1024)
def value_schema(table: Table, selected: frozenset[str] | None, options: CodecOptions, release: Release) -> str:
    """Return the JSON of the schema of values; raise EncodeError if goavro refuses it."""
    columns, name = value_columns(table, selected, release), row_name(table)
    _check_row(table, columns)
    row = {"type": "struct", "optional": True, "name": name}
    row["fields"] = [described(column, options, release) for column in columns]
    members = [
        {**row, "field": "before"},
        {**row, "field": "after"},
        source(table.schema),
        member("string", "op"),
        member("int64", "ts_ms"),
    ]
    return avro_text({"type": "struct", "name": f"{name}Envelope", "version": 1, "fields": members})


def _check_row(table: Table, columns: Sequence[Column]) -> None:
    """Raise EncodeError for a row whose schema goavro refuses, or takes for that of `source`."""
    name = row_name(table)
    if name.rpartition(".")[2] in ("Source", "record"):
        raise EncodeError(
            f"TiCDC would encode `source` with the schema of the row: the table {table.schema}.{table.name} has the name "
            f"of another type in the schema {name}Envelope"
        )
    outer = (
        f'Record "{name}Envelope" field 1 ought to be valid Avro named type: Union item 2 ought to be valid Avro type: '
    )
    _check_names(name, columns, outer)
    if hidden := [part.name for index in table.indexes for part in index.columns if part.expression]:
        raise _refusal(f'{outer}Record "{name}" field {len(columns) + 2} ought to have unique name', hidden[0])


def _check_names(record: str, columns: Sequence[Column], outer: str) -> None:
    """Raise EncodeError for the first name of a field that is there already."""
    names = [clean_name(column.name) for column in columns]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise _refusal(f'{outer}Record "{record}" field {place + 1} ought to have unique name', name)


def _refusal(text: str, name: str) -> EncodeError:
    return EncodeError(f'schema manager API error, %s: {text}: "{clean_name(name)}"', SCHEMA_REFUSED)


def avro_text(schema: Connect) -> str:
    """Return the JSON of the Avro schema of a schema of Kafka Connect."""
    return _json(_avro(schema, set())).decode()


def _avro(schema: Connect, defined: set[str]) -> Any:
    """Return the type in Avro; a record whose name is `defined` already is its name."""
    kind, metadata = schema["type"], _metadata(schema)
    match kind:
        case "struct":
            name = ".".join(map(clean_name, schema["name"].split(".")))
            if name in defined:
                return name
            defined.add(name)
            space, _, short = name.rpartition(".")
            fields = [_field(each, defined) for each in schema["fields"]]
            return {"type": "record", "name": short, "namespace": space, "fields": fields, **metadata}
        case "array":
            return {"type": "array", "items": _avro(schema["items"], defined), **metadata}
        case "bytes" if schema.get("name") == DECIMAL:
            lengths = {name: int(text) for name, text in schema["parameters"].items()}
            return {"type": "bytes", "logicalType": "decimal", **lengths, **metadata}
    if kind in ("int8", "int16"):
        metadata["connect.type"] = kind
    return {"type": PRIMITIVES[kind], **metadata} if metadata else PRIMITIVES[kind]


def _field(schema: Connect, defined: set[str]) -> dict[str, Any]:
    kind = _avro(schema, defined)
    named = {"name": clean_name(schema["field"]), "connect.field": schema["field"]}
    tidb_type = {"tidb_type": schema["tidb_type"]} if "tidb_type" in schema else {}
    if not schema.get("optional"):
        return {**named, **tidb_type, "type": kind}
    return {**named, **tidb_type, "type": ["null", kind], "default": None}


def _metadata(schema: Connect) -> dict[str, Any]:
    names = {"name": "connect.name", "version": "connect.version", "parameters": "connect.parameters"}
    return {shown: schema[name] for name, shown in names.items() if schema.get(name)}


def _json(value: Any) -> bytes:
    """Return JSON as encoding/json writes maps: without spaces, members in the order of their names."""
    match value:
        case None:
            return b"null"
        case str():
            return quoted(value, short_controls=True)
        case int():
            return b"%d" % value
        case list():
            return b"[" + b",".join(map(_json, value)) + b"]"
    return b"{" + b",".join(quoted(name, True) + b":" + _json(value[name]) for name in sorted(value)) + b"}"
