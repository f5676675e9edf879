"""MySQL clients of the served database, and servers in processes of their own."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pymysql
import pytest

Start = Callable[..., tuple["subprocess.Popen[bytes]", int]]
MAIN = "from simulator.cli import main; main()"


class Client(pymysql.Connection):
    """A client that answers in one call."""

    def run(self, *statements: str) -> tuple[tuple[Any, ...], ...]:
        """Execute statements, and return the rows of the last one."""
        with self.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return tuple(cursor.fetchall())

    def error(self, statement: str) -> tuple[Any, ...]:
        """Number and text of the error of a statement that must fail."""
        with pytest.raises(pymysql.MySQLError) as failure:
            self.run(statement)
        return failure.value.args


@pytest.fixture
def connect() -> Iterator[Callable[..., Any]]:
    """Connects clients as root without a password, in database `test`, with autocommit, unless other options are given."""
    with ExitStack() as clients:

        def connected(port: int, **options: Any) -> Client:
            given = {"user": "root", "database": "test", "autocommit": True, "ssl_disabled": True, **options}
            client = Client(host="127.0.0.1", port=port, **given)
            clients.callback(lambda: client._force_close())  # type: ignore[attr-defined]
            return client

        yield connected


@pytest.fixture
def said(tmp_path: Path) -> Path:
    """What the newest server writes."""
    return tmp_path / "said.txt"


@pytest.fixture
def start(said: Path) -> Iterator[Start]:
    """Starts servers, and says on which port."""
    with ExitStack() as servers:

        def started(*options: str) -> tuple[subprocess.Popen[bytes], int]:
            command = [sys.executable, "-c", MAIN, "serve", "--port", "0", *options]
            with said.open("wb") as output:
                server = servers.enter_context(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT))
            servers.callback(server.kill)
            while not (port := re.search(r"MySQL clients: 127\.0\.0\.1:(\d+)", said.read_text())):
                assert server.poll() is None, said.read_text()
                time.sleep(0.05)
            return server, int(port[1])

        yield started
