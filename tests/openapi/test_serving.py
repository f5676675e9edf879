"""The API beside MySQL clients: in a process of its own, and while several do everything at once."""

from __future__ import annotations

import http.client
import json
import re
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.openapi import BLACKHOLE, Api
from support.served import Start

from simulator.reader.decode import RowEvent


@pytest.mark.slow
def test_a_server_says_where_its_api_is_and_ends_with_it(start: Start, connect: Callable[..., Any], said: Path) -> None:
    """Also while a client keeps its connection."""
    server, port = start("--console", "--api-port", "0")
    found = re.search(r"API: http://127\.0\.0\.1:(\d+); Ctrl-C ends", said.read_text())
    assert found
    client = http.client.HTTPConnection("127.0.0.1", int(found[1]))
    body = json.dumps({"changefeed_id": "one", "sink_uri": BLACKHOLE, "start_ts": 0})
    client.request("POST", "/api/v2/changefeeds", body)
    created = json.loads(client.getresponse().read())
    assert (created["id"], created["state"]) == ("one", "normal")
    connect(port).run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    asked_ms = time.time_ns() // 1_000_000
    client.request("POST", "/api/v2/tso", "{}")
    assert json.loads(client.getresponse().read())["timestamp"] >= asked_ms

    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=20) == 0
    assert "Traceback" not in said.read_text()
    client.close()


def test_what_several_do_at_once_neither_fails_nor_loses_a_row(serve: Callable[..., Api]) -> None:
    """Changefeeds come and go while clients commit; the first one sends every row."""
    api = serve()
    api.run("CREATE TABLE test.t (id INT PRIMARY KEY)")

    def live(name: str) -> list[int]:
        asked = (
            api.create(name),
            api.ask("POST", f"/changefeeds/{name}/pause"),
            api.ask("GET", f"/changefeeds/{name}"),
            api.ask("PUT", f"/changefeeds/{name}", {"target_ts": 1 << 62}),
            api.ask("POST", f"/changefeeds/{name}/resume", {}),
            api.ask("GET", "/changefeeds"),
            api.ask("DELETE", f"/changefeeds/{name}"),
        )
        return [answer.status for answer in asked]

    with ThreadPoolExecutor(4) as threads:
        lives = [threads.submit(live, f"of-{number}") for number in range(12)]
        commits = [threads.submit(api.run, f"INSERT INTO test.t VALUES ({number})") for number in range(24)]
        assert [each.result() for each in lives] == [[200] * 7] * 12
        assert [each.result() for each in commits] == [None] * 24
    rows = [event.after["id"] for event in api.served.events() if isinstance(event, RowEvent) and event.after]
    assert sorted(map(str, rows)) == sorted(map(str, range(24)))
    assert api.ask("GET", "/changefeeds").json["total"] == 1


def test_a_statement_that_takes_long_holds_up_no_question_about_the_server(serve: Callable[..., Api]) -> None:
    api = serve()
    api.create("one")
    runs, may_end = threading.Event(), threading.Event()

    def long() -> None:
        runs.set()
        may_end.wait(20)

    with ThreadPoolExecutor(1) as threads:
        statement = threads.submit(api.served.run_in_thread, long)
        runs.wait()
        answers = [
            api.ask("GET", path).status for path in ("/health", "/status", "/captures", "/changefeeds", "/processors")
        ]
        assert (answers, statement.done()) == ([200] * 5, False)
        may_end.set()
