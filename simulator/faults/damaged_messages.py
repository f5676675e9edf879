"""Illegal faults of messages and of rows in files, which test decoders. No other message or row is affected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.engines.tasks.messages import FlushMessages
from simulator.faults.active import ActiveFault, FaultContext, matching_rows
from simulator.faults.kind import KAFKA, STORAGE, illegal_fault, release_and_protocol
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.codecs.codec import KeyValue
from simulator.ticdc.codecs.schema_registry import HEADER
from simulator.ticdc.rules import ChangefeedRules

UNKNOWN_ID = (0x7FFFFFFF).to_bytes(4, "big")
"""The id of a schema that no registry has given."""

Damage = Callable[[KeyValue, CodecOptions], KeyValue]

UNREADABLE = "[]"
"""The readable form in fixtures of a message that cannot be decoded."""


class DamagedMessage(ActiveFault):
    """Damages the next message of rows."""

    awaits = True

    def __init__(self, context: FaultContext, damage: Damage) -> None:
        super().__init__(context)
        self._damage = damage

    def messages(self, messages: FlushMessages) -> Iterator[FlushMessages]:
        rows = np.flatnonzero(matching_rows(messages.events, self.context))
        if not self.over and len(rows):
            self.over = True
            place, records = int(np.searchsorted(messages.first_row, rows[0], side="right")) - 1, messages.records
            whole = records.value[place].as_py()
            key, damaged_value = self._damage((records.key[place].as_py(), whole or b""), self.context.spec.options)
            value = damaged_value if whole is not None else damaged_value or None
            damaged = replace(
                records,
                key=_replaced(records.key, place, key),
                value=_replaced(records.value, place, value),
                events=None if records.events is None else _replaced(records.events, place, UNREADABLE),
            )
            messages = replace(messages, records=damaged)
        yield messages


def _replaced(column: pa.Array, place: int, value: bytes | str | None) -> pa.Array:
    return pa.concat_arrays([column.slice(0, place), pa.array([value], column.type), column.slice(place + 1)])


def _corrupt_json(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """Overwrite the end of the last object of the value; in a compressed value, the last byte."""
    key, value = entry
    place = value.rfind(b"}") if b"}" in value else len(value) - 1
    return key, value[:place] + b"?" + value[place + 1 :]


def _truncate_value(entry: KeyValue, options: CodecOptions) -> KeyValue:
    key, value = entry
    return key, value[: len(value) // 2]


def _cut_row(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """Leave out the second half of the row, but not its end."""
    key, value = entry
    end = options.terminator.encode()
    row = value.removesuffix(end)
    return key, row[: len(row) // 2] + end


def _refuse_csv(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if rules.changefeed.storage is None or CODECS[rules.changefeed.codec.protocol].file_extension == ".json":
        return ""
    return f"{release_and_protocol(rules)} writes no JSON; truncated-row breaks a row of it"


def _refuse_without_batches(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if CODECS[rules.changefeed.codec.protocol].batches:
        return ""
    return f"{release_and_protocol(rules)} puts each row into a message of its own, which nothing frames"


def _name_unknown_schema(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """Replace the id of the value's schema, or of the key's if there is no value."""
    key, value = entry
    if value:
        return key, value[:1] + UNKNOWN_ID + value[len(HEADER) :]
    return key and key[:1] + UNKNOWN_ID + key[len(HEADER) :], value


def _refuse_without_registry(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if CODECS[rules.changefeed.codec.protocol].needs_registry:
        return ""
    return f"{release_and_protocol(rules)} sends messages that name no schema of a registry"


CORRUPT_JSON = illegal_fault(
    says="The next message of rows, or the next row of a file, is no JSON.",
    source="tiflow#11707, tiflow#11652",
    active=partial(DamagedMessage, damage=_corrupt_json),
    refuse=_refuse_csv,
    sinks=(KAFKA, STORAGE),
)
TRUNCATED_ROW = illegal_fault(
    says="The next row of a file ends in its middle; other rows follow it.",
    source="ticdc#3784, where a consumer read files that were not complete",
    active=partial(DamagedMessage, damage=_cut_row),
    sinks=(STORAGE,),
)
TRUNCATED_BATCH = illegal_fault(
    says="The next message of rows ends in the middle of its value, which is shorter than its lengths say.",
    source="tiflow v8.5.3: pkg/sink/codec/open/open_protocol_decoder.go",
    active=partial(DamagedMessage, damage=_truncate_value),
    refuse=_refuse_without_batches,
)
UNKNOWN_TYPE = illegal_fault(
    says="The next message of rows, or the next row of a file, has a type that there is not.",
    source="flink: CanalJsonDeserializationSchema, `Unknown type value`",
    active=partial(
        DamagedMessage, damage=lambda entry, options: CODECS[options.protocol].with_unknown_type(entry, options)
    ),
    sinks=(KAFKA, STORAGE),
)
UNKNOWN_SCHEMA = illegal_fault(
    says="The next message of rows names a schema that the registry does not know.",
    source="Confluent's registry API: error 40403, `Schema not found`",
    active=partial(DamagedMessage, damage=_name_unknown_schema),
    refuse=_refuse_without_registry,
)
