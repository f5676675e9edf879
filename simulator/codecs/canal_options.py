"""Options as a release's Canal-JSON takes them. One law: what a release does not know it ignores, as TiCDC does."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import lru_cache

from simulator.codecs.options import CodecOptions
from simulator.releases import Release, option_names


@lru_cache(maxsize=256)
def known(options: CodecOptions, release: Release) -> CodecOptions:
    """The options without those that came later; content-compatible brings only-output-updated-columns, and a release
    that does not look at sizes has no largest message (tiflow v8.5.3: pkg/sink/codec/common/config.go)."""
    has = release.options.issuperset
    extended = options.enable_tidb_extension and release.tidb_extension
    compatible = options.content_compatible and has(option_names.COMPATIBLE)
    return replace(
        options,
        enable_tidb_extension=extended,
        content_compatible=compatible,
        only_output_updated_columns=(
            compatible or options.only_output_updated_columns and has(option_names.UPDATED_COLUMNS)),
        delete_only_output_handle_key_columns=(
            options.delete_only_output_handle_key_columns and has(option_names.DELETE_ONLY)),
        large_message_handle_option=_large(options, release),
        large_message_handle_compression=(
            options.large_message_handle_compression if has(option_names.COMPRESSION) else "none"),
        claim_check_raw_value=options.claim_check_raw_value and has(option_names.RAW_VALUE),
        max_message_bytes=options.max_message_bytes if release.canal_size_limit else sys.maxsize,
        output_row_key=options.output_row_key and extended and has(option_names.ROW_KEY),
        terminator=options.terminator if release.canal_ends_rows else "",
    )


def _large(options: CodecOptions, release: Release) -> str:
    needed = {"handle-key-only": option_names.LARGE_MESSAGES, "claim-check": option_names.CLAIM_CHECK}
    option = options.large_message_handle_option
    return option if option in needed and needed[option] <= release.options else "none"
