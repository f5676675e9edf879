"""Messages of Debezium in comparable form."""

from __future__ import annotations

import json
from collections.abc import Mapping

from simulator.reader.decode.comparable import ComparableText, text, zero
from simulator.reader.decode.whole_messages import decompress_value


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    shown = text(decompress_value(value or b""))
    document = json.loads(shown)
    payload = document.get("payload", document)
    source = payload["source"]
    if "commit-ts" in ignored:
        for member in ("commit_ts", "ts_ms"):
            shown = zero(shown, member, source.get(member))
    if "build-ts" in ignored:
        shown = zero(shown, "ts_ms", payload.get("ts_ms"))
    table = f"{source.get('db') or ''}.{source.get('table') or ''}"
    return ComparableText(source["commit_ts"], table, text(key), shown, payload.get("op") == "m")
