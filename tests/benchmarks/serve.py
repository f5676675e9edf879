"""What a server costs for each statement of a client: CPU of the server's process, and statements a second.

    python tests/benchmarks/serve.py [--count 400] [--sink memory|console|api]

A client in this process sends statements of one row by its primary key, one after another. PyMySQL sends texts,
mysql-connector-python prepared statements. *memory* is the server of the fixture `ticdc_server`, whose messages wait
until they are asked for; *console* is `ticdc-sim serve --console`, which sends the commits of 50 ms together; *api* has TiCDC's OpenAPI beside it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mysql.connector
import pymysql
from measuring import cpu_seconds, options

from simulator.broker.java import free_port

BULK = 1_000

MEMORY = """
import time
from simulator import TiCDC
from simulator.api.server import TiCDCServer
from simulator.serve import Access
with TiCDC(databases=()) as ticdc, TiCDCServer(ticdc, access=Access(port={port})):
    print("MySQL clients", flush=True)
    time.sleep(3600)
"""
CONSOLE = """
import sys
from simulator.cli import main
sys.argv = ["ticdc-sim", "serve", "--console", "--port", "{port}"]
main()
"""
API = CONSOLE.replace('"--port"', '"--api-port", "0", "--port"')


@contextmanager
def server(program: str, port: int) -> Iterator[tuple[int, float]]:
    """Start a server; yield its process and the seconds of its start."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        said = Path(directory, "said.txt")
        with said.open("wb") as out:
            process = subprocess.Popen([sys.executable, "-c", program.format(port=port)], stdout=out)
        try:
            while b"MySQL clients" not in said.read_bytes():
                time.sleep(0.01)
            yield process.pid, time.monotonic() - began
        finally:
            process.kill()
            process.wait()


def measure(name: str, process: int, count: int, work: Callable[[int], object], rows: int = 1) -> None:
    """Print wall and CPU of `count` operations."""
    work(0)
    began, cpu = time.monotonic(), cpu_seconds(process)
    for number in range(1, count + 1):
        work(number)
    seconds, cpu = time.monotonic() - began, cpu_seconds(process) - cpu
    per_core = f"{count * rows / cpu:10,.0f}" if cpu else "         -"
    print(f"{name:34} {count * rows / seconds:10,.0f}/s {per_core} per core-second {cpu / count * 1e3:7.2f} ms CPU")


def cases(client: Any, prepared: Any, port: int) -> Iterator[tuple[str, Callable[[int], object], int, int]]:
    """Yield name, operation, its rows, and a divisor of the count."""
    cursor, connector = client.cursor(), prepared.cursor(prepared=True)

    def select(number: int) -> object:
        cursor.execute("SELECT * FROM item WHERE id = %s", (number,))
        return cursor.fetchall()

    def select_prepared(number: int) -> object:
        connector.execute("SELECT * FROM item WHERE id = %s", (number,))
        return connector.fetchall()

    def bulk(number: int) -> object:
        first = 10_000_000 + number * BULK
        rows = ", ".join(f"({id}, 'pen {id}', {id % 97})" for id in range(first, first + BULK))
        return cursor.execute(f"INSERT INTO item VALUES {rows}")

    insert = "INSERT INTO item VALUES (%s, %s, %s)"
    yield "INSERT, text", lambda number: cursor.execute(insert, (number, f"pen {number}", 5)), 1, 1
    yield "INSERT, prepared", lambda number: connector.execute(insert, (1_000_000 + number, f"pen {number}", 5)), 1, 1
    yield "SELECT by key, text", select, 1, 1
    yield "SELECT by key, prepared", select_prepared, 1, 1
    update = "UPDATE item SET stock = stock - 1 WHERE id = %s"
    yield "UPDATE by key, text", lambda number: cursor.execute(update, (number,)), 1, 1
    yield "DELETE by key, text", lambda number: cursor.execute("DELETE FROM item WHERE id = %s", (number,)), 1, 1
    yield f"INSERT of {BULK:,} rows", bulk, BULK, 40
    yield "connect", lambda number: connect(port).close(), 1, 4


def connect(port: int) -> Any:
    # without certificates, which take the client longer to load than all the rest
    return pymysql.connect(
        host="127.0.0.1", port=port, user="root", database="test", autocommit=True, ssl_disabled=True
    )


def main() -> None:
    arguments = options(__doc__, {"sink": ("memory", "console", "api")}, count=400, sink="memory")
    port = free_port()
    with server({"memory": MEMORY, "console": CONSOLE, "api": API}[arguments.sink], port) as (process, seconds):
        print(f"start {seconds:.2f} s, CPU {cpu_seconds(process):.2f} s")
        client = connect(port)
        prepared = mysql.connector.connect(
            host="127.0.0.1", port=port, user="root", database="test", use_pure=True, autocommit=True
        )
        client.cursor().execute("CREATE TABLE item (id BIGINT PRIMARY KEY, name VARCHAR(40), stock INT)")
        for name, work, rows, divisor in cases(client, prepared, port):
            measure(name, process, max(1, arguments.count // divisor), work, rows)


if __name__ == "__main__":
    main()
