"""A real single-node Apache Kafka for experiments, without docker: its jars come from Maven through pyspark's Ivy.

One directory is one broker. A schema registry may be beside it: Apicurio Registry with Confluent's API. TiCDC wants `{}` for
a GET of the registry's URL, where Apicurio has a page of HTML: Apicurio redirects that request to an artifact whose content
is `{}` (tiflow v8.5.4: pkg/sink/codec/avro/confluent_schema_registry.go).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from simulator.broker.java import (
    Server,
    ServerKind,
    cache_directory,
    choose_port,
    fetch_archive,
    fetch_jars,
    find_java,
    free_port,
    last_line,
)
from simulator.errors import UserError

PORT = 9092

KAFKA = "4.3.1"

IVY_FILE = f"""<ivy-module version="2.0"><info organisation="local" module="kafka-broker"/><dependencies>
<dependency org="org.apache.kafka" name="kafka_2.13" rev="{KAFKA}" conf="default"/>
<dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4" conf="default"/>
</dependencies></ivy-module>
"""
"""Without log4j-slf4j-impl a failed start prints nothing."""

BROKER = ServerKind("Kafka", "broker.json", "server.properties", "broker.log")


def kafka_jars(java_program: str) -> Path:
    """Return the directory with Kafka's jars, downloaded if missing (44 MB); raise UserError if that fails."""
    return fetch_jars(java_program, f"kafka-{KAFKA}", f"Apache Kafka {KAFKA}", IVY_FILE)


def default_directory() -> Path:
    """Return the data directory of `broker start` without an option."""
    return cache_directory() / "broker"


def start(
    port: int | None = None, directory: Path | None = None, extra_properties: Mapping[str, str] | None = None
) -> str:
    """Start Kafka on 127.0.0.1 and wait until it answers; return `host:port`.

    A broker that already serves the directory is kept. Without `port` it is 9092 if free, else any free port. `extra_properties`
    are additional lines of server.properties. Raise UserError or DeliveryError.
    """
    from simulator.sinks.kafka.admin import is_answering  # it takes long, and not all commands ask

    home = (directory or default_directory()).absolute()
    running = status(home)
    if running is not None:
        return _same_port(running, port)
    broker_port = choose_port(port, _last_port(home), PORT)
    java = find_java("Kafka")
    jars = kafka_jars(java)
    home.mkdir(parents=True, exist_ok=True)
    settings = home / BROKER.mark
    if settings.exists() and not settings.read_bytes().startswith(PROPERTIES[:FIRST_LINES].encode()):
        raise UserError(f"{settings} is a file that ticdc-sim did not write: give --directory another name")
    extra_lines = "".join(f"{name}={value}\n" for name, value in (extra_properties or {}).items())
    settings.write_text(properties(broker_port, free_port(), home / "data") + extra_lines, encoding="ascii")
    if not (home / "data" / FORMATTED).exists():
        _format(java, jars, settings, home)
    address = f"127.0.0.1:{broker_port}"
    command = [java, "-Xmx256m", "-cp", f"{jars}/*", "kafka.Kafka", str(settings)]
    BROKER.start(home, address, command, lambda: is_answering(address))
    return address


def status(directory: Path | None = None) -> Server | None:
    """Return the broker that serves the directory, or None."""
    return BROKER.status((directory or default_directory()).absolute())


def stop(directory: Path | None = None) -> bool:
    """Stop the directory's broker and keep its data; return whether one was running."""
    return BROKER.stop((directory or default_directory()).absolute())


FORMATTED = "meta.properties"
"""The last file that formatting writes (kafka: metadata storage/Formatter.java). What has it is not formatted again."""


def _same_port(running: Server, port: int | None) -> str:
    if port is not None and running.address != f"127.0.0.1:{port}":
        raise UserError(
            f"a broker for {running.directory} already runs on {running.address}, not on port {port}: "
            "stop it first, or give another directory"
        )
    return running.address


def _last_port(home: Path) -> int | None:
    """Return the port of a broker that died here, so that waiting clients find the new one."""
    try:
        return int(json.loads((home / BROKER.state).read_text(encoding="utf-8"))["address"].rpartition(":")[2])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _format(java: str, jars: Path, settings: Path, home: Path) -> None:
    command = [java, "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", "kafka.tools.StorageTool", "format"]
    done = subprocess.run(
        [*command, "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(settings), "--ignore-formatted"],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise UserError(f"Kafka cannot use {home}: {last_line(done.stdout + done.stderr)}")


def properties(port: int, controller: int, data: Path) -> str:
    """Return server.properties: broker and controller in one process, on 127.0.0.1 only, with these ports and data."""
    return PROPERTIES.format(port=port, controller=controller, data=data)


FIRST_LINES = 42
"""Characters of PROPERTIES by which a file of this module is known."""

PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
num.partitions=1
default.replication.factor=1
min.insync.replicas=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.enable=false
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""
"""With the last two lines a restart after a kill takes 5-8 s on the same directory, without them 12 s."""


APICURIO = "2.6.13.Final"
ARTIFACT = "apicurio-registry-app"

REGISTRY_IVY_FILE = f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="local" module="archive"/><dependencies>
<dependency org="io.apicurio" name="{ARTIFACT}" rev="{APICURIO}" conf="default" transitive="false">
<artifact name="{ARTIFACT}" type="tar.gz" ext="tar.gz" m:classifier="all"/></dependency>
</dependencies></ivy-module>
"""

API = "/apis/ccompat/v7"
ROOT_ARTIFACT = "/apis/registry/v2/groups/ticdc/artifacts"
REGISTRY_PORT = 8081
"""The port of Confluent's registry."""

REGISTRY = ServerKind("the schema registry", "registry.json", "registry.json", "registry.log")


def start_registry(port: int | None = None, directory: Path | None = None) -> str:
    """Start the registry on 127.0.0.1 and wait until it answers; return its URL.

    One that already serves the directory is kept, with its schemas. Without `port` it is 8081 if free, else any free
    port. Raise UserError or DeliveryError.
    """
    home = _registry_home(directory)
    running = registry_status(directory)
    if running is not None:
        if port is not None and running.address != _registry_url(port):
            raise UserError(
                f"a schema registry for {home.parent} already runs at {running.address}, not on port {port}: stop it first, "
                "or give another directory"
            )
        return running.address
    number = choose_port(port, REGISTRY_PORT)
    java = find_java("the schema registry")
    program = fetch_registry(java)
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": str(number),
        "REGISTRY_DATASOURCE_URL": f"jdbc:h2:file:{home / 'data'}",
        "registry.redirects.ticdc": f"{API},{ROOT_ARTIFACT}/root",
        "ticdc-sim.state": str(home / REGISTRY.mark),
    }
    options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", *(f"-D{name}={value}" for name, value in settings.items())]
    jar = program / f"{ARTIFACT}-{APICURIO}-runner.jar"
    command = [java, *options, "-jar", str(jar)]
    REGISTRY.start(home, _registry_url(number), command, lambda: _add_root_artifact(f"http://127.0.0.1:{number}"))
    return _registry_url(number)


def fetch_registry(java_program: str) -> Path:
    """Return the directory of Apicurio Registry, downloaded if missing (142 MB); raise UserError if that fails."""
    return fetch_archive(java_program, f"apicurio-{APICURIO}", f"Apicurio Registry {APICURIO}", REGISTRY_IVY_FILE)


def registry_status(directory: Path | None = None) -> Server | None:
    """Return the registry that serves the directory, or None. Its address is for `schema-registry` of changefeed.toml."""
    return REGISTRY.status(_registry_home(directory))


def stop_registry(directory: Path | None = None) -> bool:
    """Stop the directory's registry and keep its schemas; return whether one was running."""
    return REGISTRY.stop(_registry_home(directory))


def _registry_home(directory: Path | None) -> Path:
    return (directory or default_directory()).absolute() / "registry"


def _registry_url(port: int) -> str:
    return f"http://127.0.0.1:{port}{API}"


def _add_root_artifact(address: str) -> bool:
    """Add the artifact that TiCDC's first request is redirected to; return whether the registry has it."""
    headers = {"Content-Type": "application/json", "X-Registry-ArtifactId": "root", "X-Registry-ArtifactType": "JSON"}
    request = Request(f"{address}{ROOT_ARTIFACT}?ifExists=RETURN", b"{}", headers, method="POST")
    try:
        with urlopen(request, timeout=5):
            return True
    except (HTTPError, OSError, HTTPException):
        return False
