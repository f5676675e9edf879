"""Faults that no TiCDC shows, of messages: whoever decodes them is tried with them.

One law: a message is damaged by itself, and none before or behind it.
"""

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
"""What fixtures say for people of a message that cannot be read."""


class DamagedMessage(ActiveFault):
    """The next message of rows."""

    awaits = True

    def __init__(self, context: FaultContext, damage: Damage) -> None:
        super().__init__(context)
        self._damage = damage

    def messages(self, made: FlushMessages) -> Iterator[FlushMessages]:
        place = None if self.over else _find_message(made, matching_rows(made.events, self.context))
        if place is not None:
            self.over = True
            made = _replace_message(made, place, self._damage(_key_and_value(made, place), self.context.spec.options))
        yield made


def _find_message(made: FlushMessages, fitting: Mask) -> int | None:
    """The first message with one of the fitting events."""
    found = np.flatnonzero(fitting)
    return int(np.searchsorted(made.first_row, found[0], side="right")) - 1 if len(found) else None


def _key_and_value(made: FlushMessages, place: int) -> KeyValue:
    """Key and value of a message; a value that is null counts as empty."""
    return made.records.key[place].as_py(), made.records.value[place].as_py() or b""


def _replace_message(made: FlushMessages, place: int, entry: KeyValue) -> FlushMessages:
    """The messages, that one being another."""
    records = made.records
    key, value = (
        pa.concat_arrays([column.slice(0, place), pa.array([said], column.type), column.slice(place + 1)])
        for column, said in zip((records.key, records.value), entry)
    )
    events = records.events
    if events is not None:
        events = pa.concat_arrays(
            [events.slice(0, place), pa.array([UNREADABLE], events.type), events.slice(place + 1)]
        )
    return replace(made, records=replace(records, key=key, value=value, events=events))


def _corrupt_json(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """The value with the end of its last object gone; of a compressed value its last byte."""
    key, value = entry
    place = value.rfind(b"}") if b"}" in value else len(value) - 1
    return key, value[:place] + b"?" + value[place + 1 :]


def _truncate_value(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """The value without its second half."""
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
