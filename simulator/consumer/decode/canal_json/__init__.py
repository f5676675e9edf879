"""TiCDC's Canal-JSON."""

from simulator.consumer.decode.canal_json import columns, comparable, messages
from simulator.consumer.decode.decoder import Decoder

DECODER = Decoder(
    messages.decode,
    lambda key, value: ((key, value),),
    messages.looks_like,
    "Canal-JSON (an object with isDdl)",
    comparable.comparable,
    columns.COLUMNS,
)
"""A message is one event."""
