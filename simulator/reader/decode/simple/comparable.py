"""Messages of Simple in comparable form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from simulator.reader.decode.comparable import ComparableText, Numbers, text, without_ids, zero
from simulator.reader.decode.simple.messages import AVRO
from simulator.reader.decode.whole_messages import decompress_value

SIMPLE_IDS = (
    re.compile(r'(?<=[,{])"(tableID|schemaVersion)":(\d+)'),
    re.compile(r'(?<=,)"(version)":(\d+)(?=,"columns":)'),
)
"""Ids of tables and versions of schemas in Simple."""


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    content = decompress_value(value or b"")
    shown = text(content) if content[:1] == b"{" else _avro_text(content, "members" in ignored)
    fields = json.loads(shown)
    if "commit-ts" in ignored:
        shown = zero(shown, "commitTs", fields["commitTs"])
    if "build-ts" in ignored:
        shown = zero(shown, "buildTs", fields["buildTs"])
    ids: Numbers = ()
    if "ids" in ignored:
        shown, ids = without_ids(shown, SIMPLE_IDS)
    named = fields.get("tableSchema") or fields
    table = f"{named.get('database') or named.get('schema') or ''}.{named.get('table') or ''}"
    return ComparableText(fields["commitTs"], table, text(key), shown, fields["type"] == "WATERMARK", ids)


def _avro_text(content: bytes, sorts_members: bool) -> str:
    """Return the members of an Avro message as JSON."""
    message = next(form for form in AVRO if form.looks_like(content)).read(content)
    parts = {
        name: dict(sorted(part.items())) if sorts_members and name in ("data", "old") else part
        for name, part in message.items()
    }
    return json.dumps(parts, default=lambda value: {"hex": value.hex()}, ensure_ascii=False, separators=(",", ":"))
