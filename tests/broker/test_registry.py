"""A real schema registry: TiCDC's requests, an incompatible schema, and schemas that outlive it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from support.kafka_fixture import require_registry
from support.playing import error_of

from simulator import TiCDC, broker
from simulator.broker.java import free_port
from simulator.errors import EncodeError, UserError
from simulator.reader.decode import RowEvent, decode
from simulator.sinks.schema_registry import ConfluentRegistry, RegistrySchemas

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory of a registry that runs."""
    require_registry()
    place = tmp_path_factory.mktemp("registry")
    try:
        broker.start_registry(free_port(), place)
        yield place
    finally:
        broker.stop_registry(place)


def url(directory: Path) -> str:
    running = broker.registry_status(directory)
    assert running is not None
    return running.address


def test_rows_in_kafka_are_read_with_the_schemas_of_the_registry(kafka: str, directory: Path) -> None:
    sink_uri = f"kafka://{kafka}/real-registry?protocol=avro&enable-tidb-extension=true&partition-num=1"
    config = f'[sink]\nschema-registry = "{url(directory)}"\n'
    with TiCDC("v8.0.0", sink_uri=sink_uri, config=config, send=True) as ticdc:
        ticdc.execute("CREATE TABLE t (id INT PRIMARY KEY, price DECIMAL(10, 2)); INSERT INTO t VALUES (1, 2.5)")
        ticdc.execute("ALTER TABLE t ADD COLUMN name VARCHAR(20) DEFAULT 'x'; INSERT INTO t VALUES (2, 3, 'y')")
        messages = ticdc.messages()

    schemas = RegistrySchemas(url(directory))
    events = [event for message in messages for event in decode(message.key, message.value, "avro", schemas)]
    assert [event.after for event in events if isinstance(event, RowEvent)] == [
        {"id": "1", "price": "2.50"},
        {"id": "2", "price": "3.00", "name": "y"},
    ]
    assert len(list(schemas)) == 3


def test_a_schema_that_is_not_compatible_stops_the_changefeed(kafka: str, directory: Path) -> None:
    level = json.dumps({"compatibility": "BACKWARD"}).encode()
    with urlopen(Request(f"{url(directory)}/config", level, {"Content-Type": "application/json"}, method="PUT")):
        pass
    sink_uri = f"kafka://{kafka}/incompatible?protocol=avro&partition-num=1"
    config = f'[sink]\nschema-registry = "{url(directory)}"\n'
    with pytest.raises(EncodeError, match="refuses a schema of incompatible-value: 409 .*[Ii]ncompatible"):
        with TiCDC("v8.0.0", sink_uri=sink_uri, config=config, send=True) as ticdc:
            ticdc.execute("CREATE TABLE test.u (id INT PRIMARY KEY, n INT NOT NULL); INSERT INTO test.u VALUES (1, 1)")
            ticdc.execute("ALTER TABLE test.u MODIFY n VARCHAR(5) NOT NULL; INSERT INTO test.u VALUES (2, 'b')")


def test_schemas_outlive_the_registry(directory: Path) -> None:
    before = ConfluentRegistry(url(directory))
    number = before.register("kept-value", '{"type":"record","name":"kept","fields":[]}')
    port = int(url(directory).split("/")[2].partition(":")[2])
    with pytest.raises(UserError, match="already runs at .*: stop it first"):
        broker.start_registry(1, directory)
    broker.stop_registry(directory)
    assert broker.registry_status(directory) is None

    after = ConfluentRegistry(broker.start_registry(port, directory))
    after.check()
    assert json.loads(after.schema(number) or "")["name"] == "kept"


def test_the_broker_commands_tell_of_it(directory: Path) -> None:
    assert "--registry-port needs --registry: " in error_of(
        "broker", "start", "--registry-port", "8081", "--directory", directory
    )
