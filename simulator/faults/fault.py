"""A fault of a step, the keys that several faults have, and a fault at work.

The times of a fault lie between all events before and after it. A key is parsed in the same way in all faults. At work a
fault sends something, and changes the events, flushes and messages that pass through it. Its effect depends only on the
seed of the run and its index among the faults. After a restart TiCDC sends everything above the checkpoint again that has
been sent; the checkpoint is never below a watermark that was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import limits, tso
from simulator.columns.cells import Mask
from simulator.columns.change_frame import BOOTSTRAP, DDL, ROW, WATERMARK, Ints, ints, with_column
from simulator.engines.tasks import TaskSpec
from simulator.engines.tasks.messages import FlushMessages
from simulator.errors import UserError, mask_secrets
from simulator.releases import Release
from simulator.settings import DURATION, TEXT, Key, to_count, to_duration_ms, to_text
from simulator.ticdc.codecs import DdlEvent
from simulator.ticdc.dispatch.destinations import Destinations
from simulator.ticdc.flush import Flush


def number_from(least: int, most: int) -> tuple[Callable[[object], int], Mapping[str, Any]]:
    """Return a parser of whole numbers in that range, which raises UserError, and the JSON Schema of these numbers."""
    to_number = to_count(least, most)

    def parse(value: object) -> int:
        is_text = isinstance(value, str) and value.isdecimal() and len(value) < DIGITS
        return to_number(int(str(value)) if is_text else value)

    return parse, {"type": "integer", "minimum": least, "maximum": most}


def to_table(value: object) -> tuple[str, str]:
    """Parse `shop.item` as schema and name in lower case; raise UserError."""
    schema, dot, name = to_text(value).lower().partition(".")
    if not (schema and dot and name):
        raise UserError(f"expected a table with its database, such as shop.item, got {mask_secrets(repr(value))}")
    return schema, name


DIGITS = 20
"""From so many on, a number in a text is none that a fault takes."""


BACK_KEY = Key(
    "back_ms",
    to_duration_ms,
    DURATION,
    "For how long before it the checkpoint stood still, so that more is sent again; never from before the last "
    "statement.",
)
"""No watermark is sent for that long before the fault."""

AFTER_ROWS_KEY = Key("after_rows", *number_from(1, limits.FAULT_ROWS), "How many rows are sent before it.")
"""The fault comes among the rows of a transaction."""

FOR_KEY = Key("for_ms", to_duration_ms, DURATION, "How long it lasts in simulated time; to the end where unsaid.")
"""The fault ends then."""

TABLE_KEY = Key("table", to_table, TEXT, "The table whose rows it is about, such as shop.item; any where unsaid.")
"""The table must exist when the fault begins."""

TOPIC_KEY = Key("topic", to_text, TEXT, "The topic; the changefeed's default one where unsaid.")
PARTITIONS_KEY = Key("partitions", *number_from(1, limits.PARTITIONS), "How many partitions.")


@dataclass(frozen=True)
class Fault:
    name: str
    """A key of FAULTS."""

    values: Mapping[str, Any]
    """By the fields of the keys of its kind; keys without a value are missing."""

    at_ms: int
    """The millisecond of simulated time in which it begins. Nothing else happens in it, but for a fault among rows: that
    is the millisecond of their transaction.
    """

    where: str = ""
    """The prefix of error messages."""

    @property
    def at_ts(self) -> int:
        """A TSO above every event before it and below every event after it."""
        return tso.compose(self.at_ms) + 1

    @property
    def back_ms(self) -> int:
        return int(self.values.get(BACK_KEY.field, 0))

    @property
    def until_ts(self) -> int:
        """The TSO at which it ends by itself."""
        for_ms = self.values.get(FOR_KEY.field)
        return tso.FOREVER if for_ms is None else tso.compose(min(self.at_ms + for_ms, tso.physical(tso.FOREVER)))

    def refused(self, why: str) -> UserError:
        return UserError(f"{self.where}fault {self.name}: {why}")


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


Renumbering = Callable[[pa.RecordBatch], pa.RecordBatch]
"""Returns events (EVENTS) with the current numbers of their destinations."""


def renumber_destinations(events: pa.RecordBatch, was: Destinations, to: Destinations) -> pa.RecordBatch:
    """Renumber the destinations of events. Topics keep their order, and partitions theirs in a topic."""
    before, now, destination = np.array(was.first), np.array(to.first), ints(events, "destination")
    topic = np.searchsorted(before, destination, side="right") - 1
    return with_column(events, "destination", now[topic] + destination - before[topic])


class SentHistory:
    """Rows above the checkpoint, and statements at it or above, in the order of sending."""

    def __init__(self) -> None:
        self.checkpoint = 0
        self.start_ts = 0

        self.statements: list[DdlEvent] = []
        """All that have been sent. The `table` of a recorded statement is its index here."""

        self._recorded: list[pa.RecordBatch] = []
        self._resolved: Ints = np.zeros(0, np.int64)
        self._standstills: list[tuple[int, int]] = []
        self.last_statement = 0
        """Its commit-ts; 0 if there is none."""

    def begin(self, start_ts: int) -> None:
        """Set the start of a changefeed that has sent nothing yet."""
        self.checkpoint = self.checkpoint or start_ts
        self.start_ts = self.start_ts or start_ts

    def renumber(self, moved: Renumbering) -> None:
        self._recorded = [*map(moved, self._recorded)]

    def add_checkpoints(self, times: Ints) -> None:
        """Add commit-ts that the checkpoint reaches, ascending, with or without a watermark."""
        self._resolved = np.union1d(self._resolved[self._resolved > self.checkpoint], times)

    def hold(self, since: int, until: int) -> None:
        """Keep the checkpoint from the TSOs in this range, both ends included."""
        self._standstills.append((since, until))

    def release(self, since: int, until: int) -> None:
        """End a `hold` of this range."""
        self._standstills.remove((since, until))

    def holds(self, commit_ts: int) -> bool:
        """Return whether the checkpoint is kept from this TSO."""
        return any(since <= commit_ts <= until for since, until in self._standstills)

    def record(self, events: pa.RecordBatch, spec: TaskSpec) -> None:
        """Record events that are sent: rows, or control events of one kind and commit-ts. BOOTSTRAP is not kept."""
        commit_ts, kind = int(events["commit_ts"][0].as_py()), int(events["kind"][0].as_py())
        self.advance_below(commit_ts)
        if kind == WATERMARK:
            self.advance_to(commit_ts)
        elif kind == ROW:
            self._recorded.append(events)
        elif kind == DDL:
            self.last_statement = commit_ts
            self._recorded.append(self._statement(events, spec))

    def advance_below(self, commit_ts: int) -> None:
        """Advance the checkpoint after everything below a commit-ts has been sent."""
        for reached in reversed(self._resolved[self._resolved < commit_ts].tolist()):
            if not self.holds(reached):
                self.advance_to(reached)
                break

    def resend(self, spec: TaskSpec, with_statements_at_checkpoint: bool) -> Iterator[pa.RecordBatch]:
        """Yield what is sent again, in order; encode it with `statements_of`."""
        for events in self._recorded:
            at = ints(events, "commit_ts")
            is_statement = int(events["kind"][0].as_py()) == DDL
            above = at >= self.checkpoint if is_statement and with_statements_at_checkpoint else at > self.checkpoint
            if above.any():
                if is_statement:
                    events = with_column(events, "table", ints(events, "table") + len(spec.statements))
                yield events if above.all() else events.filter(pa.array(above))

    def statements_of(self, spec: TaskSpec) -> tuple[DdlEvent, ...]:
        """Return the statements that events refer to: the task's own, then all that were sent before."""
        return (*spec.statements, *self.statements)

    def _statement(self, events: pa.RecordBatch, spec: TaskSpec) -> pa.RecordBatch:
        table = ints(events, "table")
        places = {number: len(self.statements) + place for place, number in enumerate(np.unique(table).tolist())}
        self.statements += (spec.statements[number] for number in places)
        return with_column(events, "table", [places[number] for number in table.tolist()])

    def advance_to(self, commit_ts: int) -> None:
        """Advance the checkpoint, and forget what is below it."""
        if commit_ts <= self.checkpoint:
            return
        self.checkpoint = commit_ts
        remaining = (events.slice(np.searchsorted(ints(events, "commit_ts"), commit_ts)) for events in self._recorded)
        self._recorded = [events for events in remaining if events.num_rows]


def lowest_checkpoint(statement: int, release: Release) -> int:
    """Return the lowest checkpoint after a statement of that commit-ts has been sent.

    Classic TiCDC sends it when the checkpoint has reached it (tiflow: cdc/owner/ddl_manager.go shouldExecDDL), the new
    architecture right before.
    """
    return statement if release.statement_again_at_checkpoint else statement - 1


def checkpoint_standstill(fault: Fault, statement: int, release: Release) -> tuple[int, int]:
    """Return the range of TSOs, both ends included, in which the checkpoint stands still before a fault with `back`.

    `statement` is the commit-ts of the last statement before the fault: TiCDC sends it when the checkpoint has reached
    it.
    """
    since = tso.compose(fault.at_ms - fault.back_ms)
    return max(since, lowest_checkpoint(statement, release) + 1), fault.at_ts
