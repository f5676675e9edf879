"""`ticdc-sim` as a process of its own, and what becomes of it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def started(
    *arguments: object,
    limit: int = resource.RLIM_INFINITY,
    stdout: int = subprocess.PIPE,
    ignored: tuple[int, ...] = (),
    first: str = "",
) -> Iterator[subprocess.Popen[str]]:
    """The command in a process group of its own, as a shell starts it; no file of it may grow beyond `limit` bytes.

    `first` are statements of Python that it runs before all else.
    """

    def prepared() -> None:
        for heard in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):  # jobs in the background ignore the first,
            signal.signal(heard, signal.SIG_DFL)  # and those under nohup the second
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    # Python 3.11 keeps half a compiled module where a file may not grow.
    compiled = {} if limit == resource.RLIM_INFINITY else {"PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", f"{first}\nfrom simulator.cli import main; main()", *map(str, arguments)]
    with subprocess.Popen(
        command,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=prepared,
        env={**os.environ, **compiled},
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def errors(process: subprocess.Popen[str]) -> list[str]:
    """What a process says until it ends, without progress."""
    assert process.stderr is not None
    said = [line.rstrip("\n") for line in process.stderr]
    process.wait(60)
    return without_progress(said)


def without_progress(lines: Iterable[str]) -> list[str]:
    """The lines of standard error that stay on a terminal."""
    return [line for line in lines if line and not line.endswith(" …")]


def wait_until(process: subprocess.Popen[str], so: Callable[[], bool], every: float = 0.2) -> None:
    """Waits for that, or for the end of the process."""
    while process.poll() is None and not so():
        time.sleep(every)


def wait_for_stage(process: subprocess.Popen[str], name: str) -> None:
    """Waits until the process says that this stage begins."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(name):
            return


def living() -> list[tuple[int, int, str]]:
    """Process, parent and command line of all that have not ended."""
    found = []
    for directory in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):  # it may have ended
            stat, command = (Path("/proc", directory, name).read_bytes() for name in ("stat", "cmdline"))
            state, parent = stat.rpartition(b") ")[2].split()[:2]
            if state != b"Z":
                found.append(
                    (int(directory), int(parent), command.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace"))
                )
    return found


def end_within(seconds: float, processes: Collection[int]) -> bool:
    """Whether all these end by then."""
    patience = time.monotonic() + seconds
    while not {pid for pid, *_ in living()}.isdisjoint(processes):
        if time.monotonic() > patience:
            return False
        time.sleep(0.2)
    return True


def children(process: int, name: str = "") -> list[int]:
    """The processes with that word in their command line that this one started, or those did."""
    rows, found, parents = living(), [], {process}
    while parents:
        below = [(pid, command) for pid, parent, command in rows if parent in parents]
        found += [pid for pid, command in below if name in command]
        parents = {pid for pid, _ in below}
    return found


def members(session: int) -> list[int]:
    """The processes of a session that have not ended, in whatever process groups."""
    found = []
    for pid, *_ in living():
        with suppress(OSError):  # it may have ended
            if os.getsid(pid) == session:
                found.append(pid)
    return found


def kill(processes: Iterable[int], number: signal.Signals = signal.SIGKILL) -> None:
    """Sends them a signal, if they are still there."""
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
