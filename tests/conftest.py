"""What every test may ask for: a Spark session, a real Kafka."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from support import budget
from support.budget import Budget
from support.cut_short import two_tables, whole
from support.java_programs import debezium_reader, flink
from support.kafka_fixture import kafka, kafka_directory
from support.served import connect, said, start

from simulator.api import pytest_plugin
from simulator.limits import allow_deep_nesting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "connect",
    "debezium_reader",
    "flink",
    "kafka",
    "kafka_directory",
    "pytest_addoption",
    "said",
    "spark",
    "start",
    "two_tables",
    "whole",
]

ROOT = Path(__file__).parent.parent

if "PYTEST_XDIST_WORKER" in os.environ:
    # Only the processes that run the tests count lines: what these start is killed, and forked by Spark.
    os.environ.pop("COVERAGE_PROCESS_START", None)

# Compiled modules are kept, whatever the environment says: the suite starts hundreds of processes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell without job control starts what is behind a `&` with SIGINT ignored, which processes hand on.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Hypothesis refuses a test that changes the limit, as the first statement that is parsed would.
allow_deep_nesting()

settings.register_profile(
    "default", deadline=None, max_examples=40, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fast", settings.get_profile("default"), max_examples=15)
settings.register_profile("everything", settings.get_profile("default"), max_examples=200, derandomize=False)
settings.load_profile("default")


def pytest_configure(config: pytest.Config) -> None:
    """The fast tests try fewer examples than the whole suite does, the same in each run; `--everything` tries new ones."""
    config.pluginmanager.register(Budget(config), "budget")
    if config.option.everything:
        settings.load_profile("everything")
    elif config.option.markexpr == "not slow":
        settings.load_profile("fast")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """`--vectors DIR` and the like: the directories whose files the tests of `fidelity` run; and the options of our own
    plugin, which comes by itself only where the package is installed."""
    if not pluginmanager.is_registered(pytest_plugin):
        pluginmanager.register(pytest_plugin, "ticdc")
    parser.addoption("--vectors", metavar="DIR", help="directory of vector files (default: tests/vectors)")
    parser.addoption("--stories", metavar="DIR", help="directory of stories with logs (default: tests/stories)")
    parser.addoption("--recordings", metavar="DIR", help="directory of TiDB's answers (default: tests/recordings)")
    parser.addoption("--endtoend", metavar="DIR", help="directory of recorded changefeeds (default: tests/endtoend)")
    parser.addoption(
        "--everything", action="store_true", help="the long tests too, and every case of those that try a share"
    )
    parser.addoption(
        "--budget", choices=("show", "hold"), help="show the tests that take most; fail where one takes too long"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the slow tests before `-m` selects. Of several processes each gets the longest groups first, so that they end
    together."""
    budget.mark_slow_tests(items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        only_fast = config.option.markexpr == "not slow"
        length: Counter[str] = Counter()
        for item in items:
            length[group_of(item.nodeid, only_fast)] += 50 if item.get_closest_marker("slow") and not only_fast else 1
        items.sort(key=lambda item: -length[group_of(item.nodeid, only_fast)])


def group_of(nodeid: str, only_fast: bool) -> str:
    """The group of tests that run in one process: those of a file, or of all files that use Spark, which takes ten seconds of
    CPU to start."""
    file = nodeid.partition("::")[0]
    return "spark" if not only_fast and uses_spark(file) else file


@cache
def uses_spark(file: str) -> bool:
    return re.search(r"\bspark: (Any|SparkSession)\b", (ROOT / file).read_text("utf-8")) is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadfile` deals out those groups. (xdist 3.8's own `loadgroup` has no effect under pytest 9.2.)"""
    if config.getvalue("dist") != "loadfile":
        return None
    scheduler = import_module("xdist.scheduler").LoadFileScheduling(config, log)
    scheduler._split_scope = lambda nodeid: group_of(nodeid, config.option.markexpr == "not slow")
    return scheduler


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let the garbage collector leave alone what is there before the first test, and look seldom: it takes a tenth of the
    time otherwise. Fail a session of fast tests whose modules import pyspark."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    if session.config.option.markexpr == "not slow" and "pyspark" in sys.modules:
        raise pytest.UsageError("a test module or what it imports has imported pyspark")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with budget.guarded(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with budget.guarded(item):
        return (yield)


@pytest.fixture(autouse=True)
def spark_if_it_is_there(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that asks for Spark compares on it, however small its snapshots are."""
    if "spark" in request.fixturenames:
        monkeypatch.setattr("simulator.engines.in_process.SMALL_BYTES", -1)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session on two cores for all tests."""
    from simulator.engines.spark import session as spark_session

    session = spark_session.session("local[2]")
    yield session
    session.stop()
