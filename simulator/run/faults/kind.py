"""What a fault is: asked for in a step, listed by name, and at work in a run.

One law: what a fault does depends on the run's seed and its place among the faults alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.errors import UserError
from simulator.releases import Release
from simulator.run.emit import Job, Outgoing
from simulator.run.faults.history import History, Renumbering
from simulator.run.faults.keys import BACK_KEY, FOR_KEY, TOPIC_KEY
from simulator.run.flush import Flush
from simulator.run.settings import Key
from simulator.ticdc.dispatch import Destinations
from simulator.ticdc.rules import ChangefeedRules

TICDC, WAY = range(2)
"""Where a fault is at work: in TiCDC, or behind it, on the way to the consumer. Events pass TiCDC's first."""


@dataclass(frozen=True)
class Fault:
    """A fault that a step asks for."""

    name: str
    """In FAULTS."""

    values: Mapping[str, Any]
    """By field of its kind's keys; those that are not given are not there."""

    at_ms: int
    """The millisecond of simulated time in which it begins, and in which nothing else happens."""

    where: str = ""
    """What a mistake in it begins with."""

    @property
    def at_ts(self) -> int:
        """Above every event before it, below every event behind it."""
        return tso.compose(self.at_ms) + 1

    @property
    def back_ms(self) -> int:
        return int(self.values.get(BACK_KEY.field, 0))

    @property
    def until_ts(self) -> int:
        """Where it ends by itself."""
        lasts = self.values.get(FOR_KEY.field)
        return tso.FOREVER if lasts is None else tso.compose(min(self.at_ms + lasts, tso.physical(tso.FOREVER)))

    def refused(self, why: str) -> UserError:
        return UserError(f"{self.where}fault {self.name}: {why}")


@dataclass(frozen=True)
class Piece:
    """Events (EVENTS) that are sent one after the other."""

    events: pa.RecordBatch
    apart: bool = False
    """Whether everything before them arrives first, and they are in flushes of their own."""

    @property
    def kind(self) -> int:
        """ROW, DDL or WATERMARK: pieces have events of one kind."""
        return int(self.events["kind"][0].as_py())


@dataclass
class Scene:
    """What a fault at work may ask of the run."""

    fault: Fault
    job: Job
    """Of the part of the run that is being sent."""

    history: History
    random: np.random.Generator
    """The fault's own."""

    @property
    def release(self) -> Release:
        return self.job.release


class Acting:
    """A fault at work. This one does nothing: everything goes through as it comes."""

    awaits = False
    """Whether it waits for an event that may never come, until it is over."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.over = False
        """Whether it has done what it was asked for, and holds nothing."""

    def strike(self) -> Iterator[Piece]:
        """What it sends at once."""
        yield from ()

    def events(self, piece: Piece) -> Iterator[Piece]:
        """What becomes of a piece: rows, or marks of one kind and commit-ts."""
        yield piece

    def later(self, commit_ts: int) -> Iterator[Piece]:
        """What it sends now that all events below that TSO have passed."""
        yield from ()

    def end(self) -> Iterator[Piece]:
        """What it still holds."""
        yield from ()

    def renumber(self, moved: Renumbering) -> None:
        """Destinations have other numbers: a topic has come, or has more partitions."""

    def flush(self, flush: Flush, job: Job) -> tuple[Flush, Job]:
        """What is encoded, and how."""
        return flush, job

    def messages(self, made: Outgoing) -> Iterator[Outgoing]:
        """What becomes of messages."""
        yield made


def anywhere(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    """For a fault that every changefeed can show."""
    return ""


def everywhere(values: Mapping[str, Any], to: Destinations) -> str:
    """For a fault that any topics can show."""
    return ""


@dataclass(frozen=True)
class FaultKind:
    """A kind of fault."""

    says: str
    """What happens, in a sentence."""

    source: str
    """TiCDC's code, or a thread about it."""

    acting: Callable[[Scene], Acting]
    """The fault at work, made when its time has come; raises UserError."""

    legal: bool = True
    """Whether TiCDC does so, and consumers must cope with it; else it is for trying a consumer's checks."""

    keys: Mapping[str, Key] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    """The keys that must be given."""

    refuse: Callable[[Mapping[str, Any], ChangefeedRules], str] = anywhere
    """Why a changefeed under those rules cannot show it, with release and protocol; empty where it can."""

    lacks: Callable[[Mapping[str, Any], Destinations], str] = everywhere
    """Why topics and partitions as they are cannot show it; empty where they can."""

    layer: int = TICDC


def destination(values: Mapping[str, Any], job: Job) -> int:
    """Of the partition and topic that a fault names; -1 where there is none."""
    to = job.destinations
    topic = values.get(TOPIC_KEY.field, to.topics[0])
    if topic not in to.topics or not values["partition"] < to.counts[to.topics.index(topic)]:
        return -1
    return int(to.of_topic(topic)[values["partition"]])


def lowest_checkpoint(statement: int, release: Release) -> int:
    """Where the checkpoint is at least when a statement of that commit-ts has been sent: classic TiCDC sends it when
    the checkpoint is there (tiflow: cdc/owner/ddl_manager.go shouldExecDDL), the new architecture right before."""
    return statement if release.statement_again_at_checkpoint else statement - 1


def stands_still(fault: Fault, statement: int, release: Release) -> tuple[int, int]:
    """Between which TSOs, both included, the checkpoint stands still before a fault, as its `back` says; `statement` is
    the commit-ts of the last one before it: TiCDC sends a statement when the checkpoint has come to it."""
    since = tso.compose(fault.at_ms - fault.back_ms)
    return max(since, lowest_checkpoint(statement, release) + 1), fault.at_ts


def moved(piece: Piece, events: pa.RecordBatch) -> Piece:
    """Other events in place of a piece's."""
    return replace(piece, events=events)
