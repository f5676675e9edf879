"""A statement that runs for long: KILL and SIGTERM end it, whoever has sent it."""

from __future__ import annotations

import cProfile
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest

from simulator.api.server import ServedDatabase
from simulator.errors import SqlError
from simulator.serve.running_statement import RunningStatement

MAIN = "from simulator.cli import main; main()"
LONG = "SELECT COUNT(*) FROM n a, n b, n c, n d WHERE a.id + b.id + c.id + d.id = -1"
INTERRUPTED = 1317


def connect(port: int, database: str = "test") -> Any:
    return pymysql.connect(host="127.0.0.1", port=port, user="root", database=database, autocommit=True)


def error_of(client: Any, statement: str, numbers: list[int]) -> None:
    try:
        client.query(statement)
    except pymysql.MySQLError as error:
        numbers.append(error.args[0])


def started(client: Any, statement: str, numbers: list[int], seconds: float = 1) -> threading.Thread:
    thread = threading.Thread(target=error_of, args=(client, statement, numbers))
    thread.start()
    time.sleep(seconds)
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


@contextmanager
def ending(seconds: int) -> Iterator[None]:
    """Let the block fail after some time. The handler is no Python function: a thread that hangs could not call one."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(seconds)
    try:
        yield
    except KeyboardInterrupt:
        pytest.fail("a function that is profiled does not end")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def profiled() -> None:
    """Profilers, debuggers and the measuring of coverage trace calls."""
    with ending(10):
        assert cProfile.Profile().runcall(lambda: 5) == 5


def test_a_program_that_serves_can_be_profiled(ticdc_server: ServedDatabase) -> None:
    with connect(ticdc_server.port, ticdc_server.name) as client:
        client.query("SELECT 1")
    profiled()


def test_kill_query_leaves_the_connection(ticdc_server: ServedDatabase) -> None:
    client, other = (connect(ticdc_server.port, ticdc_server.name) for _ in range(2))
    numbers: list[int] = []
    with client, other:
        other.query(f"KILL QUERY {client.thread_id()}")
        assert client.query("SELECT 1") == 1
        other.query("SELECT GET_LOCK('held', 1)")
        waiting = started(client, "SELECT GET_LOCK('held', 30)", numbers, 0.2)
        other.query(f"KILL QUERY {client.thread_id()}")
        waiting.join(10)
        assert numbers == [INTERRUPTED]
        stop = threading.Event()
        killing = threading.Thread(target=killed_again, args=(other, client.thread_id(), stop))
        killing.start()
        for _ in range(100):
            error_of(client, "SELECT 1 + 1", numbers)
        stop.set()
        killing.join()
        assert set(numbers) <= {INTERRUPTED}
        assert client.query("SELECT 1") == 1


def killed_again(client: Any, number: int, stop: threading.Event) -> None:
    while not stop.is_set():
        client.query(f"KILL QUERY {number}")


def ends(running: RunningStatement) -> None:
    running.interrupt()


def goes_on(running: RunningStatement) -> None:
    try:
        running.interrupt()
        time.sleep(0)
    except BaseException:
        return


def fails(running: RunningStatement) -> None:
    try:
        goes_on(running)
    finally:
        raise ValueError


@pytest.mark.parametrize("function", [ends, goes_on, fails])
def test_an_interruption_comes_once_and_not_later(function: Callable[[RunningStatement], None]) -> None:
    running = RunningStatement()
    with pytest.raises(SqlError, match="interrupted"):
        running.compute(1, lambda: function(running))
    assert running.interrupt() == 0
    assert running.compute(1, lambda: 5) == 5
    profiled()
