"""A real schema registry for experiments, Apicurio Registry with Confluent's API, beside the broker of a directory.

TiCDC wants `{}` for a GET of the registry's URL, where Apicurio has a page of HTML: Apicurio redirects that request to an
artifact whose content is `{}` (tiflow v8.5.4: pkg/sink/codec/avro/confluent_schema_registry.go).
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from simulator import signals
from simulator.broker import processes
from simulator.broker.jars import fetch_archive, find_java, last_line
from simulator.broker.server import default_directory
from simulator.errors import DeliveryError, UserError

APICURIO = "2.6.13.Final"
ARTIFACT = "apicurio-registry-app"
API = "/apis/ccompat/v7"
ROOT_ARTIFACT = "/apis/registry/v2/groups/ticdc/artifacts"
STATE = "registry.json"
PORT = 8081
"""The port of Confluent's registry."""

READY_WITHIN = 60.0


@dataclass(frozen=True)
class Registry:
    url: str
    """For `schema-registry` of changefeed.toml."""

    pid: int
    directory: str


def start(port: int | None = None, directory: Path | None = None) -> str:
    """Start the registry on 127.0.0.1 and wait until it answers; return its URL.

    One that already serves the directory is kept, with its schemas. Without `port` it is 8081 if free, else any free
    port. Raise UserError or DeliveryError.
    """
    home = _home(directory)
    running = status(directory)
    if running is not None:
        if port is not None and running.url != _url(port):
            raise UserError(
                f"a schema registry for {home.parent} already runs at {running.url}, not on port {port}: stop it first, "
                "or give another directory"
            )
        return running.url
    number = processes.choose_port(port, PORT)
    java = find_java("the schema registry")
    program = fetch_program(java)
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": str(number),
        "REGISTRY_DATASOURCE_URL": f"jdbc:h2:file:{home / 'data'}",
        "registry.redirects.ticdc": f"{API},{ROOT_ARTIFACT}/root",
        "ticdc-sim.state": str(home / STATE),
    }
    options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", *(f"-D{name}={value}" for name, value in settings.items())]
    jar = program / f"{ARTIFACT}-{APICURIO}-runner.jar"
    with signals.defer_signals():
        pid = processes.launch([java, *options, "-jar", str(jar)], home / "registry.log")
        registry = Registry(_url(number), pid, str(home))
        (home / STATE).write_text(json.dumps(asdict(registry)), encoding="utf-8")
    try:
        _wait_ready(registry, directory)
    except signals.Stopped:
        stop(directory)
        raise
    return registry.url


def fetch_program(java_program: str) -> Path:
    """Return the directory of Apicurio Registry, downloaded if missing (142 MB); raise UserError if that fails."""
    name, what = f"apicurio-{APICURIO}", f"Apicurio Registry {APICURIO}"
    return fetch_archive(java_program, name, what, "io.apicurio", ARTIFACT, APICURIO)


def status(directory: Path | None = None) -> Registry | None:
    """Return the registry that serves the directory, or None."""
    home = _home(directory)
    try:
        state = json.loads((home / STATE).read_text(encoding="utf-8"))
        registry = Registry(str(state["url"]), int(state["pid"]), str(home))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return registry if processes.runs(registry.pid, str(home / STATE)) else None


def stop(directory: Path | None = None) -> bool:
    """Stop the directory's registry and keep its schemas; return whether one was running."""
    home, registry = _home(directory), status(directory)
    if registry is not None:
        processes.stop(registry.pid, str(home / STATE))
    (home / STATE).unlink(missing_ok=True)
    return registry is not None


def _home(directory: Path | None) -> Path:
    return (directory or default_directory()).absolute() / "registry"


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}{API}"


def _wait_ready(registry: Registry, directory: Path | None) -> None:
    """Wait until the registry answers and has the artifact that TiCDC's first request is redirected to."""
    home, end = Path(registry.directory), time.monotonic() + READY_WITHIN
    log = home / "registry.log"
    while time.monotonic() < end:
        if not processes.runs(registry.pid, str(home / STATE)):
            text = log.read_text(encoding="utf-8", errors="replace")
            raise DeliveryError(f"the schema registry did not start: {last_line(text)} (see {log})")
        if _add_root_artifact(registry.url.removesuffix(API)):
            return
        time.sleep(0.2)
    stop(directory)
    raise DeliveryError(f"the schema registry did not answer at {registry.url} in {READY_WITHIN:.0f} s (see {log})")


def _add_root_artifact(address: str) -> bool:
    """Return whether the registry has the artifact."""
    headers = {"Content-Type": "application/json", "X-Registry-ArtifactId": "root", "X-Registry-ArtifactType": "JSON"}
    request = Request(f"{address}{ROOT_ARTIFACT}?ifExists=RETURN", b"{}", headers, method="POST")
    try:
        with urlopen(request, timeout=5):
            return True
    except (HTTPError, OSError, HTTPException):
        return False
