"""TiCDC's Open Protocol."""

from simulator.consumer.decode.decoder import Decoder
from simulator.consumer.decode.open_protocol import columns, comparable, messages

DECODER = Decoder(
    messages.decode,
    messages.texts,
    messages.looks_like,
    "Open Protocol (a key that begins with version 1)",
    comparable.comparable,
    columns.COLUMNS,
)
