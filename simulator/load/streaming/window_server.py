"""The run's side of a query: which window is open, who sends which part of it, and what became of it.

One law: one window is open at a time, until its watermark is acknowledged; it is given out again only when every
process that may have sent rows of it before has ended.
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
"""Seconds in which a process of Spark ends that is told to."""


@dataclass
class SendingProcess:
    """A process of Spark that sends."""

    response: BufferedIOBase
    group: int | None = None
    """Which part of a window it had last: what it keeps is about that one."""

    epoch: int | None = None


@dataclass
class OpenWindow:
    """A window that is being sent."""

    window: Window
    retried: int = 0
    given: dict[int, SendingProcess] = field(default_factory=dict)
    before: dict[Path, int] = field(default_factory=dict)
    """How large files were before it."""


class WindowServer:
    """Answers what Spark's processes ask."""

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
        """Set when the run is over, or when it cannot go on as it is."""

        self.over = False
        self.error: BaseException | None = None
        self._server = TaskServer(self._serve, place)

    @property
    def start(self) -> QueryStart:
        """For those that ask."""
        return QueryStart(self._server.driver, self._attempt, self._tasks)

    def again(self) -> None:
        """Ends whoever may still send rows of the open window, and makes it as if it had not been given out; raises
        DeliveryError where one of them does not end."""
        with self._lock:
            self._attempt += 1
            self.error = None
            self.ended.clear()
            self._end_senders()
            if self._open is not None:
                self._open.retried += 1
                self._open.given.clear()
                if isinstance(files := _file_settings(self._open.window), FileSettings):
                    directory.truncate_to(files, self._open.before)

    def hurry(self) -> None:
        """Has the open window sent without pace, where a signal has stop_request for the end."""
        if not self._feed.stop_request.number:
            return
        with self._lock:
            for sender in self._senders.values():
                with suppress(OSError):
                    send_message(sender.response, SEND_NOW)

    def close(self) -> None:
        """Ends all that is connected."""
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
        """One process, as long as it asks."""
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
                    opened = self._next()
                    return opened.window.first_ms if opened else self._reached_ms
                case "next":
                    opened = self._next()
                    return opened.window.end_ms if opened else self._reached_ms
                case "take":
                    return self._taken(self._senders[key], *more)
                case "sent":
                    return self._sent(*more)
                case _:
                    self.ended.set()
                    return True
        except BaseException as error:
            self.error = error
            self.ended.set()
            return None

    def _next(self) -> OpenWindow | None:
        """The window that is open, or one that is opened."""
        if self._open is None and not self.over:
            window = self._feed.next()
            if window is None:
                self.over = True
                self.ended.set()
            else:
                files = _file_settings(window)
                self._open = OpenWindow(window, before={} if files is None else directory.sizes(files))
        return self._open

    def _taken(self, sender: SendingProcess, end_ms: int, epoch: int | None) -> Any:
        """The part of the window that a process sends: its own, one that is nobody's, or any."""
        opened = self._open
        assert opened is not None and opened.window.end_ms == end_ms, "a task was started for another window"
        left = [group for group in range(self._tasks) if group not in opened.given]
        if not left:  # whoever had it may still send
            raise ProcessLost("a task of Spark was lost with its machine, and begun again")
        others = {other.group for other in self._senders.values() if other is not sender}
        group = min(left, key=lambda group: (group != sender.group, group in others, group))
        opened.given[group] = sender
        sender.group = group
        window = opened.window
        return group, window.first_ms, window.pace, None if window.epoch.number == epoch else window.epoch

    def _sent(self, messages: Sequence[bytes]) -> bool:
        opened = self._open
        assert opened is not None, "a window is committed once"
        self._feed.sent(opened.window, unpickle_reports(messages), opened.retried)
        self._reached_ms = opened.window.end_ms
        self._open = None
        return True


def _file_settings(window: Window) -> FileSettings | None:
    """Where a run's fixture files grow."""
    settings = window.epoch.spec.settings
    return settings if isinstance(settings, FileSettings) else None
