"""TiCDC's Avro."""

from __future__ import annotations

from simulator.reader.decode.avro import comparable, messages
from simulator.reader.decode.decoder import Decoder

DECODER = Decoder(
    lambda key, value: messages.decode(key, value, {}),
    lambda key, value: ((key, value),),
    messages.looks_like,
    "Avro (a byte 0 and the id of a schema)",
    comparable.comparable,
    with_schemas=messages.decode,
    sequential=True,
    sent_name=messages.sent_name,
)
"""A message is one event."""
