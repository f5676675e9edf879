"""The fault pipeline of a run: what events, flushes and messages pass through on their way to the sink.

A fault sees what comes after its start, in order of commit-ts, as changed by the faults before it.
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
from simulator.engines.tasks import TaskSpec
from simulator.engines.tasks.messages import FlushMessages, encode_flush
from simulator.engines.tasks.send import EventGroup
from simulator.faults import FAULTS
from simulator.faults.fault import (
    ActiveFault,
    EventPiece,
    Fault,
    FaultContext,
    SentHistory,
    checkpoint_standstill,
    renumber_destinations,
)
from simulator.ticdc.dispatch.destinations import Destinations
from simulator.ticdc.flush import Flush


@dataclass(frozen=True)
class Injection:
    at_ms: int
    records: int
    """How many records were sent before."""


@dataclass(frozen=True)
class _OutgoingPiece:
    """A piece after all faults, and the faults that will see its flushes and messages."""

    piece: EventPiece
    active: tuple[ActiveFault, ...]
    begun: int
    """How many faults had begun."""


class InjectedFaults:
    """Pending faults, active ones, and what has been sent above the checkpoint."""

    def __init__(self, faults: Iterable[Fault], seed: int, stays_open: bool = False) -> None:
        self.injections: list[Injection] = []
        self.records = 0
        """How many records have been sent."""

        self.stays_open = stays_open
        """Whether more events follow the last one."""

        self.unmet: list[str] = []
        """The faults that have ended without meeting the event that they wait for."""

        self._seed = seed
        self._end_ts = 0
        self._destinations: Destinations | None = None
        self._history = SentHistory()
        self._added = 0
        self._begun_at: list[int] = []
        self._pending: list[tuple[int, Fault]] = []
        self._active: list[ActiveFault] = []
        """Ordered by layer, then by start."""

        self.add(faults)

    def add(self, faults: Iterable[Fault]) -> None:
        """Add faults, which begin after all events so far."""
        for fault in faults:
            self._pending.append((self._added, fault))
            self._added += 1

    def forget(self, faults: Iterable[Fault]) -> None:
        """Drop those of the faults that have not begun."""
        dropped = [*map(id, faults)]
        self._pending = [each for each in self._pending if id(each[1]) not in dropped]

    def begin(self, spec: TaskSpec) -> None:
        """Begin a run, or the next part of one that stays open; raise UserError for a fault that comes too late, or
        that its topics cannot have.
        """
        for _, fault in self._pending:
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
        self._history.add_checkpoints(spec.control_events.checkpoints())
        for _, fault in self._pending:
            if fault.back_ms:
                self._hold(fault)
        self._pending.sort(key=lambda each: (each[1].at_ts, each[0]))

    @property
    def checkpoint(self) -> int:
        return self._history.checkpoint

    def holds_back(self, commit_ts: int) -> bool:
        """Return whether the watermark of that commit-ts is suppressed."""
        return self._history.holds(commit_ts)

    @property
    def expected(self) -> bool:
        """Return whether a fault is active or still to come."""
        return bool(self._active or self._pending)

    @property
    def holding(self) -> bool:
        """Whether a fault is active."""
        return bool(self._active)

    # -- sending ------------------------------------------------------------------------------------

    def parts(self, events: Iterable[pa.RecordBatch]) -> Iterator[EventGroup]:
        """Yield the groups of ordered events between two barriers."""
        yield from self._parts(
            piece for batch in events for one in _split_by_kind(batch) for piece in self._inject(one)
        )

    def end_early(self, commit_ts: int) -> bool:
        """End the run at a commit-ts: drop later faults, and return whether its watermark is still to be sent."""
        self._pending, self._end_ts = [], commit_ts
        return self._history.holds(commit_ts) or not self._spec.control_events.is_watermark(commit_ts)

    def finish(self) -> Iterator[EventGroup]:
        """Yield what the faults send after all events. While the changefeed stays open, they keep what they hold."""
        yield from self._parts(self._finish_faults())
        self._note_injections(len(self._begun_at))

    def _parts(self, sent: Iterable[_OutgoingPiece]) -> Iterator[EventGroup]:
        number = 0

        def run(each: _OutgoingPiece) -> tuple[int, bool, tuple[ActiveFault, ...], int]:
            nonlocal number
            number += each.piece.apart
            return number, each.piece.apart, each.active, each.begun

        for (_, apart, active, begun), run_of in groupby(sent, key=run):
            self._note_injections(begun)
            yield EventGroup((each.piece.events for each in run_of), partial(self.encode, active=active), apart)

    def _note_injections(self, count: int) -> None:
        """Note the injections of the first `count` faults, as events run ahead of records."""
        self.injections += (Injection(at_ms, self.records) for at_ms in self._begun_at[len(self.injections) : count])

    # -- events ---------------------------------------------------------------------------------------------------

    def _inject(self, events: pa.RecordBatch) -> Iterator[_OutgoingPiece]:
        """Yield events of one kind after the faults that begin before them."""
        while events.num_rows:
            commit_ts = ints(events, "commit_ts")
            yield from self._advance(int(commit_ts[0]))
            end = events.num_rows
            if (due := self._next_change()) is not None:
                end = max(1, int(np.searchsorted(commit_ts, due, "left")))
            part, events = events.slice(0, end), events.slice(end)
            if int(part["kind"][0].as_py()) == WATERMARK and self._is_held(int(commit_ts[0])):
                continue
            self._history.record(part, self._spec)
            yield from self._pass_on(EventPiece(part), 0)

    def _is_held(self, watermark: int) -> bool:
        """Return whether a watermark is suppressed; the last one of a run never is."""
        final = not self.stays_open and watermark == self._end_ts
        return not final and self._history.holds(watermark)

    def _advance(self, commit_ts: int) -> Iterator[_OutgoingPiece]:
        """Yield what faults send before an event of that commit-ts."""
        while self._pending and self._pending[0][1].at_ts <= commit_ts:
            yield from self._begin_fault(*self._pending.pop(0))
        for place, active in [*enumerate(self._active)]:
            for piece in active.later(commit_ts):
                yield from self._pass_on(piece, place + 1)
            if active.context.fault.until_ts <= commit_ts:
                yield from self._end_fault(place, active)
        self._active = [active for active in self._active if not active.over]

    def _next_change(self) -> int | None:
        times = [fault.at_ts for _, fault in self._pending[:1]]
        times += [active.context.fault.until_ts for active in self._active]
        return min(times, default=None)

    def _begin_fault(self, number: int, fault: Fault) -> Iterator[_OutgoingPiece]:
        self._history.advance_below(fault.at_ts)
        self._begun_at.append(fault.at_ms)
        random = np.random.default_rng([self._seed & (1 << 64) - 1, number])
        kind = FAULTS[fault.name]
        active = kind.active(FaultContext(fault, self._spec, self._history, random))
        place = bisect_right(self._active, kind.layer, key=lambda other: FAULTS[other.context.fault.name].layer)
        self._active.insert(place, active)
        for piece in active.begin():
            yield from self._pass_on(piece, place + 1)

    def _end_fault(self, place: int, active: ActiveFault) -> Iterator[_OutgoingPiece]:
        if active.awaits and not active.over:
            self.unmet.append(active.context.fault.name)
        for piece in active.end():
            yield from self._pass_on(piece, place + 1)
        active.over = True

    def _finish_faults(self) -> Iterator[_OutgoingPiece]:
        yield from self._advance(max([self._end_ts + 1, *(fault.at_ts for _, fault in self._pending)]))
        if not self.stays_open:
            for place, active in enumerate(self._active):
                yield from self._end_fault(place, active)

    def _pass_on(self, piece: EventPiece, place: int) -> Iterator[_OutgoingPiece]:
        """Pass a piece through the active faults from that index on."""
        if place >= len(self._active):
            yield _OutgoingPiece(piece, tuple(self._active), len(self._begun_at))
            return
        for each in self._active[place].events(piece):
            yield from self._pass_on(each, place + 1)

    def _hold(self, fault: Fault) -> None:
        """Keep the checkpoint back before a fault as its `back` says, but not before a statement: TiCDC sends one when
        the checkpoint has reached it.
        """
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

    def encode(self, flush: Flush, active: Sequence[ActiveFault]) -> Iterator[FlushMessages]:
        """Yield the messages of a flush after the faults that see it."""
        spec = self._spec
        if active and self._history.statements:  # without a fault nothing is sent again
            spec = replace(spec, statements=self._history.statements_of(spec))
        for each in active:
            flush = each.flush(flush)
        every = iter([encode_flush(flush, spec)])
        for each in active:
            every = chain.from_iterable(map(each.messages, every))
        for messages in every:
            self.records += len(messages.records.value)
            yield messages


def _split_by_kind(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows between two control events, and control events of one kind and commit-ts."""
    kind, commit_ts = ints(batch, "kind"), ints(batch, "commit_ts")
    differs = (np.diff(kind) != 0) | ((kind[1:] != ROW) & (np.diff(commit_ts) != 0))
    cuts = [0, *(np.flatnonzero(differs) + 1).tolist(), batch.num_rows]
    for first, end in zip(cuts, cuts[1:]):
        if first < end:
            yield batch.slice(first, end - first)
