"""A statement that is interrupted ends once, and leaves its connection and its thread as they were."""

from __future__ import annotations

import cProfile
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest

from simulator.api.server import ServedDatabase
from simulator.errors import SqlError
from simulator.serve.database import RunningStatement

Connect = Callable[..., Any]
INTERRUPTED = 1317


def note_error(client: Any, statement: str, numbers: list[int]) -> None:
    try:
        client.run(statement)
    except pymysql.MySQLError as error:
        numbers.append(error.args[0])


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


def test_a_program_that_serves_can_be_profiled(ticdc_server: ServedDatabase, connect: Connect) -> None:
    connect(ticdc_server.port).run("SELECT 1")
    profiled()


@pytest.mark.slow
def test_kill_query_leaves_the_connection(ticdc_server: ServedDatabase, connect: Connect) -> None:
    client, other = (connect(ticdc_server.port, database=ticdc_server.name) for _ in range(2))
    numbers: list[int] = []
    kill = f"KILL QUERY {client.thread_id()}"
    other.run(kill)
    assert client.run("SELECT 1") == ((1,),)
    other.run("SELECT GET_LOCK('held', 1)")
    waiting = threading.Thread(target=note_error, args=(client, "SELECT GET_LOCK('held', 30)", numbers))
    waiting.start()
    waiting.join(0.2)
    other.run(kill)
    waiting.join(10)
    assert numbers == [INTERRUPTED]
    stop = threading.Event()

    def kill_again() -> None:
        while not stop.is_set():
            other.run(kill)

    killing = threading.Thread(target=kill_again)
    killing.start()
    for _ in range(100):
        note_error(client, "SELECT 1 + 1", numbers)
    stop.set()
    killing.join()
    assert set(numbers) <= {INTERRUPTED}
    assert client.run("SELECT 1") == ((1,),)


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
