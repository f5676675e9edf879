"""Options as a release's Canal-JSON takes them. One law: what a release does not know it ignores, as TiCDC does."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import lru_cache

from simulator.releases import Release, option_names
from simulator.ticdc.codecs import options as every
from simulator.ticdc.codecs.options import CodecOptions


@lru_cache(maxsize=256)
def known(options: CodecOptions, release: Release) -> CodecOptions:
    """The options without those that came later; content-compatible brings only-output-updated-columns, and a release
    that does not look at sizes has no largest message (tiflow v8.5.3: pkg/sink/codec/common/config.go). What 7.2.0 has
    for large messages is Open Protocol's alone."""
    options = every.known(options, release)
    handles_large = bool(option_names.LARGE_MESSAGES & release.options)
    extended = options.enable_tidb_extension and release.tidb_extension
    return replace(
        options,
        enable_tidb_extension=extended,
        only_output_updated_columns=options.only_output_updated_columns or options.content_compatible,
        large_message_handle_option=options.large_message_handle_option if handles_large else "none",
        max_message_bytes=options.max_message_bytes if release.canal_size_limit else sys.maxsize,
        output_row_key=options.output_row_key and extended,
        terminator=options.terminator if release.canal_ends_rows else "",
    )
