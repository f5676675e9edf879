"""Open Protocol: key and value JSON per row, several rows to a message.

* a message: version 1 and the length of each key, and of each value, before it
* key: `{"ts":…,"scm":…,"tbl":…,"t":1}`, `t` being 1 for a row, 2 for a statement, 3 for a watermark
* value of a row: `{"u":{…},"p":{…}}` or `{"d":{…}}`, a column `{"t":type,"h":true,"f":flags,"v":value}`
* value of a statement: `{"q":query,"t":action type}`; of a watermark: none
* statements and watermarks go to every partition of their topic

(tiflow v8.5.3: pkg/sink/codec/open, pkg/sink/codec/internal; ticdc: pkg/sink/codec/open; docs: open-protocol).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from simulator.releases import Release, option_names
from simulator.ticdc.codecs.codec import ZEROS, Codec, Entry, Fidelity, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions, known_options
from simulator.ticdc.codecs.open_protocol.encoder import ddl, encode, watermark
from simulator.ticdc.codecs.open_protocol.framing import frame_open, overhead
from simulator.tidb.model.types import ColumnType


def _ddl_everywhere(release: Release) -> bool:
    return True


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    looks = release.open_batch_size
    return SizeRules(
        options.max_message_bytes if looks else sys.maxsize,
        options.max_batch_size if looks else sys.maxsize,
        overhead(release),
        large_rows=not release.size_error,
    )


def _topic_limit(release: Release) -> str:
    return release.topic_limit


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    wanted = options.output_old_value or not release.open_old_optional
    without = release.update_without_old_value and not options.enable_old_value
    nulls = ZEROS if release.open_zero_is_null else frozenset()
    return Fidelity(
        old_values=wanted and release.open_old_values and not without,
        hides_same=options.only_output_updated_columns and not release.open_old_always,
        nulls=nulls,
        old_nulls=ZEROS if release.open_old_zero_is_null else nulls,
        whole_seconds=not release.open_time_fraction,
    )


def _column_fields(type: ColumnType, options: CodecOptions, release: Release) -> Mapping[str, str | int]:
    return {}


def _large_form(options: CodecOptions, release: Release) -> str:
    return known_options(options, release).large_message_handle_option if release.size_error else "none"


def _unknown_type(entry: Entry, options: CodecOptions) -> Entry:
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
    ddl_everywhere=_ddl_everywhere,
    sizes=_sizes,
    topic_limit=_topic_limit,
    fidelity=_fidelity,
    column_fields=_column_fields,
    large_form=_large_form,
    unknown_type=_unknown_type,
)
