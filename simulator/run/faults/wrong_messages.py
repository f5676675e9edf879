"""What a changefeed never does to messages: negative controls of whoever decodes them.

One law: a message is damaged by itself, and none before or behind it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from simulator.run.emit import Outgoing
from simulator.run.faults.next_rows import Mask
from simulator.ticdc.codecs.codec import Entry

NOTHING = "[]"
"""What fixtures say for people of a message that cannot be read."""


def message_of(made: Outgoing, fitting: Mask) -> int | None:
    """The first message with one of the fitting events."""
    found = np.flatnonzero(fitting)
    return int(np.searchsorted(made.first_row, found[0], side="right")) - 1 if len(found) else None


def entry_of(made: Outgoing, place: int) -> Entry:
    """Key and value of a message; a value that is null counts as empty."""
    return made.records.key[place].as_py(), made.records.value[place].as_py() or b""


def with_entry(made: Outgoing, place: int, entry: Entry) -> Outgoing:
    """The messages, that one being another."""
    records = made.records
    key, value = (
        pa.concat_arrays([column.slice(0, place), pa.array([said], column.type), column.slice(place + 1)])
        for column, said in zip((records.key, records.value), entry))
    events = records.events
    if events is not None:
        events = pa.concat_arrays([events.slice(0, place), pa.array([NOTHING], events.type), events.slice(place + 1)])
    return replace(made, records=replace(records, key=key, value=value, events=events))


def corrupt(value: bytes) -> bytes:
    """The value with the end of its last object gone; of a compressed value its last byte."""
    place = value.rfind(b"}") if b"}" in value else len(value) - 1
    return value[:place] + b"?" + value[place + 1 :]


def truncated(value: bytes) -> bytes:
    """The value without its second half."""
    return value[: len(value) // 2]
