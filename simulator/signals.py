"""Signals that end a run: SIGINT (Ctrl-C), SIGTERM (docker stop, Kubernetes) and SIGHUP (a closed terminal).

One law: each raises `Stopped` in the main thread, in no `held` block and not while another one is being followed; a
signal that was ignored when the process began (nohup) stays ignored.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 10.0
"""Seconds in which further signals change nothing: what was begun is being put away."""

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "stopped by SIGTERM", signal.SIGHUP: "stopped by SIGHUP"}


class Stopped(BaseException):
    """A signal told this process to end; no Exception, so that nobody who deals with errors takes it for one."""

    def __init__(self, number: int) -> None:
        super().__init__(WORDS[signal.Signals(number)])
        self.exit_code = 128 + number
        """As shells have it."""


@contextmanager
def heeded() -> Iterator[None]:
    """Raises Stopped where a signal comes."""
    last = -PATIENCE

    def stop(number: int, frame: object) -> None:
        nonlocal last
        if time.monotonic() - last >= PATIENCE:
            last = time.monotonic()
            raise Stopped(number)

    with _handled(stop):
        yield


class Asked:
    """Whether a signal has asked for an end that is not torn."""

    number = 0
    """Of the signal; 0 while none came."""


@contextmanager
def gently() -> Iterator[Asked]:
    """The first signal only asks; the second one raises Stopped."""
    asked = Asked()

    def ask(number: int, frame: object) -> None:
        if asked.number:
            raise Stopped(number)
        asked.number = number

    with _handled(ask):
        yield asked


@contextmanager
def held() -> Iterator[None]:
    """Holds signals back while something is done that may not be torn, and lets the first one through at the end."""
    came: list[int] = []
    try:
        with _handled(lambda number, frame: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])


def ignored() -> None:
    """Ignores them from now on: all is done, and the interpreter's own end is not to be torn either."""
    for number in WORDS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _handled(handler: Callable[[int, object], None]) -> Iterator[None]:
    """Signals reach the main thread alone: in others nothing is to be done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in WORDS}
    heard = [number for number, old in before.items() if old not in (signal.SIG_IGN, None)]
    try:
        for number in heard:
            signal.signal(number, handler)
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])
