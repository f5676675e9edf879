"""A fault at work: what it sends, and how it changes the events, flushes and messages that pass through it.

Its effect depends only on the seed of the run and its index among the faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Mask
from simulator.columns.change_frame import BOOTSTRAP, ROW, ints
from simulator.engines.tasks.messages import FlushMessages
from simulator.engines.tasks.task import TaskSpec
from simulator.faults.fault import TABLE_KEY, Fault
from simulator.faults.history import Renumbering, SentHistory
from simulator.releases import Release
from simulator.ticdc.flush import Flush


@dataclass(frozen=True)
class EventPiece:
    """Events (EVENTS) that are sent one after the other."""

    events: pa.RecordBatch
    apart: bool = False
    """Whether everything before arrives first, and the events are in flushes of their own."""

    @property
    def kind(self) -> int:
        """ROW, DDL or WATERMARK; a piece has events of one kind."""
        return int(self.events["kind"][0].as_py())


@dataclass
class FaultContext:
    fault: Fault
    spec: TaskSpec
    """Of the part of the run that is being sent."""

    history: SentHistory
    random: np.random.Generator
    """The fault's own random generator."""

    @property
    def release(self) -> Release:
        return self.spec.release


class ActiveFault:
    """A fault at work. This one changes nothing."""

    awaits = False
    """Whether it waits for an event that may never come, until it is over."""

    def __init__(self, context: FaultContext) -> None:
        self.context = context
        self.over = False
        """Whether its effect is complete, and it holds nothing."""

    def begin(self) -> Iterator[EventPiece]:
        """Yield what it sends at once."""
        yield from ()

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        """Yield what replaces a piece: rows, or control events of one kind and commit-ts."""
        yield piece

    def later(self, commit_ts: int) -> Iterator[EventPiece]:
        """Yield what it sends after all events below that TSO."""
        yield from ()

    def end(self) -> Iterator[EventPiece]:
        """Yield what it still holds."""
        yield from ()

    def renumber(self, moved: Renumbering) -> None:
        """Update the numbers of destinations after a topic was added or has more partitions."""

    def flush(self, flush: Flush) -> Flush:
        """Return what is encoded."""
        return flush

    def messages(self, made: FlushMessages) -> Iterator[FlushMessages]:
        """Yield what replaces the messages."""
        yield made


def moved(piece: EventPiece, events: pa.RecordBatch) -> EventPiece:
    return replace(piece, events=events)


def matching_rows(events: pa.RecordBatch, context: FaultContext) -> Mask:
    """Return which of the events are rows that the fault is about."""
    matches: Mask = ints(events, "kind") == ROW
    return matches & of_table(events, context)


def of_table(events: pa.RecordBatch, context: FaultContext) -> Mask:
    """Return which of the events are rows or BOOTSTRAP of the fault's table; all of them if it is about any."""
    table = context.fault.values.get(TABLE_KEY.field)
    if table is None:
        return np.ones(events.num_rows, np.bool_)
    has_table = np.isin(ints(events, "kind"), (ROW, BOOTSTRAP))
    stored = (physical.table for physical in context.spec.tables)
    fits = np.array([(each.schema.lower(), each.name.lower()) == table for each in stored] + [False])
    of_it: Mask = fits[np.where(has_table, ints(events, "table"), -1)]
    return of_it


def find_next_row(events: pa.RecordBatch, context: FaultContext) -> int | None:
    """Return the index of the first matching row."""
    matches = np.flatnonzero(matching_rows(events, context))
    return int(matches[0]) if len(matches) else None


def without_event(events: pa.RecordBatch, place: int) -> pa.RecordBatch:
    """Return all events but one."""
    return pa.concat_batches([events.slice(0, place), events.slice(place + 1)])
