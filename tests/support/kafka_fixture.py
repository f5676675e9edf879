"""A real Apache Kafka for the tests: one broker a session, its jars kept in the user's cache."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from simulator.broker import jars as broker_jars
from simulator.broker import registry
from simulator.broker import server as broker
from simulator.broker.jars import find_java
from simulator.broker.processes import free_port
from simulator.errors import UserError

with warnings.catch_warnings():
    # kafka-python 3.0.12 reads its schemas with importlib.resources functions that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka as _kafka  # noqa: F401


def require_kafka_jars() -> None:
    """Skips the test where Kafka cannot be fetched; under CI that is a failure."""
    try:
        broker_jars.kafka_jars(find_java("Kafka"))
    except UserError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))


def require_registry() -> None:
    """Skips the test where the schema registry cannot be fetched; under CI that is a failure."""
    try:
        registry.fetch_program(find_java("the schema registry"))
    except UserError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))


@contextmanager
def served(directory: Path) -> Iterator[Path]:
    """A broker of one's own, which may be killed; its directory."""
    require_kafka_jars()
    try:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")  # it ends before a second compiler pays
            broker.start(free_port(), directory)
        yield directory
    finally:
        broker.stop(directory)
        gc.collect()  # producers that lost it leave sockets behind


@pytest.fixture(scope="session")
def kafka_directory() -> Iterator[Path]:
    """The directory of a broker that lives as long as the test session."""
    directory = Path(tempfile.mkdtemp(prefix="ticdc-sim-kafka-"))
    try:
        with served(directory):
            yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def kafka(kafka_directory: Path) -> str:
    """`host:port` of that broker."""
    running = broker.status(kafka_directory)
    assert running is not None
    return running.address
