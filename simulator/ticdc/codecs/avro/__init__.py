"""Avro: Confluent's wire format, a record for the key and one for the value, their schemas in a registry.

* Key and value begin with a byte 0 and the id of their schema in 4 bytes.
* The key has the columns of the handle key, the value all columns; the value of a DELETE is null.
* With enable-tidb-extension a value ends with `_tidb_op` (`c` or `u`), `_tidb_commit_ts` and
  `_tidb_commit_physical_time`.
* Schemas are registered as `{topic}-key` and `{topic}-value`, a dot in the topic as `_`.
* With avro-enable-watermark, which TiCDC has for its tests, a DDL statement is a byte 1 and JSON, a watermark a byte 2
  and the TSO in 8 bytes; both go to every partition. Without it there are none.

Sources: tiflow v8.5.7: pkg/sink/codec/avro; docs: ticdc-avro-protocol.
"""

from __future__ import annotations

from simulator.releases import Release, option_names
from simulator.ticdc.codecs.avro.early import EARLY
from simulator.ticdc.codecs.avro.encoder import avro_options, ddl, encode, schema, sends_ddl, watermark
from simulator.ticdc.codecs.codec import Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.large_messages import RECORD_OVERHEAD


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    return SizeRules(options.max_message_bytes, 1, RECORD_OVERHEAD, large_rows=release.avro_records in EARLY)


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    extended = avro_options(options, release).enable_tidb_extension
    return Fidelity(
        databases=release.avro_records not in EARLY,
        old_values=False,
        hides_unchanged_updates=not extended,
        names_operations=extended,
        member_names=True,
    )


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    key, value = entry
    return key, b"\x09" + value[1:]


_NOT_YET = {"random": "its records have random names, and no texts; accepted: 4.0.6 and later"}

AVRO = Codec(
    protocol=Protocol(
        name="avro",
        title="Avro",
        aliases=frozenset({"flat-avro"}),
        settings=option_names.AVRO_MODES | option_names.AVRO_WATERMARK | {"sink.schema-registry", "?registry"},
        refusals={"force-replicate": "force-replicate must be disabled, when using avro protocol"},
        tidb_extension=lambda release: not release.kafka_refuses_tidb_extension,  # from 6.0
        row_checksums=True,
        topics_name_tables=True,
    ),
    not_simulated=lambda release: _NOT_YET.get(release.avro_records, ""),
    encode=encode,
    ddl=ddl,
    schema=schema,
    is_binary=lambda options: True,
    sends_ddl=sends_ddl,
    keeps_old_names=lambda release: release.avro_keeps_version,
    has_bare_deletes=lambda release: release.avro_key == "primary",
    watermark=watermark,
    broadcasts_ddl=lambda release: True,
    sizes=_sizes,
    fidelity=_fidelity,
    with_unknown_type=_unknown_type,
)
