"""Server processes that outlive this one: their ports, start, and whether they still run."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from simulator.errors import UserError

STOP_WITHIN = 15.0

EXEC_WITHIN = 5.0
"""Seconds in which a new process may have no command line, while the shell execs setsid, then Java (Linux)."""


def launch(command: Sequence[str], log: Path) -> int:
    """Start a command in its own session, so that it outlives this process and Ctrl-C; return its pid."""
    setsid = [tool] if (tool := shutil.which("setsid")) else []
    script = 'log=$1; shift; "$@" </dev/null >"$log" 2>&1 & echo $!'
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(log), *setsid, *command], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def runs(pid: int, mark: str) -> bool:
    """Return whether a process runs whose command line has a text; another program may have got the same pid."""
    end = time.monotonic() + EXEC_WITHIN
    while (command := _command(pid)) == "" and time.monotonic() < end:
        time.sleep(0.01)
    return command is not None and mark in command


def stop(pid: int, mark: str) -> None:
    """End a process that `runs`, by force if need be."""
    os.kill(pid, signal.SIGTERM)
    if not _wait_until_stopped(pid, mark):
        os.kill(pid, signal.SIGKILL)
        _wait_until_stopped(pid, mark)


def choose_port(port: int | None, *preferred: int | None) -> int:
    """Return a port if it is free, by default a preferred one or any; raise UserError if the given one is taken."""
    if port is None:
        return next((p for p in preferred if p is not None and is_free(p)), None) or free_port()
    if not 0 < port < 65536:
        raise UserError(f"port {port} is not a TCP port: 1 to 65535")
    if not is_free(port):
        raise UserError(f"port {port} on 127.0.0.1 is taken by another program: give another one")
    return port


def free_port() -> int:
    """Return a free port below the ephemeral range, in which a client that retries can connect to itself."""
    for port in random.sample(range(20000, 32768), 200):
        if is_free(port):
            return port
    raise UserError("no free TCP port between 20000 and 32767 on 127.0.0.1")


def is_free(port: int) -> bool:
    """Return whether no program listens on a port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _wait_until_stopped(pid: int, mark: str) -> bool:
    end = time.monotonic() + STOP_WITHIN
    while time.monotonic() < end:
        if not runs(pid, mark):
            return True
        time.sleep(0.1)
    return False


def _command(pid: int) -> str | None:
    """Return the process's command line, None if it has ended; empty during an exec (Linux)."""
    process = Path(f"/proc/{pid}")
    try:
        state = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
        return None if state in "ZX" else (process / "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        if Path("/proc/self").exists():
            return None
        done = subprocess.run(["ps", "-p", str(pid), "-o", "args="], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else None
