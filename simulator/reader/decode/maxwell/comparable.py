"""Messages of Maxwell in comparable form."""

from __future__ import annotations

import json
from collections.abc import Mapping

from simulator.reader.decode.comparable import ComparableText, text, zero


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    shown, head = text(value), text(key if (key or b"")[:1] == b"{" else None)
    document = json.loads(shown)
    is_statement = "sql" in document
    if "commit-ts" in ignored:
        shown, head = (zero(each, "ts", document["ts"]) for each in (shown, head))
    commit_ts = document["ts"] if is_statement else 0
    return ComparableText(commit_ts, f"{document['database']}.{document['table']}", head, shown)
