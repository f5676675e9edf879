"""Canal-JSON: one JSON object per event, no key, one row per message.

`{"id":0,"database":…,"table":…,"pkNames":[…],"isDdl":false,"type":…,"es":…,"ts":…,"sql":"","sqlType":{…},
"mysqlType":{…},"old":…,"data":…,"_tidb":{"commitTs":…}}`

* Every value is a string or null, whatever its type: ENUM and SET are their numbers, FLOAT and DOUBLE have no exponent,
  bytes are Latin-1 text, everything else is its TiDB text.
* DDL statements have `isDdl` and `sql`; they go to the first partition of their topic from 5.4 on, before to all.
* `_tidb` and watermarks (`TIDB_WATERMARK`) exist with enable-tidb-extension only.
* `mysqlType`, whose order is random in TiCDC from 6.1.3 and 6.5, is in table order here; `ts`, TiCDC's wall clock, is
  CodecOptions.build_ts.

Sources: tiflow v8.5.3: pkg/sink/codec/canal; ticdc: pkg/sink/codec/canal; docs: canal-json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from simulator.releases import Release, option_names
from simulator.ticdc.codecs.canal_json.columns import mysql_type, sql_type
from simulator.ticdc.codecs.canal_json.encoder import canal_options, ddl, encode, watermark
from simulator.ticdc.codecs.codec import ZERO_FAMILIES, Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.large_messages import RECORD_OVERHEAD, compress, decompress
from simulator.tidb.model.types import ColumnType


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    return SizeRules(options.max_message_bytes, 1, RECORD_OVERHEAD, large_rows=not release.canal_size_limit)


def _topic_limit(release: Release) -> str:
    # TiCDC 4.0.16 compares for Open Protocol alone (tiflow v4.0.16: cdc/sink/producer/kafka/kafka.go topicPreProcess)
    return "ignored" if release.topic_limit == "refuses" else release.topic_limit


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    nulls = ZERO_FAMILIES if release.canal_zero_null else frozenset()
    if release.canal_text_null:
        nulls |= {"string", "text", "json"}
    return Fidelity(
        old_values=options.enable_old_value or not release.update_without_old_value,
        nulls=nulls,
        old_nulls=nulls,
        whole_seconds=release.canal_whole_seconds,
        milliseconds=not canal_options(options, release).enable_tidb_extension,
    )


def _column_fields(type: ColumnType, options: CodecOptions, release: Release) -> Mapping[str, str | int]:
    full = supported_options(options, release).content_compatible
    return {"mysqlType": mysql_type(type, full, release), "sqlType": sql_type(type, release)}


def _large_form(options: CodecOptions, release: Release) -> str:
    return canal_options(options, release).large_message_handle_option if release.canal_size_limit else "none"


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    compression = options.large_message_handle_compression
    text = decompress(entry[1], compression)
    return entry[0], compress(re.sub(rb'"type":"[A-Z]+"', b'"type":"UNKNOWN"', text, count=1), compression)


CANAL_JSON = Codec(
    protocol=Protocol(
        name="canal-json",
        title="Canal-JSON",
        settings=option_names.LARGE_MESSAGES | option_names.COMPATIBLE | option_names.ROW_KEY | {"sink.terminator"},
        tidb_extension=lambda release: True,
        old_values=lambda release: "forced" if release.canal_forces_old_value else "required",
        large_messages_need_extension=True,
        sinks=frozenset({"kafka", "storage"}),
    ),
    file_extension=".json",
    encode=encode,
    ddl=ddl,
    watermark=watermark,
    broadcasts_ddl=lambda release: not release.canal_ddl_in_partition_0,
    sizes=_sizes,
    topic_limit=_topic_limit,
    fidelity=_fidelity,
    column_fields=_column_fields,
    large_message_option=_large_form,
    with_unknown_type=_unknown_type,
)
