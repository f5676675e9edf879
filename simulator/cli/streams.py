"""Standard streams that are closed, full or no longer read.

Errors of standard output change the exit code, errors of standard error do not.
"""

from __future__ import annotations

import io
import os
import select
import sys
from contextlib import suppress

STANDARD = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def reopen_closed() -> None:
    """Open closed standard streams as /dev/null, so that no other file gets their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) < len(STANDARD):
        os.set_inheritable(number, True)
    os.close(number)
    for name, mode in STANDARD:
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


def flushed(code: int) -> int:
    """Flush standard output and return the code; raises OSError unless only the reader has closed the pipe."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        if not reader_gone():
            raise
    return code


def reader_gone() -> bool:
    """Return whether standard output is a pipe or a socket whose reader has closed it."""
    try:
        waits = select.poll()
        waits.register(sys.stdout.fileno(), 0)
        return any(events & (select.POLLERR | select.POLLHUP) for _, events in waits.poll(0))
    except (OSError, ValueError):
        return False


def let_go() -> None:
    """Discard unwritable output, with which the interpreter would end with exit code 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError, ValueError, io.UnsupportedOperation):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
