r"""JSON strings as the new architecture's writer leaves them: jsoniter without HTML escaping.

One law: only what JSON forbids is escaped: `"`, `\` and controls (`\n`, `\r`, `\t`, else `\u00xx`); all other bytes go
as they are, valid UTF-8 or not (ticdc v8.5.4: pkg/util/json_writer.go).
"""

from __future__ import annotations

_ESCAPED = {
    **{code: f"\\u{code:04x}" for code in range(0x20)},
    **{ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("\\"): "\\\\"},
}


def raw_quoted(text: str) -> bytes:
    """One JSON string with its quotes; lone surrogates stand for invalid bytes, which are sent as such."""
    return b'"' + text.translate(_ESCAPED).encode("utf-8", "surrogateescape") + b'"'
