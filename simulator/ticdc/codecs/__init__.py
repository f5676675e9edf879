"""Protocols, keyed as TiCDC spells them. One law: a codec knows Arrow arrays and tables, no Spark and no Kafka."""

from __future__ import annotations

from simulator.ticdc.codecs.canal_json import CANAL_JSON
from simulator.ticdc.codecs.codec import Codec
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.open_protocol import OPEN_PROTOCOL
from simulator.ticdc.codecs.row_changes import DdlEvent, Encoded, Messages, Rows, StoredFile

__all__ = ["CODECS", "Codec", "CodecOptions", "DdlEvent", "Encoded", "Messages", "Rows", "StoredFile"]

CODECS = {codec.protocol.name: codec for codec in (OPEN_PROTOCOL, CANAL_JSON)}
