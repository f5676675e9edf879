"""A task of Spark that sends: it asks the run for window after window, and sends its part of each.

Its process exits when its connection to the run ends, whatever it is doing. What its replacement sends therefore comes
after everything that it sent.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedIOBase
from queue import SimpleQueue

import pyarrow as pa

from simulator.channel import DriverAddress
from simulator.engines.spark.failures import wrap_errors
from simulator.engines.tasks.progress import Reporter
from simulator.engines.tasks.task import TaskReport
from simulator.load.epochs.epochs import SchemaEpoch, Window
from simulator.load.sender import WindowSender
from simulator.load.windows import table_destinations
from simulator.signals import StopRequest
from simulator.sinks import SINKS

LENGTH = 8
"""Bytes of the length before each message."""

END = b""
"""Ends a process of Spark at once."""

OVER = b"over"
"""The answer after the last window."""

SEND_NOW = b"hurry"
"""Tells a process of Spark to stop pacing records. It answers no request."""

EXIT_CODE = 3
"""Exit code of a process whose run has ended, or has replaced the process."""


@dataclass(frozen=True)
class SendingJob:
    """A job of Spark, and the address of its run."""

    driver: DriverAddress
    attempt: int
    tasks: int


def send_message(file: BufferedIOBase, value: object) -> None:
    """Send bytes, or another value pickled; raise OSError."""
    data = value if isinstance(value, bytes) else pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    file.write(len(data).to_bytes(LENGTH, "big") + data)
    file.flush()


def receive_message(file: BufferedIOBase) -> bytes:
    """Receive the next message; raise EOFError after END, or if the connection is closed."""
    head = file.read(LENGTH)
    data = file.read(int.from_bytes(head, "big")) if len(head) == LENGTH else END
    if data == END:
        raise EOFError("the run has ended")
    return data


class RunConnection:
    """The connection of a process to its run, read by a thread so that END takes effect at any time."""

    def __init__(self, job: SendingJob) -> None:
        self.stop_request = StopRequest()
        self._attempt = job.attempt
        with job.driver.connect() as connection:
            self._file = connection.makefile("rwb")
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def next_window(self, report: TaskReport | None, window: Window | None) -> Window | None:
        """Return the window after this one, which the task has sent; None after the last one."""
        epoch = window.epoch if window else None
        try:
            send_message(self._file, (self._attempt, report, epoch.number if epoch else None))
        except OSError:
            os._exit(EXIT_CODE)
        if (answer := self._answers.get()) == OVER:
            self._file.close()
            return None
        first_ms, end_ms, pace, new_epoch = pickle.loads(answer)
        epoch = new_epoch or epoch
        assert epoch is not None, "the first window comes with its epoch"
        return Window(epoch, first_ms, end_ms, pace)

    def _listen(self) -> None:
        message = b""
        while message != OVER:
            try:
                message = receive_message(self._file)
            except (EOFError, OSError):
                os._exit(EXIT_CODE)
            if message == SEND_NOW:
                self.stop_request.number = signal.SIGINT
            else:
                self._answers.put(message)


def send_windows(batches: Iterator[pa.RecordBatch], job: SendingJob) -> Iterator[pa.RecordBatch]:
    """Send the windows of one task, whose number is its only row; yield nothing."""
    with wrap_errors():
        for (number,) in (batch.column(0).to_pylist() for batch in batches):
            send_part(number, job)
    yield from ()


def _owned(epoch: SchemaEpoch, number: int, tasks: int) -> Sequence[int]:
    """Return the destinations of a task; of a storage, whose tables have one each, those with tables are shared out."""
    used = range(epoch.spec.destinations.total) if epoch.spec.storage is None else table_destinations(epoch)
    return used[number::tasks]


def send_part(number: int, job: SendingJob) -> None:
    """Send the rows of a task's destinations, of all windows."""
    connection = RunConnection(job)
    window, report, sender = connection.next_window(None, None), None, None
    while window is not None:
        spec = window.epoch.spec
        if sender is None:
            reporter = Reporter(spec.progress)
            sink = SINKS[spec.sink](spec.settings, spec.destinations.topics, reporter.waiting)
            sender = WindowSender(sink, reporter)
        report = sender.send(window, _owned(window.epoch, number, job.tasks), connection.stop_request)
        window = connection.next_window(report, window)
    if sender is not None:
        sender.close()
