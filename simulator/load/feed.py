"""The driver's side of a load run: hands out windows one after the other, and sends the control events between them.

The rows of a window are acknowledged before the checkpoint is written, from which another run can go on (`checkpoint.json`
in the directory of `--checkpoint`). The checkpoint is written before the statements and the watermark are sent. These are
acknowledged before the next window is handed out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.change_frame import DDL, ints
from simulator.columns.hashing import ChangeSums, SumsByKind, add_sums, read_sums, sums_by_kind, sums_of_kinds
from simulator.engines.tasks import TaskReport
from simulator.engines.tasks.bootstraps import Bootstraps
from simulator.engines.tasks.progress import POLL_SECONDS, Reporter
from simulator.engines.tasks.send import SinkInput, messages_of
from simulator.errors import DeliveryError
from simulator.generate.transactions import Segment
from simulator.load.epochs import PreparedLoad, SchemaEpoch, Window, epoch_control_events
from simulator.load.scheduler import ScheduledWindow, WindowScheduler
from simulator.load.sender import WindowSender
from simulator.load.statistics import SentWindow
from simulator.run.checkpoint import CheckpointFile, changefeed_identity, resume_hint, short_hash
from simulator.signals import StopRequest
from simulator.sinks.records import DeliveryReport, Latencies, Sink, require_delivered
from simulator.ticdc.dispatch.destinations import Destinations
from simulator.tso import compose

Observer = Callable[[SentWindow], None]

LAST_MS = 1 << 45
"""The upper limit of a position: a TSO has 46 bits for milliseconds since 1970."""

LONGEST_RATES = 60
"""Rates with more characters are recorded as a hash."""


@dataclass(frozen=True)
class SentTotals:
    """What a run has sent since it began, the parts before a restart included."""

    rows: int = 0
    messages: int = 0
    bytes: int = 0
    """Of keys and values of the rows' messages."""

    windows: int = 0

    def __add__(self, other: SentTotals) -> SentTotals:
        return SentTotals(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True)
class LoadCheckpoint:
    """The position of a load run."""

    run: Mapping[str, str]
    """The identity of the run (`load_identity`)."""

    start_ms: int
    """The stream's start, in milliseconds since 1970."""

    acknowledged_ms: int = 0
    """Simulated milliseconds since the stream's start. All rows below are acknowledged."""

    statements: int = 0
    """The number of statements at this position that have been sent."""

    totals: SentTotals = field(default_factory=SentTotals)
    sums: SumsByKind | None = None
    """Of the row changes that were sent; None if not all of them were summed."""

    @property
    def watermark(self) -> int:
        """The TSO up to which everything is acknowledged."""
        return tso.compose(self.start_ms + self.acknowledged_ms)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> LoadCheckpoint:
        """Read the fields; raise ValueError for numbers that no run writes."""
        if not 0 <= int(document["acknowledged_ms"]) < LAST_MS or int(document["statements"]) < 0:
            raise ValueError("nobody wrote that")
        return cls(
            {str(name): str(value) for name, value in document["run"].items()},
            int(document["start_ms"]),
            int(document["acknowledged_ms"]),
            int(document["statements"]),
            SentTotals(**document["totals"]),
            None if document["sums"] is None else read_sums(document["sums"]),
        )


class Feed:
    """The position of a run, and the sink of its control events."""

    def __init__(
        self,
        epochs: Iterator[SchemaEpoch],
        control: WindowScheduler,
        sink: Sink,
        checkpoint: LoadCheckpoint,
        store: CheckpointFile | None = None,
        observers: Sequence[Observer] = (),
        stop_request: StopRequest | None = None,
        clock: Callable[[], float] = time.time,
        reporter: Reporter | None = None,
    ) -> None:
        """`epochs` begins with that of the checkpoint; the reporter is the one of the sink.

        The statements and the watermark at the checkpoint are sent at once; raises DeliveryError.
        """
        self.checkpoint = checkpoint
        self.over = False
        """Whether the run is complete; False while it goes on, and after a stop request."""

        self._bootstraps = Bootstraps()
        self._epochs = (replace(each, spec=replace(each.spec, told=self._bootstraps.told)) for each in epochs)
        self._epoch = next(self._epochs)
        self._control, self._sink, self._store, self._observers = control, sink, store, observers
        self.stop_request, self._clock, self._reporter = (
            stop_request or StopRequest(),
            clock,
            reporter or Reporter(None),
        )
        self._sums = None if checkpoint.sums is None else {**sums_of_kinds(checkpoint.sums)}
        self._due: ScheduledWindow | None = None
        self._handed_out = 0.0
        self._send_control_events()

    def next(self) -> Window | None:
        """Return the next window when it is due; None if the run is over, or after a stop request."""
        first_ms = self.checkpoint.acknowledged_ms
        due = None if self.stop_request.number else self._control.next(first_ms, self._epoch.end_ms, self._clock())
        while due is not None and not self.stop_request.number and (left := due.at - self._clock()) > 0:
            time.sleep(min(left, POLL_SECONDS))
        if due is None or self.stop_request.number:
            self.over = not self.stop_request.number
            return None
        self._due, self._handed_out = due, self._clock()
        return Window(self._epoch, due.first_ms, due.end_ms, due.pace(self._handed_out))

    def sent(self, window: Window, reports: Iterable[TaskReport], retried: int = 0) -> SentWindow:
        """Finish a window that all tasks have sent; `retried` is how often some of them began again.

        Raises DeliveryError if a partition did not get everything, or not the control events after the window.
        """
        reports = list(reports)
        delivered = [account for report in reports for account in report.delivered]
        self._require(delivered)
        partitions = _count_by_partition(window, reports, delivered)
        rows, messages, size = (sum(column) for column in zip((0, 0, 0), *partitions.values()))
        self.checkpoint = replace(
            self.checkpoint,
            acknowledged_ms=window.end_ms,
            statements=0,
            totals=self.checkpoint.totals + SentTotals(rows, messages, size, 1),
        )
        for report in reports:
            self._add(sums_of_kinds(report.sums))
        self._bootstraps.count(self._epoch.spec, _count_by_table(reports))
        if window.end_ms == self._epoch.end_ms:
            self._epoch = next(self._epochs)
        self._save()
        self._send_control_events()
        return self._notify(window, reports, partitions, retried)

    def send_all(self) -> None:
        """Send all windows in this process, to the same sink, whose one task owns every destination; raise DeliveryError."""
        sender = WindowSender(self._sink, self._reporter)
        try:
            while (window := self.next()) is not None:
                owned = range(window.epoch.spec.destinations.total)
                self.sent(window, [sender.send(window, owned, self.stop_request)])
        finally:
            sender.stop()

    def close(self) -> None:
        """Close the sink. The checkpoint of a complete run is removed. Raises DeliveryError."""
        try:
            self._require(self._sink.close())
            if self.over and self._store is not None:
                self._store.end()
        finally:
            if self._store is not None:
                self._store.close()

    def _send_control_events(self) -> None:
        """Send the statements at the checkpoint, the watermark, and BOOTSTRAP for tables before their first rows, at the
        start of the changefeed also for all tables. Each statement is recorded before anything else is sent.

        Statements that were sent already are skipped. The watermark may be sent again.
        """
        epoch, sent = self._epoch, self.checkpoint.statements
        batches = list(_split_by_commit_ts(epoch_control_events(epoch, self.checkpoint.acknowledged_ms)))
        places = [place for place, batch in enumerate(batches) if ints(batch, "kind")[0] == DDL]
        if sent:
            batches = batches[places[sent - 1] + 1 :] if sent < len(places) else batches[-1:]
        numbers = [number for table in epoch.tables if table is not None for number in table.place.indexes]
        now = compose(epoch.spec.start_ms + self.checkpoint.acknowledged_ms)
        existed = numbers if self.checkpoint.acknowledged_ms or sent or not epoch.statements else ()
        every = range(epoch.spec.destinations.total)
        first = self._bootstraps.at_start(now, epoch.spec, existed, every)
        batches = [*first, *batches, *self._bootstraps.between(now, epoch.spec, numbers)]
        for batch in batches:
            written = SinkInput(epoch.spec, self._sink)
            for messages in messages_of([batch], epoch.spec):
                written.write(messages)
            self._add(written.sums)
            self._sink.drain()
            if self._sink.failed:
                self._require(self._sink.close())
            self._reporter.acknowledged()
            if ints(batch, "kind")[0] == DDL:
                self.checkpoint = replace(self.checkpoint, statements=self.checkpoint.statements + 1)
                self._save()

    @property
    def sums(self) -> ChangeSums:
        """The row changes that were sent since the stream's start; empty if not all of them were summed."""
        return self._sums or {}

    def _add(self, sent: ChangeSums) -> None:
        if self._sums is not None:
            add_sums(self._sums, sent)

    def _save(self) -> None:
        if self._store is not None:
            sums = None if self._sums is None else sums_by_kind(self._sums)
            self._store.write(replace(self.checkpoint, sums=sums))

    def _require(self, delivered: Iterable[DeliveryReport]) -> None:
        """Raise DeliveryError for what was not delivered, with what was."""
        try:
            require_delivered(delivered)
        except DeliveryError as error:
            hints = () if self._store is None else (resume_hint(self.checkpoint.watermark),)
            raise DeliveryError(*error.args, *hints) from error

    def _notify(
        self,
        window: Window,
        reports: Sequence[TaskReport],
        partitions: Mapping[tuple[str, int], tuple[int, int, int]],
        retried: int,
    ) -> SentWindow:
        assert self._due is not None, "the window was handed out"
        ended = self._clock()
        began = min((report.sending[0] for report in reports if report.sending), default=self._handed_out)
        sent = SentWindow(
            window.first_ms,
            window.end_ms,
            self.checkpoint.watermark,
            self._due.target_rate,
            self._handed_out,
            began,
            ended,
            self._due.behind(ended),
            _count_rows(window, reports),
            partitions,
            Latencies.total(report.latencies for report in reports),
            retried,
            sum(report.resent for report in reports),
        )
        self._control.sent(sent)
        for observer in self._observers:
            observer(sent)
        return sent


def _split_by_commit_ts(events: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split into the statements, or watermarks, of one commit-ts."""
    commit_ts, kind = ints(events, "commit_ts"), ints(events, "kind")
    cuts = np.flatnonzero((np.diff(commit_ts) != 0) | (np.diff(kind) != 0)) + 1
    bounds = [0, *cuts.tolist(), events.num_rows]
    return (events.slice(first, end - first) for first, end in zip(bounds, bounds[1:]) if first < end)


def _count_by_table(reports: Iterable[TaskReport]) -> Counter[int]:
    """Count rows by physical table."""
    counts: Counter[int] = Counter()
    for table, _, _, rows in (change for report in reports for change in report.changes):
        counts[table] += rows
    return counts


def _count_rows(window: Window, reports: Iterable[TaskReport]) -> dict[tuple[int, int], int]:
    """Count rows by index in the model, and operation."""
    places = {
        index: number
        for number, table in enumerate(window.epoch.tables)
        if table is not None
        for index in table.place.indexes
    }
    counts: Counter[tuple[int, int]] = Counter()
    for table, op, _, rows in (change for report in reports for change in report.changes):
        counts[places[table], op] += rows
    return dict(counts)


def _count_by_partition(
    window: Window, reports: Iterable[TaskReport], delivered: Iterable[DeliveryReport]
) -> dict[tuple[str, int], tuple[int, int, int]]:
    """Count rows, messages and bytes of each partition with rows."""
    to = window.epoch.spec.destinations
    rows: Counter[tuple[int, int]] = Counter()
    for _, _, destination, count in (change for report in reports for change in report.changes):
        rows[to.where(destination)] += count
    messages: Counter[tuple[int, int]] = Counter()
    sizes: Counter[tuple[int, int]] = Counter()
    for account in delivered:
        messages[account.topic, account.partition] += account.records
        sizes[account.topic, account.partition] += account.bytes
    return {
        (to.topics[topic], partition): (count, messages[topic, partition], sizes[topic, partition])
        for (topic, partition), count in sorted(rows.items())
    }


def load_identity(prepared: PreparedLoad, to: Destinations) -> dict[str, str]:
    """Return everything that decides what a run sends, by the names that a message about a difference uses."""
    load, rules = prepared.load, prepared.rules
    rates = ", ".join(map(_rate, prepared.stream.segments))
    return {
        "plan": short_hash(load.text or repr(load)),
        "--seed": str(load.model.seed),
        "--rate": rates if len(rates) <= LONGEST_RATES else short_hash(rates),
        "--start-ts": str(tso.compose(prepared.start_ms)),
        **changefeed_identity(rules.release, rules.changefeed, dict(zip(to.topics, to.counts, strict=True))),
    }


def _rate(segment: Segment) -> str:
    ramp = f"..{segment.last:g}" if segment.last != segment.first else ""
    again = f" again every {segment.again_ms}ms" if segment.again_ms else ""
    return (f"{segment.from_ms}ms:" if segment.from_ms else "") + f"{segment.first:g}{ramp} rows/s{again}"
