"""A fault at work: what it sends, and what becomes of the events, flushes and messages that pass it.

One law: what it does depends on the run's seed and its place among the faults alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from simulator.engines.tasks.messages import FlushMessages
from simulator.engines.tasks.task import TaskSpec
from simulator.faults.fault import Fault
from simulator.faults.history import Renumbering, SentHistory
from simulator.releases import Release
from simulator.ticdc.flush import Flush


@dataclass(frozen=True)
class EventPiece:
    """Events (EVENTS) that are sent one after the other."""

    events: pa.RecordBatch
    apart: bool = False
    """Whether everything before them arrives first, and they are in flushes of their own."""

    @property
    def kind(self) -> int:
        """ROW, DDL or WATERMARK: pieces have events of one kind."""
        return int(self.events["kind"][0].as_py())


@dataclass
class FaultContext:
    """What a fault at work may ask of the run."""

    fault: Fault
    spec: TaskSpec
    """Of the part of the run that is being sent."""

    history: SentHistory
    random: np.random.Generator
    """The fault's own."""

    @property
    def release(self) -> Release:
        return self.spec.release


class ActiveFault:
    """A fault at work. This one does nothing: everything goes through as it comes."""

    awaits = False
    """Whether it waits for an event that may never come, until it is over."""

    def __init__(self, context: FaultContext) -> None:
        self.context = context
        self.over = False
        """Whether it has done what it was asked for, and holds nothing."""

    def begin(self) -> Iterator[EventPiece]:
        """What it sends at once."""
        yield from ()

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        """What becomes of a piece: rows, or marks of one kind and commit-ts."""
        yield piece

    def later(self, commit_ts: int) -> Iterator[EventPiece]:
        """What it sends now that all events below that TSO have passed."""
        yield from ()

    def end(self) -> Iterator[EventPiece]:
        """What it still holds."""
        yield from ()

    def renumber(self, moved: Renumbering) -> None:
        """Destinations have other numbers: a topic has come, or has more partitions."""

    def flush(self, flush: Flush) -> Flush:
        """What is encoded."""
        return flush

    def messages(self, made: FlushMessages) -> Iterator[FlushMessages]:
        """What becomes of messages."""
        yield made


def moved(piece: EventPiece, events: pa.RecordBatch) -> EventPiece:
    """Other events in place of a piece's."""
    return replace(piece, events=events)
