"""What happens to a run: whom it meets is drawn by a random generator, and what dies or stands still comes back."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from support.processes import children, kill, members

from cluster.machines import BROKERS, Machines, fill

BACK = 5.0
"""Seconds after which something that died is started again, or a disk has space again."""

PAUSE = 20.0


def nothing() -> None:
    """There is nothing to undo."""


@dataclass(frozen=True)
class Harm:
    """Done to a run."""

    what: str
    undo: Callable[[], None] = nothing
    lasts: float = math.inf
    """Seconds until it is undone; for ever, that is until the run has ended."""

    ends_first: bool = False
    """Whether whoever resumes the run waits until it is undone."""


Fault = Callable[[Random, Machines, int], Harm | None]
"""Harms a run whose driver is that process; None as long as there is nobody to harm."""


def kill_worker(random: Random, machines: Machines, driver: int) -> Harm:
    """A machine is gone: the worker, its executors and their Python. It is back soon, or stays away."""
    number = random.randrange(machines.workers)
    kill(machines.of_worker(number))
    away = math.inf if machines.workers > 1 and random.random() < 0.5 else BACK
    return Harm(f"worker {number}", lambda: machines.start_again(number), away)


def kill_executor(random: Random, machines: Machines, driver: int) -> Harm | None:
    """Its Java; Spark's master starts another one."""
    if not (found := machines.executors()):
        return None
    kill([random.choice(found)])
    return Harm("an executor")


def kill_driver(random: Random, machines: Machines, driver: int) -> Harm | None:
    """Its Python, its Java, or both."""
    what = random.choice(["the driver", "the driver's Python", "the driver's Java"])
    found = {
        "the driver": members(driver),
        "the driver's Python": [driver],
        "the driver's Java": children(driver, "java"),
    }[what]
    kill(found)
    return Harm(what) if found else None


def kill_broker(random: Random, machines: Machines, driver: int) -> Harm:
    """It comes back with its data."""
    number = random.randrange(BROKERS)
    kill(machines.brokers.members(number))
    return Harm(f"broker {number}", lambda: machines.brokers.start_again(number), BACK)


def pause(random: Random, machines: Machines, driver: int) -> Harm | None:
    """A machine, an executor with its Python, a broker or the driver stands still."""
    what = random.choice(["worker", "executor", "broker", "driver"])
    if what == "worker":
        found = machines.of_worker(random.randrange(machines.workers))
    elif what == "executor":
        java = random.choice(machines.executors() or [0])
        found = [java, *children(java)] if java else []
    elif what == "broker":
        found = machines.brokers.members(random.randrange(BROKERS))
    else:
        found = members(driver)
    kill(found, signal.SIGSTOP)
    return Harm(f"{what} paused", lambda: kill(found, signal.SIGCONT), PAUSE) if found else None


def fill_disk(random: Random, machines: Machines, driver: int) -> Harm:
    """Of the checkpoint, of a worker, of a broker."""
    disk = random.choice(machines.disks)
    full = fill(disk)

    def undo() -> None:
        full.unlink()
        if disk.name.startswith("broker"):
            machines.brokers.start_again(int(disk.name.rpartition("-")[2]))

    return Harm(f"disk of {disk.name}", undo, BACK, ends_first=True)


def no_fault(random: Random, machines: Machines, driver: int) -> Harm:
    return Harm("nothing")


FAULTS: Mapping[str, Fault] = {
    "worker": kill_worker,
    "executor": kill_executor,
    "driver": kill_driver,
    "broker": kill_broker,
    "pause": pause,
    "disk": fill_disk,
    "none": no_fault,
}
