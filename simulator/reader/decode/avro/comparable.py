"""Messages of Avro in comparable form: each record as its schema and the hexadecimal bytes of each field."""

from __future__ import annotations

import json
from collections.abc import Mapping

from simulator.reader.decode.avro import records as avro_records
from simulator.reader.decode.avro_schemas import record_schema, schema_text
from simulator.reader.decode.comparable import ComparableText, text, zero


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    if not key and value and value.startswith(avro_records.WATERMARK):
        ts = int.from_bytes(value[1:9], "big")
        return ComparableText(ts, "", text(key), "0" if "commit-ts" in ignored else str(ts), True)
    if not key and value and value.startswith(avro_records.DDL):
        shown = text(value[1:])
        fields = json.loads(shown)
        if "commit-ts" in ignored:
            shown = zero(shown, "commitTs", fields["commitTs"])
        return ComparableText(fields["commitTs"], f"{fields['schema']}.{fields['table']}", text(key), shown)
    record = record_schema(schema_text(key or value or b"", schemas))
    hidden = avro_records.TIMES if "commit-ts" in ignored else frozenset()
    shown_key, shown_value = (avro_records.record_text(part, schemas, hidden) for part in (key, value))
    commit_ts = avro_records.commit_ts_of(value, schemas)
    return ComparableText(commit_ts, f"{record.get('namespace', '?')}.{record['name']}", shown_key, shown_value)
