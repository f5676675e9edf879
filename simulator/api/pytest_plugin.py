"""The pytest plugin: fixtures `ticdc`, `ticdc_kafka`, `ticdc_storage`, `ticdc_server` and `ticdc_golden`, the marker
`ticdc`, and `--rewrite-golden`.

It imports only pytest until a fixture is used.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

if TYPE_CHECKING:
    from simulator.api.results import Golden
    from simulator.api.server import ServedDatabase, TiCDCServer
    from simulator.api.session import TiCDC

MARKER = (
    "ticdc(release=, architecture=, sink_uri=, config=, tz=, start_ts=, resolved_interval=, seed=, databases=, releases=): "
    "what the fixtures ticdc, ticdc_kafka and ticdc_storage simulate; releases=[…] runs the test once for each."
)

KAFKA = "TICDC_SIM_KAFKA"
"""The environment variable with the address (`host:port`) of an existing Kafka."""

WRITTEN = pytest.StashKey[dict[Path, str]]()
"""Golden files that this session has written, with their contents."""

LONGEST = 150
"""The maximal characters of a test's name in the name of its golden file."""

NOT_IN_TOPIC = re.compile(r"[^A-Za-z0-9._-]+")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite-golden`."""
    parser.getgroup("ticdc").addoption(
        "--rewrite-golden", action="store_true", help="Write golden files anew instead of comparing with them."
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a test with the marker's releases."""
    if "ticdc_release" not in metafunc.fixturenames:
        return
    for marker in metafunc.definition.iter_markers("ticdc"):
        if "releases" in marker.kwargs:
            tags = _tags(marker.kwargs["releases"])
            metafunc.parametrize("ticdc_release", tags, ids=tags, indirect=True)
            return


def _tags(releases: object) -> list[str]:
    """Return the releases of a marker, which may be a single text."""
    if isinstance(releases, str):
        return [releases]
    tags = list(releases) if isinstance(releases, Iterable) else []
    if not tags or not all(isinstance(tag, str) for tag in tags):
        raise pytest.UsageError(
            f"@pytest.mark.ticdc: releases is {releases!r}; a list is expected, such as ['v7.5.0', 'new:v8.5.4']"
        )
    return tags


@pytest.fixture
def ticdc_release(request: pytest.FixtureRequest) -> str | None:
    """The release of a test that is parametrized by the marker's `releases`, as `v8.5.3` or `new:v8.5.4`."""
    return getattr(request, "param", None)


@pytest.fixture
def ticdc(request: pytest.FixtureRequest, ticdc_release: str | None) -> Iterator[TiCDC]:
    """A simulated TiDB with a changefeed whose messages stay in memory, with the settings of the marker `ticdc`."""
    from simulator.api.session import TiCDC

    with TiCDC(**_marker_arguments(request, ticdc_release)) as session:
        yield session


@pytest.fixture
def ticdc_kafka(request: pytest.FixtureRequest, ticdc_release: str | None, ticdc_broker: str) -> Iterator[TiCDC]:
    """Like `ticdc`, but also sends to a topic of its own on a real Kafka, which is deleted after the test."""
    from simulator.api.session import SINK_URI, TiCDC
    from simulator.sinks.kafka.admin import delete_topics

    arguments = _marker_arguments(request, ticdc_release)
    name = NOT_IN_TOPIC.sub("-", request.node.name)[:100].strip("-")
    place = f"kafka://{ticdc_broker}/{name}-{uuid.uuid4().hex[:8]}"
    arguments |= _uri_at(place, arguments, SINK_URI)
    session = TiCDC(**arguments, send=True)
    try:
        with session:
            yield session
    finally:
        delete_topics(ticdc_broker, session.topics)


@pytest.fixture
def ticdc_server(
    request: pytest.FixtureRequest, ticdc_release: str | None, ticdc_shared_server: TiCDCServer
) -> Iterator[ServedDatabase]:
    """A simulated TiDB on a port, for MySQL clients, whose messages stay in memory.

    All tests of a session share one server, and each has a database of its own. A test with the marker `ticdc` has a
    server of its own.
    """
    from simulator.api.server import ServedDatabase, TiCDCServer
    from simulator.api.session import TiCDC

    name = re.sub(r"\W+", "_", request.node.name).strip("_").lower()[:40] + f"_{uuid.uuid4().hex[:8]}"
    arguments = _marker_arguments(request, ticdc_release)
    if arguments:
        with TiCDC(**{"databases": (), **arguments}) as session, TiCDCServer(session) as server:
            server.create_database(name)
            yield ServedDatabase(server, name)
        return
    ticdc_shared_server.create_database(name)
    ticdc_shared_server.messages(watermark=False)
    changefeeds = ticdc_shared_server.changefeeds
    before = changefeeds.list()
    yield ServedDatabase(ticdc_shared_server, name)
    for changefeed in changefeeds.list():
        if changefeed not in before:
            changefeeds.remove(changefeed.spec.name, changefeed.spec.namespace)


@pytest.fixture(scope="session")
def ticdc_shared_server() -> Iterator[TiCDCServer]:
    """The server of the tests with `ticdc_server`."""
    from simulator.api.server import TiCDCServer
    from simulator.api.session import TiCDC

    with TiCDC(databases=()) as session, TiCDCServer(session) as server:
        yield server


@pytest.fixture
def ticdc_storage(request: pytest.FixtureRequest, ticdc_release: str | None, tmp_path: Path) -> Iterator[TiCDC]:
    """Like `ticdc`, but writes files to `tmp_path / "storage"`, with the parameters of the marker's `sink_uri`.

    Without one it writes CSV.
    """
    from simulator.api.session import TiCDC

    arguments = _marker_arguments(request, ticdc_release)
    arguments |= _uri_at((tmp_path / "storage").as_uri(), arguments, "?protocol=csv")
    with TiCDC(**arguments) as session:
        yield session


@pytest.fixture(scope="session")
def ticdc_broker() -> Iterator[str]:
    """`host:port` of a Kafka: that of TICDC_SIM_KAFKA, or one that is started for the session.

    If it cannot be started, the tests are skipped; they fail if the environment variable CI is set.
    """
    if os.environ.get(KAFKA):
        yield os.environ[KAFKA]
        return
    from simulator import broker
    from simulator.broker.java import free_port
    from simulator.errors import SimulatorError

    directory = Path(tempfile.mkdtemp(prefix="ticdc-sim-kafka-"))
    try:
        try:
            address = broker.start(free_port(), directory)
        except SimulatorError as error:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no Kafka for the test: {error}")
        yield address
    finally:
        broker.stop(directory)
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def ticdc_golden(request: pytest.FixtureRequest) -> Golden:
    """Compares messages or files with recorded ones: `ticdc_golden(ticdc.messages())`, `ticdc_golden(ticdc.files())`."""
    from simulator.api.results import Golden

    directory = request.path.parent / "golden" / request.path.stem
    written = request.config.stash.setdefault(WRITTEN, {})
    return Golden(directory, _file_name(request), bool(request.config.getoption("--rewrite-golden")), written)


def _file_name(request: pytest.FixtureRequest) -> str:
    """Return a name that is unique in the module: class, test and URL-quoted parameters."""
    function, bracket, parameters = request.node.name.partition("[")
    name = f"{request.cls.__qualname__}.{function}" if request.cls is not None else function
    if bracket:
        name += f"-{quote(parameters.removesuffix(']'), safe='')}".replace("~", "%7E")
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}+{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _uri_at(place: str, arguments: Mapping[str, Any], assumed: str) -> dict[str, str]:
    """Return the argument of the sink URI at a place, with the parameters of the test's, or else of the assumed one."""
    uri = arguments.get("sink_uri")
    query = (assumed if uri is None else uri).partition("?")[2]
    return {"assumed_uri" if uri is None else "sink_uri": f"{place}?{query}"}


def _marker_arguments(request: pytest.FixtureRequest, release: str | None) -> dict[str, Any]:
    """Return the arguments of the test's markers; the closest marker takes precedence."""
    arguments: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("ticdc"))):
        if marker.args:
            given = ", ".join(map(repr, marker.args))
            raise pytest.UsageError(f"@pytest.mark.ticdc takes names alone, such as release='v8.5.3', and got {given}")
        arguments |= marker.kwargs
    arguments.pop("releases", None)
    return arguments if release is None else {**arguments, "release": release, "architecture": None}
