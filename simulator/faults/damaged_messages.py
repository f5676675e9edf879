"""Illegal faults of messages, which test decoders. No other message is affected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.engines.tasks.messages import FlushMessages
from simulator.faults.active import ActiveFault, FaultContext
from simulator.faults.keys import TABLE_KEY
from simulator.faults.kind import IN_TRANSIT, FaultKind
from simulator.faults.next_rows import Mask, matching_rows
from simulator.faults.refusals import release_and_protocol
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.codecs.codec import KeyValue
from simulator.ticdc.rules import ChangefeedRules

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
        place = None if self.over else _find_message(messages, matching_rows(messages.events, self.context))
        if place is not None:
            self.over = True
            messages = _replace_message(
                messages, place, self._damage(_key_and_value(messages, place), self.context.spec.options)
            )
        yield messages


def _find_message(messages: FlushMessages, fitting: Mask) -> int | None:
    """Return the index of the first message with one of the matching events."""
    places = np.flatnonzero(fitting)
    return int(np.searchsorted(messages.first_row, places[0], side="right")) - 1 if len(places) else None


def _key_and_value(messages: FlushMessages, place: int) -> KeyValue:
    """Return key and value of a message; null counts as an empty value."""
    return messages.records.key[place].as_py(), messages.records.value[place].as_py() or b""


def _replace_message(messages: FlushMessages, place: int, entry: KeyValue) -> FlushMessages:
    """Replace one of the messages."""
    records = messages.records
    key, value = (
        pa.concat_arrays([column.slice(0, place), pa.array([text], column.type), column.slice(place + 1)])
        for column, text in zip((records.key, records.value), entry)
    )
    events = records.events
    if events is not None:
        events = pa.concat_arrays(
            [events.slice(0, place), pa.array([UNREADABLE], events.type), events.slice(place + 1)]
        )
    return replace(messages, records=replace(records, key=key, value=value, events=events))


def _corrupt_json(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """Overwrite the end of the last object of the value; in a compressed value, the last byte."""
    key, value = entry
    place = value.rfind(b"}") if b"}" in value else len(value) - 1
    return key, value[:place] + b"?" + value[place + 1 :]


def _truncate_value(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """Cut off the second half of the value."""
    key, value = entry
    return key, value[: len(value) // 2]


def _with_unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    return CODECS[options.protocol].with_unknown_type(entry, options)


def _refuse_without_batches(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    batches = CODECS[rules.changefeed.codec.protocol].batches
    return (
        ""
        if batches
        else f"{release_and_protocol(rules)} puts each row into a message of its own, which nothing frames"
    )


OF_TABLE = {"table": TABLE_KEY}

CORRUPT_JSON = FaultKind(
    says="The next message of rows is no JSON.",
    source="tiflow#11707, tiflow#11652",
    active=partial(DamagedMessage, damage=_corrupt_json),
    legal=False,
    keys=OF_TABLE,
    layer=IN_TRANSIT,
)
TRUNCATED_BATCH = FaultKind(
    says="The next message of rows ends in the middle of its value, which is shorter than its lengths say.",
    source="tiflow v8.5.3: pkg/sink/codec/open/open_protocol_decoder.go",
    active=partial(DamagedMessage, damage=_truncate_value),
    legal=False,
    keys=OF_TABLE,
    refuse=_refuse_without_batches,
    layer=IN_TRANSIT,
)
UNKNOWN_TYPE = FaultKind(
    says="The next message of rows has a type that there is not.",
    source="flink: CanalJsonDeserializationSchema, `Unknown type value`",
    active=partial(DamagedMessage, damage=_with_unknown_type),
    legal=False,
    keys=OF_TABLE,
    layer=IN_TRANSIT,
)
