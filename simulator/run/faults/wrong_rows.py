"""What a changefeed never does to rows, on EVENTS in their order: negative controls of a consumer's own checks.

One law: each function touches one event and leaves all others as they are and where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import ints, picked
from simulator.columns.hashing import xxhash64
from simulator.run.faults.next_rows import Mask
from simulator.ticdc.dispatch import Destinations


def without(events: pa.RecordBatch, place: int) -> pa.RecordBatch:
    """All events but that one."""
    return pa.concat_batches([events.slice(0, place), events.slice(place + 1)])


def behind(events: pa.RecordBatch, place: int, other: int) -> pa.RecordBatch:
    """The event at `place` behind the `other` one, which is a later one."""
    order = np.arange(events.num_rows)
    order[place:other] = order[place + 1 : other + 1]
    order[other] = place
    return picked(events, order)


def elsewhere(events: pa.RecordBatch, place: int, to: Destinations) -> pa.RecordBatch | None:
    """The event in the next partition of its topic; None where the topic has one alone."""
    destination = ints(events, "destination")
    topic, partition = to.where(int(destination[place]))
    if to.counts[topic] < 2:
        return None
    destination[place] = to.first[topic] + (partition + 1) % to.counts[topic]
    at = events.schema.get_field_index("destination")
    return events.set_column(at, events.schema.field(at), pa.array(destination.astype(np.int32)))


@dataclass(frozen=True)
class Pair:
    """Two changes of one row, by their places."""

    older: int
    newer: int


def older_and_newer(events: pa.RecordBatch, fitting: Mask) -> Pair | None:
    """The first two changes of one row in one partition: what the older one made of it is what the newer one found."""
    places = np.flatnonzero(fitting)
    rows = picked(events, places)
    of_place = xxhash64(*(ints(rows, name) for name in ("table", "destination")))
    found, made = (
        np.where(np.asarray(rows.column(name).is_valid()), xxhash64(of_place, rows.column(name)), 0)
        for name in ("before", "after"))
    there = np.flatnonzero(np.asarray(rows.column("after").is_valid()))
    there = there[np.argsort(made[there], kind="stable")]
    if not len(there):
        return None
    first = there[np.minimum(np.searchsorted(made[there], found), len(there) - 1)]
    newer = np.flatnonzero(
        (made[first] == found) & (first < np.arange(len(places))) & np.asarray(rows.column("before").is_valid()))
    return Pair(int(places[first[newer[0]]]), int(places[newer[0]])) if len(newer) else None
