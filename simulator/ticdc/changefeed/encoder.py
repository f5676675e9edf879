"""What TiCDC's encoder refuses of its options, whatever they come from.

One law: same order, same codes, same texts as pkg/sink/codec/common/config.go Apply and Validate (before 6.0, SetParams
in cdc/sink/codec).
"""

from __future__ import annotations

from simulator.errors import ChangefeedError
from simulator.releases import Release, option_names
from simulator.ticdc.changefeed.protocols import PROTOCOLS
from simulator.ticdc.codecs.codec_options import CodecOptions


def check(options: CodecOptions, release: Release) -> None:
    """Raise ChangefeedError for options that the release's encoder does not take."""
    if options.only_output_updated_columns and not options.content_compatible and not options.enable_old_value:
        text = 'old value must be enabled when configuration "only-output-updated-columns" is true.'
        if option_names.UPDATED_COLUMNS <= release.options:
            raise ChangefeedError(text, release.codec_error)
    if options.enable_tidb_extension and not PROTOCOLS[options.protocol].tidb_extension(release):
        if release.tidb_extension_refusal:
            raise ChangefeedError(release.tidb_extension_refusal, release.codec_error)
    for name, value in (("bytes", options.max_message_bytes), ("size", options.max_batch_size)):
        if value <= 0:
            what = "max-message-bytes" if name == "bytes" else "max-batch-size"
            raise ChangefeedError(f"invalid {what} {value}", release.codec_error)
