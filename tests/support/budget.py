"""What a test may take: five seconds of a processor, or the marker `long`; and which tests are slow.

Tests marked `long` are left out unless `--everything` is given, and so are cases of some others, which count them by
`left_out`; the last line of a session says how many. `--budget` shows the tests that take most, and names those
above five seconds that are neither `long` nor listed in ABOVE_BUDGET. With `--budget hold` those above ten fail the session.

Counted are seconds of a processor, since those of a clock depend on what else runs: of this process and, for a slow test,
of all that it has started. What is started for the whole session (Spark, Kafka) counts for no test.

A test is slow if it uses Spark, Kafka, Flink, a registry or a process of its own, or takes a fifth of a second or more, so
that the others take about a minute together. Fixtures and markers show most of the former; the other slow tests are marked
where they stand. A test that is not slow and starts a process or imports pyspark fails.
"""

from __future__ import annotations

import os
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from simulator.limits import counted

SECONDS = 5.0
FAILURE = 10.0
"""Seconds that may fail a session. The first test of a process that others share cannot: Java takes more at first."""

SHOWN = 20

LONG = "long test"

ABOVE_BUDGET = Path(__file__).parent.parent / "house" / "above_budget.toml"

LOOP = 1_000_000
LOOP_SECONDS = 0.07
"""What LOOP rounds take at most where SECONDS are meant (Python 3.11 to 3.13); a slower processor takes more."""


class Cost(NamedTuple):
    """The seconds of a test, and whether it was the first to use something that the session shares."""

    test: str
    seconds: float
    is_first: bool


def left_out(request: pytest.FixtureRequest, count: int, of: str) -> None:
    """Tell how many cases of one kind a test leaves out."""
    request.node.user_properties.append((f"left out: {of}", count))


def listed() -> dict[str, str]:
    """The tests that may take longer, each with the reason."""
    return tomllib.loads(ABOVE_BUDGET.read_text("utf-8"))


class Budget:
    """A plugin of pytest that leaves long tests out, and with `--budget` measures the others.

    What the processes of xdist have found comes to the one that reports.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._asked: str | None = config.getoption("budget")
        self._everything: bool = config.getoption("everything")
        self._left_out: Counter[str] = Counter({LONG: 0})
        self._costs: list[Cost] = []
        self._before = self._shared = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_pycollect_makeitem(self) -> Generator[None, Any, Any]:
        """An error of collection where `long` has no reason."""
        made = yield
        for item in made if isinstance(made, list) else [made]:
            if isinstance(item, pytest.Item) and not all(map(_has_reason, item.iter_markers("long"))):
                raise pytest.Collector.CollectError(f"{item.nodeid}: write long(reason=…): what makes it long")
        return made

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item], config: pytest.Config) -> None:
        """Deselect long tests, after all other selections."""
        long = [item for item in items if item.get_closest_marker("long")]
        if long and not self._everything:
            items[:] = [item for item in items if not item.get_closest_marker("long")]
            config.hook.pytest_deselected(items=long)
            self._left_out[LONG] = len(long)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self._asked:
            self._shared, self._before = 0.0, _used(_starts_processes(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """What the session shares counts for no test."""
        if not self._asked or fixturedef.scope != "session":
            return (yield)
        shared, before = self._shared, _used(True)
        try:
            return (yield)
        finally:
            self._shared = shared + _used(True) - before

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if not self._asked or item.get_closest_marker("long"):
            return
        seconds = _used(_starts_processes(item)) - self._before - self._shared
        if seconds > SECONDS:
            seconds /= max(_loop_seconds() / LOOP_SECONDS, 1.0)
        self._costs.append(Cost(item.nodeid, seconds, self._shared > 0))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell the process that reports, or fail the session."""
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["budget"] = (self._left_out[LONG], [tuple(cost) for cost in self._costs])
        elif self._asked == "hold" and self._failing() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a process of xdist has found. All leave out the same tests."""
        if found := getattr(node, "workeroutput", {}).get("budget"):
            self._left_out[LONG] = found[0]
            self._costs += [Cost(*cost) for cost in found[1]]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what the test has left out."""
        for name, count in report.user_properties if report.when == "call" else ():
            if name.startswith("left out: "):
                self._left_out[name.removeprefix("left out: ")] += int(str(count))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._costs:
            terminalreporter.section(f"slowest {SHOWN} tests, in seconds of a processor")
            _show(terminalreporter, self._costs, SHOWN)
        if above := self._above():
            terminalreporter.section(f"above {SECONDS:.0f} seconds, and neither long nor in {ABOVE_BUDGET.name}")
            _show(terminalreporter, above)
            if self._asked == "hold" and (failing := self._failing()):
                terminalreporter.write_line(f"failed: {len(failing)} of these took more than {FAILURE:.0f} seconds")
        if quick := [cost for cost in self._costs if cost.test in listed() and cost.seconds < SECONDS / 2]:
            terminalreporter.section(f"quick, and still in {ABOVE_BUDGET.name}")
            _show(terminalreporter, quick)
        if left := [counted(count, of) for of, count in self._left_out.items() if count]:
            terminalreporter.write_line(f"{', '.join(left)} left out, which pytest --everything runs (nox -s nightly)")

    def _above(self) -> list[Cost]:
        return [cost for cost in self._costs if cost.seconds > SECONDS and cost.test not in listed()]

    def _failing(self) -> list[Cost]:
        return [cost for cost in self._above() if cost.seconds > FAILURE and not cost.is_first]


def _show(reporter: pytest.TerminalReporter, costs: list[Cost], most: int | None = None) -> None:
    for cost in sorted(costs, key=lambda cost: -cost.seconds)[:most]:
        reporter.write_line(f"{cost.seconds:8.1f} {cost.test}")


def _has_reason(marker: pytest.Mark) -> bool:
    return not marker.args and bool(str(marker.kwargs.get("reason", "")).strip())


def _starts_processes(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def _loop_seconds() -> float:
    started, total = time.process_time(), 0
    for number in range(LOOP):
        total += number % 7
    return time.process_time() - started


def _used(with_started: bool) -> float:
    """The seconds that this process has used; on Linux with those that it has started, whether they live or not."""
    times = os.times()
    own = times.user + times.system
    if not with_started:
        return own
    return own + times.children_user + times.children_system + sum(map(_used_by, _started(os.getpid())))


def _started(pid: int) -> Iterator[int]:
    """The living processes that a process has started, and so on."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, _read(path).split()):
            yield child
            yield from _started(child)


def _used_by(pid: int) -> float:
    """The seconds of a process, and of those that it has waited for."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the process has ended
        return ""


SPARK_FIXTURES = {"cluster", "spark"}
SPARK_FOLDERS = {"engines", "truth"}
"""Whose slow tests all use Spark, some in processes of their own."""

SLOW_FIXTURES = SPARK_FIXTURES | {"debezium_reader", "flink", "kafka", "kafka_directory", "pytester", "ticdc_broker"}
SLOW_MARKERS = {"interop", "kafka", "registry"}

STARTS = {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
"""Audit events of a process that starts."""

JVM_LIBRARIES = {"py4j", "pyspark"}

_fast_test: str | None = None
"""The test that runs in this process, unless it is slow."""


def mark_slow_tests(items: list[pytest.Item]) -> None:
    """Mark every test that uses a slow fixture or carries a marker that implies `slow`, and those that use Spark."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & SLOW_FIXTURES or any(marker.name in SLOW_MARKERS for marker in item.iter_markers()):
            item.add_marker("slow")
        if fixtures & SPARK_FIXTURES or (item.path.parent.name in SPARK_FOLDERS and item.get_closest_marker("slow")):
            item.add_marker("spark")


@contextmanager
def guarded(item: pytest.Item) -> Iterator[None]:
    """While a test that is not slow runs, a process that starts and an import of pyspark are errors."""
    global _fast_test
    _fast_test = None if item.get_closest_marker("slow") else item.nodeid
    try:
        yield
    finally:
        _fast_test = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _fast_test is None:
        return
    if event in STARTS or (event == "import" and arguments[0] in JVM_LIBRARIES):
        raise RuntimeError(f"{_fast_test} is not marked slow: {event} {arguments[0]}")


sys.addaudithook(_audit)
