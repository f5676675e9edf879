"""Messages of Canal-JSON in comparable form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simulator.reader.decode.comparable import ComparableText, text, zero
from simulator.reader.decode.whole_messages import decompress_value
from simulator.tso import LOGICAL_BITS


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    shown = text(decompress_value(value or b""))
    fields = json.loads(shown)
    extension = fields.get("_tidb") or {}
    is_watermark = fields["type"] == "TIDB_WATERMARK"
    name = "watermarkTs" if is_watermark else "commitTs"
    if "commit-ts" in ignored:
        for member, number in ((name, extension.get(name)), ("es", fields["es"])):
            shown = zero(shown, member, number)
    if "build-ts" in ignored:
        shown = zero(shown, "ts", fields["ts"])
    for member in ("sqlType", "mysqlType") if "members" in ignored else ():
        shown = with_sorted_members(shown, member)
    commit_ts = extension.get(name) or fields["es"] << LOGICAL_BITS
    return ComparableText(commit_ts, f"{fields['database']}.{fields['table']}", text(key), shown, is_watermark)


def with_sorted_members(text: str, name: str) -> str:
    """Return the text of a JSON object with the members of one of its objects sorted."""
    start = text.index(f'"{name}":') + len(f'"{name}":')
    members: Any
    members, end = json.JSONDecoder().raw_decode(text, start)
    return text[:start] + json.dumps(members, sort_keys=True, ensure_ascii=False) + text[end:]
