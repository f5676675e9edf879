"""TiCDC's Open Protocol."""

from simulator.consumer.decode.decoder import Decoder
from simulator.consumer.decode.open_protocol import columns, messages

DECODER = Decoder(
    messages.decode,
    messages.texts,
    messages.looks_like,
    "Open Protocol (a key that begins with version 1)",
    columns.COLUMNS,
)
