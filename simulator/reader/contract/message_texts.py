"""Messages as texts that can be compared, as `compare` has them, without the time at which they were built and without
ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from simulator.errors import SimulatorError
from simulator.reader.compare.events import ComparedEvent, StreamMessage, events_of
from simulator.reader.contract.events import EventArrays
from simulator.reader.decode import DECODERS
from simulator.reader.decode.open_protocol import is_empty

IGNORED = frozenset({"build-ts", "ids", "members", "claim-check-names"})
"""What is not compared (`compare.events.IGNORABLE`): messages do not determine it."""

UNTIMED = IGNORED | {"commit-ts"}
"""The same of a row of which only its place in the partition tells when it was."""

OTHER_MEMBERS = "it has not the members that TiCDC writes"

KeyAndValue = tuple[bytes | None, bytes | None]


def key_and_value(records: pa.RecordBatch, place: int) -> KeyAndValue:
    """Return the message at a place in a batch (RECORD_SCHEMA)."""
    return records.column("key")[place].as_py(), records.column("value")[place].as_py()


def texts_of(
    message: KeyAndValue,
    events: EventArrays,
    schemas: Mapping[int, str] | None = None,
    ignored: frozenset[str] = IGNORED,
) -> Sequence[ComparedEvent]:
    """Return the events of a message of the partition; none if it cannot be read, which another check reports. A row of
    CSV is its text.

    `schemas` are those that the message names, by id; None for those of the stream.
    """
    spec = events.spec
    if spec.protocol not in DECODERS:
        return [ComparedEvent(*events.place, 0, 0, "", "", (message[1] or b"").decode("utf-8", "surrogateescape"))]
    named = spec.schemas if schemas is None else schemas
    try:
        found = events_of(StreamMessage(*events.place, 0, *message), spec.protocol, ignored, named)
        return [each for each in found if each.value != "{}" or not is_empty(each.key.encode(), b"{}")]
    except SimulatorError:
        return ()
