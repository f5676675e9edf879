"""What every test may ask for: a Spark session, a real Kafka."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from support import fast
from support.cut_short import two_tables, whole
from support.java_programs import debezium_reader, flink
from support.kafka_fixture import kafka, kafka_directory

from simulator.api import pytest_plugin

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["debezium_reader", "flink", "kafka", "kafka_directory", "pytest_addoption", "spark", "two_tables", "whole"]

if "PYTEST_XDIST_WORKER" in os.environ:
    # Only the processes that run the tests count lines: what these start is killed, and forked by Spark.
    os.environ.pop("COVERAGE_PROCESS_START", None)

# Compiled modules are kept, whatever the environment says: the suite starts hundreds of processes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

settings.register_profile(
    "shared machine", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fast", settings.get_profile("shared machine"), max_examples=15)
settings.load_profile("shared machine")


def pytest_configure(config: pytest.Config) -> None:
    """The fast tests try fewer examples than the whole suite does."""
    if config.option.markexpr == "not slow":
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
        "--everything", action="store_true", help="every mutant of test_mutants.py, every literal of test_recordings.py"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the slow tests before `-m` selects."""
    fast.mark_slow_tests(items)
    if getattr(config.option, "loadgroup", False):
        deal_out(items, slow=config.option.markexpr != "not slow")


def deal_out(items: list[pytest.Item], slow: bool) -> None:
    """Group the tests for the processes of `--dist loadgroup`: by file, and all files that use Spark together, which costs
    ten seconds of CPU to start. Groups that take long come first, so that the processes end together."""
    files: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[item.nodeid.partition("::")[0]].append(item)
    groups: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for file, tests in files.items():
        uses_spark = slow and any("spark" in getattr(test, "fixturenames", ()) for test in tests)
        groups["spark" if uses_spark else file.removeprefix("tests/")] += tests
    for name, tests in groups.items():
        for test in tests:
            test.add_marker(pytest.mark.xdist_group(name))

    def seconds(tests: list[pytest.Item]) -> float:
        """About as long as they take."""
        return sum(1.0 if test.get_closest_marker("slow") else 0.02 for test in tests) if slow else len(tests)

    items[:] = [test for tests in sorted(groups.values(), key=seconds, reverse=True) for test in tests]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fail a session of fast tests whose modules import pyspark."""
    if session.config.option.markexpr == "not slow" and "pyspark" in sys.modules:
        raise pytest.UsageError("a test module or what it imports has imported pyspark")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with fast.guarded(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with fast.guarded(item):
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
