"""The standard streams of a process: what is closed, full, or read by nobody any more.

One law: no exit code hangs on who reads standard error; what standard output could not take is told by the code.
"""

from __future__ import annotations

import io
import os
import select
import sys
from contextlib import suppress

STANDARD = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def reopen_closed() -> None:
    """A standard stream that is closed counts as /dev/null, and no other file gets its number."""
    while (number := os.open(os.devnull, os.O_RDWR)) < len(STANDARD):
        os.set_inheritable(number, True)
    os.close(number)
    for name, mode in STANDARD:
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


def flushed(code: int) -> int:
    """The code, once standard output has taken everything; a reader that is gone has seen enough. Raises OSError."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        if not reader_gone():
            raise
    return code


def reader_gone() -> bool:
    """Whether standard output is a pipe, or a socket, that nobody reads any more."""
    try:
        waits = select.poll()
        waits.register(sys.stdout.fileno(), 0)
        return any(events & (select.POLLERR | select.POLLHUP) for _, events in waits.poll(0))
    except (OSError, ValueError):
        return False


def let_go() -> None:
    """Before the interpreter ends, which makes 120 of the exit code where a stream still holds what it cannot write."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError, ValueError, io.UnsupportedOperation):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
