"""The passage of a run with faults: what events, flushes and messages go through on their way to the sink.

One law: a fault sees what comes behind its time, in order of commit-ts, as TiCDC's faults leave it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.change_frame import ROW, WATERMARK, ints
from simulator.engines.tasks.messages import FlushMessages, encode_flush
from simulator.engines.tasks.send import EventGroup
from simulator.engines.tasks.task import TaskSpec
from simulator.faults import FAULTS
from simulator.faults.active import ActiveFault, EventPiece, FaultContext
from simulator.faults.fault import Fault
from simulator.faults.history import SentHistory, checkpoint_standstill, renumber_destinations
from simulator.ticdc.dispatch import Destinations
from simulator.ticdc.flush import Flush


@dataclass(frozen=True)
class Injection:
    """When a fault began."""

    at_ms: int
    records: int
    """How many records were sent before."""


@dataclass(frozen=True)
class _OutgoingPiece:
    """A piece behind all faults, and those that will see its flushes and messages."""

    piece: EventPiece
    active: tuple[ActiveFault, ...]
    begun: int
    """How many faults had begun."""


class InjectedFaults:
    """Holds which faults are to come, which are at work, and what has been sent above the checkpoint."""

    def __init__(self, faults: Iterable[Fault], seed: int, stays_open: bool = False) -> None:
        self.injections: list[Injection] = []
        self.records = 0
        """How many have been sent."""

        self.stays_open = stays_open
        """Whether more is to come behind the last event."""

        self.unmet: list[str] = []
        """The faults that have ended, and never met what they wait for."""

        self._seed = seed
        self._end_ts = 0
        self._destinations: Destinations | None = None
        self._history = SentHistory()
        self._met = 0
        self._begun_at: list[int] = []
        self._waiting: list[tuple[int, Fault]] = []
        self._active: list[ActiveFault] = []
        """Those of a layer in the order in which they began."""

        self.add(faults)

    def add(self, faults: Iterable[Fault]) -> None:
        """More of them, which begin behind all events so far."""
        for fault in faults:
            self._waiting.append((self._met, fault))
            self._met += 1

    def foresee(self, spans: Iterable[tuple[int, int]]) -> None:
        """InjectedFaults will come before which the checkpoint stands still, between those TSOs."""
        for since, until in spans:
            self._history.hold(since, until)

    def forget(self, faults: Iterable[Fault]) -> None:
        """Those of them that have not begun are not to be."""
        dropped = [*map(id, faults)]
        self._waiting = [each for each in self._waiting if id(each[1]) not in dropped]

    def begin(self, spec: TaskSpec) -> None:
        """A run, or the next part of one that stays open; raises UserError for a fault that comes too late, or that its
        topics cannot show."""
        for _, fault in self._waiting:
            if why := FAULTS[fault.name].lacks(fault.values, spec.destinations):
                raise fault.refused(why)
        was, self._destinations = self._destinations or spec.destinations, spec.destinations
        if was != spec.destinations:
            moved = partial(renumber_destinations, was=was, to=spec.destinations)
            self._history.renumber(moved)
            for active in self._active:
                active.renumber(moved)
        self._spec = spec
        self._end_ts = tso.compose(spec.control_events.timeline.end_ms)
        self._history.begin(tso.compose(spec.start_ms - 1))
        for active in self._active:
            active.context.spec = spec
        self._history.resolves(spec.control_events.checkpoints())
        for _, fault in self._waiting:
            if fault.back_ms:
                self._hold(fault)
        self._waiting.sort(key=lambda each: (each[1].at_ts, each[0]))

    @property
    def checkpoint(self) -> int:
        return self._history.checkpoint

    def holds_back(self, commit_ts: int) -> bool:
        """Whether a watermark of that commit-ts is not sent."""
        return self._history.holds(commit_ts)

    @property
    def holding(self) -> bool:
        """Whether a fault is at work."""
        return bool(self._active)

    # -- the passage of `emit` ------------------------------------------------------------------------------------

    def parts(self, events: Iterable[pa.RecordBatch]) -> Iterator[EventGroup]:
        """Of ordered events between two barriers."""
        yield from self._parts(self._through(events))

    def end_early(self, commit_ts: int) -> bool:
        """The run ends there: faults behind it are not to be, and its watermark is the last one."""
        self._waiting, self._end_ts = [], commit_ts
        return self._history.holds(commit_ts) or not self._spec.control_events.is_watermark(commit_ts)

    def finish(self) -> Iterator[EventGroup]:
        """What the faults send behind all events; while the changefeed stays open, they keep what they hold."""
        yield from self._parts(self._ending())
        self._note_injections(len(self._begun_at))

    def _parts(self, sent: Iterable[_OutgoingPiece]) -> Iterator[EventGroup]:
        number = 0

        def run(each: _OutgoingPiece) -> tuple[int, bool, tuple[ActiveFault, ...], int]:
            nonlocal number
            number += each.piece.apart
            return number, each.piece.apart, each.active, each.begun

        for (_, apart, active, begun), run_of in groupby(sent, key=run):
            self._note_injections(begun)
            yield EventGroup((each.piece.events for each in run_of), partial(self.made, active=active), apart)

    def _note_injections(self, count: int) -> None:
        """So many faults had begun when the next record is sent: events run ahead of records."""
        self.injections += (Injection(at_ms, self.records) for at_ms in self._begun_at[len(self.injections) : count])

    # -- events ---------------------------------------------------------------------------------------------------

    def _through(self, batches: Iterable[pa.RecordBatch]) -> Iterator[_OutgoingPiece]:
        for batch in batches:
            for events in _split_by_kind(batch):
                yield from self._in_time(events)

    def _in_time(self, events: pa.RecordBatch) -> Iterator[_OutgoingPiece]:
        """Events of one kind, behind the faults whose time has come."""
        while events.num_rows:
            commit_ts = ints(events, "commit_ts")
            yield from self._until(int(commit_ts[0]))
            end = events.num_rows
            if (due := self._next_time()) is not None:
                end = max(1, int(np.searchsorted(commit_ts, due, "left")))
            part, events = events.slice(0, end), events.slice(end)
            if int(part["kind"][0].as_py()) == WATERMARK and self._is_held(int(commit_ts[0])):
                continue
            self._history.record(part, self._spec)
            yield from self._along(EventPiece(part), 0)

    def _is_held(self, watermark: int) -> bool:
        """Whether a watermark is not sent; the last one of a run always is."""
        final = not self.stays_open and watermark == self._end_ts
        return not final and self._history.holds(watermark)

    def _until(self, commit_ts: int) -> Iterator[_OutgoingPiece]:
        """What faults send before an event of that commit-ts."""
        while self._waiting and self._waiting[0][1].at_ts <= commit_ts:
            yield from self._begun(*self._waiting.pop(0))
        for place, active in [*enumerate(self._active)]:
            for piece in active.later(commit_ts):
                yield from self._along(piece, place + 1)
            if active.context.fault.until_ts <= commit_ts:
                yield from self._ended(place, active)
        self._active = [active for active in self._active if not active.over]

    def _next_time(self) -> int | None:
        times = [fault.at_ts for _, fault in self._waiting[:1]]
        times += [active.context.fault.until_ts for active in self._active]
        return min(times, default=None)

    def _begun(self, number: int, fault: Fault) -> Iterator[_OutgoingPiece]:
        """A fault whose time has come."""
        self._history.passed(fault.at_ts)
        self._begun_at.append(fault.at_ms)
        random = np.random.default_rng([self._seed & (1 << 64) - 1, number])
        active = FAULTS[fault.name].active(FaultContext(fault, self._spec, self._history, random))
        place = bisect_right(self._active, FAULTS[fault.name].layer, key=_layer)
        self._active.insert(place, active)
        for piece in active.begin():
            yield from self._along(piece, place + 1)

    def _ended(self, place: int, active: ActiveFault) -> Iterator[_OutgoingPiece]:
        if active.awaits and not active.over:
            self.unmet.append(active.context.fault.name)
        for piece in active.end():
            yield from self._along(piece, place + 1)
        active.over = True

    def _ending(self) -> Iterator[_OutgoingPiece]:
        yield from self._until(max([self._end_ts + 1, *(fault.at_ts for _, fault in self._waiting)]))
        if not self.stays_open:
            for place, active in enumerate(self._active):
                yield from self._ended(place, active)

    def _along(self, piece: EventPiece, place: int) -> Iterator[_OutgoingPiece]:
        """A piece through the faults at work from that place on."""
        if place >= len(self._active):
            yield _OutgoingPiece(piece, tuple(self._active), len(self._begun_at))
            return
        for each in self._active[place].events(piece):
            yield from self._along(each, place + 1)

    def _hold(self, fault: Fault) -> None:
        """The checkpoint stands still before a fault, as long as its `back` says, but for a statement: TiCDC sends one
        when the checkpoint has come to it."""
        statements = np.append(self._spec.control_events.barriers, self._history.last_statement)
        last = int(statements[statements < fault.at_ts].max())
        since, until = checkpoint_standstill(fault, last, self._spec.release)
        if self._history.checkpoint > max(since, last):
            raise fault.refused(
                f"back: {fault.back_ms} ms before it the checkpoint would have to stand still, and a watermark at "
                f"{tso.describe(self._history.checkpoint)} has been sent; let the fault checkpoint-lag begin earlier, "
                "or leave out back"
            )
        self._history.hold(since, until)

    # -- messages -------------------------------------------------------------------------------------------------

    def made(self, flush: Flush, active: Sequence[ActiveFault]) -> Iterator[FlushMessages]:
        """What a flush comes to behind the faults that see it."""
        spec = self._spec
        if self._history.statements:
            spec = replace(spec, statements=self._history.statements_of(spec))
        for each in active:
            flush = each.flush(flush)
        every = iter([encode_flush(flush, spec)])
        for each in active:
            every = chain.from_iterable(map(each.messages, every))
        for made in every:
            self.records += len(made.records.value)
            yield made


def _layer(active: ActiveFault) -> int:
    return FAULTS[active.context.fault.name].layer


def _split_by_kind(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Rows between two marks, and marks of one kind and commit-ts."""
    kind, commit_ts = ints(batch, "kind"), ints(batch, "commit_ts")
    differs = (np.diff(kind) != 0) | ((kind[1:] != ROW) & (np.diff(commit_ts) != 0))
    cuts = [0, *(np.flatnonzero(differs) + 1).tolist(), batch.num_rows]
    for first, end in zip(cuts, cuts[1:]):
        if first < end:
            yield batch.slice(first, end - first)
