"""TiCDC's Simple, in JSON or Avro."""

from __future__ import annotations

from simulator.reader.decode.decoder import Decoder, SchemaMemory
from simulator.reader.decode.simple import columns, comparable, messages

DECODER = Decoder(
    messages.decode,
    lambda key, value: ((key, value),),
    messages.looks_like,
    "Simple (an object with version and buildTs, or Avro that begins with 0x16)",
    comparable.comparable,
    columns.COLUMNS,
    SchemaMemory(columns.may_tell, messages.told, messages.decode_told),
)
"""A message is one event; BOOTSTRAP is none."""
