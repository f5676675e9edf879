"""TiCDC's Open Protocol."""

from __future__ import annotations

from simulator.reader.decode.decoder import Decoder
from simulator.reader.decode.open_protocol import columns, comparable, messages

DECODER = Decoder(
    messages.decode,
    messages.texts,
    messages.looks_like,
    "Open Protocol (a key that begins with version 1)",
    comparable.comparable,
    columns.COLUMNS,
)
