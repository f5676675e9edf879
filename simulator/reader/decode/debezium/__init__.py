"""TiCDC's Debezium messages."""

from __future__ import annotations

from simulator.reader.decode.debezium import columns, comparable, messages
from simulator.reader.decode.decoder import Decoder

DECODER = Decoder(
    messages.decode,
    lambda key, value: ((key, value),),
    messages.looks_like,
    "Debezium (an object with payload and source)",
    comparable.comparable,
    columns.COLUMNS,
    always_timed=True,
)
"""A message is one event."""
