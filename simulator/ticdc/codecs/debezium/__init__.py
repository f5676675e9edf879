"""Debezium: JSON as Debezium's connector for MySQL writes it, one row per message.

`{"payload":{"source":{…,"commit_ts":…,"cluster_id":…},"ts_ms":…,"transaction":null,"op":"c","before":null,
"after":{…}},"schema":{…}}`

* `op` is `c` for an INSERT, `u` for an UPDATE, `d` for a DELETE, whose `after` stands before `before`.
* `schema` describes `payload` for Kafka Connect. debezium-disable-schema leaves it out.
* `[sink.debezium] output-old-value = false` leaves `before` out of UPDATEs.
* Numbers lose digits: DECIMAL is a float, BIGINT UNSIGNED wraps around (`values`).
* `ts_ms` of `payload`, TiCDC's wall clock, is CodecOptions.build_ts.
* The key, from 8.5.0 on, is `{"payload":{…},"schema":{…}}` with the columns of the handle key.
* From 8.5.1 on a column's default stands in place of NULL (`defaults`).
* There is no limit of a message's size.
* Classic TiCDC sends neither DDL statements nor watermarks. The new architecture sends statements to all partitions, as
  Debezium's schema changes (`statements`), and with enable-tidb-extension watermarks, whose `op` is `m`; columns have
  `tidb_type` then.

Sources: tiflow v8.5.7, ticdc v8.5.4 to v26.3.4: pkg/sink/codec/debezium; docs: ticdc-debezium.
"""

from __future__ import annotations

import re

from simulator.releases import Release, option_names
from simulator.ticdc.codecs.codec import Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.debezium.encoder import encode
from simulator.ticdc.codecs.debezium.statements import CHANGES, ddl, watermark
from simulator.ticdc.codecs.large_messages import RECORD_OVERHEAD, compress, decompress


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    return SizeRules(options.max_message_bytes, 1, RECORD_OVERHEAD, large_rows=True)


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    return Fidelity(
        old_values=supported_options(options, release).debezium_output_old_value,
        names_operations=True,
        nulls=frozenset(("date", "datetime")),
        old_nulls=frozenset(("date", "datetime")),
        time_zone=options.time_zone,
        null_is_default=release.debezium_null_is_default,
    )


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    compression = options.large_message_handle_compression
    text = decompress(entry[1], compression)
    return entry[0], compress(re.sub(rb'"op":"[a-z]"', b'"op":"x"', text, count=1), compression)


DEBEZIUM = Codec(
    protocol=Protocol(
        name="debezium",
        title="Debezium",
        settings=option_names.DEBEZIUM_SCHEMA | option_names.DEBEZIUM_OLD,
        tidb_extension=lambda release: release.debezium_statements,
    ),
    encode=encode,
    sends_ddl=lambda options, release: release.debezium_statements,
    skips_ddl=lambda type_code: type_code not in CHANGES,
    ddl_needs_table=True,
    ddl=ddl,
    watermark=watermark,
    broadcasts_ddl=lambda release: True,
    sizes=_sizes,
    fidelity=_fidelity,
    with_unknown_type=_unknown_type,
)
