"""The encoder's options, as sink-uri and changefeed.toml set them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from simulator.releases import Release


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

    claim_check_storage_uri: str = ""
    """Where claim-check's files go."""

    claim_check_raw_value: bool = False
    """Whether such a file holds the value alone, not JSON with key and value in base64."""

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


_LARGE = "sink.kafka-config.large-message-handle"
_SETTINGS = {
    "only_output_updated_columns": {"?only-output-updated-columns"},
    "delete_only_output_handle_key_columns": {"sink.delete-only-output-handle-key-columns"},
    "large_message_handle_option": {_LARGE, "sink.large-message-only-handle-key-columns"},
    "large_message_handle_compression": {f"{_LARGE}.large-message-handle-compression"},
    "claim_check_raw_value": {f"{_LARGE}.claim-check-raw-value"},
    "content_compatible": {"?content-compatible"},
    "output_old_value": {"sink.open"},
    "output_row_key": {"?output-row-key"},
}
"""Options that not every release has, and what `Release.options` calls them."""


def known(options: CodecOptions, release: Release) -> CodecOptions:
    """The options as the release understands them: those that it does not have are as if they were not set."""
    unset: dict[str, Any] = {
        field.name: field.default for field in fields(options)
        if field.name in _SETTINGS and not _SETTINGS[field.name] & release.options}
    return replace(options, **unset)
