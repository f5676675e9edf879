"""The commands of `broker`."""

from __future__ import annotations

from pathlib import Path

import click

from simulator.cli.options import PORT, DependentOption, FilePath, Group
from simulator.cli.output import show_lines
from simulator.errors import UserError

DIRECTORY = click.option(
    "--directory",
    type=FilePath(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Its data.  [default: the user's cache]",
)


@click.group(cls=Group)
def broker() -> None:
    """A real single-node Apache Kafka on this machine, for trying things out."""


@broker.command()
@click.option("--port", type=PORT, help="Port on 127.0.0.1.  [default: 9092 where free]")
@click.option("--registry", is_flag=True, help="Also start a schema registry for Avro, Apicurio Registry (142 MB).")
@click.option(
    "--registry-port",
    cls=DependentOption,
    needs="--registry: it is the port of the schema registry",
    type=PORT,
    help="Its port on 127.0.0.1.  [default: 8081 where free]",
)
@DIRECTORY
def start(port: int | None, registry: bool, registry_port: int | None, directory: Path | None) -> None:
    """Start it; the first time Kafka itself is fetched from Maven Central (44 MB)."""
    from simulator import broker as kafka

    address = kafka.start(port, directory)
    show_lines([f"Kafka serves {address}; sink-uri: kafka://{address}/<topic>?protocol=open-protocol"])
    if registry:
        url = kafka.start_registry(registry_port, directory)
        show_lines(
            [
                f'the schema registry serves {url}; for protocols in Avro, in changefeed.toml: [sink] schema-registry = "{url}"'
            ]
        )


@broker.command()
@DIRECTORY
def stop(directory: Path | None) -> None:
    """Stop it and its schema registry; topics and schemas stay for the next start."""
    from simulator import broker as kafka

    if kafka.stop_registry(directory):
        show_lines(["the schema registry is stopped"])
    show_lines(["stopped" if kafka.stop(directory) else "no broker was running"])


@broker.command()
@DIRECTORY
def status(directory: Path | None) -> None:
    """Say whether it runs, and where."""
    from simulator import broker as kafka

    running, schemas = kafka.status(directory), kafka.registry_status(directory)
    if running is None:
        raise UserError("no broker is running; start one with: ticdc-sim broker start")
    show_lines([f"running on {running.address}, pid {running.pid}, data in {running.directory}"])
    if schemas is not None:
        show_lines([f"schema registry at {schemas.address}, pid {schemas.pid}"])
