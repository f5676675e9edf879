"""Server processes that outlive this one: their ports, start, and whether they still run.

A directory has one server of a kind. Its state file has the id of the process, which is checked each time.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from simulator import signals
from simulator.broker.jars import last_line
from simulator.errors import DeliveryError, UserError

STOP_WITHIN = 15.0

READY_WITHIN = 60.0
"""Seconds until a server must answer: Kafka usually takes 2 s, 5-8 s on a directory whose broker was killed."""

EXEC_WITHIN = 5.0
"""Seconds in which a new process may have no command line, while the shell execs setsid, then Java (Linux)."""


@dataclass(frozen=True)
class Server:
    """A running server."""

    address: str
    """`host:port`, or a URL."""

    pid: int
    directory: str


@dataclass(frozen=True)
class ServerKind:
    """A kind of server, and its files in a directory."""

    name: str
    state: str
    """The file with the fields of the running `Server`."""

    mark: str
    """The file whose path is on its command line."""

    log: str

    def status(self, home: Path) -> Server | None:
        """Return the server of a directory; None if there is none."""
        try:
            state = json.loads((home / self.state).read_text(encoding="utf-8"))
            server = Server(str(state["address"]), int(state["pid"]), str(home))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return server if runs(server.pid, str(home / self.mark)) else None

    def start(self, home: Path, address: str, command: Sequence[str], is_ready: Callable[[], bool]) -> None:
        """Start it, and wait until it is ready; raise DeliveryError if it does not start or answer."""
        with signals.defer_signals():
            server = Server(address, launch(command, home / self.log), str(home))
            (home / self.state).write_text(json.dumps(asdict(server)), encoding="utf-8")
        try:
            self._wait_until(is_ready, server, home)
        except signals.Stopped:
            self.stop(home)
            raise

    def stop(self, home: Path) -> bool:
        """Stop the server of a directory; return whether there was one."""
        server = self.status(home)
        if server is not None:
            stop(server.pid, str(home / self.mark))
        (home / self.state).unlink(missing_ok=True)
        return server is not None

    def _wait_until(self, is_ready: Callable[[], bool], server: Server, home: Path) -> None:
        end, log = time.monotonic() + READY_WITHIN, home / self.log
        while time.monotonic() < end:
            if not runs(server.pid, str(home / self.mark)):
                text = log.read_text(encoding="utf-8", errors="replace")
                raise DeliveryError(f"{self.name} did not start: {last_line(text)} (see {log})")
            if is_ready():
                return
            time.sleep(0.2)
        self.stop(home)
        where = f"{'at' if '://' in server.address else 'on'} {server.address}"
        raise DeliveryError(f"{self.name} did not answer {where} in {READY_WITHIN:.0f} s (see {log})")


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
