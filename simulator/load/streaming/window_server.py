"""The run's side of a query: the open window, its assignment to processes, and their reports.

One window is open at a time, until its watermark is acknowledged. It is handed out again only after every process that
may have sent rows of it has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from simulator.channel import DriverHost, TaskServer
from simulator.engines.spark.failures import ProcessLost
from simulator.errors import DeliveryError
from simulator.load.epochs.epoch import Window
from simulator.load.feed import Feed
from simulator.load.streaming.connection import END, SEND_NOW, QueryStart, receive_message, send_message
from simulator.load.streaming.data_source import unpickle_reports
from simulator.sinks.files import directory
from simulator.sinks.files.settings import FileSettings

END_WITHIN = 15.0
"""Seconds in which a process of Spark must end after END."""


@dataclass
class SendingProcess:
    """A process of Spark that sends."""

    response: BufferedIOBase
    group: int | None = None
    """The part of its last window, whose successor it has prefetched."""

    epoch: int | None = None


@dataclass
class OpenWindow:
    """A window that is being sent."""

    window: Window
    retried: int = 0
    assigned: dict[int, SendingProcess] = field(default_factory=dict)
    before: dict[Path, int] = field(default_factory=dict)
    """The sizes of files before it."""


class WindowServer:
    """Answers the requests of Spark's processes."""

    def __init__(self, feed: Feed, tasks: int, place: DriverHost) -> None:
        self._feed = feed
        self._tasks = tasks
        self._attempt = 0
        self._open: OpenWindow | None = None
        self._reached_ms = 0
        """Simulated milliseconds: everything below is acknowledged."""

        self._senders: dict[int, SendingProcess] = {}
        self._lock = threading.RLock()
        self._empty = threading.Condition(self._lock)
        self.ended = threading.Event()
        """Set when the run is over, or when the query must be restarted."""

        self.over = False
        self.error: BaseException | None = None
        self._server = TaskServer(self._serve, place)

    @property
    def start(self) -> QueryStart:
        """The address for the processes of the next query."""
        return QueryStart(self._server.driver, self._attempt, self._tasks)

    def reset_open_window(self) -> None:
        """End all processes that may send rows of the open window, and reset it; raise DeliveryError if one does not
        end.
        """
        with self._lock:
            self._attempt += 1
            self.error = None
            self.ended.clear()
            self._end_senders()
            if self._open is not None:
                self._open.retried += 1
                self._open.assigned.clear()
                if isinstance(files := _file_settings(self._open.window), FileSettings):
                    directory.truncate_to(files, self._open.before)

    def send_without_pace(self) -> None:
        """Stop pacing the open window after a stop request."""
        if not self._feed.stop_request.number:
            return
        with self._lock:
            for sender in self._senders.values():
                with suppress(OSError):
                    send_message(sender.response, SEND_NOW)

    def close(self) -> None:
        """End all connections."""
        with self._lock:
            self._attempt += 1
            self._server.close()
            with suppress(DeliveryError):
                self._end_senders()

    def _end_senders(self) -> None:
        for sender in self._senders.values():
            with suppress(OSError):
                send_message(sender.response, END)
        if not self._empty.wait_for(lambda: not self._senders, END_WITHIN):
            raise DeliveryError(
                f"a process of Spark that sends has not ended for {END_WITHIN:.0f} s: nothing is sent in its place"
            )

    def _serve(self, request: BufferedIOBase, response: BufferedIOBase) -> None:
        """Serve one process."""
        key = id(response)
        try:
            while True:
                what, attempt, *more = receive_message(request)
                with self._lock:
                    if attempt != self._attempt or self.error is not None:
                        return send_message(response, END)
                    if what == "hello":
                        self._senders[key] = SendingProcess(response)
                    answer = self._answer(what, key, *more)
                    send_message(response, END if self.error is not None else answer)
        except EOFError:
            pass
        finally:
            with self._lock:
                self._senders.pop(key, None)
                self._empty.notify_all()

    def _answer(self, what: str, key: int, *more: Any) -> Any:
        try:
            match what:
                case "hello":
                    return True
                case "begin":
                    opened = self._open_window()
                    return opened.window.first_ms if opened else self._reached_ms
                case "next":
                    opened = self._open_window()
                    return opened.window.end_ms if opened else self._reached_ms
                case "take":
                    return self._assign(self._senders[key], *more)
                case "sent":
                    return self._finish(*more)
                case _:
                    self.ended.set()
                    return True
        except BaseException as error:
            self.error = error
            self.ended.set()
            return None

    def _open_window(self) -> OpenWindow | None:
        """Return the open window, or open the next one."""
        if self._open is None and not self.over:
            window = self._feed.next()
            if window is None:
                self.over = True
                self.ended.set()
            else:
                files = _file_settings(window)
                self._open = OpenWindow(window, before={} if files is None else directory.sizes(files))
        return self._open

    def _assign(self, sender: SendingProcess, end_ms: int, epoch: int | None) -> Any:
        """Assign a part of the window to a process: its last one, one that no other process had, or any."""
        opened = self._open
        assert opened is not None and opened.window.end_ms == end_ms, "a task was started for another window"
        left = [group for group in range(self._tasks) if group not in opened.assigned]
        if not left:  # the process that had it may still send
            raise ProcessLost("a task of Spark was lost with its machine, and begun again")
        others = {other.group for other in self._senders.values() if other is not sender}
        group = min(left, key=lambda group: (group != sender.group, group in others, group))
        opened.assigned[group] = sender
        sender.group = group
        window = opened.window
        return group, window.first_ms, window.pace, None if window.epoch.number == epoch else window.epoch

    def _finish(self, messages: Sequence[bytes]) -> bool:
        opened = self._open
        assert opened is not None, "a window is committed once"
        self._feed.sent(opened.window, unpickle_reports(messages), opened.retried)
        self._reached_ms = opened.window.end_ms
        self._open = None
        return True


def _file_settings(window: Window) -> FileSettings | None:
    """Return the settings if the run writes fixture files."""
    settings = window.epoch.spec.settings
    return settings if isinstance(settings, FileSettings) else None
