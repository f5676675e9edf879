"""Messages between the process of the run and Spark's Python processes: pickled values, each with its length before it,
on a connection to `channel.TaskServer`.
"""

from __future__ import annotations

import pickle
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedIOBase
from typing import Any

from simulator.channel import DriverAddress

LENGTH = 8

CONNECT_WITHIN = 10.0

END = b""
"""Ends a process of Spark."""

SEND_NOW = b"hurry"
"""Tells a process of Spark to stop pacing records; it has no answer."""


@dataclass(frozen=True)
class QueryStart:
    """The address of the run, and the start of the query that a process of Spark belongs to."""

    driver: DriverAddress
    attempt: int
    tasks: int

    def options(self) -> dict[str, str]:
        """Return it as options of a data source. Spark hides these names when it prints a plan."""
        return {
            "host": self.driver.host,
            "port": str(self.driver.port),
            "secret": self.driver.secret.hex(),
            "attempt": str(self.attempt),
            "tasks": str(self.tasks),
        }

    @staticmethod
    def of(options: Mapping[str, str]) -> QueryStart:
        """Parse the options."""
        driver = DriverAddress(options["host"], int(options["port"]), bytes.fromhex(options["secret"]))
        return QueryStart(driver, int(options["attempt"]), int(options["tasks"]))


def send_message(file: BufferedIOBase, value: object) -> None:
    """Send a value; raise OSError."""
    data = value if isinstance(value, bytes) else pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    file.write(len(data).to_bytes(LENGTH, "big") + data)
    file.flush()


def receive_bytes(file: BufferedIOBase) -> bytes:
    """Receive the next message as bytes; raise EOFError after END, or if the connection is closed."""
    head = file.read(LENGTH)
    data = file.read(int.from_bytes(head, "big")) if len(head) == LENGTH else END
    if data == END:
        raise EOFError("the run has ended")
    return data


def receive_message(file: BufferedIOBase) -> Any:
    """Receive the next value; raise EOFError as `receive_bytes` does."""
    return pickle.loads(receive_bytes(file))


def connect(driver: DriverAddress) -> BufferedIOBase:
    """Connect to the driver; raise OSError."""
    connection = socket.create_connection(driver.address, CONNECT_WITHIN)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(driver.secret)
    with connection:
        return connection.makefile("rwb")


class DriverConnection:
    """The connection of a Spark process that waits for each answer."""

    def __init__(self, start: QueryStart) -> None:
        self._start = start
        self._file: BufferedIOBase | None = None

    def ask(self, what: str, *more: object) -> Any:
        """Return the answer; raise EOFError or OSError if the run has ended."""
        if self._file is None:
            self._file = connect(self._start.driver)
        send_message(self._file, (what, self._start.attempt, *more))
        return receive_message(self._file)
