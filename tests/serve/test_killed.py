"""A server that is killed in the middle of concurrent writers loses and doubles nothing that it acknowledged."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pymysql
import pytest

MAIN = "from simulator.cli import main; main()"
WRITERS = 4


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(directory: Path, port: int, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", MAIN, "serve", "--port", str(port), "--data", str(directory / "data"), *options]
    with (directory / "said.txt").open("wb") as said:
        server = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 60
    while b"MySQL clients" not in (directory / "said.txt").read_bytes():
        assert server.poll() is None and time.monotonic() < deadline, (directory / "said.txt").read_text()
        time.sleep(0.05)
    return server


def connect(port: int) -> Any:
    return pymysql.connect(host="127.0.0.1", port=port, user="root", database="test", autocommit=True)


def write(port: int, writer: int, acknowledged: list[int]) -> None:
    """Insert a row and change another in one transaction, again and again, until the server is gone."""
    client = connect(port)
    number = writer
    try:
        with client.cursor() as cursor:
            while True:
                number += WRITERS
                cursor.execute("BEGIN")
                cursor.execute("INSERT INTO entry VALUES (%s, %s)", (number, writer))
                cursor.execute("UPDATE total SET n = n + 1 WHERE writer = %s", (writer,))
                cursor.execute("COMMIT")
                acknowledged.append(number)
    except (pymysql.MySQLError, OSError):
        pass
    finally:
        client.close()


@pytest.mark.slow
def test_kill_minus_nine_loses_and_doubles_nothing(tmp_path: Path) -> None:
    port = free_port()
    server = start(tmp_path, port, "--console")
    client = connect(port)
    with client, client.cursor() as cursor:
        cursor.execute("CREATE TABLE entry (id INT PRIMARY KEY, writer INT)")
        cursor.execute("CREATE TABLE total (writer INT PRIMARY KEY, n INT)")
        cursor.execute("INSERT INTO total VALUES (0, 0), (1, 0), (2, 0), (3, 0)")
    acknowledged: list[int] = []
    writers = [threading.Thread(target=write, args=(port, writer, acknowledged)) for writer in range(WRITERS)]
    for thread in writers:
        thread.start()
    while len(acknowledged) < 60:
        time.sleep(0.02)
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    for thread in writers:
        thread.join()
    before = (tmp_path / "said.txt").read_text()

    server = start(tmp_path, port, "--console", "--resume")
    client = connect(port)
    with client, client.cursor() as cursor:
        cursor.execute("SELECT id, writer FROM entry ORDER BY id")
        rows = cursor.fetchall()
        cursor.execute("SELECT SUM(n) FROM total")
        ((total,),) = cursor.fetchall()
    server.terminate()
    server.wait(30)

    ids = [id for id, _ in rows]
    assert set(acknowledged) <= set(ids)
    assert len(set(ids)) == len(ids) == total <= len(acknowledged) + WRITERS
    sent = [
        re.findall(r"(\d+) \S+ INSERT test\.entry id=(\d+)", said)
        for said in (before, (tmp_path / "said.txt").read_text())
    ]
    assert {int(id) for said in sent for _, id in said} == set(ids), "each row is sent by one server or the other"
    commit_ts: dict[str, str] = {}
    for ts, id in [*sent[0], *sent[1]]:
        assert commit_ts.setdefault(id, ts) == ts, "a row that comes again has its commit-ts"
