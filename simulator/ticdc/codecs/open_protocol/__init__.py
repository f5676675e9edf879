"""Open Protocol: JSON keys and values, several rows per message.

* A message is version 1, then the length of each key before it, in the value likewise.
* A key is `{"ts":…,"scm":…,"tbl":…,"t":1}`; `t` is 1 for a row, 2 for a DDL statement, 3 for a watermark.
* The value of a row is `{"u":{…},"p":{…}}` or `{"d":{…}}`, a column `{"t":type,"h":true,"f":flags,"v":value}`.
* The value of a DDL statement is `{"q":query,"t":action type}`; a watermark has none.
* DDL statements and watermarks go to every partition of their topic.

Sources: tiflow v8.5.3: pkg/sink/codec/open, pkg/sink/codec/internal; ticdc: pkg/sink/codec/open; docs: open-protocol.
"""

from __future__ import annotations

import re
import sys

from simulator.releases import Release, option_names
from simulator.ticdc.codecs.codec import ZERO_FAMILIES, Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.open_protocol.encoder import ddl, encode, frame_open, overhead, watermark


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    has_limits = release.open_batch_size
    return SizeRules(
        options.max_message_bytes if has_limits else sys.maxsize,
        options.max_batch_size if has_limits else sys.maxsize,
        overhead(release),
        large_rows=not release.size_error,
    )


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    outputs_old = options.output_old_value or not release.open_old_optional
    without_old = release.update_without_old_value and not options.enable_old_value
    nulls = ZERO_FAMILIES if release.open_zero_is_null else frozenset()
    return Fidelity(
        old_values=outputs_old and release.open_old_values and not without_old,
        hides_unchanged_updates=options.only_output_updated_columns and not release.open_old_always,
        nulls=nulls,
        old_nulls=ZERO_FAMILIES if release.open_old_zero_is_null else nulls,
        whole_seconds=not release.open_time_fraction,
    )


def _large_form(options: CodecOptions, release: Release) -> str:
    return supported_options(options, release).large_message_handle_option if release.size_error else "none"


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    key, value = entry
    return re.sub(rb',"t":1', b',"t":9', key or b"", count=1), value


OPEN_PROTOCOL = Codec(
    protocol=Protocol(
        name="open-protocol",
        title="Open Protocol",
        aliases=frozenset({"default"}),
        settings=option_names.LARGE_MESSAGES | option_names.LARGE_MESSAGES_7_2 | option_names.OPEN,
        refusals=dict.fromkeys(option_names.RAW_VALUE, "raw value is not supported for the open protocol"),
        is_fallback=True,
    ),
    batches=True,
    encode=encode,
    frame=frame_open,
    ddl=ddl,
    watermark=watermark,
    broadcasts_ddl=lambda release: True,
    sizes=_sizes,
    fidelity=_fidelity,
    large_message_option=_large_form,
    with_unknown_type=_unknown_type,
)
