"""A real Apache Kafka for the tests: one broker for all processes of a test run, its jars kept in the user's cache."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from simulator import broker
from simulator.broker.java import find_java, free_port
from simulator.errors import UserError

with warnings.catch_warnings():
    # kafka-python 3.0.12 reads its schemas with importlib.resources functions that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka as _kafka  # noqa: F401


@contextmanager
def skipped_without_network() -> Iterator[None]:
    """Skips the test where what it needs cannot be fetched; under CI that is a failure."""
    try:
        yield
    except UserError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))


def require_kafka_jars() -> None:
    with skipped_without_network():
        broker.kafka_jars(find_java("Kafka"))


def require_registry() -> None:
    with skipped_without_network():
        broker.fetch_registry(find_java("the schema registry"))


def start_broker(directory: Path) -> str:
    """Start a broker, again on its port if it was killed, unless it runs; the address."""
    require_kafka_jars()
    with pytest.MonkeyPatch.context() as environment:
        # It ends before a second compiler and several collectors pay.
        environment.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        known = (directory / broker.BROKER.state).exists()
        return broker.start(None if known else free_port(), directory)


@contextmanager
def served(directory: Path) -> Iterator[Path]:
    """A broker of one's own, which may be killed; its directory."""
    try:
        start_broker(directory)
        yield directory
    finally:
        broker.stop(directory)
        gc.collect()  # producers that lost it leave sockets behind


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time holds the lock on this file."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def kafka_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory of a broker that the first process which needs it starts, and the last one stops."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    directory = shared / "kafka"
    with (shared / "kafka-users").open("w") as users:
        with locked(shared / "kafka-lock"):
            start_broker(directory)
            fcntl.flock(users, fcntl.LOCK_SH)
        yield directory
        gc.collect()  # clients leave sockets behind
        with locked(shared / "kafka-lock"):
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            broker.stop(directory)
            shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def kafka(kafka_directory: Path) -> str:
    """`host:port` of that broker."""
    running = broker.status(kafka_directory)
    assert running is not None
    return running.address
