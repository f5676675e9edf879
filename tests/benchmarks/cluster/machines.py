"""All servers as processes of this machine: a master and workers of Spark, three brokers of Kafka, and small disks."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from support.processes import kill, members
from support.spark_cluster import end, executors, start_master, start_worker, wait_for, without_us

from cluster.brokers import Brokers
from simulator.broker.java import free_port

BROKERS = 3

SIZES = {"worker": "48m", "broker": "512m", "checkpoint": "1m"}
"""Of small disks, by what is on them."""

PIECE = b"\0" * 4096


class Machines:
    """One cluster and one Kafka, below a directory; what died is started again between runs."""

    def __init__(
        self, home: Path, workers: int, small_disks: bool, environment: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """`environment` has variables that differ from those of the tests' workers."""
        self.home, self._variables = home, environment
        self.checkpoints = home / "checkpoints"
        self.disks: list[Path] = []
        """The directories that are small file systems."""

        self._directories = [home / f"worker-{number}" for number in range(workers)]
        brokers = [home / f"broker-{number}" for number in range(BROKERS)]
        for directory in (self.checkpoints, *self._directories, *brokers):
            directory.mkdir()
            if small_disks:
                self._mount(directory)
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        self._environments = [self._environment(number) for number in range(workers)]
        self._registered = 0
        port = free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self.brokers = Brokers(brokers)
        try:
            self._master = start_master(home / "master", port)
            self._workers += map(self._start, range(workers))
            self.mend()
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> int:
        """How many there are, dead ones too."""
        return len(self._workers)

    def of_worker(self, number: int) -> list[int]:
        """The processes of a machine with a worker: the worker, its executors, their Python."""
        return members(self._workers[number].pid)

    def executors(self) -> list[int]:
        """The executors' Java of all workers."""
        return [pid for directory in self._directories for pid in executors(directory)]

    def start_again(self, number: int) -> None:
        """A worker, if it is dead."""
        if self._workers[number].poll() is not None:
            kill(self.of_worker(number))
            self._workers[number] = self._start(number)

    def mend(self, topics: Sequence[str] = ()) -> None:
        """Start again what is dead, and wait until everything is there."""
        for number in range(self.workers):
            self.start_again(number)
        for number in range(BROKERS):
            self.brokers.start_again(number)
        self.brokers.wait_in_sync(topics)
        wait_for(self.home / "master" / "log", "Registering worker", self._registered)
        patience = time.monotonic() + 60
        while self.executors():
            assert time.monotonic() < patience, "executors of a run that has ended do not end"
            time.sleep(0.1)

    def close(self) -> None:
        """End everything, and remove the small disks."""
        for process in (*self._workers, *([self._master] if self._master else [])):
            kill(members(process.pid))
            end(process)
        self.brokers.close()
        for disk in self.disks:
            subprocess.run(["umount", "-l", str(disk)], check=True)

    def _environment(self, number: int) -> dict[str, str]:
        """Of a worker; Spark's own files are where its executors work."""
        aside = self.home / f"environment-{number}"
        aside.mkdir()
        return without_us(aside) | {"SPARK_LOCAL_DIRS": str(self._directories[number] / "local"), **self._variables}

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        self._registered += 1
        return start_worker(self._directories[number], self.url, self._environments[number])

    def _mount(self, directory: Path) -> None:
        size = SIZES[directory.name.partition("-")[0].removesuffix("s")]
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)], check=True)
        self.disks.append(directory)


def no_mounts(directory: Path) -> str | None:
    """Why no small file system can be made here; None if one can."""
    if os.geteuid() != 0:
        return "only root may mount a file system"
    trial = directory / "trial"
    trial.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(trial)], capture_output=True, text=True
    )
    if done.returncode == 0:
        subprocess.run(["umount", str(trial)], check=True)
    trial.rmdir()
    return done.stderr.strip() if done.returncode else None


def fill(disk: Path) -> Path:
    """Fill a small file system to its last byte; the file that does."""
    path = disk / "full"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(PIECE)
        except OSError:
            return path
