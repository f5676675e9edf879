"""Protocols, keyed as TiCDC spells them. One law: a codec knows Arrow arrays and tables, no Spark and no Kafka."""

from __future__ import annotations

from simulator.ticdc.codecs import framing
from simulator.ticdc.codecs.canal_json import json as canal_json
from simulator.ticdc.codecs.codec import Codec
from simulator.ticdc.codecs.open_protocol import protocol as open_protocol
from simulator.ticdc.codecs.options import CodecOptions
from simulator.ticdc.codecs.rows import DdlEvent, Encoded, Messages, Rows, StoredFile

__all__ = ["CODECS", "Codec", "CodecOptions", "DdlEvent", "Encoded", "Messages", "Rows", "StoredFile"]

CODECS = {
    "open-protocol": Codec(open_protocol.encode, framing.frame_open, open_protocol.ddl, open_protocol.watermark),
    "canal-json": Codec(canal_json.encode, framing.frame_single, canal_json.ddl, canal_json.watermark),
}
