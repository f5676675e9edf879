"""The schema registry of Avro: what is registered there, and what is said if it is down or refuses."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from support.playing import error_of, output_of
from support.scripted_servers import Registry, serve_registry

from simulator import TiCDC
from simulator.broker.java import free_port
from simulator.errors import DeliveryError, EncodeError, UserError
from simulator.releases import find
from simulator.sinks import schema_registry
from simulator.sinks.schema_registry import ConfluentRegistry, RegistrySchemas
from simulator.ticdc.changefeed import load

RECORD = '{"type":"record","name":"a","fields":[]}'


@pytest.fixture
def registry() -> Iterator[Registry]:
    with serve_registry(Registry(refused=("bad-value",))) as served:
        yield served


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_registry, "RETRIES", (0.0,))


def test_a_schema_is_registered_once(registry: Registry) -> None:
    client = ConfluentRegistry(registry.url + "/")
    client.check()

    assert [1, 2, 1] == [client.register(subject, RECORD) for subject in ("a b", "c", "a b")]
    assert [("a b", RECORD), ("c", RECORD)] == registry.schemas


def test_the_tls_files_of_the_sink_uri_are_for_the_registry_before_6_1(tmp_path: Path) -> None:
    """Later TiCDC takes none, so that only a certificate that the operating system trusts is good."""
    authority, context = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    files = {"ca": tmp_path / "ca.pem", "cert": tmp_path / "cert.pem", "key": tmp_path / "key.pem"}
    authority.cert_pem.write_to_path(files["ca"])
    client = authority.issue_cert("me@example.com")
    client.cert_chain_pems[0].write_to_path(files["cert"])
    client.private_key_pem.write_to_path(files["key"])
    parameters = "".join(f"&{name}={path}" for name, path in files.items())
    with serve_registry(Registry(), context) as served:
        uri = f"kafka://127.0.0.1:9092/t?protocol=avro{parameters}"
        early = load(f"{uri}&registry={served.url}", "", find("v5.4.3"))
        later = load(f"{uri}&enable-tls=true&schema-registry={served.url}", "", find("v8.5.3"))

        assert (early.codec.schema_registry_tls, later.codec.schema_registry_tls) == (True, False)
        ConfluentRegistry(early.codec.schema_registry, early.kafka.tls).check()
        with pytest.raises(DeliveryError, match="cannot be reached"):
            ConfluentRegistry(later.codec.schema_registry).check()


def test_the_user_of_the_url_is_sent_and_not_shown(registry: Registry) -> None:
    client = ConfluentRegistry(registry.url.replace("://", "://me:s%40cret@"))
    client.check()

    assert registry.authorized == ["Basic bWU6c0BjcmV0"]
    assert "cret" not in client.name


def test_schemas_are_read_by_id(registry: Registry) -> None:
    registry.schemas.append(("a", RECORD))
    schemas = RegistrySchemas(registry.url)

    assert (schemas[1], 2 in schemas, list(schemas)) == (RECORD, False, [1])


def test_a_schema_that_the_registry_refuses_stops_the_changefeed(registry: Registry) -> None:
    with pytest.raises(EncodeError, match="refuses a schema of bad-value: 409 .*incompatible") as caught:
        ConfluentRegistry(registry.url).register("bad-value", RECORD)

    assert caught.value.code == "CDC:ErrAvroSchemaAPIError"


def test_a_registry_that_is_down_or_another_server_is_named() -> None:
    with pytest.raises(DeliveryError, match="cannot be reached: .*refused"):
        ConfluentRegistry(f"http://127.0.0.1:{free_port()}").check()
    with (
        serve_registry(Registry(root="<html>")) as other,
        pytest.raises(DeliveryError, match="Unexpected response.*200 <html>"),
    ):
        ConfluentRegistry(other.url).check()
    for url in ("", "localhost:8081", "kafka://a/b", "http://"):
        with pytest.raises(UserError, match="accepted: http"):
            ConfluentRegistry(url)


def test_no_topic_is_made_if_the_registry_is_down(tmp_path: Path) -> None:
    """The registry is asked before Kafka, which does not run here either."""
    (tmp_path / "s.sql").write_text("CREATE TABLE test.t (id INT PRIMARY KEY)")
    (tmp_path / "changefeed.toml").write_text(f"[sink]\nschema-registry = 'http://127.0.0.1:{free_port()}'\n")
    options = ("--sink-uri", "kafka://127.0.0.1:9/t?protocol=avro", "--config", tmp_path / "changefeed.toml")

    assert "schema registry" in error_of("run", tmp_path / "s.sql", *options, "--release", "v8.0.0", code=3)


@pytest.mark.kafka
def test_messages_in_kafka_are_read_with_the_registry(kafka: str, registry: Registry) -> None:
    uri = f"kafka://{kafka}/avro-registry?protocol=avro&enable-tidb-extension=true&partition-num=1"
    config = f"[sink]\nschema-registry = '{registry.url}'\n"
    with TiCDC("v8.0.0", sink_uri=uri, config=config, send=True) as ticdc:
        ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY, v TEXT); INSERT INTO test.t VALUES (1, 'x')")

    source = f"kafka://{kafka}/avro-registry"
    assert output_of("inspect", source, "--schema-registry", registry.url).endswith(" INSERT test.t id=1 v=x\n")
    assert ["avro-registry-key", "avro-registry-value"] == [subject for subject, _ in registry.schemas]
    assert ["t", "t"] == [json.loads(text)["name"] for _, text in registry.schemas]
    assert "schema 1 is not known" in output_of("inspect", source)
