"""Encode the rows of a window, and hand the messages to a sink at the requested pace.

The records of a partition are sent in order. When `send_window` returns, all records are acknowledged.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import Ints
from simulator.engines.tasks.messages import FlushMessages
from simulator.engines.tasks.pacing import POLL_SECONDS
from simulator.engines.tasks.progress import Reporter
from simulator.engines.tasks.send import SinkInput, messages_of
from simulator.engines.tasks.task import TaskReport, TaskSpec
from simulator.load.epochs.epoch import Window
from simulator.load.windows.rows import window_rows
from simulator.signals import StopRequest
from simulator.sinks.records import DeliveryReport, Records, Sink, part, report_cut_off, take
from simulator.sinks.storage.settings import StorageSettings
from simulator.sinks.storage.sink import StorageSink
from simulator.tso import physical

SLICE_MS = 50
"""Real milliseconds of records that are released together."""


def window_messages(window: Window, owned: Iterable[int]) -> Iterator[FlushMessages]:
    """Return the messages of the owned destinations in a window.

    No message has rows of two windows, as there is a watermark between them.
    """
    spec = window.epoch.spec
    return messages_of(window_rows(window, owned), spec)


def send_window(
    window: Window,
    owned: Iterable[int],
    sink: Sink,
    stop_request: StopRequest | None = None,
    prefetched: Iterable[FlushMessages] | None = None,
    reporter: Reporter | None = None,
) -> TaskReport:
    """Send the rows of a window to the owned destinations, and wait for acknowledgements.

    `prefetched` has the messages if they exist already. After a stop request, records are not paced any more.
    """
    spec, start = window.epoch.spec, time.monotonic()
    if isinstance(spec.settings, StorageSettings) and isinstance(sink, StorageSink):
        sink.use(spec.settings)
    before, resent = sink.accounts(), sink.resent
    sink.latencies()
    written = SinkInput(spec, sink, reporter or Reporter(None))
    for each in window_messages(window, owned) if prefetched is None else prefetched:
        written.write(each, _pace_records(each.records, window, start, stop_request or StopRequest()))
        if sink.failed:
            break
    sink.drain()
    if not sink.failed:
        written.reporter.acknowledged()
    report = written.report(_delivered_since(before, sink, spec))
    return replace(report, resent=sink.resent - resent)


def _delivered_since(before: Sequence[DeliveryReport], sink: Sink, spec: TaskSpec) -> list[DeliveryReport]:
    """Return what was delivered since `before`. A sink that failed is closed."""
    known = {(account.topic, account.partition): account for account in before}
    after = sink.accounts()
    if sink.failed:
        after = sink.close()
        after = report_cut_off(after, spec.destinations.topics) if spec.sink == "kafka" else after
    reports = []
    for account in after:
        was = known.get((account.topic, account.partition))
        since = (
            account
            if was is None
            else replace(account, records=account.records - was.records, bytes=account.bytes - was.bytes)
        )
        if since.records or since.error:
            reports.append(since)
    return reports


def _pace_records(records: Records, window: Window, start: float, stop_request: StopRequest) -> Iterator[Records]:
    """Yield records when their simulated time has come, for a task that began at `start`. Late records go at once."""
    pace = window.pace
    if not pace.speed:
        yield records
        return
    behind = _latest_ms_by_partition(records) - window.epoch.spec.start_ms - window.first_ms
    due = start - pace.behind + behind / 1000 / pace.speed
    slot = np.maximum(0, np.ceil((due - time.monotonic()) * 1000 / SLICE_MS)).astype(np.int64)
    if slot[0] < slot[-1] or (np.diff(slot) < 0).any():
        order = np.argsort(slot, kind="stable")
        records, slot, due = take(records, pa.array(order)), slot[order], due[order]
    cuts = np.flatnonzero(np.diff(slot, prepend=-1, append=1 << 62)).tolist()
    for first, end in zip(cuts, cuts[1:]):
        while not stop_request.number and (left := due[first:end].min() - time.monotonic()) > 0:
            time.sleep(min(left, POLL_SECONDS))
        yield part(records, first, end - first)


def _latest_ms_by_partition(records: Records) -> Ints:
    """Return the millisecond of each record, or the latest one before it in its partition."""
    ms = physical(np.asarray(records.commit_ts))
    where = np.asarray(records.topic, np.int64) << 32 | np.asarray(records.partition)
    order = np.lexsort((where,))
    span = int(ms.max() - ms.min()) + 1
    _, place = np.unique(where[order], return_inverse=True)
    latest = np.maximum.accumulate(place * span + (ms[order] - ms.min())) - place * span + ms.min()
    latest_ms = np.empty_like(ms)
    latest_ms[order] = latest
    return latest_ms
