"""A statement that runs for long: KILL and SIGTERM end it, whoever has sent it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pymysql
import pytest

MAIN = "from simulator.cli import main; main()"
LONG = "SELECT COUNT(*) FROM n a, n b, n c, n d WHERE a.id + b.id + c.id + d.id = -1"
INTERRUPTED = 1317


def connect(port: int) -> Any:
    return pymysql.connect(host="127.0.0.1", port=port, user="root", database="test", autocommit=True)


def error_of(client: Any, statement: str, numbers: list[int]) -> None:
    try:
        client.query(statement)
    except pymysql.MySQLError as error:
        numbers.append(error.args[0])


def started(client: Any, statement: str, numbers: list[int]) -> threading.Thread:
    thread = threading.Thread(target=error_of, args=(client, statement, numbers))
    thread.start()
    time.sleep(1)
    return thread


@pytest.mark.slow
def test_kill_and_sigterm_end_a_statement_that_runs() -> None:
    command = [sys.executable, "-c", MAIN, "serve", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
    clients: list[Any] = []
    try:
        assert server.stdout is not None
        port = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
        assert port is not None
        clients += [connect(int(port[1])), connect(int(port[1]))]
        busy, other = clients
        busy.query("CREATE TABLE n (id INT PRIMARY KEY)")
        busy.query(f"INSERT INTO n VALUES {', '.join(f'({number})' for number in range(1000))}")
        numbers: list[int] = []
        running = started(busy, LONG, numbers)
        other.query(f"KILL QUERY {busy.thread_id()}")
        running.join(10)
        assert numbers == [INTERRUPTED]
        assert busy.query("SELECT 1") == 1
        assert "add-partitions: partitions: expected a whole number from 1 to 10,000" in refused(
            busy, "CALL ticdc.fault('add-partitions', 'partitions=100000000')"
        )
        last = [started(client, LONG, numbers) for client in (busy, other)]
        server.send_signal(signal.SIGTERM)
        assert server.wait(15) == 0
        for thread in last:
            thread.join(10)
        assert "stopped; everything up to" in server.stdout.read()
    finally:
        server.kill()
        server.communicate()
        for client in clients:
            client.close()


def refused(client: Any, statement: str) -> str:
    try:
        client.query(statement)
    except pymysql.MySQLError as error:
        return str(error)
    return ""
