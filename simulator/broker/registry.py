"""A real schema registry for experiments, Apicurio Registry with Confluent's API, beside the broker of a directory.

TiCDC wants `{}` for a GET of the registry's URL, where Apicurio has a page of HTML: Apicurio redirects that request to an
artifact whose content is `{}` (tiflow v8.5.4: pkg/sink/codec/avro/confluent_schema_registry.go).
"""

from __future__ import annotations

from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from simulator.broker import default_directory
from simulator.broker.java import Server, ServerKind, choose_port, fetch_archive, find_java
from simulator.errors import UserError

APICURIO = "2.6.13.Final"
ARTIFACT = "apicurio-registry-app"

IVY_FILE = f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="local" module="archive"/><dependencies>
<dependency org="io.apicurio" name="{ARTIFACT}" rev="{APICURIO}" conf="default" transitive="false">
<artifact name="{ARTIFACT}" type="tar.gz" ext="tar.gz" m:classifier="all"/></dependency>
</dependencies></ivy-module>
"""

API = "/apis/ccompat/v7"
ROOT_ARTIFACT = "/apis/registry/v2/groups/ticdc/artifacts"
PORT = 8081
"""The port of Confluent's registry."""

REGISTRY = ServerKind("the schema registry", "registry.json", "registry.json", "registry.log")


def start(port: int | None = None, directory: Path | None = None) -> str:
    """Start the registry on 127.0.0.1 and wait until it answers; return its URL.

    One that already serves the directory is kept, with its schemas. Without `port` it is 8081 if free, else any free
    port. Raise UserError or DeliveryError.
    """
    home = _home(directory)
    running = status(directory)
    if running is not None:
        if port is not None and running.address != _url(port):
            raise UserError(
                f"a schema registry for {home.parent} already runs at {running.address}, not on port {port}: stop it first, "
                "or give another directory"
            )
        return running.address
    number = choose_port(port, PORT)
    java = find_java("the schema registry")
    program = fetch_program(java)
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
    REGISTRY.start(home, _url(number), command, lambda: _add_root_artifact(f"http://127.0.0.1:{number}"))
    return _url(number)


def fetch_program(java_program: str) -> Path:
    """Return the directory of Apicurio Registry, downloaded if missing (142 MB); raise UserError if that fails."""
    return fetch_archive(java_program, f"apicurio-{APICURIO}", f"Apicurio Registry {APICURIO}", IVY_FILE)


def status(directory: Path | None = None) -> Server | None:
    """Return the registry that serves the directory, or None. Its address is for `schema-registry` of changefeed.toml."""
    return REGISTRY.status(_home(directory))


def stop(directory: Path | None = None) -> bool:
    """Stop the directory's registry and keep its schemas; return whether one was running."""
    return REGISTRY.stop(_home(directory))


def _home(directory: Path | None) -> Path:
    return (directory or default_directory()).absolute() / "registry"


def _url(port: int) -> str:
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
