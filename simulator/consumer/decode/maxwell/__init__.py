"""TiCDC's Maxwell."""

from simulator.consumer.decode.decoder import Decoder
from simulator.consumer.decode.maxwell import comparable, messages

DECODER = Decoder(
    messages.decode,
    messages.texts,
    messages.looks_like,
    "Maxwell (objects with database, table, type and ts)",
    comparable.comparable,
    sequential=True,
)
"""Rows say their time in seconds, so that their place in the partition tells the order."""
