"""Debezium in Avro: the messages of `debezium` in Confluent's wire format, their schemas in a registry.

* Key and value begin with a byte 0 and the id of their schema in 4 bytes.
* A schema is made of Debezium's (`schemas`). All columns can be null there, and have no defaults. A column has its name
  in `connect.field`, with enable-tidb-extension its type in `tidb_type`.
* DECIMAL is `bytes` of the logical type `decimal`, or `string` (avro-decimal-handling-mode). BIGINT UNSIGNED is `long`,
  which stops at numbers from 2^63 on, or `string` (avro-bigint-unsigned-handling-mode). Byte strings are `bytes`.
* Schemas are registered as `{topic}-key` and `{topic}-value`, and once more for a new schema version of the table.
* With enable-tidb-extension and avro-enable-watermark, which TiCDC has for its tests, there are Debezium's DDL statements
  and watermarks (`control_events`), whose schemas are registered under their own names.
* debezium-disable-schema and compression have no effect; there is no limit of a message's size.

Sources: ticdc v26.3.3, v26.3.4: pkg/sink/codec/debezium/avro.go, codec.go, encoder.go.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.releases import option_names
from simulator.ticdc.codecs.codec import KeyValue, Protocol
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.debezium import DEBEZIUM
from simulator.ticdc.codecs.debezium_avro.encoder import control_schemas, ddl, encode, schema, sends_ddl, watermark


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """Change `op`, the letter before the number at the end, of whose bytes all but the last have the high bit."""
    key, value = entry
    place = len(value) - 1
    while value[place - 1] & 0x80:
        place -= 1
    return key, value[: place - 1] + b"x" + value[place:]


DEBEZIUM_AVRO = replace(
    DEBEZIUM,
    protocol=Protocol(
        name="debezium-avro",
        title="Debezium Avro",
        settings=option_names.AVRO_MODES
        | option_names.AVRO_WATERMARK
        | option_names.DEBEZIUM_OLD
        | {"sink.schema-registry"},
        refusals={"force-replicate": "force-replicate must be disabled, when using avro or debezium-avro protocol"},
        tidb_extension=lambda release: "debezium-avro" in release.protocols,
        topics_name_tables=True,
    ),
    encode=encode,
    schema=schema,
    is_binary=lambda options: True,
    sends_ddl=sends_ddl,
    ddl=ddl,
    watermark=watermark,
    control_schemas=control_schemas,
    with_unknown_type=_unknown_type,
)
