"""Events of Open Protocol in comparable form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from simulator.reader.decode.comparable import ComparableText, Numbers, text, without_ids, zero
from simulator.reader.decode.whole_messages import decompress_value

PARTITION_ID = (re.compile(r'(?<=[,{])"(ptn)":(\d+)'),)
"""The id of a table's partition in a key of Open Protocol."""


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    shown = text(key)
    fields = json.loads(shown)
    ids: Numbers = ()
    if "commit-ts" in ignored:
        shown = zero(shown, "ts", fields["ts"])
    if "ids" in ignored:
        shown, ids = without_ids(shown, PARTITION_ID)
    table = f"{fields.get('scm', '')}.{fields.get('tbl', '')}"
    return ComparableText(fields["ts"], table, shown, text(decompress_value(value or b"")), fields["t"] == 3, ids)
