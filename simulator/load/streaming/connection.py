"""What the process of the run and Spark's Python processes say to each other: pickled values, each behind its length,
on a connection to `sinks.driver.Server`."""

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
"""Said to a process of Spark that is not to go on."""

SEND_NOW = b"hurry"
"""Said to a process of Spark that is not to hold records back any more; no answer to anything."""


@dataclass(frozen=True)
class QueryStart:
    """Where a process of Spark finds the run, and to which start of the query it belongs."""

    driver: DriverAddress
    attempt: int
    tasks: int

    def options(self) -> dict[str, str]:
        """As Spark hands it on: by names that it hides in what it shows of a plan."""
        return {
            "host": self.driver.host,
            "port": str(self.driver.port),
            "secret": self.driver.secret.hex(),
            "attempt": str(self.attempt),
            "tasks": str(self.tasks),
        }

    @staticmethod
    def of(options: Mapping[str, str]) -> QueryStart:
        """Back from them."""
        driver = DriverAddress(options["host"], int(options["port"]), bytes.fromhex(options["secret"]))
        return QueryStart(driver, int(options["attempt"]), int(options["tasks"]))


def send_message(file: BufferedIOBase, value: object) -> None:
    """Says something; raises OSError."""
    data = value if isinstance(value, bytes) else pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    file.write(len(data).to_bytes(LENGTH, "big") + data)
    file.flush()


def receive_bytes(file: BufferedIOBase) -> bytes:
    """What is said next, as it comes; raises EOFError where nothing more is, or GONE."""
    head = file.read(LENGTH)
    data = file.read(int.from_bytes(head, "big")) if len(head) == LENGTH else END
    if data == END:
        raise EOFError("the run has ended")
    return data


def receive_message(file: BufferedIOBase) -> Any:
    """What is said next; raises EOFError as above."""
    return pickle.loads(receive_bytes(file))


def connect(driver: DriverAddress) -> BufferedIOBase:
    """A connection to it, for both ways; raises OSError."""
    connection = socket.create_connection(driver.address, CONNECT_WITHIN)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(driver.secret)
    with connection:
        return connection.makefile("rwb")


class DriverConnection:
    """A process of Spark that asks, and waits for each answer."""

    def __init__(self, start: QueryStart) -> None:
        self._start = start
        self._file: BufferedIOBase | None = None

    def ask(self, what: str, *more: object) -> Any:
        """The answer; raises EOFError or OSError where the run has ended."""
        if self._file is None:
            self._file = connect(self._start.driver)
        send_message(self._file, (what, self._start.attempt, *more))
        return receive_message(self._file)
