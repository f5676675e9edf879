"""The statement that runs, and its interruption by KILL or by the end of the server.

Only the computation of a statement is interrupted, which changes nothing that others see: not its commit.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from simulator.tidb.expressions.sql.evaluate import interrupt
from simulator.tidb.sql_engine.errors import sql_error


class _Interruption(BaseException):
    """Is raised inside a statement; no Exception, so that handlers of errors do not catch it."""


class RunningStatement:
    """The statement that a thread computes, if one does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._client = 0
        self._interrupted = False
        self._number = 0

    @contextmanager
    def of(self, client: int) -> Iterator[None]:
        """Let the block be interrupted. Raises SqlError 1317 if it was."""
        with self._lock:
            self._thread, self._client, self._interrupted = threading.get_ident(), client, False
            self._number += 1
        try:
            try:
                yield
            finally:
                self._ended()
        except BaseException:
            self._ended()
            if not self._interrupted:
                raise
        if self._interrupted:
            raise sql_error(1317)

    def interrupt(self, client: int | None = None) -> int:
        """Interrupt the statement, if it is of that client or of any; return its number, 0 without one. May be called
        in any thread."""
        with self._lock:
            if self._thread is None or client not in (None, self._client):
                return 0
            if not self._interrupted:
                self._interrupted = True
                _raise_in(self._thread, _Interruption)
            interrupt()
            return self._number

    def _ended(self) -> None:
        with self._lock:
            if self._thread is not None:
                _raise_in(self._thread, None)  # if it has not been raised yet
            self._thread = None


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Let a thread raise an error between two of its steps, or no longer."""
    reference = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), reference)
