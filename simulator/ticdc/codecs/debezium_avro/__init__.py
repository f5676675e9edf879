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

from simulator.releases import Release, option_names
from simulator.ticdc.codecs.codec import Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.debezium.statements import CHANGES
from simulator.ticdc.codecs.debezium_avro.control_events import control_schemas, ddl, sends_ddl, watermark
from simulator.ticdc.codecs.debezium_avro.encoder import encode, schema
from simulator.ticdc.codecs.oversize import RECORD_OVERHEAD


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    return SizeRules(options.max_message_bytes, 1, RECORD_OVERHEAD, large_rows=True)


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    return Fidelity(
        old_values=supported_options(options, release).debezium_output_old_value,
        nulls=frozenset(("date", "datetime")),
        old_nulls=frozenset(("date", "datetime")),
    )


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """Change `op`, the letter before the number at the end, of whose bytes all but the last have the high bit."""
    key, value = entry
    place = len(value) - 1
    while value[place - 1] & 0x80:
        place -= 1
    return key, value[: place - 1] + b"x" + value[place:]


DEBEZIUM_AVRO = Codec(
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
    skips_ddl=lambda type_code: type_code not in CHANGES,
    ddl_needs_table=True,
    ddl=ddl,
    watermark=watermark,
    control_schemas=control_schemas,
    broadcasts_ddl=lambda release: True,
    sizes=_sizes,
    fidelity=_fidelity,
    with_unknown_type=_unknown_type,
)
