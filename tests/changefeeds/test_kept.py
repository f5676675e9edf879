"""A data directory keeps changefeeds: after any end of the server they go on from their checkpoints."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest

from simulator import TiCDC, tso
from simulator.api.server import TiCDCServer
from simulator.errors import ChangefeedError
from simulator.reader.decode import RowEvent
from simulator.serve.data_directory import DataDirectory

CANAL = "kafka://127.0.0.1:9092/canal?protocol=canal-json&enable-tidb-extension=true"
Connect = Callable[..., Any]


@contextmanager
def served(path: Path, resume: bool = True, **options: Any) -> Iterator[TiCDCServer]:
    with (
        closing(DataDirectory(path, "v8.5.3", tso.DEFAULT_START_TS, resume)) as data,
        TiCDC(databases=(), start_ts=data.start_ts) as ticdc,
        TiCDCServer(ticdc, data=data, begins_with_default=False, sinks=replace(ticdc.sinks, **options)) as server,
    ):
        yield server


def ids(server: TiCDCServer, name: str) -> list[int]:
    events = server.changefeeds.get(name).events(watermark=False)
    return [int(str((event.after or {})["id"])) for event in events if isinstance(event, RowEvent)]


def test_specs_states_and_checkpoints_are_there_again(tmp_path: Path, connect: Connect) -> None:
    """The history, too: a commit is sent that two snapshots ago was not."""
    with served(tmp_path) as server:
        feeds, client = server.changefeeds, connect(server.port)
        feeds.create("runs", CANAL, {"filter": {"rules": ["test.*"]}})
        feeds.create("paused", CANAL, namespace="shop")
        client.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "CALL ticdc.watermark()")
        feeds.pause("paused", "shop")
        client.run("INSERT INTO t VALUES (2)", "ALTER TABLE t ADD n INT", "INSERT INTO t VALUES (3, 4)")
        client.close()
        kept = feeds.kept()
        created = feeds.list()[0].create_time_ms
        feeds.close = lambda: None  # type: ignore[method-assign]  # as if it were killed
    for _ in range(2):
        with served(tmp_path) as server:
            feeds = server.changefeeds
            assert [(each.spec.id, each.state) for each in feeds.list()] == [
                ("default/runs", "normal"),
                ("shop/paused", "stopped"),
            ]
            assert feeds.list()[0].create_time_ms == created and feeds.kept() == kept
            feeds.close = lambda: None  # type: ignore[method-assign]
    with served(tmp_path) as server:
        feeds = server.changefeeds
        assert ids(server, "runs") == [2, 3]
        feeds.resume("paused", "shop")
        paused = feeds.get("paused", "shop").events()
        assert [event.table for event in paused if isinstance(event, RowEvent)] == ["t", "t"]
        late = feeds.create("late", CANAL, start_ts=feeds.get("runs").spec.start_ts)
        assert [event.after for event in late.events() if isinstance(event, RowEvent)] == [
            {"id": "1"},
            {"id": "2"},
            {"id": "3", "n": "4"},
        ]
    with served(tmp_path, resume=False) as server:
        assert server.changefeeds.list() == []


def test_a_changefeed_begins_in_the_history_of_a_new_directory(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.changefeeds.create("first", CANAL)
        for begin in (lambda: server.changefeeds.create("old", CANAL, start_ts=1), lambda: resumed(server, 1)):
            with pytest.raises(ChangefeedError, match="ErrStartTsBeforeGC"):
                begin()


def resumed(server: TiCDCServer, checkpoint_ts: int) -> None:
    server.changefeeds.pause("first")
    server.changefeeds.resume("first", overwrite_checkpoint_ts=checkpoint_ts)


def test_a_storage_that_is_not_allowed_any_more_is_told(tmp_path: Path, connect: Connect) -> None:
    uri = f"{(tmp_path / 'files').as_uri()}?protocol=csv"
    with served(tmp_path / "data", storages=[str(tmp_path)]) as server:
        server.changefeeds.create("files", uri)
        for wrong in (tmp_path.parent / "other", tmp_path / ".." / "other", f"{tmp_path}/a%00b"):
            with pytest.raises(ChangefeedError, match="may not write there; accepted: .*--allow-storage"):
                server.changefeeds.create("wrong", f"file://{wrong}?protocol=csv")
        claims = {"sink": {"kafka-config": {"large-message-handle": {"large-message-handle-option": "claim-check"}}}}
        claims["sink"]["kafka-config"]["large-message-handle"]["claim-check-storage-uri"] = "file:///claims"
        with pytest.raises(ChangefeedError, match="file:///claims"):
            server.changefeeds.create("claims", CANAL, claims)
        (tmp_path / "link").symlink_to("/")
        with pytest.raises(ChangefeedError, match="ErrStorageSinkInvalidConfig"):
            server.changefeeds.create("linked", f"{(tmp_path / 'link').as_uri()}/tmp?protocol=csv")
        with pytest.raises(ChangefeedError, match="filter rules in a file are not read"):
            server.changefeeds.create("filtered", CANAL, {"filter": {"rules": ["@/etc/passwd"]}})
    with pytest.raises(ChangefeedError, match="changefeed default/files: .* may not write there; accepted: none"):
        with served(tmp_path / "data", storages=[]):
            pass


SERVER = """
import sys, time
from contextlib import closing
from pathlib import Path
from simulator import TiCDC, tso
from simulator.api.server import TiCDCServer
from simulator.changefeeds import Retention
from simulator.changefeeds.served import clock_ms
from simulator.serve.data_directory import DataDirectory

place, now_ts = Path(sys.argv[1]), tso.compose(time.time_ns() // 1_000_000)
with (
    closing(DataDirectory(place / "data", "v8.5.3", now_ts, True)) as data,
    TiCDC("v8.5.3", databases=(), start_ts=data.start_ts) as ticdc,
    TiCDCServer(
        ticdc, clock=clock_ms, data=data, begins_with_default=False, retention=Retention(messages=False)
    ) as server,
):
    feeds = server.changefeeds
    for name in () if feeds.list() else ("one", "two", "three"):
        uri = (place / name).as_uri() + "?protocol=csv&flush-interval=2s&worker-count=1"
        feeds.create(name, uri, {"sink": {"csv": {"include-commit-ts": True}}})
    print(server.port, *(feed.state for feed in feeds.list()), flush=True)
    for line in sys.stdin:
        getattr(feeds, line.split()[0])(line.split()[1])
        print("done", flush=True)
"""


@pytest.mark.slow
def test_kill_minus_nine_with_three_changefeeds(tmp_path: Path, connect: Connect) -> None:
    with started(tmp_path) as (server, port, _):
        client = connect(port)
        client.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        acknowledged: list[int] = []
        writer = threading.Thread(target=write, args=(connect(port), acknowledged))
        writer.start()
        wait_for(tmp_path / "three" / "test" / "t")
        tell(server, "pause three")
        while len(acknowledged) < 300:
            time.sleep(0.02)
        wait_for(tmp_path / "one" / "test" / "t")
        server.kill()
        writer.join()
    with started(tmp_path) as (server, port, states):
        assert states == ["normal", "stopped", "normal"]  # in the order of their names
        tell(server, "resume three")
        client = connect(port)
        rows = sorted(id for (id,) in client.run("SELECT id FROM t"))
        client.close()
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(60) == 0
    assert set(acknowledged) <= set(rows)
    commit_ts: dict[int, str] = {}
    for name in ("one", "two", "three"):
        sent = [line.split(",") for file in (tmp_path / name).rglob("*.csv") for line in file.read_text().splitlines()]
        assert sorted({int(line[-1]) for line in sent}) == rows, "each row is in the files of each changefeed"
        for line in sent:
            assert commit_ts.setdefault(int(line[-1]), line[3]) == line[3], "and has one commit-ts"


@contextmanager
def started(place: Path) -> Iterator[tuple[subprocess.Popen[str], int, list[str]]]:
    """A server in a process of its own, its port, and the states of its changefeeds."""
    command = [sys.executable, "-c", SERVER, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port, *states = server.stdout.readline().split()
            yield server, int(port), states
        finally:
            server.kill()


def tell(server: subprocess.Popen[str], line: str) -> None:
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(f"{line}\n")
    server.stdin.flush()
    assert server.stdout.readline() == "done\n"


def wait_for(directory: Path) -> None:
    deadline = time.monotonic() + 60
    while not list(directory.rglob("*.csv")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def write(client: Any, acknowledged: list[int]) -> None:
    """Insert rows until the server is gone."""
    try:
        for number in range(2, 1 << 30):
            client.run(f"INSERT INTO t VALUES ({number})")
            acknowledged.append(number)
    except (pymysql.MySQLError, OSError):
        pass
