"""What the benchmarks share: options, ways that take turns, a Kafka, processes seen from outside, and diffs.

Options are called and typed as their defaults are, so that a script says what it takes in one line.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from simulator import broker, releases
from simulator.broker.java import free_port
from simulator.engines.work import Engine
from simulator.run import plan, scenario
from simulator.run.checkpoint import CheckpointWriter
from simulator.run.execute import PlannedRun, RunResult
from simulator.run.outputs import Output
from simulator.run.plan import Plan
from simulator.run.steps.derivation import SchemaChangeOptions
from simulator.settings import Settings
from simulator.ticdc.changefeed import Changefeed

HERE = Path(__file__).parent
SIX = HERE / "load_six.toml"
PROGRAM = (str(Path(sys.executable).with_name("ticdc-sim")),)
COUNTING = (sys.executable, str(HERE / "load_into.py"))
"""The program, and the same with a sink that counts in place of Kafka."""

PARTITIONS = 4
SPREAD = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'
"""A changefeed.toml whose rows go to all partitions."""

T = TypeVar("T")

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Commands that are measured start with bytecode, as an installed program does, from their second run on."""


def options(about: str | None, choices: Mapping[str, Iterable[str]] | None = None, **defaults: Any) -> Any:
    """The options of this command line: a tuple takes several values, False is a switch, a type has no default."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        several, kind = isinstance(default, tuple), default if isinstance(default, type) else type(default)
        how: dict[str, Any] = {"type": type(default[0]), "nargs": "+"} if several else {"type": kind}
        if default is False:
            how = {"action": "store_true"}
        elif several:
            how["action"] = "extend"
        if choices and name in choices:
            how["choices"] = tuple(choices[name])
        parser.add_argument(f"--{name.replace('_', '-')}", **how)
    said = vars(parser.parse_args())
    given = {name: default for name, default in defaults.items() if said[name] is None and default not in (str, Path)}
    return argparse.Namespace(**{**said, **given})


# -- one way beside another --------------------------------------------------------------------------------------------


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


@contextmanager
def told(what: str) -> Iterator[None]:
    """Print how long something took."""
    wall, used = time.monotonic(), time.process_time()
    yield
    print(f"{what:50} {time.monotonic() - wall:7.1f} s, {time.process_time() - used:7.1f} s of CPU", flush=True)


def in_turn(ways: Mapping[str, Callable[[], T]], rounds: int, warm: int = 1) -> dict[str, list[T]]:
    """What each way gives, round by round, so that a busy moment of the machine meets all; first rounds do not count."""
    found: dict[str, list[T]] = {name: [] for name in ways}
    for number in range(warm + rounds):
        for name, way in ways.items():
            given = way()
            found[name] += [given] if number >= warm else []
    return found


def beside(one: Sequence[float], other: Sequence[float]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(mine / theirs for mine, theirs in zip(one, other, strict=True))


# -- Kafka -------------------------------------------------------------------------------------------------------------

KEPT = {
    "log.retention.bytes": str(256 << 20),
    "log.segment.bytes": str(64 << 20),
    "log.retention.check.interval.ms": "2000",
    "log.initial.task.delay.ms": "1000",
    "log.segment.delete.delay.ms": "500",
}
"""Kafka keeps 256 MiB of a partition, and looks every 2 seconds for what is more: the disk must not fill."""


@contextmanager
def kafka(properties: Mapping[str, str] | None = None) -> Iterator[broker.Server]:
    """A Kafka of one's own."""
    with tempfile.TemporaryDirectory(prefix="bench-kafka-") as name:
        broker.start(free_port(), Path(name), properties)
        try:
            served = broker.status(Path(name))
            assert served is not None, "it has just been started"
            yield served
        finally:
            broker.stop(Path(name))


def uri(address: str, topic: str, protocol: str = "canal-json", partitions: int = PARTITIONS) -> str:
    """A sink-uri; Canal-JSON with watermarks."""
    more = "&enable-tidb-extension=true" if protocol == "canal-json" else ""
    return f"kafka://{address}/{topic}?protocol={protocol}&partition-num={partitions}{more}"


# -- diffs in this process ---------------------------------------------------------------------------------------------


def planned(
    before: Path,
    after: Path,
    changefeed: Changefeed,
    change: SchemaChangeOptions | None = None,
    settings: Settings | None = None,
) -> Plan:
    """The plan of a diff."""
    script = scenario.diff(before, after, change or SchemaChangeOptions())
    return plan.plan(script.run_spec(settings or Settings()), changefeed, releases.V8_5)


def sent(engine: Engine, drawn: Plan, output: Output, checkpoint: CheckpointWriter | None = None) -> RunResult:
    """Send all of a plan."""
    account = PlannedRun(drawn, output, releases.V8_5).send(engine, checkpoint)
    assert not any(partition.error for partition in account.delivered), account.delivered
    return account


def small_snapshot(directory: Path, rows: int, comment: str = "") -> Path:
    """One table of two columns."""
    directory.mkdir(parents=True)
    text = f"CREATE TABLE t (id int primary key, n int) COMMENT '{comment}';\n"
    (directory / "bench.t-schema.sql").write_text(text)
    (directory / "bench.t.csv").write_text("".join(f"{number},{number}\n" for number in range(rows)))
    return directory


# -- processes seen from outside ---------------------------------------------------------------------------------------

TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGESIZE")
KINDS = ("driver", "Java", "largest Python worker", "all")
"""Whose memory is told."""


class Seen(NamedTuple):
    """A process at one moment."""

    role: str
    rss: int
    cpu: float


@dataclass(frozen=True)
class Look:
    """Processes at one moment."""

    second: float
    processes: Mapping[int, Seen]
    broker: float
    """CPU seconds of Kafka so far."""

    @property
    def cpu(self) -> float:
        """CPU seconds so far."""
        return sum(each.cpu for each in self.processes.values())

    def rss(self, kind: str) -> int:
        """Bytes of one of KINDS."""
        sizes = [each.rss for each in self.processes.values() if kind == "all" or kind.endswith(each.role)]
        return sum(sizes) if kind == "all" else max(sizes, default=0)


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    seconds: float
    said: str
    looks: Sequence[Look]

    def cpu(self, role: str = "") -> float:
        """CPU seconds of all processes (of a role), as far as they were seen."""
        most: dict[int, float] = {}
        for look in self.looks:
            for pid, each in look.processes.items():
                if role in ("", each.role):
                    most[pid] = max(most.get(pid, 0.0), each.cpu)
        return sum(most.values())


def ran(
    *command: object,
    broker: int | None = None,
    every: float = 2.0,
    codes: Sequence[int] = (0,),
    seen: Callable[[int, Look], object] | None = None,
) -> Ran:
    """A command, looked at until it ends; where its exit code is none of those, this program ends, too.

    `broker` is the process of a Kafka whose CPU time counts, too; `seen` is called with the command's process and each
    look.
    """
    began, looks = time.monotonic(), list[Look]()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(list(map(str, command)), stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        try:
            while process.poll() is None:
                found = {pid: Seen(role(pid, process.pid), rss(pid), cpu_seconds(pid)) for pid in family(process.pid)}
                looks.append(Look(time.monotonic() - began, found, cpu_seconds(broker) if broker else 0.0))
                if seen:
                    seen(process.pid, looks[-1])
                with suppress(subprocess.TimeoutExpired):
                    process.wait(every)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        seconds = time.monotonic() - began
        output.seek(0)
        said = output.read()
    if process.returncode not in codes:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{said}")
    return Ran(process.returncode, seconds, said, looks)


def cpu_seconds(pid: int, ended: bool = False) -> float:
    """That a process has used, with `ended` also those below it that have ended; 0 for one that has itself."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11 : 15 if ended else 13])) / TICKS


def family(pid: int) -> Iterator[int]:
    """The process and all below it, as far as they have not ended."""
    yield pid
    children: list[str] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            children += task.read_text().split()
    for child in children:
        yield from family(int(child))


def rss(pid: int) -> int:
    """Bytes of memory; 0 of a process that has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


def role(pid: int, driver: int) -> str:
    """What a process of a run is: driver, Java, or Python worker."""
    if pid == driver:
        return "driver"
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        name = ""
    return "Java" if name == "java" else "Python worker"
