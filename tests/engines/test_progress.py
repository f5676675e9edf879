"""Messages during a run: about partitions, in any order of rows and beside other messages; about a Kafka that does not
answer, from when and until when."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from dataclasses import replace
from queue import Queue

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.channel import SECRET_BYTES, DriverAddress
from simulator.cli.run_report import Display, reading_line, sending
from simulator.engines.tasks.progress import CompletedPartitions, Listener, Progress, Reporter, report_reading
from simulator.sinks.records import DeliveryReport, Records


def records(rows: list[tuple[int, int]]) -> Records:
    """A record for each (partition, commit-ts) of topic 0."""
    nothing = pa.nulls(len(rows), pa.binary())
    partition, commit_ts = (pa.array([row[place] for row in rows], pa.int64()) for place in (0, 1))
    return Records(pa.array([0] * len(rows), pa.int32()), partition.cast(pa.int32()), nothing, nothing, commit_ts)


def test_a_write_counts_only_when_all_of_it_is_delivered() -> None:
    """Rows of one table may stand before earlier rows of another one."""
    marks = CompletedPartitions()
    marks.written(records([(0, 5), (1, 6), (0, 9), (0, 2)]))
    marks.written(records([(0, 9), (0, 12)]))
    found = []
    for delivered in range(6):
        marks.delivered([DeliveryReport(0, 0, delivered, 0, 0, None)])
        found.append(marks.complete.get((0, 0)))
    assert found == [None, None, None, 9, 9, 12]
    assert (0, 1) not in marks.complete


@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=9), max_size=5), st.data())
def test_nothing_below_what_is_said_is_missing(writes: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    marks, sent = CompletedPartitions(), []
    for number, rows in enumerate(writes):
        rising = [(partition, 10 * number + commit_ts) for partition, commit_ts in rows]
        marks.written(records(rising))
        sent += rising
    for partition in range(3):
        own = [commit_ts for place, commit_ts in sent if place == partition]
        delivered = data.draw(st.integers(0, len(own)))
        marks.delivered([DeliveryReport(0, partition, delivered, 0, 0, None)])
        assert all(commit_ts >= marks.complete.get((0, partition), 0) for commit_ts in own[delivered:])


def test_the_driver_hears_how_many_rows_are_read() -> None:
    """Of every task, until its last batch; the batches go on as they are."""
    batches = [pa.record_batch({"id": range(rows)}) for rows in (3, 4)]
    heard: Queue[dict[int, int]] = Queue()
    with Listener(lambda progress: heard.put(dict(progress.read))) as listener:
        for task in (0, 7):
            assert list(report_reading(iter(batches), task, listener.driver)) == batches
        while heard.get(timeout=10) != {0: 7, 7: 7}:
            continue
    assert reading_line(listener.progress, 2.0).endswith(": 14 rows read, 7 rows/s")


LIE = json.dumps({"task": 1, "events": 9, "bytes": 9, "complete": [[0, 0, 1 << 60]]}).encode()
JUNK = (b"", b"\0\xff" * 9, b"{", b"[]", LIE, bytes(SECRET_BYTES) + LIE, b"x" * 60_000, b"9" * 60_000)


def test_the_driver_hears_its_own_tasks_alone_whatever_else_is_sent_there() -> None:
    """Any process of the machine may send to its port."""
    heard: Queue[dict[tuple[int, int], int]] = Queue()

    def hear(progress: Progress) -> None:
        heard.put(dict(progress.complete))

    with Listener(hear) as listener, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        own, lookalike = Reporter(listener.driver), Reporter(replace(listener.driver, secret=bytes(SECRET_BYTES)))
        for datagram in JUNK:
            stranger.sendto(datagram, listener.driver.address)
        for reporter, partition in ((lookalike, 1), (own, 2)):
            reporter._partitions.written(records([(partition, 5)]))
            reporter.done([DeliveryReport(0, partition, 1, 1, 0, 5)])
        assert heard.get(timeout=30) == {(0, 2): 5}
        assert listener.progress.events.keys() == listener.progress.bytes.keys()
    assert heard.empty()


def test_a_task_goes_on_where_it_cannot_reach_the_driver() -> None:
    """As on another machine."""
    reporter = Reporter(DriverAddress("192.0.2.1", 0))
    reporter.done([DeliveryReport(0, 0, 1, 1, 0, 5)])


def test_a_kafka_that_is_silent_is_said_with_since_when_and_until_when(capfd: pytest.CaptureFixture[str]) -> None:
    """In the progress line, and once where there is none; after a few seconds, and no longer than it lasts."""
    heard, display, now = threading.Event(), Display(), time.time()
    shown: list[str] = []

    def hear(progress: Progress) -> None:
        display.update(progress)
        shown.append(sending(progress, 2.0))
        heard.set()

    with Listener(hear) as listener:
        reporters = [Reporter(listener.driver) for _ in range(3)]
        for reporter, silent_for in zip(reporters, (1, 9, 10), strict=True):
            reporter.waiting(now - silent_for, now - silent_for + 120)
            assert heard.wait(10)
            heard.clear()
        for reporter in reporters:
            reporter.done([])
        assert heard.wait(10)

    clock = [time.strftime("%H:%M:%S", time.localtime(at)) for at in (now - 9, now + 111, now - 10, now + 110)]
    silent = "Kafka has acknowledged nothing since {}, waiting until {}".format
    counts = "sending: 0 events, 0 bytes, "
    said = silent(*clock[:2]), silent(*clock[2:])
    assert [f"{counts}{what}" for what in ("0 events/s", *said, "0 events/s")] == shown[:4]
    assert [said[0]] == re.findall("Kafka.*", capfd.readouterr().err)
