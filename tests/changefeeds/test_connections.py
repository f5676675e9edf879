"""Changefeeds with a connection send in threads of their own."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simulator import TiCDC, tso
from simulator.api.server import TiCDCServer
from simulator.changefeeds import Retention
from simulator.changefeeds.served import clock_ms
from simulator.errors import DeliveryError
from simulator.reader.decode import RowEvent
from simulator.reader.records import read_records

Connect = Callable[..., Any]


def delivered(server: TiCDCServer) -> bool:
    server.changefeeds.follow()
    return False


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_sink_that_hangs_holds_up_nobody(connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"{(tmp_path / 'files').as_uri()}?protocol=csv&worker-count=1"
    with TiCDC(databases=()) as ticdc, TiCDCServer(ticdc) as server:
        client, feed = connect(server.port), server.changefeeds.create("files", uri)
        settle, hangs, answers = feed.live.output.settle, threading.Event(), threading.Event()

        def hang() -> None:
            hangs.set()
            assert answers.wait(30)
            settle()

        monkeypatch.setattr(feed.live.output, "settle", hang)
        client.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        server.run_in_thread(server.changefeeds.follow)
        assert hangs.wait(30)
        client.run("INSERT INTO t VALUES (2)")
        server.run_in_thread(server.changefeeds.follow)
        rows = [event.after for event in server.events() if isinstance(event, RowEvent)]
        assert rows == [{"id": "1"}, {"id": "2"}] and feed.state == "normal"
        answers.set()
        assert [event.after for event in feed.events() if isinstance(event, RowEvent)] == rows


def test_what_goes_wrong_in_such_a_thread_ends_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"{(tmp_path / 'files').as_uri()}?protocol=csv"
    with TiCDC(databases=()) as ticdc:
        server = TiCDCServer(ticdc)
        feed = server.changefeeds.create("files", uri)

        def break_down() -> None:
            raise ZeroDivisionError

        with monkeypatch.context() as broken:
            broken.setattr(feed.live, "deliver", break_down)
            with pytest.raises(ZeroDivisionError):
                wait_until(partial(delivered, server))
        server.close()


def test_a_kafka_that_is_not_there_is_told_when_a_changefeed_is_created() -> None:
    with (
        TiCDC(databases=(), kafka_timeout=1) as ticdc,
        TiCDCServer(ticdc, sinks=replace(ticdc.sinks, sends=True)) as server,
    ):
        with pytest.raises(DeliveryError):
            server.changefeeds.create("orders", "kafka://127.0.0.1:1/orders?protocol=canal-json&dial-timeout=1s")
        assert [feed.spec.name for feed in server.changefeeds.list()] == ["default"]


@pytest.mark.kafka
def test_kafka_gets_each_row_once_and_again_after_a_pause(kafka: str, connect: Connect) -> None:
    topic = f"orders-{uuid.uuid4().hex[:8]}"
    uri = f"kafka://{kafka}/{topic}?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
    start_ts = tso.compose(time.time_ns() // 1_000_000)
    with TiCDC(databases=(), start_ts=start_ts) as ticdc:
        sinks = replace(ticdc.sinks, sends=True)
        with TiCDCServer(ticdc, clock=clock_ms, sinks=sinks, retention=Retention(messages=False)) as server:
            client, feeds = connect(server.port), server.changefeeds
            feed = feeds.create("orders", uri)
            client.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
            wait_until(lambda: feed.checkpoint_ts > start_ts and rows(kafka, topic) == [1])
            client.run("INSERT INTO t VALUES (2)")
            wait_until(lambda: rows(kafka, topic) == [1, 2])
            feeds.pause("orders")
            client.run("INSERT INTO t VALUES (3)")
            assert rows(kafka, topic) == [1, 2]
            feeds.resume("orders", overwrite_checkpoint_ts=feed.spec.start_ts)
            wait_until(lambda: rows(kafka, topic) == [1, 2, 1, 2, 3])
            feeds.remove("orders")
            client.run("INSERT INTO t VALUES (4)")
    assert rows(kafka, topic) == [1, 2, 1, 2, 3]


def rows(kafka: str, topic: str) -> list[int]:
    """The keys of the rows in a topic."""
    messages = [json.loads(record.value or b"") for record in read_records(f"kafka://{kafka}/{topic}")]
    return [int(message["data"][0]["id"]) for message in messages if message["type"] == "INSERT"]
