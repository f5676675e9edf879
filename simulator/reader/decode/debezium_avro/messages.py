"""Decodes TiCDC's Debezium messages in Avro (ticdc v26.3.3: pkg/sink/codec/debezium/avro_decoder.go).

A message is one event. A record is read as Debezium's JSON, from which `debezium.messages` makes the event.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial

from simulator.reader.decode.avro_schemas import HEADER, schema_text
from simulator.reader.decode.connect_texts import CONNECT
from simulator.reader.decode.debezium.messages import payload_event
from simulator.reader.decode.debezium_avro import records
from simulator.reader.decode.stream_events import ColumnInfo, Event

SOURCE = b"\x162.4.0.Final\x0aTiCDC"
"""The beginning of `source`: two texts, each after the double of its length."""


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    return value is not None and value[:1] == b"\0" and SOURCE in value


def decode(key: bytes | None, value: bytes | None, schemas: Mapping[int, str]) -> tuple[Event, ...]:
    """Return the event of one message; raises ValueError or KeyError if it is invalid or its schema is not known."""
    if value is None:
        raise ValueError("the value is null")
    text = schema_text(value, schemas)
    payload = records.parsed(text).read(value[HEADER:])
    keys = tuple(_keys(key, schemas))
    return (payload_event(payload, partial(_columns, schema=text, keys=keys)),)


def _keys(key: bytes | None, schemas: Mapping[int, str]) -> Mapping[str, object]:
    if key is None:
        return {}
    return records.parsed(schema_text(key, schemas)).read(key[HEADER:])


@lru_cache(maxsize=1024)
def _columns(names: tuple[str, ...], schema: str, keys: tuple[str, ...]) -> Mapping[str, ColumnInfo]:
    types = records.parsed(schema).column_types()
    return {name: ColumnInfo(CONNECT + types[name], key=name in keys) for name in names}
