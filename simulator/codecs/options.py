"""The encoder's options, as sink-uri and changefeed.toml set them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CodecOptions:
    """TiCDC's own names with underscores (tiflow v8.5 pkg/sink/codec/common/config.go)."""

    protocol: str
    enable_tidb_extension: bool = False
    max_batch_size: int = 16
    """Rows in one Open Protocol message."""

    max_message_bytes: int = 10485760
    """Largest message as TiCDC counts it (key + value + 36 bytes of record overhead)."""
