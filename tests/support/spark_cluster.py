"""Spark's standalone mode for the tests: a master and workers of one core each, as processes on the loopback.

A worker has what a machine of a cluster would have: Spark, Python, the libraries, and nothing of us.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from simulator.broker.java import cache_directory, find_java, free_port
from support.processes import kill, living, members

LIBRARIES = Path(pytest.__file__).parent.parent
"""Where Python's libraries are, pyspark among them."""

SPARK = Path(str(getattr(find_spec("pyspark"), "origin", None))).parent


@dataclass(frozen=True)
class Cluster:
    """One that runs."""

    url: str
    workers: tuple[Path, ...]
    """The directories in which their executors work."""

    sessions: tuple[int, ...]
    """The workers' own processes, each of which leads the session of those that it starts."""


@cache
def short_lived() -> str:
    """Options for a Java that ends before its second compiler and several collectors pay; it takes Spark's classes from
    the archive that a driver has written, if there is one: they are half of the time in which a worker starts."""
    from simulator.engines.spark import class_data  # which imports pyspark

    archive = cache_directory() / "spark-classes" / f"{class_data._key(find_java('Spark'))}.jsa"
    shared = f" {class_data.QUIET} -XX:SharedArchiveFile={archive}" if class_data._complete(archive) else ""
    return f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC{shared}"


@contextmanager
def running(home: Path) -> Iterator[Cluster]:
    """One that works in that directory, with two workers."""
    port, environment = free_port(), without_us(home)
    url, directories = f"spark://127.0.0.1:{port}", (home / "one", home / "two")
    with ExitStack() as stack:
        stack.callback(end, start_master(home / "master", port))
        workers = [start_worker(directory, url, environment) for directory in directories]
        for worker in workers:
            stack.callback(end, worker)
        wait_for(home / "master" / "log", "Registering worker", len(workers))
        yield Cluster(url, directories, tuple(worker.pid for worker in workers))


def start_master(directory: Path, port: int) -> subprocess.Popen[bytes]:
    """The master, once it listens."""
    process = _deploy(directory, "master.Master", {}, "--port", port)
    wait_for(directory / "log", "Starting Spark master", 1)
    return process


def start_worker(directory: Path, master: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A worker of one core, whose executors work in that directory; it registers later."""
    size = ("--cores", 1, "--memory", "1g", "--work-dir", directory)
    return _deploy(directory, "worker.Worker", environment, *size, master)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a master or worker, and executors that it left behind."""
    process.terminate()
    process.wait(30)
    kill(members(process.pid))


def _deploy(directory: Path, kind: str, env: Mapping[str, str], *arguments: object) -> subprocess.Popen[bytes]:
    """Start a master or worker of Spark's standalone mode on 127.0.0.1 alone, in a session of its own; it logs there."""
    directory.mkdir(exist_ok=True)
    own = {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_HOME": str(SPARK),
        "SPARK_DAEMON_JAVA_OPTS": short_lived(),
        "SPARK_LAUNCHER_OPTS": short_lived(),
    }
    host = "--host", "127.0.0.1", "--webui-port", 0
    command = [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", *host, *arguments]
    with (directory / "log").open("ab") as log:
        return subprocess.Popen(
            list(map(str, command)),
            cwd=directory,
            env={**os.environ, **own, **env},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def executors(worker: Path) -> list[int]:
    """The processes that execute for a worker."""
    found = []
    for pid in (pid for pid, _, command in living() if "CoarseGrainedExecutorBackend" in command):
        with suppress(OSError):  # it may have ended
            if worker in Path(os.readlink(f"/proc/{pid}/cwd")).parents:
                found.append(pid)
    return found


def without_us(directory: Path) -> dict[str, str]:
    """The environment of a machine whose `python3` has the libraries that we need, and not us."""
    libraries, programs = directory / "libraries", directory / "bin"
    libraries.mkdir()
    for entry in LIBRARIES.iterdir():
        if entry.is_dir() and not entry.name.startswith("ticdc"):
            (libraries / entry.name).symlink_to(entry)
    programs.mkdir()
    (programs / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    (programs / "python3").chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    return {"PATH": path, "PYTHONPATH": str(libraries), "JDK_JAVA_OPTIONS": short_lived()}  # the last is for executors


def wait_for(log: Path, words: str, times: int) -> None:
    """Until the log has said it so often."""
    patience = time.monotonic() + 120
    while log.read_text().count(words) < times:
        assert time.monotonic() < patience, log.read_text()
        time.sleep(0.2)
