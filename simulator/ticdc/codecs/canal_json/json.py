"""Canal-JSON: one JSON object per event, no key; the protocol's door.

`{"id":0,"database":…,"table":…,"pkNames":[…],"isDdl":false,"type":…,"es":…,"ts":…,"sql":"","sqlType":{…},
"mysqlType":{…},"old":…,"data":…,"_tidb":{"commitTs":…}}` (tiflow v8.5.3:
pkg/sink/codec/canal/canal_json_row_event_encoder.go). One law: every value is a string or null, whatever its type.

* ENUM and SET: their numbers; FLOAT and DOUBLE without an exponent; bytes as Latin-1 text; everything else as it is
* `mysqlType`, whose order is random in TiCDC from 6.1.3 and 6.5, is in table order there; `ts`, TiCDC's wall clock, is
  CodecOptions.build_ts
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs.canal_json.events import ddl, ddl_type, watermark
from simulator.ticdc.codecs.canal_json.options import known
from simulator.ticdc.codecs.canal_json.refusals import refuse_selection, refuse_unsigned_nulls
from simulator.ticdc.codecs.canal_json.rows import Cut, row_values
from simulator.ticdc.codecs.framing import frame_single
from simulator.ticdc.codecs.operations import by_operation
from simulator.ticdc.codecs.options import CodecOptions
from simulator.ticdc.codecs.oversize import RECORD_OVERHEAD, limited
from simulator.ticdc.codecs.rows import Encoded, Messages, Rows

__all__ = ["ddl", "ddl_type", "encode", "watermark"]


def encode(rows: Rows, options: CodecOptions, release: Release) -> Encoded:
    """Values of the rows. Raises EncodeError: CDC:ErrMessageTooLarge for a row above max-message-bytes, and for a row
    that the release crashes on."""
    options = known(options, release)
    rows = rows if options.enable_old_value else _without_old_values(rows)
    if release.canal_fails_on_unsigned_null:
        refuse_unsigned_nulls(rows)
    refuse_selection(rows, options, release)
    encoded = _encode(rows, options, release, None)

    def cut(large: Rows, locations: pa.Array | None) -> Encoded:
        return _encode(large, options, release, Cut(locations))

    def whole(large: Encoded) -> Messages:
        return frame_single(large, np.arange(len(large.values)), options, release)

    # 7.3.0 makes a file's name once more for the message (tiflow v7.3.0: canal_json_row_event_encoder.go)
    return limited(
        encoded, rows, options, RECORD_OVERHEAD + _clock_bytes(options), cut, whole, release, named_anew=True)


def _clock_bytes(options: CodecOptions) -> int:
    """What the wall clock, milliseconds in 13 digits, is longer than what stands in for it."""
    return 0 if options.build_ts is None else 13 - len(str(options.build_ts))


def _encode(rows: Rows, options: CodecOptions, release: Release, cut: Cut | None) -> Encoded:
    count = len(table_info.visible_columns(rows.table))
    return Encoded(None, by_operation(rows, count, partial(row_values, options=options, release=release, cut=cut)))


def _without_old_values(rows: Rows) -> Rows:
    """UPDATEs as INSERTs, which is what they are without enable-old-value (tiflow v4.0.9: cdc/entry/mounter.go)."""
    return replace(rows, before=pc.if_else(pc.is_null(rows.after), rows.before, pa.scalar(None, pa.binary())))
