"""The encoder's options, as sink-uri and changefeed.toml set them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from simulator.releases import Release, option_names


@dataclass(frozen=True)
class CsvOptions:
    """`[sink.csv]` by TiCDC's names, with underscores."""

    delimiter: str = ","
    quote: str = '"'
    """The quote character; empty for escapes instead."""

    null: str = "\\N"
    include_commit_ts: bool = False
    binary_encoding_method: str = "base64"
    """`base64` or `hex`."""

    output_old_value: bool = False
    output_handle_key: bool = False
    output_field_header: bool = False


@dataclass(frozen=True)
class CodecOptions:
    """The encoder's options by TiCDC's names, with underscores (tiflow v8.5 pkg/sink/codec/common/config.go)."""

    protocol: str
    enable_tidb_extension: bool = False
    max_batch_size: int = 16
    """Rows in one Open Protocol message."""

    max_message_bytes: int = 10485760
    """Maximum size of a message as TiCDC counts it (key + value + 36 bytes of record overhead)."""

    only_output_updated_columns: bool = False
    """Whether `p` and `old` have only the columns that an UPDATE changes."""

    delete_only_output_handle_key_columns: bool = False
    """Whether a DELETE has only the handle key."""

    large_message_handle_option: str = "none"
    """How a row above max-message-bytes is sent: `none` raises TiCDC's error, `handle-key-only` sends the handle
    key, `claim-check` sends it and stores the whole message in a file."""

    large_message_handle_compression: str = "none"
    """`none`, `lz4` (frames) or `snappy` (blocks): the compression of values before they are measured."""

    claim_check_storage_uri: str = field(default="", repr=False)
    """The storage of claim-check's files."""

    claim_check_raw_value: bool = False
    """Whether a file holds only the value, not JSON with key and value in base64."""

    claim_check_compression: str = "none"
    """`none`, `lz4` or `snappy`: the compression of the files (7.3.0)."""

    claim_check_seed: int = 0
    """Seed of the file names, which are random in TiCDC."""

    content_compatible: bool = False
    """Canal-JSON only: full `mysqlType`; implies only_output_updated_columns."""

    output_old_value: bool = True
    """`[sink.open] output-old-value`: whether an Open Protocol UPDATE has `p`."""

    debezium_disable_schema: bool = False
    """Debezium only: whether messages are without `schema`."""

    debezium_output_old_value: bool = True
    """`[sink.debezium] output-old-value`: whether a Debezium UPDATE has `before`."""

    avro_decimal_handling_mode: str = "precise"
    """Avro only: whether a DECIMAL is a number of the logical type decimal (`precise`) or a `string`."""

    avro_bigint_unsigned_handling_mode: str = "long"
    """Avro only: whether a BIGINT UNSIGNED is a `long`, which wraps from 2^63 on, or a `string`."""

    avro_enable_watermark: bool = False
    """Avro only, with enable_tidb_extension: whether DDL statements and watermarks are sent."""

    schema_registry: str = field(default="", repr=False)
    """Avro only: the URL of the schema registry."""

    schema_registry_tls: bool = False
    """Avro only: whether the TLS files of the sink-uri are for the registry, too."""

    enable_old_value: bool = True
    """`enable-old-value`: without it an UPDATE has only its new values and a DELETE only its handle key."""

    output_row_key: bool = False
    """Whether `_tidb` of Canal-JSON has `rowkey` (new architecture)."""

    terminator: str = ""
    """The end of a row in a storage, and of Canal-JSON in releases that send `[sink] terminator` to Kafka."""

    stores_rows: bool = False
    """Whether rows go to a storage, not to Kafka."""

    csv: CsvOptions = CsvOptions()

    encoding_format: str = "json"
    """Simple only: `json` or `avro`."""

    send_bootstrap_interval_in_sec: int = 120
    """Simple: a table's BOOTSTRAP is repeated after so many seconds; no BOOTSTRAP at all unless this is positive."""

    send_bootstrap_in_msg_count: int = 10000
    """Simple: … or after so many rows; no BOOTSTRAP at all unless this is positive."""

    send_bootstrap_to_all_partition: bool = True
    """Simple: whether BOOTSTRAP goes to every partition, not just the first."""

    send_all_bootstrap_at_start: bool = False
    """Simple: whether the changefeed begins with BOOTSTRAP of all tables."""

    row_checksums: bool = False
    """Whether rows have their checksums (`integrity-check-level = correctness`), in Simple and Avro."""

    time_zone: str = ""
    """The time zone of TiCDC's servers; empty for that of machines in UTC."""

    build_ts: int | None = None
    """Canal-JSON's `ts` and Debezium's `ts_ms` in milliseconds, the wall clock in TiCDC; None means the physical time of
    commit_ts."""


_SETTINGS = {
    "only_output_updated_columns": option_names.UPDATED_COLUMNS,
    "delete_only_output_handle_key_columns": option_names.DELETE_ONLY,
    "large_message_handle_option": option_names.LARGE_MESSAGES | option_names.LARGE_MESSAGES_7_2,
    "large_message_handle_compression": option_names.COMPRESSION,
    "claim_check_raw_value": option_names.RAW_VALUE,
    "claim_check_compression": option_names.CLAIM_CHECK_7_3,
    "content_compatible": option_names.COMPATIBLE,
    "output_old_value": option_names.OPEN,
    "debezium_disable_schema": option_names.DEBEZIUM_SCHEMA,
    "debezium_output_old_value": option_names.DEBEZIUM_OLD,
    "output_row_key": option_names.ROW_KEY,
    "avro_enable_watermark": option_names.AVRO_WATERMARK,
}
"""Options that only some releases have, and the settings in `Release.options` any of which enables each."""


def supported_options(options: CodecOptions, release: Release) -> CodecOptions:
    """Return the options with those that the release does not have reset to their defaults."""
    missing = {name for name, settings in _SETTINGS.items() if not settings & release.options}
    if options.large_message_handle_option == "claim-check" and not option_names.CLAIM_CHECK & release.options:
        missing.add("large_message_handle_option")
    defaults: dict[str, Any] = {field.name: field.default for field in fields(options) if field.name in missing}
    return replace(options, **defaults)
