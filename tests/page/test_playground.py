"""The command `playground`, and `serve --ui`, as processes."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MAIN = "from simulator.cli import main; main()"

Start = Callable[..., "tuple[subprocess.Popen[str], str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts commands, and says where their page is; an empty text if they end before."""
    with ExitStack() as stack:

        def started(*arguments: str) -> tuple[subprocess.Popen[str], str]:
            said = tmp_path / "said.txt"
            with said.open("w") as out:
                command = [sys.executable, "-c", MAIN, *arguments]
                process = stack.enter_context(
                    subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
                )
            stack.callback(process.kill)
            while not (page := re.search(r"page: http://([\d.:]+)/", said.read_text())) and process.poll() is None:
                time.sleep(0.05)
            return process, page[1] if page else ""

        yield started


def get(address: str, path: str, body: str | None = None) -> str:
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.request("POST" if body else "GET", path, body, {"content-type": "application/json"})
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def test_a_playground_serves_its_page_until_ctrl_c(start: Start) -> None:
    process, page = start("playground", "--no-browser", "--port", "0", "--release", "v7.5.4")

    assert "<title>TiCDC simulator</title>" in get(page, "/")
    assert '"release": "v7.5.4"' in get(page, "/ui/state")
    assert '"partitions": 3' in get(page, "/ui/state")
    sql = "CREATE TABLE test.t (id INT PRIMARY KEY); INSERT INTO test.t VALUES (1); INSERT INTO test.t VALUES (2)"
    get(page, "/ui/sql", json.dumps({"session": "one", "sql": sql, "tidbs": [0]}))
    messages = [get(page, f"/ui/message?tidb=0&changefeed=default&number={number}") for number in range(60)]
    insert = next(message for message in messages if '"event": "INSERT"' in message)
    assert "handle key   id" in insert
    host, _, port = page.partition(":")
    with socket.create_connection((host, int(port)), 20) as watching:
        watching.sendall(f"GET /ui/events?session=one&stream=0/default/0 HTTP/1.1\r\nHost: {page}\r\n\r\n".encode())
        assert b"event: hello" in watching.recv(1 << 16) + watching.recv(1 << 16)
        process.send_signal(signal.SIGINT)
        assert (process.wait(20), process.communicate()[1]) == (0, "")


def test_a_port_that_is_taken_is_one_line(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process, _ = start("playground", "--no-browser", "--port", str(port))

        said = process.communicate(timeout=20)[1]
    assert process.returncode == 2
    assert said == f"ticdc-sim: --port {port}: 127.0.0.1:{port} cannot be listened on: Address already in use\n"


def test_a_server_with_a_page_has_the_api_on_the_same_port(start: Start) -> None:
    process, page = start("serve", "--ui", "--api-port", "0", "--port", "0")

    assert "<title>TiCDC simulator</title>" in get(page, "/")
    assert '"is_owner"' in get(page, "/api/v2/status")
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
