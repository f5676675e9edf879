"""`broker`: a real single-node Apache Kafka for trying things out."""

from __future__ import annotations

from pathlib import Path

from simulator.broker import server as kafka
from simulator.cli.lines import show_lines
from simulator.errors import UserError


def start(port: int | None, directory: Path | None) -> None:
    address = kafka.start(port, directory)
    show_lines([f"Kafka serves {address}; sink-uri: kafka://{address}/<topic>?protocol=open-protocol"])


def stop(directory: Path | None) -> None:
    show_lines(["stopped" if kafka.stop(directory) else "no broker was running"])


def status(directory: Path | None) -> None:
    running = kafka.status(directory)
    if running is None:
        raise UserError("no broker is running; start one with: ticdc-sim broker start")
    show_lines([f"running on {running.address}, pid {running.pid}, data in {running.directory}"])
