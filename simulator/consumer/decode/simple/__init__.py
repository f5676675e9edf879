"""TiCDC's Simple, in JSON or Avro."""

from simulator.consumer.decode.decoder import Decoder
from simulator.consumer.decode.simple import messages

DECODER = Decoder(
    messages.decode,
    lambda key, value: ((key, value),),
    messages.looks_like,
    "Simple (an object with version and buildTs, or Avro that begins with 0x16)",
    is_typed=False,
)
"""A message is one event; BOOTSTRAP is none."""
