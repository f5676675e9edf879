r"""JSON strings as the new architecture's writer leaves them: jsoniter without HTML escaping.

One law: only what JSON forbids is escaped: `"`, `\` and controls (`\n`, `\r`, `\t`, else `\u00xx`); all other bytes go
as they are, valid UTF-8 or not (ticdc v8.5.4: pkg/util/json_writer.go).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simulator.columns.cells import surrogate_unescaped
from simulator.ticdc.codecs.text import buffers, moved, rebuilt, replaced

_NAMED = {0x5C: b"\\\\", 0x22: b'\\"', 0x09: b"\\t", 0x0A: b"\\n", 0x0D: b"\\r"}
_ESCAPES = _NAMED | {code: b"\\u%04x" % code for code in range(0x20) if code not in _NAMED}
_TRANSLATED = {byte: escaped.decode() for byte, escaped in _ESCAPES.items()}
_GROWTH = bytes(len(_ESCAPES.get(byte, b"1")) - 1 for byte in range(256))


def raw_quoted(text: str) -> bytes:
    """One JSON string with its quotes; lone surrogates stand for invalid bytes, which are sent as such."""
    return b'"' + text.translate(_TRANSLATED).encode("utf-8", "surrogateescape") + b'"'


def raw_escape(cells: pa.Array) -> pa.Array:
    """A column's text as the inside of JSON strings; its invalid bytes are those that it had (see text.py)."""
    data, offsets = buffers(cells)
    if not len(data):
        return cells
    raw = data.tobytes()
    lowest = 0 if data.min() < 0x20 else 0x20
    found = [byte for byte in _ESCAPES if byte >= lowest and byte in raw]
    if not found:
        return surrogate_unescaped(cells)
    growth = np.frombuffer(raw.translate(_GROWTH), np.uint8)
    where = np.flatnonzero(growth)
    ends = moved(offsets, where, growth[where].astype(np.int64))
    return surrogate_unescaped(rebuilt(cells, replaced(raw, found, _ESCAPES), ends))
