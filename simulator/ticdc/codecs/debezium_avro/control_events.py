"""DDL statements and watermarks of Debezium in Avro, which need enable-tidb-extension and avro-enable-watermark.

TiCDC makes Debezium's JSON and reads it back for Avro. The first schema of each kind stays for good, so that `source` has
the name of the first statement's database in the schema of all.
"""

from __future__ import annotations

import json
import re
from typing import Any

from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.debezium.statement_schemas import CHANGE_KEY, change_value
from simulator.ticdc.codecs.debezium.statements import ddl_payloads, watermark_payloads, watermark_schemas
from simulator.ticdc.codecs.debezium_avro.encoder import NULL, PRESENT, long, string
from simulator.ticdc.codecs.debezium_avro.schemas import Connect, avro_text, source
from simulator.ticdc.codecs.row_changes import STATEMENTS, DdlEvent, Schema
from simulator.ticdc.codecs.schema_registry import HEADER


def sends_ddl(options: CodecOptions, release: Release) -> bool:
    """Return whether DDL statements and watermarks are sent."""
    options = supported_options(options, release)
    return options.enable_tidb_extension and options.avro_enable_watermark


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Return key and value of a DDL statement, without the ids of their schemas."""
    key, value = ddl_payloads(event, options)
    return _message(key, CHANGE_KEY), _message(value, change_value(source(event.schema)))


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[bytes, bytes] | None:
    """Return key and value of a watermark, without the ids of their schemas; None if none is sent."""
    if not sends_ddl(options, release):
        return None
    key, value = watermark_payloads(ts, options)
    key_schema, value_schema = watermark_schemas(source("watermark"))
    return _message(key, key_schema), _message(value, value_schema)


def control_schemas(database: str | None, options: CodecOptions, release: Release) -> tuple[Schema, Schema]:
    """Return the schemas of key and value of a database's statements, or of watermarks."""
    if database is None:
        key, value = watermark_schemas(source("watermark"))
    else:
        key, value = CHANGE_KEY, change_value(source(database))
    return _registered(key), _registered(value)


def _registered(schema: Connect) -> Schema:
    return Schema(schema["name"], avro_text(schema), STATEMENTS)


def _message(payload: bytes, schema: Connect) -> bytes:
    text = LONE_SURROGATE.sub("\ufffd", payload.decode("utf-8", "surrogateescape"))
    return HEADER + _encoded(json.loads(text, strict=False), schema)


LONE_SURROGATE = re.compile("[\udc80-\udcff]")
"""Bytes that are no UTF-8, which Go's JSON loses."""


def _member(value: Any, schema: Connect) -> bytes:
    """Return a member of a struct; one that is missing is null."""
    found = value.get(schema["field"])
    if not schema["optional"]:
        return _encoded(found, schema)
    return NULL if found is None else PRESENT + _encoded(found, schema)


def _encoded(value: Any, schema: Connect) -> bytes:
    """Return a value of Kafka Connect in Avro."""
    match schema["type"]:
        case "struct":
            return b"".join(_member(value, field) for field in schema["fields"])
        case "array":
            items = b"".join(_encoded(each, schema["items"]) for each in value)
            return (long(len(value)) + items if value else b"") + long(0)
        case "string":
            return string(value)
        case "boolean":
            return b"\1" if value else b"\0"
    return long(int(value))
