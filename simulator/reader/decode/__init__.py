"""Decodes messages into events, for people and for the checks. It shares no code with the encoders, so that it finds
their mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from simulator.errors import UserError, did_you_mean
from simulator.files import PARSE_ERRORS, parse_error_reason
from simulator.reader.decode.decoder import Decoder, JsonColumns, SchemaMemory
from simulator.reader.decode.message_bytes import claim_check_message
from simulator.reader.events import (
    LEAVING,
    LOST,
    DdlEvent,
    Event,
    Image,
    RowEvent,
    TableSchemas,
    Watermark,
    before_image,
    is_exact,
    time_of,
)
from simulator.registry import Registry

DECODERS = Registry[Decoder](
    {
        "open-protocol": "simulator.reader.decode.open_protocol:DECODER",
        "canal-json": "simulator.reader.decode.canal_json:DECODER",
        "debezium": "simulator.reader.decode.debezium:DECODER",
        "debezium-avro": "simulator.reader.decode.debezium_avro:DECODER",
        "simple": "simulator.reader.decode.simple:DECODER",
        "avro": "simulator.reader.decode.avro:DECODER",
        "maxwell": "simulator.reader.decode.maxwell:DECODER",
    }
)
"""By TiCDC's name of the protocol; one that is recognised by more comes before the other."""


def protocol_of(key: bytes | None, value: bytes | None) -> str:
    """Return the protocol that a message looks like; raises UserError if there is none."""
    for name, decoder in DECODERS.items():
        if decoder.recognised(key, value):
            return name
    raise UserError(f"neither {' nor '.join(decoder.looks for decoder in DECODERS.values())}")


def is_sequential(protocol: str | None) -> bool:
    """Return whether only the place of rows in their partition tells their order."""
    decoder = DECODERS.get(protocol or "")
    return decoder is not None and decoder.sequential


def json_columns(protocol: str | None) -> JsonColumns | None:
    """Return how the protocol is read by columns; None if it is unknown, or read one by one only."""
    decoder = DECODERS.get(protocol or "")
    return None if decoder is None else decoder.columns


def schema_memory(protocol: str | None) -> SchemaMemory | None:
    """Return how the protocol's table schemas are remembered; None if it is unknown, or rows say their types."""
    decoder = DECODERS.get(protocol or "")
    return None if decoder is None else decoder.memory


def decode(
    key: bytes | None,
    value: bytes | None,
    protocol: str | None = None,
    schemas: Mapping[int, str] = MappingProxyType({}),
    told: TableSchemas | None = None,
) -> tuple[Event, ...]:
    """Return the events of one Kafka message, in order; raises UserError with the reason if it cannot be read.

    `schemas` are those of the registry by id, for protocols whose messages name them. `told` are the table schemas that
    earlier messages told, to which those of this one are added; without it the columns of such protocols have no types.
    """
    name = protocol or protocol_of(key, value)
    if name not in DECODERS:
        raise UserError(f"no decoder for protocol {name!r}.{did_you_mean(name, DECODERS)} Known: {', '.join(DECODERS)}")
    try:
        decoder = DECODERS[name]
        if decoder.memory is not None and told is not None:
            return decoder.memory.decode(key, value, told)
        return decoder.decode(key, value) if decoder.with_schemas is None else decoder.with_schemas(key, value, schemas)
    except PARSE_ERRORS as error:
        article = "an" if name[0] in "aeiou" else "a"
        missing = f"member {error} is missing" if isinstance(error, KeyError) else ""
        reason = missing or parse_error_reason(error) or type(error).__name__
        raise UserError(f"not {article} {name} message: {reason}") from error


def told_schemas(key: bytes | None, value: bytes | None, protocol: str | None = None) -> TableSchemas:
    """Return the table schemas that a readable message tells."""
    memory = DECODERS[protocol or protocol_of(key, value)].memory
    return {} if memory is None else memory.told(key, value)


def fetch_claim_check(
    event: RowEvent, read: Callable[[str], bytes], protocol: str, told: TableSchemas | None = None
) -> RowEvent:
    """Return a claim-check row with all columns; raises UserError if its file cannot be read or has another row."""
    content = read(event.stored_at)
    try:
        events = decode(*claim_check_message(content), protocol, told=told)
    except (ValueError, TypeError, UserError) as error:
        raise UserError(f"{event.stored_at} holds no message: {error}") from error
    match events:
        case (RowEvent() as row,) if _same_row(event, row):
            return row
    raise UserError(f"{event.stored_at} holds another row than the message that names it")


def _same_row(cut: RowEvent, full: RowEvent) -> bool:
    """Return whether a row that is cut down is that of a file. Old values that an UPDATE did not change may be left out, so that
    one of Open Protocol without any looks like an INSERT."""
    updates = full.op == "UPDATE" and cut.op in ("INSERT", "UPDATE")
    places = ((row.commit_ts, row.schema, row.table, "" if updates else row.op) for row in (cut, full))
    before = {**(cut.before or {}), **(full.before or {})} if updates else full.before
    sides = (cut.before, before), (cut.after, full.after)
    return len({*places}) == 1 and all(
        side is not None and small.items() <= side.items() for small, side in sides if small is not None
    )
