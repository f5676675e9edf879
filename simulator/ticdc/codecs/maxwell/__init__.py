"""Maxwell: JSON objects as Maxwell's daemon writes them, with some differences.

`{"database":…,"table":…,"type":"update","ts":…,"data":{…},"old":{…}}`

* `type` is insert, update or delete; `ts` is the commit time in seconds. The row of a DELETE is in `old`, and `data` is
  left out; `old` of an UPDATE has what changed, and is left out if nothing did.
* Members of `data` and `old` are in the order of their names. Numbers, BIT, YEAR, ENUM and SET are numbers, bytes are
  base64, everything else is its TiDB text.
* TiCDC crashes at an UPDATE whose old and new row both have bytes in one column, which Go cannot compare.
* The key of rows is the 8 bytes of version 1, that of a statement is Open Protocol's, without a length.
* Statements tell names and kinds of the columns before and after, and go to every partition. There are no watermarks,
  and no limits of size.

Sources: tiflow v8.5.3: pkg/sink/codec/maxwell.
"""

from __future__ import annotations

import re
import sys

from simulator.releases import Release
from simulator.ticdc.codecs.codec import Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.maxwell.encoder import encode, frame
from simulator.ticdc.codecs.maxwell.statements import ddl


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    return entry[0], re.sub(rb'"type":"[a-z]+"', b'"type":"unknown"', entry[1], count=1)


MAXWELL = Codec(
    protocol=Protocol(name="maxwell", title="Maxwell", old_values=lambda release: "forced"),
    not_simulated=lambda release: (
        "its messages have lengths, and no texts; accepted: 4.0.10 and later" if release.maxwell_lengths else ""
    ),
    is_binary=lambda options: True,  # the key of rows
    batches=True,
    encode=encode,
    frame=frame,
    ddl=ddl,
    ddl_needs_table=True,
    broadcasts_ddl=lambda release: True,
    sizes=lambda options, release: SizeRules(sys.maxsize, sys.maxsize, 0, large_rows=True),
    fidelity=lambda options, release: Fidelity(base64_bytes=True),
    with_unknown_type=_unknown_type,
)
