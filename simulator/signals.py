"""Signals that end a run: SIGINT (Ctrl-C), SIGTERM (docker stop, Kubernetes) and SIGHUP (a closed terminal).

Each raises `Stopped` in the main thread, but not while signals are deferred or while another one is being handled. A
signal that was ignored when the process began (nohup) stays ignored.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE = 10.0
"""Seconds after a signal in which further signals are ignored, while the process cleans up."""

TOGETHER = 0.5
"""Seconds in which a signal that comes again is the same one: `timeout` sends it to a process, and then to its group."""

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "stopped by SIGTERM", signal.SIGHUP: "stopped by SIGHUP"}


class Stopped(BaseException):
    """A signal ended this process. It is no Exception, so that handlers of errors do not catch it."""

    def __init__(self, number: int) -> None:
        super().__init__(WORDS[signal.Signals(number)])
        self.exit_code = 128 + number
        """As shells have it."""


class StoppedInImport(Stopped, KeyboardInterrupt):
    """A signal came while a module was imported: Python's compiler lets through no other exception than a
    KeyboardInterrupt, and goes on behind it (CPython 3.11: Python/ast_opt.c, make_const)."""


@contextmanager
def stop_on_signal() -> Iterator[None]:
    """Raise Stopped when a signal comes."""
    last = -PATIENCE

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last
        if time.monotonic() - last >= PATIENCE:
            last = time.monotonic()
            raise StoppedInImport(number) if _imports(frame) else Stopped(number)

    with _handled(stop):
        yield


def _imports(frame: FrameType | None) -> bool:
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


class StopRequest:
    """A request by a signal to stop at the next clean point."""

    number = 0
    """The signal's number; 0 if none came."""


@contextmanager
def stop_gracefully() -> Iterator[StopRequest]:
    """Turn the first signal into a stop request; the second one raises Stopped."""
    asked, since = StopRequest(), 0.0

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal since
        if not asked.number:
            asked.number, since = number, time.monotonic()
        elif number != asked.number or time.monotonic() - since > TOGETHER:
            raise Stopped(number)

    with _handled(ask):
        yield asked


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defer signals during work that must not be interrupted, and deliver the first one at the end."""
    received: list[int] = []
    try:
        with _handled(lambda number, frame: received.append(number)):
            yield
    finally:
        if received:
            signal.raise_signal(received[0])


def ignore_signals() -> None:
    """Ignore signals from now on, so that the interpreter's exit is not interrupted."""
    for number in WORDS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Install a handler for the signals. Signals reach only the main thread; nothing is done in others."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in WORDS}
    numbers = [number for number, old in before.items() if old not in (signal.SIG_IGN, None)]
    try:
        for number in numbers:
            signal.signal(number, handler)
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number])
