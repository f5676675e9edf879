"""TiCDC's Debezium messages in Avro."""

from __future__ import annotations

from simulator.reader.decode.debezium_avro import comparable, messages
from simulator.reader.decode.decoder import Decoder

DECODER = Decoder(
    lambda key, value: messages.decode(key, value, {}),
    lambda key, value: ((key, value),),
    messages.looks_like,
    "Debezium in Avro (a byte 0 and the id of a schema)",
    comparable.comparable,
    with_schemas=messages.decode,
    always_timed=True,
)
"""A message is one event."""
