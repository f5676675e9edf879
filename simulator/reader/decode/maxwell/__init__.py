"""TiCDC's Maxwell."""

from __future__ import annotations

from simulator.reader.decode.decoder import Decoder
from simulator.reader.decode.maxwell import comparable, messages

DECODER = Decoder(
    messages.decode,
    messages.texts,
    messages.looks_like,
    "Maxwell (objects with database, table, type and ts)",
    comparable.comparable,
    sequential=True,
)
"""Rows say their time in seconds, so that their place in the partition tells the order."""
