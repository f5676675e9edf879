"""A Python process of Spark that sends: its state between windows, and its end.

It exits when its connection to the run ends, whatever it is doing. What its replacement sends therefore comes after
everything that it sent.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from queue import SimpleQueue
from typing import Any, NoReturn

from simulator.engines.tasks.progress import Reporter
from simulator.engines.tasks.task import TaskReport, TaskSpec
from simulator.load.epochs.epoch import SchemaEpoch, Window
from simulator.load.streaming.connection import SEND_NOW, QueryStart, connect, receive_bytes, send_message
from simulator.load.windows.sender import WindowSender
from simulator.signals import StopRequest
from simulator.sinks import SINKS

EXIT_CODE = 3
"""Exit code of a process whose run has ended, or has replaced the process."""


class SendingTask:
    """The state of this process."""

    def __init__(self, start: QueryStart) -> None:
        self.start = start
        self._file = connect(start.driver)
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        self._stop_request = StopRequest()
        threading.Thread(target=self._listen, daemon=True).start()
        self._ask("hello")
        self._sender: WindowSender | None = None
        self._epoch: SchemaEpoch | None = None

    def send(self, end_ms: int) -> TaskReport:
        """Send a part of the window that ends there, preferably the one that this process had before."""
        known = self._epoch.number if self._epoch else None
        group, first_ms, pace, epoch = self._ask("take", end_ms, known)
        self._epoch = epoch = epoch or self._epoch
        assert epoch is not None, "a process that has none gets it with its first window"
        window = Window(epoch, first_ms, end_ms, pace)
        if self._sender is None:
            self._sender = _sender(epoch.spec)
        return self._sender.send(
            window, range(group, epoch.spec.destinations.total, self.start.tasks), self._stop_request
        )

    def _ask(self, what: str, *more: object) -> Any:
        try:
            send_message(self._file, (what, self.start.attempt, *more))
        except OSError:
            _exit()
        return pickle.loads(self._answers.get())

    def _listen(self) -> None:
        """Receive messages in a thread, so that END takes effect at any time."""
        while True:
            try:
                message = receive_bytes(self._file)
            except (EOFError, OSError):
                _exit()
            if message == SEND_NOW:
                self._stop_request.number = signal.SIGINT
            else:
                self._answers.put(message)


def _sender(spec: TaskSpec) -> WindowSender:
    reporter = Reporter(spec.progress)
    return WindowSender(SINKS[spec.sink](spec.settings, spec.destinations.topics, reporter.waiting), reporter)


def _exit() -> NoReturn:
    os._exit(EXIT_CODE)


_tasks: list[SendingTask] = []


def send_part(start: QueryStart, end_ms: int) -> TaskReport:
    """Send this process's part of a window."""
    if not _tasks:
        _tasks.append(SendingTask(start))
    if _tasks[0].start != start:  # the run of the old task has ended, and so has its connection
        _exit()
    return _tasks[0].send(end_ms)
