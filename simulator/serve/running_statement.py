"""The statement that runs, and its interruption by KILL or by the end of the server.

What a function computes ends between two steps of Python; an execution is told, and looks now and then.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

from simulator.tidb.errors import sql_error

Returned = TypeVar("Returned")


class _Interruption(BaseException):
    """Is raised inside a statement; no Exception, so that handlers of errors do not catch it."""


class RunningStatement:
    """The statement that a thread computes, if one does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._client = 0
        self._kill: Callable[[], None] | None = None
        self._interrupted = False
        self._number = 0

    def compute(self, client: int, function: Callable[[], Returned]) -> Returned:
        """Return what a function returns, which may be interrupted. Raises SqlError 1317 if it was."""
        try:
            try:
                with self._lock:
                    self._thread, self._client, self._interrupted = threading.get_ident(), client, False
                    self._number += 1
                returned = function()
            finally:
                self._ended()
        except BaseException:
            self._ended()
            if not self._interrupted:
                raise
        if self._interrupted:
            raise sql_error(1317)
        return returned

    def watch(self, client: int, kill: Callable[[], None], function: Callable[[], Returned]) -> Returned:
        """Return what a function returns that `kill` tells to end."""
        with self._lock:
            self._thread, self._client, self._kill = threading.get_ident(), client, kill
            self._number += 1
        try:
            return function()
        finally:
            with self._lock:
                self._thread = self._kill = None

    def interrupt(self, client: int | None = None) -> int:
        """Interrupt the statement, if it is of that client or of any; return its number, 0 without one. May be called
        in any thread."""
        with self._lock:
            if self._thread is None or client not in (None, self._client):
                return 0
            if self._kill is not None:
                self._kill()
            elif not self._interrupted:
                self._interrupted = True
                _raise_in(self._thread, _Interruption)
            return self._number

    def _ended(self) -> None:
        with self._lock:
            self._thread = None
        if self._interrupted:
            _catch_interruption()


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Let a thread raise an error between two of its steps."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _catch_interruption() -> None:
    """Let this thread raise its interruption now, whether it has been raised or has not: one that is taken back with NULL
    stays announced to all threads, and a thread that is traced or profiled then takes no further step (Python 3.11)."""
    try:
        _raise_in(threading.get_ident(), _Interruption)
        while True:
            pass
    except _Interruption:
        return
