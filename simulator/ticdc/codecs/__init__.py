"""The codecs of the simulated protocols by TiCDC's names. They need Arrow, but neither Spark nor Kafka."""

from __future__ import annotations

from simulator.ticdc.codecs.avro import AVRO
from simulator.ticdc.codecs.canal_json import CANAL_JSON
from simulator.ticdc.codecs.codec import Codec
from simulator.ticdc.codecs.codec_options import CodecOptions, CsvOptions
from simulator.ticdc.codecs.csv import CSV
from simulator.ticdc.codecs.debezium import DEBEZIUM
from simulator.ticdc.codecs.debezium_avro import DEBEZIUM_AVRO
from simulator.ticdc.codecs.maxwell import MAXWELL
from simulator.ticdc.codecs.open_protocol import OPEN_PROTOCOL
from simulator.ticdc.codecs.row_changes import (
    DdlEvent,
    EncodedRows,
    Messages,
    RowChanges,
    Schema,
    StoredFile,
    TableInfo,
)
from simulator.ticdc.codecs.simple import SIMPLE

CODECS = {
    codec.protocol.name: codec
    for codec in (OPEN_PROTOCOL, CANAL_JSON, DEBEZIUM, DEBEZIUM_AVRO, SIMPLE, AVRO, MAXWELL, CSV)
}
