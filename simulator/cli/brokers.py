"""`broker`: a real single-node Apache Kafka for trying things out."""

from __future__ import annotations

from pathlib import Path

import click

from simulator import broker as kafka
from simulator.cli.show import show_lines
from simulator.errors import UserError

DIRECTORY = click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Its data.  [default: the user's cache]",
)


@click.group()
def broker() -> None:
    """A real single-node Apache Kafka on this machine, for trying things out."""


@broker.command()
@click.option("--port", type=click.IntRange(1, 65535), help="Port on 127.0.0.1.  [default: 9092 where free]")
@DIRECTORY
def start(port: int | None, directory: Path | None) -> None:
    """Start it; the first time Kafka itself is fetched from Maven Central (44 MB)."""
    address = kafka.start(port, directory)
    show_lines([f"Kafka serves {address}; sink-uri: kafka://{address}/<topic>?protocol=open-protocol"])


@broker.command()
@DIRECTORY
def stop(directory: Path | None) -> None:
    """Stop it; its topics stay for the next start."""
    show_lines(["stopped" if kafka.stop(directory) else "no broker was running"])


@broker.command()
@DIRECTORY
def status(directory: Path | None) -> None:
    """Say whether it runs, and where."""
    running = kafka.status(directory)
    if running is None:
        raise UserError("no broker is running; start one with: ticdc-sim broker start")
    show_lines([f"running on {running.address}, pid {running.pid}, data in {running.directory}"])
