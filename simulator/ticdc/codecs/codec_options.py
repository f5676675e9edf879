"""The encoder's options, as sink-uri and changefeed.toml set them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from simulator.releases import Release, option_names


@dataclass(frozen=True)
class CodecOptions:
    """TiCDC's own names with underscores (tiflow v8.5 pkg/sink/codec/common/config.go)."""

    protocol: str
    enable_tidb_extension: bool = False
    max_batch_size: int = 16
    """Rows in one Open Protocol message."""

    max_message_bytes: int = 10485760
    """Largest message as TiCDC counts it (key + value + 36 bytes of record overhead)."""

    only_output_updated_columns: bool = False
    """Whether columns that an UPDATE leaves as they are stay out of `p` and `old`."""

    delete_only_output_handle_key_columns: bool = False
    """Whether a DELETE holds nothing but the handle key."""

    large_message_handle_option: str = "none"
    """What becomes of a row above max-message-bytes: `none` is TiCDC's error, `handle-key-only` cuts it down,
    `claim-check` cuts it down and stores the whole message in a file."""

    large_message_handle_compression: str = "none"
    """`none`, `lz4` (frames) or `snappy` (blocks): how values are compressed before they are measured."""

    claim_check_storage_uri: str = field(default="", repr=False)
    """Where claim-check's files go."""

    claim_check_raw_value: bool = False
    """Whether such a file holds the value alone, not JSON with key and value in base64."""

    claim_check_compression: str = "none"
    """`none`, `lz4` or `snappy`: how the files themselves are compressed (7.3.0)."""

    claim_check_seed: int = 0
    """Decides the names of the files, random in TiCDC."""

    content_compatible: bool = False
    """Canal-JSON only: full `mysqlType`, and only_output_updated_columns with it."""

    output_old_value: bool = True
    """`[sink.open] output-old-value`: whether an Open Protocol UPDATE has `p`."""

    enable_old_value: bool = True
    """`enable-old-value`: without it an UPDATE has its new values alone and a DELETE its handle key alone."""

    output_row_key: bool = False
    """Whether `_tidb` of Canal-JSON has `rowkey` (new architecture)."""

    terminator: str = ""
    """What ends a row of Canal-JSON in the releases that send `[sink] terminator` to Kafka."""

    build_ts: int | None = None
    """Canal-JSON's `ts`, milliseconds, which is the wall clock in TiCDC; None: the physical time of commit_ts."""


_SETTINGS = {
    "only_output_updated_columns": option_names.UPDATED_COLUMNS,
    "delete_only_output_handle_key_columns": option_names.DELETE_ONLY,
    "large_message_handle_option": option_names.LARGE_MESSAGES | option_names.LARGE_MESSAGES_7_2,
    "large_message_handle_compression": option_names.COMPRESSION,
    "claim_check_raw_value": option_names.RAW_VALUE,
    "claim_check_compression": option_names.CLAIM_CHECK_7_3,
    "content_compatible": option_names.COMPATIBLE,
    "output_old_value": option_names.OPEN,
    "output_row_key": option_names.ROW_KEY,
}
"""Options that not every release has, and the settings that bring them, one of which is enough."""


def known_options(options: CodecOptions, release: Release) -> CodecOptions:
    """The options as the release understands them: those that it does not have are as if they were not set."""
    without = {name for name, settings in _SETTINGS.items() if not settings & release.options}
    if options.large_message_handle_option == "claim-check" and not option_names.CLAIM_CHECK & release.options:
        without.add("large_message_handle_option")
    unset: dict[str, Any] = {field.name: field.default for field in fields(options) if field.name in without}
    return replace(options, **unset)
