"""`ticdc-sim serve` as a process that is killed or stopped: what it acknowledged is there, and what runs for long ends."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymysql
import pytest

Connect = Callable[..., Any]
Start = Callable[..., tuple["subprocess.Popen[bytes]", int]]
WRITERS = 4
LONG = "SELECT COUNT(*) FROM n a, n b, n c, n d WHERE a.id + b.id + c.id + d.id = -1"
INTERRUPTED = 1317

pytestmark = pytest.mark.slow


def write(client: Any, writer: int, acknowledged: list[int]) -> None:
    """Insert a row and change another in one transaction, again and again, until the server is gone."""
    number = writer
    try:
        while True:
            number += WRITERS
            client.run("BEGIN", f"INSERT INTO entry VALUES ({number}, {writer})")
            client.run(f"UPDATE total SET n = n + 1 WHERE writer = {writer}", "COMMIT")
            acknowledged.append(number)
    except (pymysql.MySQLError, OSError):
        pass


def test_kill_minus_nine_loses_and_doubles_nothing(tmp_path: Path, said: Path, start: Start, connect: Connect) -> None:
    options = ("--console", "--data", str(tmp_path / "data"))
    server, port = start(*options)
    client = connect(port)
    client.run("CREATE TABLE entry (id INT PRIMARY KEY, writer INT)")
    client.run("CREATE TABLE total (writer INT PRIMARY KEY, n INT)")
    client.run("INSERT INTO total VALUES (0, 0), (1, 0), (2, 0), (3, 0)")
    acknowledged: list[int] = []
    writers = [threading.Thread(target=write, args=(connect(port), writer, acknowledged)) for writer in range(WRITERS)]
    for thread in writers:
        thread.start()
    while len(acknowledged) < 60:
        time.sleep(0.02)
    server.kill()
    server.wait()
    for thread in writers:
        thread.join()
    before = said.read_text()

    server, port = start(*options, "--resume")
    client = connect(port)
    ids = [id for (id,) in client.run("SELECT id FROM entry ORDER BY id")]
    ((total,),) = client.run("SELECT SUM(n) FROM total")
    server.terminate()
    server.wait(30)

    assert set(acknowledged) <= set(ids)
    assert len(set(ids)) == len(ids) == total <= len(acknowledged) + WRITERS
    inserts = re.compile(r"(\d+) \S+ INSERT test\.entry id=(\d+)")
    sent = [*inserts.findall(before), *inserts.findall(said.read_text())]
    assert {int(id) for _, id in sent} == set(ids), "each row is sent by one server or the other"
    commit_ts: dict[str, str] = {}
    for ts, id in sent:
        assert commit_ts.setdefault(id, ts) == ts, "a row that comes again has its commit-ts"


def test_kill_and_sigterm_end_a_statement_that_runs(said: Path, start: Start, connect: Connect) -> None:
    server, port = start()
    busy, other = connect(port), connect(port)
    busy.run("CREATE TABLE n (id INT PRIMARY KEY)")
    busy.run(f"INSERT INTO n VALUES {', '.join(f'({number})' for number in range(1000))}")
    numbers: list[int] = []
    running = computing(busy, numbers)
    other.run(f"KILL QUERY {busy.thread_id()}")
    running.join(10)
    assert numbers == [INTERRUPTED]
    assert busy.run("SELECT 1") == ((1,),)
    _, text = busy.error("CALL ticdc.fault('add-partitions', 'partitions=100000000')")
    assert "add-partitions: partitions: expected a whole number from 1 to 10,000" in text
    last = [computing(client, numbers) for client in (busy, other)]
    server.terminate()
    assert server.wait(15) == 0
    for thread in last:
        thread.join(10)
    assert "topic ticdc, sent nowhere without --sink-uri; MySQL" in said.read_text()
    assert "stopped; everything up to" in said.read_text()


def computing(client: Any, numbers: list[int]) -> threading.Thread:
    """A thread in which a client computes for long, which notes the number of the error at its end."""

    def compute() -> None:
        try:
            client.run(LONG)
        except pymysql.MySQLError as error:
            numbers.append(error.args[0])

    thread = threading.Thread(target=compute)
    thread.start()
    time.sleep(1)
    return thread
