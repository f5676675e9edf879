"""Programs in Java: Java itself, their jars from Maven Central, and servers that outlive this process.

Jars are downloaded once into the user's cache with the Ivy among pyspark's jars. A directory of jars is complete or
missing: it is filled under another name and renamed.

A directory has one server of a kind. Its state file has the id of the process, which is checked each time.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from simulator import signals
from simulator.errors import DeliveryError, UserError
from simulator.sinks import staging

JAVA_MINIMUM = 17
"""The minimum version of Kafka 4's brokers, and of Spark 4."""

VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java(who: str) -> str:
    """Return the java program of JAVA_HOME or PATH; raise UserError, which names `who`, if none is new enough."""
    requirement = f"{who} needs Java {JAVA_MINIMUM} or newer: install one, or point JAVA_HOME at it"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    if java is None:
        raise UserError(f"no Java found {f'under JAVA_HOME ({home})' if home else 'on PATH'}. {requirement}")
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, errors="replace", timeout=30).stderr
    except OSError as error:
        raise UserError(f"Java does not start: {java}: {error.strerror}. {requirement}") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"Java does not answer: {java} -version took more than 30 s. {requirement}") from error
    match = VERSION.search(text)
    if match is None:
        raise UserError(f"Java does not say its version: {java} -version printed {text.strip()[:80]!r}. {requirement}")
    if int(match[1]) < JAVA_MINIMUM:
        raise UserError(f"Java {match[1]} is too old: {who} needs Java {JAVA_MINIMUM} or newer; point JAVA_HOME at one")
    return java


def cache_directory() -> Path:
    """Return `$XDG_CACHE_HOME/ticdc-simulator`, or the same under `~/.cache`."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "ticdc-simulator"


def fetch_jars(java_program: str, name: str, what: str, ivy_file: str) -> Path:
    """Return the cache directory with the jars of an Ivy file, downloaded if missing.

    Raise UserError, which names `what`, if that fails.
    """
    return _cached(name, lambda staged: _fetch(java_program, staged, what, ivy_file, ("jar", "bundle")))


def fetch_archive(java_program: str, name: str, what: str, ivy_file: str) -> Path:
    """Return the cache directory with the unpacked `tar.gz` of an Ivy file, downloaded if missing.

    Raise UserError, which names `what`, if that fails.
    """

    def fill(staged: Path) -> Path:
        (archive,) = _fetch(java_program, staged, what, ivy_file, ("tar.gz",)).glob("*.tar.gz")
        shutil.unpack_archive(archive, staged / "unpacked", filter="data")
        return staged / "unpacked"

    return _cached(name, fill)


def _cached(name: str, fill: Callable[[Path], Path]) -> Path:
    """Return a cache directory; if it is missing, it is what `fill` returns, below a directory that it is given."""
    directory = cache_directory() / name
    if not directory.is_dir():
        staged = staging.make(directory)
        try:
            _keep(fill(staged), directory)
        finally:
            staging.discard(staged)
    return directory


def _keep(filled: Path, directory: Path) -> None:
    try:
        filled.rename(directory)
    except OSError:
        if not directory.is_dir():
            raise


def _fetch(java_program: str, staging_directory: Path, what: str, ivy_file: str, types: Sequence[str]) -> Path:
    """Return a directory in the staging directory with what an Ivy file names."""
    (staging_directory / "ivy.xml").write_text(ivy_file, encoding="ascii")
    pattern = f"{staging_directory}/lib/[artifact]-[revision](-[classifier]).[ext]"
    command = [java_program, "-cp", _ivy(what), "org.apache.ivy.Main", "-cache", f"{staging_directory}/ivy"]
    command += ["-ivy", f"{staging_directory}/ivy.xml"]
    # With `-types jar` alone five jars of packaging "bundle" are left out, and Kafka dies.
    command += ["-confs", "default", "-types", *types, "-retrieve", pattern]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or not list((staging_directory / "lib").glob("*")):
        output = last_line(done.stderr + done.stdout)
        raise UserError(f"{what} could not be fetched from Maven Central: {output}")
    return staging_directory / "lib"


def _ivy(what: str) -> str:
    """Return the class path of Ivy and its command line parser, among pyspark's jars of any version."""
    spec = find_spec("pyspark")
    folder = Path(spec.origin).parent / "jars" if spec and spec.origin else Path()
    jars = [next(iter(sorted(folder.glob(pattern))), None) for pattern in ("ivy-[0-9]*.jar", "commons-cli-[0-9]*.jar")]
    if None in jars:
        raise UserError(f"no Ivy among pyspark's jars ({folder}): cannot fetch {what}; reinstall pyspark")
    return os.pathsep.join(str(path) for path in jars)


def last_line(text: str) -> str:
    """Return the last informative line of an output, for an error of one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    informative = [line for line in lines if "ERROR" in line or "Exception" in line or "UNRESOLVED" in line]
    return (informative or lines or ["it said nothing"])[-1][:300]


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
