"""TiCDC's Canal-JSON."""

from __future__ import annotations

from simulator.reader.decode.canal_json import columns, comparable, messages
from simulator.reader.decode.decoder import Decoder

DECODER = Decoder(
    messages.decode,
    lambda key, value: ((key, value),),
    messages.looks_like,
    "Canal-JSON (an object with isDdl)",
    comparable.comparable,
    columns.COLUMNS,
)
"""A message is one event."""
